"""Assertions about canaries, preload and network policies; numbers as in tests/README.md."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from definitions.engine import Object, Objects, engine_of, kinds, one, refusal
from definitions.files import OTHER_REVISION, REVISION
from definitions.fleet import CODER, MODELS, SECURE, SQL, fleet

every = pytest.mark.parametrize("model", MODELS)


def adapter(weight: int | None = None, rank: int = 16, revision: str = OTHER_REVISION) -> dict[str, Any]:
    found: dict[str, Any] = {"repository": "team/adapter", "revision": revision, "rank": rank}
    return found | ({"weightPercent": weight} if weight else {})


def routed(**adapters: dict[str, Any]) -> Objects:
    return one({"lora-canary": {"adapters": adapters}, "ai-gateway-route": {}})


def rules(objects: Objects, name: str = "model") -> list[Any]:
    return list(objects[f"AIGatewayRoute/{name}"]["spec"]["rules"])


def header(rule: Any) -> str:
    return str(rule["matches"][0]["headers"][0]["value"])


def job(objects: Objects) -> Object:
    (found,) = kinds(objects, "Job")
    return found


def test_assertion_22_canary_of_ten() -> None:
    base = rules(fleet()[CODER], CODER)[0]
    assert header(base) == CODER
    assert base["backendRefs"] == [
        {"name": CODER, "weight": 90},
        {"name": f"{CODER}-canary-{SQL}", "weight": 10, "modelNameOverride": SQL},
    ]


def test_assertion_23_two_canaries() -> None:
    base = rules(routed(a=adapter(10), b=adapter(15)))[0]
    assert [backend["weight"] for backend in base["backendRefs"]] == [75, 10, 15]
    assert len({backend["name"] for backend in base["backendRefs"]}) == 3
    assert [backend.get("modelNameOverride") for backend in base["backendRefs"]] == [None, "a", "b"]


def test_assertion_22_every_backend_of_a_rule_is_there() -> None:
    objects = routed(a=adapter(10), b=adapter(15), c=adapter())
    there = {item["metadata"]["name"] for item in kinds(objects, "AIServiceBackend")}
    assert there == {backend["name"] for rule in rules(objects) for backend in rule["backendRefs"]}


def test_assertion_24_canaries_that_leave_nothing() -> None:
    """Unknown adapters cannot be said: the weight is part of the adapter. Twice the same name is one key of a map."""
    said = refusal({"lora-canary": {"adapters": {"a": adapter(60), "b": adapter(40)}}})
    assert "adds up to 100" in said
    assert len(rules(routed(a=adapter(60), b=adapter(39)))) == 3


def test_assertion_25_pins_of_both_adapters() -> None:
    found = rules(fleet()[CODER], CODER)
    assert len(found) == 3
    assert {header(rule) for rule in found[1:]} == {SQL, SECURE}
    assert all(rule["backendRefs"] == [{"name": CODER, "weight": 100}] for rule in found[1:])


@pytest.mark.parametrize("properties", [{}, {"servedName": "code"}])
def test_assertion_26_adapter_named_like_the_model(properties: dict[str, str]) -> None:
    name = properties.get("servedName", "model")
    said = refusal({"lora-canary": {"adapters": {name: adapter()}}}, properties)
    assert f"lora-canary.adapters.{name} has the served name of the model itself" in said


@every
def test_assertion_29_preload_job(model: str) -> None:
    """Decisions: no time to live (KubeVela would create the Job again), and a name that is a hash."""
    found, deployment = job(fleet()[model]), fleet()[model][f"Deployment/{model}"]
    spec, serving = found["spec"]["template"]["spec"], deployment["spec"]["template"]["spec"]
    assert found["spec"]["backoffLimit"] == 3 and "ttlSecondsAfterFinished" not in found["spec"]
    assert spec["securityContext"]["runAsUser"] == serving["securityContext"]["runAsUser"] == 1001
    mounts = [
        next(mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == "models")
        for pod in (spec, serving)
    ]
    assert mounts[0]["subPath"] == mounts[1]["subPath"] == model
    claims = [
        next(volume for volume in pod["volumes"] if volume["name"] == "models")["persistentVolumeClaim"]
        for pod in (spec, serving)
    ]
    assert claims[0] == claims[1] == {"claimName": f"{model}-weights"}


PRELOADS: dict[str, tuple[Any, Any]] = {
    "nothing": ({"preload": {}}, {}),
    "revision": ({"preload": {}}, {"model": {"revision": OTHER_REVISION}}),
    "repository": ({"preload": {}}, {"model": {"repository": "other/model"}}),
    "image": ({"preload": {}}, {"image": "vllm/vllm-openai:v0.25.1"}),
    "folder": ({"preload": {}}, {"weights": {"subPath": "other"}}),
    "claim": ({"preload": {}}, {"weights": {"claimName": "other"}}),
    "token": ({"preload": {"secrets": {"hf-token": True}}}, {}),
    "excluded": ({"preload": {"exclude": {"*.gguf": True}}}, {}),
    "memory": ({"preload": {"resources": {"limits": {"memory": "9Gi"}}}}, {}),
    "account": ({"preload": {"serviceAccountName": "other"}}, {}),
    "registry": ({"preload": {}}, {"imagePullSecrets": {"registry": True}}),
    "adapter": ({"preload": {}, "lora-canary": {"adapters": {"a": adapter()}}}, {}),
    "adapter's revision": ({"preload": {}, "lora-canary": {"adapters": {"a": adapter(revision=REVISION)}}}, {}),
    "adapter's name": ({"preload": {}, "lora-canary": {"adapters": {"b": adapter()}}}, {}),
}
SAME: dict[str, tuple[Any, Any]] = {
    "tries": ({"preload": {"backoffLimit": 5, "activeDeadlineSeconds": 600}}, {}),
    "policy": ({"preload": {"policy": "none"}}, {}),
    "claim's size": ({"preload": {"size": "1Ti"}}, {}),
    "engine's settings": ({"preload": {}, "gpu": {}}, {"model": {"maxNumSeqs": 7}, "env": {"A": "1"}}),
    "canary": ({"preload": {}, "lora-canary": {"adapters": {"a": adapter(10, rank=8)}}}, {}),
}


def test_assertion_30_a_changed_job_is_another_job() -> None:
    """All that changes the Job's immutable template changes its name; nothing else does."""
    names = {
        label: job(one(traits, properties))["metadata"]["name"]
        for label, (traits, properties) in {**PRELOADS, **SAME}.items()
    }
    for one_label, other in itertools.combinations(PRELOADS, 2):
        assert names[one_label] != names[other], (one_label, other)
    assert {names[label] for label in SAME} == {names["nothing"], names["adapter"]}
    assert all(len(name) <= 63 for name in names.values())


@pytest.mark.parametrize(
    "model",
    [{"repository": "x/y; touch z"}, {"revision": "a/b"}, {"repository": "x/$(touch z)"}, {"revision": "main"}],
)
def test_assertion_32_hostile_values_are_refused(model: dict[str, str]) -> None:
    assert f"parameter.model.{next(iter(model))}" in refusal({"preload": {}}, {"model": model})


def test_assertion_32_script_holds_no_value() -> None:
    """Values arrive in the environment: the text is the same for every model."""
    scripts = {str(job(fleet()[model])["spec"]["template"]["spec"]["containers"][0]["command"]) for model in MODELS}
    (script,) = scripts
    assert not [name for name in MODELS if name in script]


@every
def test_assertion_34_serving_policy(model: str) -> None:
    spec = fleet()[model][f"CiliumNetworkPolicy/{model}"]["spec"]
    assert spec["endpointSelector"]["matchLabels"]["app.kubernetes.io/component"] == "inference"
    (egress,), (ingress,) = spec["egress"], spec["ingress"]
    assert {port["port"] for part in egress["toPorts"] for port in part["ports"]} == {"53"}
    assert egress["toPorts"][0]["rules"] == {"dns": [{"matchPattern": "*"}]}
    assert "world" not in str(spec)
    assert [port["port"] for part in ingress["toPorts"] for port in part["ports"]] == ["8000"]
    for peer in ingress["fromEndpoints"] + egress["toEndpoints"]:
        assert peer["matchLabels"]["k8s:io.kubernetes.pod.namespace"] and len(peer["matchLabels"]) > 1


@every
def test_assertion_35_preload_policy(model: str) -> None:
    spec = fleet()[model][f"CiliumNetworkPolicy/{model}-preload"]["spec"]
    assert spec["endpointSelector"]["matchLabels"]["app.kubernetes.io/component"] == "preload"
    # Cilium: an empty rule admits nobody, and makes the deny explicit.
    assert spec["ingress"] == [{}] and spec["enableDefaultDeny"] == {"ingress": True, "egress": True}
    (world,) = [rule for rule in spec["egress"] if rule.get("toEntities") == ["world"]]
    assert [port for part in world["toPorts"] for port in part["ports"]] == [{"port": "443", "protocol": "TCP"}]


def test_assertion_36_one_policy_or_two() -> None:
    policies = [kinds(one(traits), "CiliumNetworkPolicy") for traits in (
        {"network-policy": {}}, {"network-policy": {}, "preload": {}},
    )]  # fmt: skip
    assert [len(found) for found in policies] == [1, 2]


@every
def test_assertion_37_token_reaches_the_job_only(model: str) -> None:
    container = job(fleet()[model])["spec"]["template"]["spec"]["containers"][0]
    assert container["envFrom"] == [{"secretRef": {"name": "hf-token"}}]
    assert "envFrom" not in engine_of(fleet()[model], model)
    assert "hf-token" not in str(fleet()[model][f"Deployment/{model}"])
