"""The presets hold every value that the reference platform's four claims have (seed facts, section 4)."""

from __future__ import annotations

from typing import Any

import pytest

from sailplan.compose import compose
from sailplan.fit import fit, kv_bytes_a_token
from unit.catalogs import repository

DPO, SECURE = "xplane-qwen-coder-sql-dpo", "xplane-qwen-coder-securecode"
DEFAULT = {"requests": {"cpu": "2", "memory": "16Gi"}, "limits": {"cpu": "8", "memory": "32Gi"}}

CLAIMS: dict[str, dict[str, Any]] = {
    "xplane-qwen-coder": {
        "repository": "Qwen/Qwen2.5-Coder-7B-Instruct",
        "revision": "c03e6d358207e414f1eca0bb1891e29f1db0e242",
        "model": ("fp8", 32768, 32, "hermes"),
        "gpu": (1, "16Gi"),
        "routing": ("medium", "code"),
        "replicas": (1, 2),
        "offload": 16,
        "adapters": {
            DPO: ("jk200201/qwen2.5-coder-7b-sql-dpo", "54344a00bd90d153fe8710abb8d600ceb4ed8458", 10),
            SECURE: ("scthornton/qwen2.5-coder-7b-securecode", "5745f9faa14d75f84de606ab234615ed36b656f2", None),
        },
        "resources": DEFAULT,
        "kv": 56,
        "sequences": 6,
    },
    "xplane-qwen3-8b": {
        "repository": "Qwen/Qwen3-8B",
        "revision": "b968826d9c46dd6066d109eabc6255188de91218",
        "model": ("fp8", 32768, 32, "hermes"),
        "gpu": (1, "16Gi"),
        "routing": ("medium", "general"),
        "replicas": (1, 2),
        "offload": 16,
        "adapters": {},
        "resources": DEFAULT,
        "kv": 144,
        "sequences": 2,
    },
    "xplane-qwen-coder-fim": {
        "repository": "Qwen/Qwen2.5-Coder-1.5B",
        "revision": "df3ce67c0e24480f20468b6ef2894622d69eb73b",
        "model": ("fp8", 8192, 64, None),
        "gpu": (1, "8Gi"),
        "routing": ("small", "code-fim"),
        "replicas": (1, 1),
        "offload": None,
        "adapters": {},
        "resources": DEFAULT,
        "kv": 28,
        "sequences": 81,
    },
    "xplane-llamaguard3-1b": {
        "repository": "meta-llama/Llama-Guard-3-1B",
        "revision": "acf7aafa60f0410f8f42b1fa35e077d705892029",
        "model": ("fp16", 8192, 64, None),
        "gpu": (1, "4Gi"),
        "routing": ("small", "guardrail"),
        "replicas": (1, 3),
        "offload": None,
        "adapters": {},
        "resources": {"requests": {"cpu": "1", "memory": "8Gi"}, "limits": {"cpu": "4", "memory": "16Gi"}},
        "kv": 32,
        "sequences": 65,
    },
}


@pytest.mark.parametrize("environment", ["dev", "staging", "production"])
@pytest.mark.parametrize("name", CLAIMS)
def test_every_value_of_a_claim(name: str, environment: str) -> None:
    catalog, claim = repository(), CLAIMS[name]
    component = next(one for one in compose(catalog, catalog.apps["inference-fleet"]).components if one.name == name)
    properties, traits = component.environments[environment]
    model, spec = properties["model"], catalog.models[component.model].spec
    assert (model["repository"], model["revision"]) == (claim["repository"], claim["revision"])
    assert (
        tuple(model.get(key) for key in ("quantization", "contextWindow", "maxNumSeqs", "toolCallParser"))
        == claim["model"]
    )
    assert (traits["gpu"]["count"], traits["gpu"]["minVRAM"]) == claim["gpu"]
    assert tuple(spec["routing"].values()) == claim["routing"]
    assert tuple(traits["keda-saturation-scaling"].values())[:2] == claim["replicas"]
    assert traits.get("kv-offload", {}).get("sizeGB") == claim["offload"]
    assert traits["prefix-cache"] == {"enabled": True}
    assert traits["preload"]["secrets"] == {"hf-token": True}
    assert traits["observability"]["intervalSeconds"] == 30
    assert "ai-gateway-route" in traits
    adapters = traits.get("lora-canary", {}).get("adapters", {})
    found = {key: (one["repository"], one["revision"], one.get("weightPercent")) for key, one in adapters.items()}
    assert found == claim["adapters"]
    assert properties.get("resources", DEFAULT) == claim["resources"]


@pytest.mark.parametrize("name", CLAIMS)
def test_kv_cache_and_fit_are_computed(name: str) -> None:
    catalog, claim = repository(), CLAIMS[name]
    component = next(one for one in compose(catalog, catalog.apps["inference-fleet"]).components if one.name == name)
    assert kv_bytes_a_token(catalog.models[component.model].spec["architecture"]) == claim["kv"] * 1024
    found = fit(catalog, component, "production")
    assert found and found.sequences == claim["sequences"]


def test_39_only_tab_completion_is_kept_warm() -> None:
    catalog = repository()
    warm = {
        one.name
        for one in compose(catalog, catalog.apps["inference-fleet"]).components
        if one.properties.get("podAnnotations", {}).get("karpenter.sh/do-not-disrupt") == "true"
    }
    assert warm == {"xplane-qwen-coder-fim"}


def test_ranks_that_nobody_published_are_marked() -> None:
    assert set(repository().models["qwen-coder"].spec["assumed"]) == {
        f"settings.lora-canary.adapters.{name}.rank" for name in (DPO, SECURE)
    }
