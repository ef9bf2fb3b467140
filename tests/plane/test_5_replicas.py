"""The number of pods belongs to the scaler: nothing that KubeVela does on its own may take it back.

KEDA is not here. What it does to a Deployment is a write to /scale, and that is what these tests do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from plane.support import DEPLOYMENT, Desk

APP = "guardrail"
RESYNC_SECONDS = 10


@pytest.fixture(scope="module")
def guardrail(published: Desk) -> Iterator[Desk]:
    published.up(published.compose(APP))
    published.until_phase(APP, "running")
    yield published
    published.remove(APP)


def replicas(desk: Desk) -> int:
    client, namespace = desk.cluster("sandbox")
    return int(client.get(*DEPLOYMENT, APP, namespace)["spec"]["replicas"])


def scale(desk: Desk, count: int) -> None:
    client, namespace = desk.cluster("sandbox")
    client.patch(*DEPLOYMENT, APP, {"spec": {"replicas": count}}, namespace, part="scale")


@contextmanager
def never_below(desk: Desk, least: int) -> Iterator[None]:
    """Look at the replicas all the time; a drop that is mended at once is a drop."""
    seen: set[int] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.1):
            seen.add(replicas(desk))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    assert min(seen) >= least, f"replicas were seen at {sorted(seen)}"


def edit(desk: Desk, application: dict[str, Any]) -> None:
    desk.up(application)
    desk.until_phase(APP, "running")


def test_applying_it_again(guardrail: Desk) -> None:
    scale(guardrail, 3)
    with never_below(guardrail, 3):
        edit(guardrail, guardrail.compose(APP))
    assert replicas(guardrail) == 3


def test_two_turns_of_the_controller(guardrail: Desk) -> None:
    scale(guardrail, 3)
    with never_below(guardrail, 3):
        time.sleep(2 * RESYNC_SECONDS + 2)


def test_an_unrelated_change(guardrail: Desk) -> None:
    scale(guardrail, 3)
    changed = guardrail.compose(APP)
    changed["spec"]["components"][0]["properties"]["model"]["maxNumSeqs"] = 17
    with never_below(guardrail, 3):
        edit(guardrail, changed)
    client, namespace = guardrail.cluster("sandbox")
    assert "17" in client.get(*DEPLOYMENT, APP, namespace)["spec"]["template"]["spec"]["containers"][0]["args"]
    assert replicas(guardrail) == 3


def test_a_restart_of_the_controller(guardrail: Desk) -> None:
    scale(guardrail, 3)
    with never_below(guardrail, 3):
        guardrail.plane.runner.crash("hub/vela-core")
        guardrail.plane.start_component("hub/vela-core")
        time.sleep(RESYNC_SECONDS + 2)
    assert guardrail.phase(APP) == "running"


@pytest.mark.parametrize("fixed", [None, 3])
def test_a_scaler_that_comes_later(published: Desk, fixed: int | None) -> None:
    """The app ran with three pods, scaled by hand or by its parameter, before it got the capability."""
    whole = published.compose(APP)
    published.remove(APP)
    try:
        published.up(without_scaler(whole, fixed))
        published.until_phase(APP, "running")
        if fixed is None:
            scale(published, 3)
        assert replicas(published) == 3
        with never_below(published, 3):
            edit(published, whole)
            time.sleep(RESYNC_SECONDS + 2)
    finally:
        published.remove(APP)


def without_scaler(application: dict[str, Any], fixed: int | None) -> dict[str, Any]:
    """Take the scaler and what belongs to it out of an Application."""
    spec = dict(application["spec"])
    component = dict(spec["components"][0])
    component["traits"] = [one for one in component["traits"] if one["type"] != "keda-saturation-scaling"]
    if fixed is not None:
        component["properties"] = {**component["properties"], "replicas": fixed}
    policies = []
    for policy in spec["policies"]:
        if policy["type"] == "apply-once":
            continue
        if policy["type"] == "override":
            rows = [
                {**row, "traits": [one for one in row.get("traits", []) if one["type"] != "keda-saturation-scaling"]}
                for row in policy["properties"]["components"]
            ]
            policies.append({**policy, "properties": {**policy["properties"], "components": rows}})
        else:
            policies.append(policy)
    return {**application, "spec": {**spec, "components": [component], "policies": policies}}
