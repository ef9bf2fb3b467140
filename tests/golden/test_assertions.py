"""Assertions about the fleet's four models, on the objects that the real engine renders for production.

The numbers are those of the list in tests/README.md. Where an assertion of the reference platform gave way to a
decision of ours, the test says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from conformance.pod_security import pod_security_violations
from sailplan.model import Catalog, Composition

Object = Mapping[str, Any]
Find = Callable[..., Any]

CODER, CHAT, FIM, GUARD = "xplane-qwen-coder", "xplane-qwen3-8b", "xplane-qwen-coder-fim", "xplane-llamaguard3-1b"
MODELS = (CODER, CHAT, FIM, GUARD)
SQL, SECURE = "xplane-qwen-coder-sql-dpo", "xplane-qwen-coder-securecode"


def engine(production: Find, model: str) -> Any:
    return production("Deployment", model)["spec"]["template"]["spec"]["containers"][0]


def following(args: list[str], flag: str) -> str:
    return args[args.index(flag) + 1]


def test_assertion_01_arguments_of_the_completion_model(production: Find) -> None:
    """Decision: the model comes first (`vllm serve MODEL`), not as --model."""
    assert engine(production, FIM)["args"] == [
        "/models/df3ce67c0e24480f20468b6ef2894622d69eb73b",
        "--served-model-name", FIM,
        "--max-model-len", "8192",
        "--max-num-seqs", "64",
        "--gpu-memory-utilization", "0.92",
        "--quantization", "fp8",
        "--enable-prefix-caching",
    ]  # fmt: skip


def test_assertion_02_no_quantization_for_16_bit(production: Find) -> None:
    args = engine(production, GUARD)["args"]
    assert "--quantization" not in args
    assert following(args, "--dtype") == "float16"


def test_assertion_03_argument_groups_in_order(production: Find) -> None:
    """kv-offload renders the flag that moves KV cache; the reference's moved weights."""
    args = engine(production, CODER)["args"]
    groups = [
        "--quantization",
        "--enable-prefix-caching",
        "--kv-offloading-size",
        "--enable-auto-tool-choice",
        "--enable-lora",
    ]
    assert [flag for flag in args if flag in groups] == groups
    assert "--cpu-offload-gb" not in args
    assert following(args, "--kv-offloading-size") == "16"
    assert following(args, "--tool-call-parser") == "hermes"
    assert following(args, "--max-loras") == "2"
    assert following(args, "--max-lora-rank") == "64"
    modules = args[args.index("--lora-modules") + 1 :]
    assert sorted(module.split("=")[0] for module in modules) == sorted([SQL, SECURE])
    assert all(module.split("=")[1].startswith("/models/loras/") for module in modules)


def test_assertion_04_chat_has_tools_and_no_adapters(production: Find) -> None:
    args = engine(production, CHAT)["args"]
    assert following(args, "--tool-call-parser") == "hermes"
    assert not [flag for flag in args if "lora" in flag]


@pytest.mark.parametrize("model", MODELS)
def test_assertion_05_weights_are_local(production: Find, model: str) -> None:
    args = engine(production, model)["args"]
    assert args[0].startswith("/models/")
    assert "--model" not in args


@pytest.mark.parametrize("model", MODELS)
def test_assertion_08_the_scaler_owns_the_replicas(production: Find, model: str) -> None:
    """Decision: a rolling update that never needs a second GPU; Recreate is an option."""
    spec = production("Deployment", model)["spec"]
    assert "replicas" not in spec
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


@pytest.mark.parametrize("model", MODELS)
def test_assertion_09_the_service_finds_the_engine_and_not_the_preload_pod(production: Find, model: str) -> None:
    service = production("Service", model)["spec"]
    labels = production("Deployment", model)["spec"]["template"]["metadata"]["labels"]
    job = next(item for item in production("Job") if item["metadata"]["name"].startswith(f"{model}-preload-"))
    preload = job["spec"]["template"]["metadata"]["labels"]
    assert service["ports"] == [{"name": "http", "port": 8000, "targetPort": "http", "protocol": "TCP"}]
    assert service["selector"].items() <= labels.items()
    assert not service["selector"].items() <= preload.items()


@pytest.mark.parametrize("model", MODELS)
def test_assertion_10_probes_and_start_up_budget(production: Find, model: str) -> None:
    container = engine(production, model)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": "http"}
    startup = container["startupProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] >= 330


def test_assertion_11_every_pod_is_restricted(rendered: Mapping[str, list[Object]]) -> None:
    pods = [(item["metadata"]["name"], item["spec"]["template"]) for objects in rendered.values() for item in objects
            if item["kind"] in {"Deployment", "Job"}]  # fmt: skip
    assert len(pods) == 3 * 8
    for name, template in pods:
        assert pod_security_violations(template) == [], name
        assert all(c["securityContext"]["readOnlyRootFilesystem"] for c in template["spec"]["containers"])
        assert template["spec"]["automountServiceAccountToken"] is False
        assert template["spec"]["enableServiceLinks"] is False


@pytest.mark.parametrize("model", MODELS)
def test_assertion_12_gpus_and_their_nodes(production: Find, model: str) -> None:
    pod = production("Deployment", model)["spec"]["template"]["spec"]
    resources = pod["containers"][0]["resources"]
    assert resources["requests"]["nvidia.com/gpu"] == resources["limits"]["nvidia.com/gpu"] == "1"
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in pod["tolerations"]
    assert pod["nodeSelector"] == {"karpenter.sh/nodepool": "gpu-l4"}
    assert pod["runtimeClassName"] == "nvidia"


@pytest.mark.parametrize(
    ("model", "requests", "limits"),
    [
        # 16 GiB of KV cache in host memory take 28 and 18 GiB: the engine rounds the share of each layer up.
        (CODER, ("2", "44Gi"), ("8", "60Gi")),
        (CHAT, ("2", "34Gi"), ("8", "50Gi")),
        (FIM, ("2", "16Gi"), ("8", "32Gi")),
        (GUARD, ("1", "8Gi"), ("4", "16Gi")),
    ],
)
def test_assertion_13_cpu_and_memory(
    production: Find, model: str, requests: tuple[str, str], limits: tuple[str, str]
) -> None:
    """Decision: kv-offload raises host memory by what it takes."""
    resources = engine(production, model)["resources"]
    assert (resources["requests"]["cpu"], resources["requests"]["memory"]) == requests
    assert (resources["limits"]["cpu"], resources["limits"]["memory"]) == limits


@pytest.mark.parametrize("model", MODELS)
def test_assertion_15_one_number_for_engine_and_scaler(production: Find, model: str) -> None:
    slots = following(engine(production, model)["args"], "--max-num-seqs")
    running = production("ScaledObject", model)["spec"]["triggers"][0]
    assert running["metadata"]["query"].endswith(f"/ {slots}")


@pytest.mark.parametrize("model", MODELS)
def test_assertion_16_and_17_signals(production: Find, model: str) -> None:
    spec = production("ScaledObject", model)["spec"]
    assert spec["pollingInterval"] == 15
    signals = [(trigger["metadata"]["threshold"], trigger["metricType"]) for trigger in spec["triggers"]]
    assert signals == [("0.7", "Value"), ("0.6", "Value"), ("8", "AverageValue")]
    assert all(trigger["metadata"]["ignoreNullValues"] == "false" for trigger in spec["triggers"])


def test_assertion_20_the_way_down_is_the_hpas(production: Find) -> None:
    spec = production("ScaledObject", CODER)["spec"]
    assert (
        spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 300
    )
    assert "cooldownPeriod" not in spec


def test_assertion_21_environments_do_not_share_a_signal(
    catalog: Catalog, rendered: Mapping[str, list[Object]]
) -> None:
    queries = {}
    for environment, objects in rendered.items():
        scaled = next(o for o in objects if o["kind"] == "ScaledObject" and o["metadata"]["name"] == CODER)
        queries[environment] = [trigger["metadata"]["query"] for trigger in scaled["spec"]["triggers"]]
        namespace = catalog.environments[environment].spec["namespace"]
        assert all(f'namespace="{namespace}"' in query for query in queries[environment])
    assert len({tuple(query) for query in queries.values()}) == 3


def test_assertion_22_and_25_canary_and_pins(production: Find) -> None:
    rules = production("AIGatewayRoute", CODER)["spec"]["rules"]
    base, *pins = rules
    assert base["backendRefs"] == [
        {"name": CODER, "weight": 90},
        {"name": f"{CODER}-canary-{SQL}", "weight": 10, "modelNameOverride": SQL},
    ]
    assert sorted(pin["matches"][0]["headers"][0]["value"] for pin in pins) == sorted([SQL, SECURE])
    assert all(pin["backendRefs"] == [{"name": CODER, "weight": 100}] for pin in pins)
    assert all(rule["timeouts"] == {"request": "1800s"} for rule in rules)


@pytest.mark.parametrize("model", MODELS)
def test_all_four_models_own_their_route(production: Find, model: str) -> None:
    """The reference platform still routes three of them by hand."""
    match = production("AIGatewayRoute", model)["spec"]["rules"][0]["matches"][0]["headers"][0]
    assert match == {"type": "Exact", "name": "x-ai-eg-model", "value": model}
    endpoint = production("Backend", f"{model}-direct")["spec"]["endpoints"]
    assert endpoint == [{"fqdn": {"hostname": f"{model}.llm.svc.cluster.local", "port": 8000}}]


def test_assertion_28_the_route_comes_second(fleet: Composition, withheld: list[Object]) -> None:
    """Decision: the whole route trait is withheld, its Backend with it; the plane's tests show that it then stays."""
    assert not [item for item in withheld if item["kind"] in {"AIGatewayRoute", "Backend"}]
    assert {item["metadata"]["name"] for item in withheld if item["kind"] == "Deployment"} == set(MODELS)
    steps = [step["name"] for step in fleet.application["spec"]["workflow"]["steps"]]
    assert steps.index("deploy-production-withheld") + 1 == steps.index("deploy-production")


@pytest.mark.parametrize("model", MODELS)
def test_assertion_29_the_preload_job(production: Find, model: str) -> None:
    """Decision: no TTL, since KubeVela would make a Job anew that Kubernetes removed."""
    job = next(item for item in production("Job") if item["metadata"]["name"].startswith(f"{model}-preload-"))
    pod = job["spec"]["template"]["spec"]
    assert "ttlSecondsAfterFinished" not in job["spec"]
    assert job["spec"]["backoffLimit"] == 3
    assert pod["securityContext"]["runAsUser"] == 1001
    mounts = {m["name"]: m for m in pod["containers"][0]["volumeMounts"]}
    served = {m["name"]: m for m in engine(production, model)["volumeMounts"]}
    assert mounts["models"]["subPath"] == served["models"]["subPath"] == model
    assert served["models"]["readOnly"] is True
    assert not mounts["models"].get("readOnly")


@pytest.mark.parametrize("model", MODELS)
def test_assertion_34_serving_is_closed(production: Find, model: str) -> None:
    spec = production("CiliumNetworkPolicy", model)["spec"]
    (out,) = spec["egress"]
    assert out["toPorts"][0]["rules"] == {"dns": [{"matchPattern": "*"}]}
    assert {port["port"] for port in out["toPorts"][0]["ports"]} == {"53"}
    assert "toEntities" not in out
    (into,) = spec["ingress"]
    assert into["toPorts"] == [{"ports": [{"port": "8000", "protocol": "TCP"}]}]
    assert all("k8s:io.kubernetes.pod.namespace" in peer["matchLabels"] for peer in into["fromEndpoints"])


@pytest.mark.parametrize("model", MODELS)
def test_assertion_35_and_36_preload_has_a_policy_of_its_own(production: Find, model: str) -> None:
    spec = production("CiliumNetworkPolicy", f"{model}-preload")["spec"]
    assert spec["endpointSelector"]["matchLabels"]["app.kubernetes.io/component"] == "preload"
    assert spec["ingress"] == [{}]
    assert spec["enableDefaultDeny"] == {"ingress": True, "egress": True}
    world = [rule for rule in spec["egress"] if "toEntities" in rule]
    assert world == [{"toEntities": ["world"], "toPorts": [{"ports": [{"port": "443", "protocol": "TCP"}]}]}]


@pytest.mark.parametrize("model", MODELS)
def test_assertion_37_the_hub_token_reaches_the_job_only(production: Find, model: str) -> None:
    job = next(item for item in production("Job") if item["metadata"]["name"].startswith(f"{model}-preload-"))
    assert job["spec"]["template"]["spec"]["containers"][0]["envFrom"] == [{"secretRef": {"name": "hf-token"}}]
    assert "envFrom" not in engine(production, model)
    assert {"name": "HF_HUB_OFFLINE", "value": "1"} in engine(production, model)["env"]


def test_assertion_39_always_warm(production: Find) -> None:
    annotations = {
        model: production("Deployment", model)["spec"]["template"]["metadata"].get("annotations", {})
        for model in MODELS
    }
    assert annotations[FIM] == {"karpenter.sh/do-not-disrupt": "true"}
    assert not any(annotations[model] for model in (CODER, CHAT, GUARD))


def test_assertion_41_annotations_and_order(catalog: Catalog, fleet: Composition) -> None:
    annotations = fleet.application["metadata"]["annotations"]
    assert annotations["oam.ai/catalog-model"] == "qwen-coder,qwen3-8b,qwen-coder-fim,llamaguard3-1b"
    intents = catalog.apps["inference-fleet"].spec["components"]
    chosen = dict.fromkeys(name for intent in intents for name in intent["capabilities"])
    assert annotations["oam.ai/catalog-capabilities"] == ",".join(chosen)
    for component, intent in zip(fleet.application["spec"]["components"], intents, strict=True):
        own = component["properties"]["annotations"]
        assert own["oam.ai/catalog-model"] == intent["model"]
        assert own["oam.ai/catalog-capabilities"] == ",".join(intent["capabilities"])
        traits = [trait["type"] for trait in component["traits"]]
        model_traits = set(catalog.models[intent["model"]].spec["traits"])
        assert set(traits[: len(model_traits)]) == model_traits
