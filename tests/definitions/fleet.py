"""The reference platform's four models as plain components: what the definitions alone make of them."""

from __future__ import annotations

import functools
from typing import Any

from definitions.engine import Objects, component, merged, render

SQL, SECURE = "xplane-qwen-coder-sql-dpo", "xplane-qwen-coder-securecode"
ADAPTERS = {
    SQL: {
        "repository": "jk200201/qwen2.5-coder-7b-sql-dpo",
        "revision": "54344a00bd90d153fe8710abb8d600ceb4ed8458",
        "rank": 64,
        "weightPercent": 10,
    },
    SECURE: {
        "repository": "scthornton/qwen2.5-coder-7b-securecode",
        "revision": "5745f9faa14d75f84de606ab234615ed36b656f2",
        "rank": 64,
    },
}
CODER, CHAT, FIM, GUARD = "xplane-qwen-coder", "xplane-qwen3-8b", "xplane-qwen-coder-fim", "xplane-llamaguard3-1b"
MODELS = (CODER, CHAT, FIM, GUARD)


def model(repository: str, revision: str, quantization: str, context: int, sequences: int, **more: Any) -> Any:
    return {
        "model": {
            "repository": repository,
            "revision": revision,
            "quantization": quantization,
            "contextWindow": context,
            "maxNumSeqs": sequences,
            **more,
        }
    }


PROPERTIES = {
    CODER: model(
        "Qwen/Qwen2.5-Coder-7B-Instruct", "c03e6d358207e414f1eca0bb1891e29f1db0e242", "fp8", 32768, 32,
        toolCallParser="hermes",
    ),
    CHAT: model(
        "Qwen/Qwen3-8B", "b968826d9c46dd6066d109eabc6255188de91218", "fp8", 32768, 32, toolCallParser="hermes"
    ),
    FIM: model("Qwen/Qwen2.5-Coder-1.5B", "df3ce67c0e24480f20468b6ef2894622d69eb73b", "fp8", 8192, 64)
    | {"podAnnotations": {"karpenter.sh/do-not-disrupt": "true"}},
    GUARD: model("meta-llama/Llama-Guard-3-1B", "acf7aafa60f0410f8f42b1fa35e077d705892029", "fp16", 8192, 64)
    | {"resources": {"requests": {"cpu": "1", "memory": "8Gi"}, "limits": {"cpu": "4", "memory": "16Gi"}}},
}  # fmt: skip
COMMON: dict[str, Any] = {
    "gpu": {"nodeSelector": {"karpenter.sh/nodepool": "gpu-l4"}},
    "prefix-cache": {},
    "preload": {"secrets": {"hf-token": True}},
    "keda-saturation-scaling": {"maxReplicas": 2},
    "network-policy": {},
}
TRAITS = {
    CODER: COMMON | {"kv-offload": {"layers": 28}, "lora-canary": {"adapters": ADAPTERS}, "ai-gateway-route": {}},
    CHAT: COMMON | {"kv-offload": {"layers": 36}, "ai-gateway-route": {}},
    FIM: COMMON | {"keda-saturation-scaling": {"maxReplicas": 1}},
    GUARD: COMMON | {"keda-saturation-scaling": {"maxReplicas": 3}},
}


@functools.cache
def fleet() -> dict[str, Objects]:
    """All four, in one process; component name -> objects."""
    return render(component(name, PROPERTIES[name], TRAITS[name]) for name in MODELS)


def coder(traits: Any, properties: Any = None) -> Any:
    """A qwen-coder with other traits, under the short name `model`."""
    return component("model", merged(PROPERTIES[CODER], properties or {}), traits)
