"""Time limits of deploy steps: long enough for everything that a step waits for, and never missing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sailplan import workflow
from unit.catalogs import ROOT, repository


@pytest.mark.parametrize(
    ("properties", "traits", "seconds"),
    [
        ({}, {}, 330 + 900),
        ({"startupSeconds": 600}, {}, 600 + 900),
        ({"model": {"weightsGB": 16.4}}, {}, 508 + 900),
        ({"replicas": 4}, {}, 4 * (330 + 900)),
        ({}, {"keda-saturation-scaling": {"maxReplicas": 2}}, 2 * (330 + 900)),
        ({}, {"keda-saturation-scaling": {}}, 3 * (330 + 900)),
    ],
)
def test_replicas_are_replaced_one_after_the_other(
    properties: dict[str, Any], traits: dict[str, Any], seconds: int
) -> None:
    assert workflow.rollout_seconds(properties, traits) == seconds


def test_a_download_may_take_what_its_job_may_take() -> None:
    assert workflow.download_seconds({}) == 0
    assert workflow.download_seconds({"preload": {}}) == 21600
    assert workflow.download_seconds({"preload": {"activeDeadlineSeconds": 60}}) == 60


@pytest.mark.parametrize(("seconds", "said"), [(1, "1m"), (1230, "21m"), (3600, "1h0m"), (24416, "6h47m")])
def test_durations_are_written_as_kubevela_reads_them(seconds: int, said: str) -> None:
    assert workflow.duration(seconds) == said


@pytest.mark.parametrize(
    ("definition", "parameter", "value"),
    [
        ("preload", "activeDeadlineSeconds", workflow.DOWNLOAD_SECONDS),
        ("keda-saturation-scaling", "maxReplicas", workflow.REPLICAS),
    ],
)
def test_defaults_are_those_of_the_definitions(definition: str, parameter: str, value: int) -> None:
    text = (ROOT / f"catalog/schema/json/definitions/{definition}.json").read_text(encoding="utf-8")
    assert json.loads(text)["properties"][parameter]["default"] == value


@pytest.mark.parametrize("app", sorted(repository().apps))
def test_every_deploy_step_has_a_limit_and_no_approval_has(app: str) -> None:
    from sailplan.compose import compose

    catalog = repository()
    steps = compose(catalog, catalog.apps[app]).application["spec"]["workflow"]["steps"]
    assert {step["type"] for step in steps} <= {"deploy", "suspend"}
    for step in steps:
        assert ("timeout" in step) == (step["type"] == "deploy"), step["name"]
