"""The catalog's ScaledObject under real KEDA, real Prometheus and Kubernetes' own autoscaler."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.live.conftest import Drilled, show

from drill.model import Result
from localplane.state import planes
from plane.support import left_over


@pytest.fixture(scope="module")
def scaling(drilled: Drilled) -> Result:
    return drilled("scaling")


@pytest.mark.parametrize("signal", ["running", "kv-cache", "queue"])
def test_each_signal_alone_takes_replicas_to_the_limit_and_back_one_at_a_time(scaling: Result, signal: str) -> None:
    show(scaling, f"{signal}:")


def test_requests_under_way_take_an_edge_to_its_limit_and_back_one_at_a_time(scaling: Result) -> None:
    show(scaling, "edge:")


def test_in_a_closed_loop_constant_load_holds_constant_replicas(scaling: Result) -> None:
    show(scaling, "loop:")


def test_the_hottest_replica_drives_it(scaling: Result) -> None:
    show(scaling, "hottest:")


def test_the_reference_platforms_triggers_flap_on_the_same_load(scaling: Result) -> None:
    show(scaling, "reference triggers:")


def test_replicas_stay_when_prometheus_dies_under_load(scaling: Result) -> None:
    show(scaling, "Prometheus dead", "Prometheus back")


def test_replicas_stay_when_metrics_vanish_under_load(scaling: Result) -> None:
    show(scaling, "vanish:")


def test_two_environments_with_the_same_model_do_not_drive_each_other(scaling: Result) -> None:
    show(scaling, "two environments:")


def test_everything_is_told_with_its_plot(scaling: Result) -> None:
    show(scaling, "")
    assert scaling.ok
    units = {line.unit for line in scaling.series if line.points}
    for case in ("running", "kv-cache", "queue", "hottest", "vanish", "edge", "loop", "twin", "reference"):
        assert {f"replicas ({case})", f"% of threshold ({case})"} <= units
    print(f"\n  {scaling.seconds:.0f} s in all")


def test_nothing_is_left_running(scaling: Result, state: Path) -> None:
    assert scaling.figures
    assert left_over(state) == []
    assert list(planes().glob("*/state.json")) == []
