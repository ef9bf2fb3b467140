"""The drill of traffic, without a cluster: clients before a simulated engine, and what is said of their requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drill.checkout import Checkout
from drill.context import Context
from drill.scaling import intent
from drill.scaling.load import Gauges
from drill.scaling.triggers import Triggers
from drill.traffic import figures
from drill.traffic.clients import Answer, Clients
from drill.traffic.ground import by_pod
from drill.traffic.scenario import in_flight
from simulators import Sim, launch, ready

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def sim() -> Iterator[Sim]:
    pace = {"VLLM_SIM_FIRST_TOKEN_SECONDS": "0", "VLLM_SIM_TOKEN_SECONDS": "0.02", "POD_NAME": "pod-1"}
    made = ready(launch("m", "--served-model-name", "m", "--max-num-seqs", "4", **pace))
    yield made
    made.stop()


@pytest.fixture
def clients(sim: Sim) -> Iterator[Clients]:
    made = Clients(sim.url, "m", time.monotonic)
    yield made
    made.close()


def test_so_many_requests_are_in_flight_as_asked_for(sim: Sim, clients: Clients) -> None:
    clients.aim(6)
    # More than the engine has slots for: two wait.
    sim.until(
        "two wait",
        lambda: sim.metric("vllm:num_requests_running") == 4 and sim.metric("vllm:num_requests_waiting") == 2,
    )
    sim.until("many are answered", lambda: len(clients.answers) > 20)
    clients.aim(0)
    sim.until("all are answered", lambda: clients.idle)
    assert sim.metric("vllm:num_requests_running") == 0
    assert {one.instance for one in clients.answers} == {"pod-1"}
    assert [one for one in clients.answers if one.wrong] == []
    assert [count for _, count in clients.aims] == [0, 6, 0]


def test_what_is_cut_or_refused_is_lost(sim: Sim, clients: Clients) -> None:
    sim.state(fault="disconnect")
    clients.aim(1)
    sim.until("one is cut", lambda: clients.answers)
    sim.state(fault="error")
    sim.until("one is refused", lambda: clients.answers[-1].wrong == "status 500")
    assert clients.answers[0].wrong
    assert "Error" in clients.answers[0].wrong or "ended after" in clients.answers[0].wrong


def test_closing_drops_what_is_in_flight(sim: Sim) -> None:
    sim.state(fault="hang")
    clients = Clients(sim.url, "m", time.monotonic)
    clients.aim(3)
    sim.until("they run", lambda: sim.metric("vllm:num_requests_running") == 3)
    clients.close()
    sim.until("none runs", lambda: sim.metric("vllm:num_requests_running") == 0)


@pytest.mark.parametrize("step", [1, 2])
def test_a_step_is_too_much_for_its_pods_and_not_for_one_more(step: int) -> None:
    ours = Triggers(least=1, most=3, running=0.7, kv=0.6, waiting=8, slots=64, window=15, period=5)
    count = in_flight(ours, step)
    assert count / step / ours.slots / ours.running > 1.2
    assert count / (step + 1) / ours.slots / ours.running < 0.85
    assert in_flight(ours, 1) > ours.slots


def test_each_pod_has_its_gauges_in_what_prometheus_says() -> None:
    rows = [
        {"metric": {"__name__": f"vllm:{name}", "pod": pod}, "value": [0, value]}
        for pod, name, value in (
            ("b", "num_requests_running", "3"),
            ("a", "num_requests_running", "64"),
            ("a", "num_requests_waiting", "4"),
            ("a", "kv_cache_usage_perc", "0.25"),
        )
    ]
    assert by_pod(rows) == [Gauges(64, 4, 0.25), Gauges(3, 0, 0.0)]


def test_what_is_said_of_requests() -> None:
    answers = [Answer(at, at + 1, "ab"[at % 2]) for at in range(10)]
    assert [(one.value, one.ok) for one in figures.shares(answers, 0, 20, 2)] == [(50.0, True)] * 2
    assert not any(one.ok for one in figures.shares(answers, 0, 20, 3))
    assert not any(one.ok for one in figures.shares([], 0, 20, 2))
    told = {"a": 8.5}
    good = figures.answered(answers, told, busy=True)
    assert [(one.value, one.ok) for one in good] == [(10, True), (0, True), (1, True), (1, True)]
    assert [one.ok for one in figures.answered(answers, {}, busy=True)] == [True, True, False, True]
    bad = figures.answered([*answers, Answer(3, 9, "", "status 502")], told, busy=True)
    assert [(one.value, one.ok) for one in bad] == [(10, True), (1, False), (1, True), (6, True)]


@pytest.mark.parametrize(("path", "ok"), [([1, 2, 3, 2, 1], True), ([1, 3, 2], False), ([1], False)])
def test_gpus_come_and_go_one_replica_at_a_time(path: list[int], ok: bool) -> None:
    found = figures.gpus(path, 2)
    assert found.ok is ok
    assert str(found.value).startswith("2")


def test_load_is_plotted_by_replica() -> None:
    answers = [Answer(at, at + 1, "ab"[at % 2]) for at in range(12)]
    flying, first, second = figures.series(answers, [(0.0, 0), (2.0, 5)], 12)
    assert flying.points == ((0.0, 0.0), (2.0, 0.0), (2.0, 5.0), (12, 5.0))
    assert [first.name, second.name] == ["a", "b"]
    assert sum(value for _, value in first.points) * 3 == pytest.approx(6)


def test_the_chosen_component_is_delivered_alone(tmp_path: Path) -> None:
    context = Context(ROOT, tmp_path)
    checkout = Checkout(context)
    intent.single(context, checkout, "traffic")
    (part,) = checkout.composed().application["spec"]["components"]
    assert part["name"] == "traffic"
    assert part["traits"][-1]["type"] == intent.TRAIT
    assert [path.stem for path in (checkout.folder / "catalog/environments").glob("*.yaml")] == ["drill"]
