"""What `sailplan status` says of one component: its cluster counts, and what everything waits for comes first."""

from __future__ import annotations

from typing import Any

import pytest

from sailplan import reasons
from sailplan.parts import Part, Seen, part

MODEL = {"name": "a", "type": "vllm-model@v1.0.0", "properties": {}}
NOTHING = Seen((), (), ())


def deployment(replicas: int = 1, ready: int = 1, updated: int = 1, total: int = 1, seen: int = 2) -> dict[str, Any]:
    status = {"replicas": total, "readyReplicas": ready, "updatedReplicas": updated, "observedGeneration": seen}
    labels = {"app.kubernetes.io/name": "a"}
    return {
        "metadata": {"name": "a", "generation": 2, "labels": labels},
        "spec": {"replicas": replicas},
        "status": status,
    }


def trait(kind: str, healthy: bool, message: str = "") -> dict[str, Any]:
    return {"type": kind, "healthy": healthy, "message": message}


def live(item: dict[str, Any]) -> Seen:
    return Seen((), (), (item,))


LOADING = {
    "healthy": False,
    "message": "1 GPU a pod",
    "traits": [trait("gpu", False, "not there"), trait("preload", False, "downloading weights, 0 failed tries")],
}


@pytest.mark.parametrize(
    ("item", "serves", "said"),
    [
        (deployment(), True, "1/1 ready, serving"),
        (deployment(replicas=5, ready=4, updated=5, total=5), True, "4/5 ready, serving"),
        (deployment(replicas=0, ready=0, updated=0, total=0), True, "scaled to zero"),
        (deployment(ready=0), False, "0/1 ready, 1 up to date"),
        (deployment(updated=0), False, "1/1 ready, 0 up to date"),
        (deployment(replicas=2, ready=2, updated=1, total=2), False, "2/2 ready, 1 up to date"),
        (deployment(seen=1), False, "1/1 ready, 1 up to date"),
        ({"metadata": {}, "spec": {}}, False, "0/1 ready, 0 up to date"),
    ],
)
def test_a_deployment_serves_when_its_present_version_does(item: dict[str, Any], serves: bool, said: str) -> None:
    assert reasons.deployment(item) == (serves, said)


def test_replicas_that_the_application_fixes_must_all_be_there() -> None:
    assert reasons.deployment(deployment(replicas=3, ready=2, updated=3, total=3), 3)[0] is False
    assert reasons.deployment(deployment(replicas=3, ready=3, updated=3, total=3), 3)[0] is True


def test_pods_that_are_refused_are_told() -> None:
    failed = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}
    item = deployment(ready=0, updated=0, total=0)
    item["status"]["conditions"] = [{"type": "Available", "status": "False"}, failed]
    assert part(MODEL, "local", "live", {}, live(item)).reasons == ("pods are refused: exceeded quota",)


def test_the_cluster_is_believed_and_not_the_hub() -> None:
    """The hub's picture is as old as the end of its deploy step."""
    stale = {"healthy": True, "message": "1/1 ready, serving"}
    found = part(MODEL, "local", "live", stale, live(deployment(ready=0)))
    assert (found.health, found.message) == ("unhealthy", "0/1 ready, 1 up to date")
    old = {"healthy": False, "message": "0/1 ready", "traits": [trait("ai-gateway-route", False, "not accepted")]}
    assert part(MODEL, "local", "live", old, live(deployment())) == Part(
        "a", "local", "healthy", "1/1 ready, serving", (), 0
    )


def test_while_a_step_deploys_the_hub_has_a_say() -> None:
    """The Deployment may be ready, and a trait of the component not."""
    said = {"healthy": False, "traits": [trait("ai-gateway-route", False, "not accepted")]}
    found = part(MODEL, "local", "deploying", said, live(deployment()))
    assert (found.health, found.message) == ("unhealthy", "1/1 ready, serving")
    assert found.reasons == ("ai-gateway-route: not accepted",)


def test_what_it_waits_for_comes_first() -> None:
    found = part(MODEL, "local", "deploying", LOADING, NOTHING)
    assert found.health == "unhealthy"
    assert found.message == "preload: downloading weights, 0 failed tries"
    assert found.reasons == ("gpu: not there",)
    updating = part(MODEL, "local", "deploying", LOADING, live(deployment()))
    assert updating.message == "preload: downloading weights, 0 failed tries"
    assert updating.reasons == ("1/1 ready, serving", "gpu: not there")


def test_a_component_without_a_deployment_is_what_the_hub_says() -> None:
    quota = {"healthy": True, "message": "in force: pods 1 of 10", "traits": []}
    found = part(MODEL, "local", "live", quota, NOTHING)
    assert (found.health, found.message) == ("healthy", "in force: pods 1 of 10")
    waits = part(MODEL, "local", "deploying", {"healthy": False, "message": "not counted yet"}, NOTHING)
    assert (waits.health, waits.message) == ("unhealthy", "not counted yet")


def test_nothing_there_and_nobody_to_ask() -> None:
    assert part(MODEL, "local", "not reached", {}, NOTHING).health == "absent"
    silent = part(MODEL, "local", "live", {"healthy": True, "message": "1/1 ready, serving"}, None)
    assert (silent.health, silent.message) == ("unknown", "1/1 ready, serving")
