"""Rows of the list of pitfalls that concern KEDA, the gateway, the network and the nodes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from definitions.engine import kinds, one, refusal
from definitions.test_assertions_scaling import desired, triggers


def scaled(traits: Any = None, properties: Any = None) -> Any:
    return one({"keda-saturation-scaling": traits or {}}, properties)["ScaledObject/model"]


def test_R29_two_hot_pods_become_three() -> None:
    """KV cache 0.92 on average of two pods, threshold 0.8: by Value three, by AverageValue two for ever."""
    trigger = triggers(scaled({"cacheUtilizationThreshold": 0.8, "maxReplicas": 6}))["kv-cache"]
    assert trigger["metricType"] == "Value"
    assert desired(trigger, 2, 0.92) == 3


def test_R31_a_lost_series_is_an_error_not_zero() -> None:
    spec = scaled()["spec"]
    assert {trigger["metadata"]["ignoreNullValues"] for trigger in spec["triggers"]} == {"false"}
    assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"
    # Nothing that could be 0/0: the only division is by a number, which is at least 1.
    assert re.findall(r"/ (\S+)", " ".join(trigger["metadata"]["query"] for trigger in spec["triggers"])) == ["64"]
    assert "parameter.model.maxNumSeqs" in refusal({"keda-saturation-scaling": {}}, {"model": {"maxNumSeqs": 0}})


@pytest.mark.parametrize(("given", "pods"), [({}, 1), ({"minReplicas": 2}, 2), ({"fallback": {"replicas": 3}}, 3)])
def test_R32_fallback_acts_and_takes_no_pods(given: Any, pods: int) -> None:
    """Per trigger since KEDA 2.18, for both metric types; there is no formula, and no minimum of zero."""
    spec = scaled(given)["spec"]
    assert spec["fallback"] == {"failureThreshold": 3, "replicas": pods, "behavior": "currentReplicasIfHigher"}
    assert "scalingModifiers" not in str(spec)
    assert "parameter.minReplicas" in refusal(
        {"keda-saturation-scaling": {"minReplicas": 0, "fallback": {"replicas": 1}}}
    )


def test_R33_one_field_for_the_way_down_and_no_cooldown() -> None:
    assert "parameter.cooldownSeconds: field not allowed" in refusal(
        {"keda-saturation-scaling": {"cooldownSeconds": 60}}
    )
    down = scaled()["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
    assert down == {
        "stabilizationWindowSeconds": 300,
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
    }


def test_R35_one_aggregate_with_both_labels() -> None:
    """KEDA takes exactly one series; a bare gauge gives one a pod."""
    for trigger in scaled()["spec"]["triggers"]:
        query = trigger["metadata"]["query"]
        assert re.fullmatch(r'(max|sum)\(vllm:\w+\{namespace="llm",model_name="model"\}\)( / 64)?', query)


@pytest.mark.parametrize(
    ("given", "seconds"), [({}, "1800s"), ({"requestTimeout": "0s"}, "0s"), ({"requestTimeout": "1h"}, "1h")]
)
def test_R50_every_rule_has_a_request_timeout(given: Any, seconds: str) -> None:
    adapter = {"repository": "a/b", "revision": "0" * 40, "rank": 8, "weightPercent": 5}
    for order in (("ai-gateway-route", "lora-canary"), ("lora-canary", "ai-gateway-route")):
        both = {"ai-gateway-route": given, "lora-canary": {"adapters": {"a": adapter}}}
        rules = one([(trait, both[trait]) for trait in order])["AIGatewayRoute/model"]["spec"]["rules"]
        assert [rule["timeouts"] for rule in rules] == [{"request": seconds}] * 2
    route = one({"http-route": {"hostname": "a.b", **given}})["HTTPRoute/model-web"]
    assert route["spec"]["rules"][0]["timeouts"] == {"request": seconds}


def test_a_route_of_its_own_beside_the_one_that_the_ai_gateway_makes() -> None:
    """For an AIGatewayRoute its controller makes an HTTPRoute of the same name, whatever stood there before."""
    objects = one({"ai-gateway-route": {}, "http-route": {"hostname": "a.b"}})
    made = {route["metadata"]["name"] for route in kinds(objects, "AIGatewayRoute")}
    assert made and not made & {route["metadata"]["name"] for route in kinds(objects, "HTTPRoute")}


def test_R51_route_to_backend_by_name() -> None:
    """Route, AIServiceBackend, Backend by fqdn, Service; parentRefs; by address the model's name would get lost."""
    objects = one({"ai-gateway-route": {}})
    (backend,), (service,), (route,) = (
        kinds(objects, kind) for kind in ("Backend", "AIServiceBackend", "AIGatewayRoute")
    )
    assert backend["spec"]["endpoints"] == [{"fqdn": {"hostname": "model.llm.svc.cluster.local", "port": 8000}}]
    assert service["spec"]["backendRef"]["kind"] == "Backend"
    assert service["spec"]["backendRef"]["name"] == backend["metadata"]["name"]
    assert route["spec"]["parentRefs"][0]["kind"] == "Gateway"
    assert "targetRefs" not in str(objects) and "filterConfig" not in str(objects)
    assert "endpoints.ip" not in str(backend)


def test_R52_no_pool_beside_weights() -> None:
    """Weighted canaries go to services; there is no pool to choose in these definitions."""
    assert "parameter.pool: field not allowed" in refusal({"ai-gateway-route": {"pool": True}})


def test_R55_hosts_come_with_the_dns_rule_that_teaches_them() -> None:
    objects = one({"preload": {"egressHosts": {"hub.example.com": True, "*.cdn.example.com": True}}})
    dns, hosts = objects["CiliumNetworkPolicy/model-preload"]["spec"]["egress"]
    assert {(port["port"], port["protocol"]) for port in dns["toPorts"][0]["ports"]} == {("53", "UDP"), ("53", "TCP")}
    assert dns["toPorts"][0]["rules"]["dns"] == [{"matchPattern": "*"}]
    assert hosts["toFQDNs"] == [{"matchPattern": "*.cdn.example.com"}, {"matchName": "hub.example.com"}]
    assert "wants policy cilium" in refusal({"preload": {"policy": "kubernetes", "egressHosts": {"a.b": True}}})


@pytest.mark.parametrize("policy", ["cilium", "kubernetes"])
def test_R56_only_the_job_reaches_the_world(policy: str) -> None:
    """Decision: world:443 for the Job; the engine has DNS and nothing else."""
    objects = one({"preload": {"policy": policy}, "network-policy": {"engine": policy}})
    serving, loading = kinds(objects, "CiliumNetworkPolicy", "NetworkPolicy")
    assert (serving["metadata"]["name"], loading["metadata"]["name"]) == ("model", "model-preload")
    assert len(serving["spec"]["egress"]) == 1 and "443" not in str(serving)
    assert len(loading["spec"]["egress"]) == 2 and "443" in str(loading["spec"]["egress"])
    assert "80" not in [port.get("port") for rule in loading["spec"]["egress"] for port in rule.get("ports", [])]


@pytest.mark.parametrize("engine", ["cilium", "kubernetes"])
def test_R57_scraper_and_gateway_are_let_in(engine: str) -> None:
    """They are peers of every policy, with their namespaces; probes come from the node, which both kinds admit."""
    (policy,) = kinds(one({"network-policy": {"engine": engine}}), "CiliumNetworkPolicy", "NetworkPolicy")
    (ingress,) = policy["spec"]["ingress"]
    assert len(ingress.get("fromEndpoints") or ingress["from"]) == 2
    assert "vmagent" in str(ingress) and "owning-gateway-name" in str(ingress)
    assert "parameter.metrics" in refusal({"network-policy": {"engine": engine, "metrics": {"labels": None}}})


def test_R57_the_monitor_selects_the_service() -> None:
    objects = one({"observability": {}})
    selector = objects["VMServiceScrape/model"]["spec"]["selector"]["matchLabels"].items()
    assert selector <= objects["Service/model"]["metadata"]["labels"].items()
    ports = [port["name"] for port in objects["Service/model"]["spec"]["ports"]]
    assert objects["VMServiceScrape/model"]["spec"]["endpoints"][0]["port"] in ports


def test_R58_do_not_disrupt_goes_on_the_pod() -> None:
    """Decision: off unless asked for (capability always-warm); a budget for several pods can be had."""
    objects = one(
        properties={"podAnnotations": {"karpenter.sh/do-not-disrupt": "true"}, "disruptionBudget": {"minAvailable": 1}}
    )
    template = objects["Deployment/model"]["spec"]["template"]["metadata"]
    assert template["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
    budget = objects["PodDisruptionBudget/model"]["spec"]
    assert budget["selector"]["matchLabels"].items() <= template["labels"].items()
    assert "do-not-disrupt" not in str(one({"gpu": {}}))


def test_R59_the_gpus_taint_is_tolerated_whatever_its_value() -> None:
    """Further taints and selectors come on top, and replace nothing."""
    objects = one(
        {"gpu": {"nodeSelector": {"cloud.google.com/gke-accelerator": "l4"}, "tolerations": {"dedicated": {}}}}
    )
    pod = objects["Deployment/model"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"cloud.google.com/gke-accelerator": "l4"}
    assert pod["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "dedicated", "operator": "Exists"},
    ]
