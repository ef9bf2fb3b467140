"""Canary and routes through the real Envoy AI Gateway: what was promised, and what was measured."""

from __future__ import annotations

from pathlib import Path

from tests.live.conftest import Drilled, show

from plane.support import left_over


def test_a_tenth_of_the_requests_reaches_the_canary_under_its_own_name(drilled: Drilled) -> None:
    """Over 1,000 requests, on the objects that the plane holds."""
    found = drilled("canary")
    show(found, "share of xplane-qwen-coder", "xplane-qwen-coder: requests")


def test_shares_follow_intent_edits_and_nothing_is_lost(drilled: Drilled) -> None:
    """Promoted, changed, rolled back: each by an edit and `vela up`, each with a gateway that takes over."""
    found = drilled("canary")
    show(found, "promoted", "changed", "rolled back")
    show(found, "requests lost")


def test_what_is_plotted_of_a_canary(drilled: Drilled) -> None:
    series = {one.name: one for one in drilled("canary").series}
    weights = [value for _, value in series["weight in the route"].points]
    assert {10.0, 25.0, 50.0} <= set(weights)
    share = series["share that reached the canary"].points
    assert len(share) > 10
    assert all(0 <= value <= 100 for _, value in share)


def test_every_name_of_the_fleet_is_answered_by_its_own_engine(drilled: Drilled) -> None:
    show(drilled("routes"), "share of xplane-")


def test_what_is_no_request_for_a_known_name_is_refused_cleanly(drilled: Drilled) -> None:
    show(drilled("routes"), "unknown model", "body ", "of these")


def test_streams_come_piece_by_piece(drilled: Drilled) -> None:
    show(drilled("routes"), "stream")


def test_a_dead_canary_costs_its_share_and_no_more(drilled: Drilled) -> None:
    show(drilled("routes"), "dead canary", "adapter is not", "engine is gone")


def test_nothing_of_the_gateways_is_left(drilled: Drilled, state: Path) -> None:
    drilled("canary")
    drilled("routes")
    assert left_over(state.parent) == []
