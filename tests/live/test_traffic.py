"""The catalog's ScaledObject under real requests: pods are processes that answer, and nobody's request is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.live.conftest import Drilled, show

from drill.model import Result
from localplane.state import planes
from plane.support import left_over


@pytest.fixture(scope="module")
def traffic(drilled: Drilled) -> Result:
    return drilled("traffic")


def test_requests_saturate_one_replica_by_the_engines_own_count(traffic: Result) -> None:
    show(traffic, "one replica:", "in flight")


def test_more_requests_bring_a_second_and_a_third_replica(traffic: Result) -> None:
    show(traffic, "up:")


def test_constant_load_holds_constant_replicas_that_share_it(traffic: Result) -> None:
    show(traffic, "constant load")
    show(traffic, "share of replica 1", "share of replica 2", "share of replica 3")


def test_replicas_go_one_at_a_time_once_the_load_is_gone(traffic: Result) -> None:
    show(traffic, "down:", "GPUs")


def test_no_request_is_lost_while_replicas_come_and_go(traffic: Result) -> None:
    show(traffic, "requests", "answered by", "slowest")


def test_load_and_replicas_are_plotted(traffic: Result) -> None:
    lines = {(line.unit, line.name): line.points for line in traffic.series}
    assert max(value for _, value in lines["replicas (traffic)", "ready"]) == 3
    asked, counted = (lines["requests in flight", name] for name in ("by the clients", "by the engines"))
    assert max(value for _, value in asked) == pytest.approx(max(value for _, value in counted), rel=0.3)
    assert len([unit for unit, _ in lines if unit == "answers a second"]) == 3
    assert traffic.ok
    print(f"\n  {traffic.seconds:.0f} s in all")


def test_nothing_of_the_traffic_is_left(traffic: Result, state: Path) -> None:
    assert traffic.figures
    assert left_over(state.parent) == []
    assert list(planes().glob("*/state.json")) == []
