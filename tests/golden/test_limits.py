"""The time limits of deploy steps against what is really rendered: Kubernetes gives up first, KubeVela afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sailplan import reasons
from sailplan.model import Composition

Find = Callable[..., Any]


def seconds(said: str) -> int:
    return sum(int(number) * {"h": 3600, "m": 60}[unit] for number, unit in re.findall(r"(\d+)([hm])", said))


def test_a_step_waits_longer_than_jobs_and_probes(fleet: Composition, production: Find) -> None:
    limits = {step["name"]: seconds(step.get("timeout", "")) for step in fleet.application["spec"]["workflow"]["steps"]}
    downloads = max(job["spec"]["activeDeadlineSeconds"] for job in production("Job"))
    most = {one["metadata"]["name"]: one["spec"]["maxReplicaCount"] for one in production("ScaledObject")}
    starts = max(
        reasons.budget(one["spec"]["template"]) * most.get(one["metadata"]["name"], 1)
        for one in production("Deployment")
    )
    assert starts < limits["deploy-production"] < 3 * 3600
    assert downloads + starts < limits["deploy-production-withheld"] < downloads + 3 * 3600


def test_the_start_up_budget_is_the_definitions(fleet: Composition, production: Find) -> None:
    """One formula in two languages: this is what keeps them one."""
    from sailplan.workflow import startup_seconds

    for component in fleet.components:
        rendered = reasons.budget(production("Deployment", component.name)["spec"]["template"])
        computed = startup_seconds(component.environments["production"][0])
        assert rendered - 10 < computed <= rendered, component.name
