"""Rows of the list of pitfalls that concern KubeVela itself: overrides, patches, order, closedness."""

from __future__ import annotations

import re
from typing import Any

import pytest

from definitions.cases import PLAIN
from definitions.engine import (
    Object,
    Objects,
    Refused,
    application,
    args_of,
    component,
    dry_run,
    engine_of,
    kinds,
    merged,
    one,
    part_of,
    refusal,
    vela,
)
from definitions.files import ENGINE_TRAITS, FILES, MODES, TRAITS, header, text
from definitions.test_commute import GIVEN, PROPERTIES

TOPOLOGY = {"name": "topology-prod", "type": "topology", "properties": {"clusters": ["local"], "namespace": "llm"}}


def overridden(base: list[Object], *changes: Object) -> dict[str, Objects]:
    """What one environment gets: the base under an override policy, as our composer writes them."""
    override = {"name": "override-prod", "type": "override", "properties": {"components": list(changes)}}
    step = {"name": "deploy-prod", "type": "deploy", "properties": {"policies": ["topology-prod", "override-prod"]}}
    documents = dry_run(application(base, [TOPOLOGY, override], {"steps": [step]}))
    found: dict[str, Objects] = {part["name"]: {} for part in base}
    for item in documents:
        found[part_of(item)][f"{item['kind']}/{item['metadata']['name']}"] = item
    return found


def change(name: str = "^model$", properties: Any = None, traits: Any = None, **disabled: bool) -> Object:
    found: Object = {"name": name}
    if properties:
        found["properties"] = properties
    return found | {"traits": [{"type": kind, "properties": given} for kind, given in (traits or {}).items()]}


def test_R01_an_anchored_override_changes_one_model_only() -> None:
    base = [component("llama", {}, {"gpu": {}}), component("llama-big", {}, {"gpu": {"count": 8}})]
    found = overridden(base, change("^llama$", {"image": "stage/vllm:v1"}, {"gpu": {"count": 2}}))
    image = {name: engine_of(objects, name)["image"] for name, objects in found.items()}
    gpus = {name: engine_of(objects, name)["resources"]["limits"]["nvidia.com/gpu"] for name, objects in found.items()}
    assert image == {"llama": "stage/vllm:v1", "llama-big": "vllm/vllm-openai:v0.25.0"}
    assert gpus == {"llama": "2", "llama-big": "8"}


def test_R04_one_variable_per_environment_keeps_the_others() -> None:
    base = [component("model", {"env": {"CACHE": "/m", "LOG": "info"}, "podLabels": {"a": "1"}})]
    found = overridden(base, change(properties={"env": {"LOG": "warn"}, "podLabels": {"b": "2"}}))["model"]
    env = {item["name"]: item.get("value") for item in engine_of(found)["env"]}
    labels = found["Deployment/model"]["spec"]["template"]["metadata"]["labels"]
    assert (env["CACHE"], env["LOG"]) == ("/m", "warn")
    assert (labels["a"], labels["b"]) == ("1", "2")


def test_R04_empty_values_take_effect() -> None:
    base = [component("model", {"drainSeconds": 30, "env": {"A": "x"}, "secrets": {"a": True, "b": True}})]
    empty = {"drainSeconds": 0, "env": {"A": ""}, "secrets": {"a": False}}
    container = engine_of(overridden(base, change(properties=empty))["model"])
    assert container["lifecycle"]["preStop"]["exec"]["command"][3] == "0"
    assert {"name": "A", "value": ""} in container["env"]
    assert container["envFrom"] == [{"secretRef": {"name": "b"}}]


def test_every_trait_is_reached_by_an_override() -> None:
    """One override for all of them: what it renders is what the merged parameters render."""
    changes: dict[str, Any] = {
        "gpu": {"count": 8, "tolerations": {"more": {}}},
        "prefix-cache": {"enabled": True},
        "preload": {"size": "1Gi", "secrets": {"hf-token": False}},
        "external-secret": {"secrets": {"hf-token": {"key": "other"}, "more": {"key": "more"}}},
        "kv-offload": {"sizeGB": 8},
        "lora-canary": {
            "adapters": {"sql": {"weightPercent": 20}, "more": merged(GIVEN["lora-canary"]["adapters"]["sql"], {})}
        },
        "keda-saturation-scaling": {"maxReplicas": 5},
        "ai-gateway-route": {"requestTimeout": "2h"},
        "http-route": {"hostname": "other.example.com"},
        "network-policy": {"clients": {"ui": {"namespace": "apps", "labels": {"app": "ui"}}}},
        "observability": {"intervalSeconds": 60},
    }
    assert set(changes) == set(ENGINE_TRAITS)
    base = component("model", PROPERTIES, GIVEN)
    wanted = one(
        {name: merged(given, changes[name]) for name, given in GIVEN.items()}, merged(PROPERTIES, {"env": {"A": "2"}})
    )
    found = overridden([base], change(properties={"env": {"A": "2"}}, traits=changes))["model"]
    assert found.keys() == wanted.keys()
    for key, item in wanted.items():
        assert found[key].get("spec") == item.get("spec"), key
        assert found[key]["metadata"].get("annotations") == item["metadata"].get("annotations"), key


def test_a_route_can_be_held_back_and_added() -> None:
    """The first of the two deploy steps: the trait disabled, with adapters that would have patched the route."""
    base = component("model", PROPERTIES, GIVEN)
    withheld = {"name": "^model$", "traits": [{"type": "ai-gateway-route", "disable": True}]}
    found = overridden([base], withheld)["model"]
    assert not kinds(found, "AIGatewayRoute", "Backend")
    assert {"Deployment/model", "ScaledObject/model"} <= found.keys()


@pytest.mark.parametrize("trait", ENGINE_TRAITS)
def test_R06_a_trait_on_another_workload_says_so(trait: str) -> None:
    """KubeVela does not enforce appliesToWorkloads."""
    part = component("model", {"image": "x"}, [(trait, GIVEN[trait])], "plain")
    with pytest.raises(Refused, match="goes with a vllm-model component; this workload is none"):
        dry_run(application([part]), extra=[PLAIN])


def test_R06_R13_a_fixed_number_and_a_scaler_exclude_each_other() -> None:
    assert "exclude each other" in refusal({"keda-saturation-scaling": {}}, {"replicas": 3})
    objects = one({"keda-saturation-scaling": {"minReplicas": 2}})
    assert "replicas" not in objects["Deployment/model"]["spec"]
    assert objects["ScaledObject/model"]["spec"]["minReplicaCount"] == 2


def test_R10_vet_passes_what_cannot_render(tmp_path: Any) -> None:
    """Why every definition has cases: a template that reads what is not there is fine for `vela def vet`."""
    broken = tmp_path / "prefix-cache.cue"
    broken.write_text(text("prefix-cache").replace("parameter.enabled", "parameter.enabeld"))
    assert vela(["def", "vet", str(broken)], tmp_path).code == 0
    part = component("model", {}, {"prefix-cache": {}})
    with pytest.raises(Refused):
        dry_run(application([part]), extra=[broken])


@pytest.mark.parametrize("mode", MODES)
def test_R17_items_land_beside_those_that_are_there(mode: str) -> None:
    """A patch by key adds to lists of the workload, and touches no item of somebody else."""
    plain = one(properties={"env": {"A": "1", "HF_CUSTOM": "2"}}, env=MODES[mode])
    found = one(GIVEN, {"env": {"A": "1", "HF_CUSTOM": "2"}}, env=MODES[mode])
    before, after = engine_of(plain), engine_of(found)
    for field in ("env", "volumeMounts", "ports"):
        assert after[field][: len(before[field])] == before[field]
    assert [item["name"] for item in after["env"][len(before["env"]) :]] == ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"]
    pods = [objects["Deployment/model"]["spec"]["template"]["spec"] for objects in (plain, found)]
    assert pods[0]["volumes"] == pods[1]["volumes"]
    assert len(pods[1]["containers"]) == 1


def test_R17_required_parameters_are_required() -> None:
    """No key of a patch may come from a parameter that can be missing: all our keys are literals."""
    for name in FILES:
        for key in _patch_keys(text(name)):
            assert key == "name", name
    assert "rank is missing" in refusal(
        {"lora-canary": {"adapters": {"a": {"repository": "a/b", "revision": "0" * 40}}}}
    )


def _patch_keys(source: str) -> list[str]:
    return [line.split("+patchKey=")[1] for line in source.splitlines() if "+patchKey=" in line]


@pytest.mark.parametrize("trait", [name for name in ENGINE_TRAITS if "\n\tpatch: " in text(name)])
def test_R18_arguments_are_replaced_as_a_whole_and_never_lost(trait: str) -> None:
    """Lists without a key unify by position in KubeVela; ours are built from what is there."""
    plain = args_of(one(properties=PROPERTIES))
    found = args_of(one({trait: GIVEN[trait]}, PROPERTIES))
    rest = iter(found)
    assert all(token in rest for token in plain), "a token is gone, or the order changed"
    assert found[-2:] == PROPERTIES["extraArgs"]


def test_R20_R21_preload_and_its_secret_come_before_the_workload() -> None:
    """Stage PreDispatch: the workload is created when the trait's own health policy says that the Job succeeded."""
    assert {name for name in TRAITS if header(name)["attributes"].get("stage")} == {"preload", "external-secret"}
    assert all(header(name)["attributes"]["stage"] == "PreDispatch" for name in ("preload", "external-secret"))
    objects = one({"preload": {}})
    early = [key for key, item in objects.items() if item["metadata"]["labels"].get("trait.oam.dev/type") == "preload"]
    # All that the Job needs, because nothing of a later stage is there yet.
    assert {key.split("/")[0] for key in early} == {
        "Job",
        "ServiceAccount",
        "PersistentVolumeClaim",
        "CiliumNetworkPolicy",
    }


def test_R22_health_is_not_a_matter_of_course() -> None:
    """Every definition that renders objects with a status reads it."""
    # Policies, scrape objects, ConfigMaps and backends of adapters have no status.
    still = {"network-policy", "observability", "model-config", "prompt-policy", "lora-canary"}
    reading = {name for name in FILES if ".status." in header(name)["attributes"]["status"]["healthPolicy"]}
    having = {name for name in FILES if name not in TRAITS or re.search(r"(?m)^\t+outputs: ", text(name))}
    assert reading == having - still


def test_R27_no_cluster_is_asked() -> None:
    """The kubeconfig of these tests points nowhere, and the only imports are CUE's own (test_coverage)."""
    assert one()["Deployment/model"]["metadata"]["name"] == "model"


@pytest.mark.parametrize(
    "word", ["5e10", "12e45", "y", "N", "no", "null", "0o17", "012", "1_000", "2001-01-01", "~", "1.0"]
)
def test_R28_words_stay_words(word: str) -> None:
    """A quoted string is the same string in the objects, through both YAML readers on the way."""
    objects = one({"gpu": {"nodeSelector": {"pool": word}}}, {"env": {"A": word}, "podAnnotations": {"a": word}})
    pod = objects["Deployment/model"]["spec"]["template"]
    assert {"name": "A", "value": word} in pod["spec"]["containers"][0]["env"]
    assert pod["metadata"]["annotations"]["a"] == pod["spec"]["nodeSelector"]["pool"] == word
