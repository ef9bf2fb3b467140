"""What a gateway is fed with, and how its answers are read; nothing is started."""

from __future__ import annotations

from typing import Any

import pytest

from drill.errors import DrillError
from drill.gateway import checks, client, objects, routes
from drill.gateway.client import Answer
from drill.gateway.source import Fed

CLASS = {"apiVersion": objects.GATEWAY_API, "kind": "GatewayClass", "metadata": {"name": "c", "uid": "1"}, "spec": {}}
GATEWAY = {
    "apiVersion": objects.GATEWAY_API,
    "kind": "Gateway",
    "metadata": {"name": "g", "namespace": "gw", "managedFields": []},
    "spec": {"gatewayClassName": "c", "listeners": [{"name": "http", "port": 80}]},
    "status": {"conditions": []},
}


def backend(name: str) -> dict[str, Any]:
    spec = {"endpoints": [{"fqdn": {"hostname": "m.llm.svc.cluster.local", "port": 8000}}]}
    return {"apiVersion": objects.ENVOY_API, "kind": "Backend", "metadata": meta(name), "spec": spec}


def meta(name: str) -> dict[str, Any]:
    return {"name": name, "namespace": "llm", "resourceVersion": "7"}


def rule(name: str, *legs: dict[str, Any]) -> dict[str, Any]:
    header = {"type": "Exact", "name": "x-ai-eg-model", "value": name}
    return {"matches": [{"headers": [header]}], "backendRefs": list(legs)}


ROUTE: dict[str, Any] = {
    "apiVersion": objects.AI_API,
    "kind": "AIGatewayRoute",
    "metadata": meta("m"),
    "spec": {
        "rules": [
            rule("m", {"name": "m", "weight": 90}, {"name": "m-canary", "weight": 10, "modelNameOverride": "sql"}),
            rule("sql", {"name": "m", "weight": 100}),
        ]
    },
    "status": {},
}
PORT = {"name": "http", "containerPort": 8000}
CONTAINER = {"name": "vllm", "args": ["/models/x", "--served-model-name", "m"], "ports": [PORT]}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": meta("m"),
    "spec": {"template": {"metadata": {"labels": {"app": "m", "more": "1"}}, "spec": {"containers": [CONTAINER]}}},
}
SERVICE: dict[str, Any] = {
    "kind": "Service",
    "metadata": meta("m"),
    "spec": {"selector": {"app": "m"}, "ports": [{"port": 8000, "targetPort": "http"}]},
}


def test_aigw_gets_the_objects_as_they_are_but_for_port_and_parameters() -> None:
    made = objects.for_aigw([ROUTE, backend("m-direct"), DEPLOYMENT], GATEWAY, CLASS)
    assert [item["kind"] for item in made] == ["GatewayClass", "Gateway", "EnvoyProxy", "AIGatewayRoute", "Backend"]
    assert made[1]["spec"]["listeners"] == [{"name": "http", "port": objects.PORT}]
    assert made[1]["spec"]["infrastructure"]["parametersRef"]["name"] == made[2]["metadata"]["name"]
    assert made[3]["spec"] == ROUTE["spec"]
    assert all("status" not in item and set(item["metadata"]) <= {"name", "namespace", "labels"} for item in made)
    assert GATEWAY["spec"]["listeners"] == [{"name": "http", "port": 80}]  # type: ignore[index]


def test_names_that_aigw_would_drop_are_refused() -> None:
    other = backend("m-direct")
    other["metadata"]["namespace"] = "elsewhere"
    with pytest.raises(DrillError, match="Backend/m-direct"):
        objects.for_aigw([backend("m-direct"), other], GATEWAY, CLASS)


def test_models_are_deployments_that_a_service_selects() -> None:
    (model,) = objects.models([DEPLOYMENT, SERVICE])
    assert model.hosts == ("m.llm.svc.cluster.local", "m.llm.svc")
    assert (model.address, model.port) == ("127.1.0.1", 8000)
    assert model.args[0] == "/models/x"
    other = {**SERVICE, "spec": {**SERVICE["spec"], "selector": {"app": "other"}}}
    assert objects.models([DEPLOYMENT, other]) == []


def test_a_service_port_that_is_not_the_engines_is_refused() -> None:
    other = {**SERVICE, "spec": {**SERVICE["spec"], "ports": [{"port": 80, "targetPort": "http"}]}}
    with pytest.raises(DrillError, match="port 80, its engine 8000"):
        objects.models([DEPLOYMENT, other])


def test_promises_are_read_off_the_routes() -> None:
    first, second = objects.rules([ROUTE])
    assert (first.asked, first.shares) == ("m", {"m": 90.0, "sql": 10.0})
    assert (second.asked, second.shares) == ("sql", {"sql": 100.0})


def test_a_dead_leg_is_a_copy_that_leads_nowhere() -> None:
    gone, service, route = routes.dead_leg(Fed([ROUTE, backend("m-direct")], []))
    assert gone["spec"]["endpoints"][0]["fqdn"]["port"] == 9
    assert service["spec"]["backendRef"]["name"] == gone["metadata"]["name"]
    base, canary = route["spec"]["rules"][0]["backendRefs"]
    assert (base["name"], base["modelNameOverride"], base["weight"]) == ("m", "m", 90)
    assert (canary["name"], canary["weight"]) == (service["metadata"]["name"], 10)
    assert ROUTE["spec"]["rules"][0]["backendRefs"][1]["name"] == "m-canary"
    assert routes.dead_leg(Fed([backend("m-direct")], [])) == []


@pytest.mark.parametrize(
    ("found", "promised", "ok"),
    [(10.0, 10, True), (12.0, 10, True), (12.1, 10, False), (7.9, 10, False), (99.9, 100, False), (0.0, 0, True)],
)
def test_shares_are_judged_within_two_points_all_or_nothing_exactly(found: float, promised: float, ok: bool) -> None:
    assert checks.share("x", found, promised).ok is ok


def test_a_share_that_fails_is_its_share_and_no_more() -> None:
    answers = [Answer("m", 200)] * 90 + [Answer("m", 503)] * 10
    assert checks.failures("x", answers, 10.0).ok
    assert "10 x 503" in str(checks.failures("x", answers, 10.0).value)
    assert not checks.failures("x", answers, 30.0).ok
    assert not checks.failures("x", answers, 100.0).ok


def test_the_engine_says_what_it_was_asked_for() -> None:
    answers = [Answer("m", 200, "m")] * 3 + [Answer("m", 200, "sql")]
    assert client.shares(answers) == {"m": 75.0, "sql": 25.0}
    assert client.shares([]) == {}
    assert client.statuses([*answers, Answer("m", 0)]) == {0: 1, 200: 4}


def test_no_answer_is_no_exception(tmp_path: Any) -> None:
    answer = client.ask(tmp_path / "nobody", "m")
    assert answer.status == client.FAILED
    assert "FileNotFoundError" in answer.text
    assert client.get(tmp_path / "nobody", "/")[0] == client.FAILED


def test_hosts_of_a_route_are_found_through_its_backends() -> None:
    service = {"kind": "AIServiceBackend", "metadata": meta("m"), "spec": {"backendRef": {"name": "m-direct"}}}
    assert objects.leads_to([service, backend("m-direct")], ROUTE) == {"m.llm.svc.cluster.local", ""}
    assert objects.leads_to([], ROUTE) == {""}


def test_a_collected_answer_is_no_stream() -> None:
    pieces = tuple(10.0 + 0.05 * place for place in range(21))
    flowing = Answer("m", 200, "m", at=11.05, chunks=pieces, done=True)
    lump = Answer("m", 200, "m", at=11.05, chunks=(11.04,) * 21, done=True)
    cut = Answer("m", 200, "m", at=10.3, chunks=pieces[:5], done=False)
    assert all(figure.ok for figure in checks.judged(flowing, 9.99))
    assert [figure.ok for figure in checks.judged(lump, 9.99)] == [True, False, False, False]
    assert not all(figure.ok for figure in checks.judged(cut, 9.99))
    assert not any(figure.ok for figure in checks.judged(Answer("m", 0), 9.99))
