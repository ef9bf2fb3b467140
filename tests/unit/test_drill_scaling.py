"""The drill of scaling, without anything that runs: loads, what is read of a ScaledObject, the reference's triggers."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from drill.errors import DrillError
from drill.scaling import reference, scenario
from drill.scaling.fleet import Fleet, Server
from drill.scaling.ground import Ground
from drill.scaling.load import Gauges, idle, served, spread, uneven
from drill.scaling.loops import requests
from drill.scaling.signals import SIGNALS, amount
from drill.scaling.track import Track
from drill.scaling.triggers import Triggers
from localplane import ports

ROOT = Path(__file__).resolve().parents[2]
OURS = Triggers(least=1, most=3, running=0.7, kv=0.6, waiting=8, slots=64, window=15, period=5)


def scaled_object() -> dict[str, Any]:
    rows = {
        "running": ('max(vllm:num_requests_running{namespace="n",model_name="m"}) / 64', "0.7", "Value"),
        "kv-cache": ('max(vllm:kv_cache_usage_perc{namespace="n",model_name="m"})', "0.6", "Value"),
        "waiting": ('sum(vllm:num_requests_waiting{namespace="n",model_name="m"})', "8", "AverageValue"),
    }
    down = {"stabilizationWindowSeconds": 15, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 5}]}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "m", "namespace": "n"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "m"},
            "pollingInterval": 5,
            "minReplicaCount": 1,
            "maxReplicaCount": 3,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": down}}},
            "triggers": [
                {
                    "type": "prometheus",
                    "name": name,
                    "metricType": kind,
                    "metadata": {"serverAddress": "http://p", "query": query, "threshold": threshold,
                                 "activationThreshold": "1", "ignoreNullValues": "false"},
                }
                for name, (query, threshold, kind) in rows.items()
            ],
        },
    }  # fmt: skip


def test_a_scaled_object_is_read() -> None:
    assert Triggers.of(scaled_object()) == OURS
    strange = scaled_object()
    strange["spec"]["triggers"][0]["metadata"]["query"] = "up"
    with pytest.raises(DrillError, match="no number of slots"):
        Triggers.of(strange)


def edges_scaled_object() -> dict[str, Any]:
    """As `inference-queue-scaling` renders it."""
    made = scaled_object()
    query = 'sum(inference_api_in_flight_requests{namespace="n",service="m"})'
    rest = {"serverAddress": "http://p", "threshold": "50", "activationThreshold": "1", "ignoreNullValues": "false"}
    trigger = {"type": "prometheus", "name": "in-flight", "metricType": "AverageValue"}
    made["spec"]["triggers"] = [trigger | {"metadata": {"query": query, **rest}}]
    return made


def test_the_one_signal_of_an_edge_is_read() -> None:
    edge = Triggers.of(edges_scaled_object())
    assert (edge.least, edge.most, edge.window) == (1, 3, 15)
    load = amount(edge, "running", 1.3)
    assert load(2) == [Gauges(33), Gauges(32)]
    assert edge.shares(load(1)) == {"running": 1.3, "kv-cache": 0, "queue": 0}


def test_whole_requests_are_spread_over_pods() -> None:
    assert [one.running for one in spread(running=7, slots=64)(3)] == [3, 2, 2]
    assert [one.waiting for one in spread(waiting=2)(3)] == [1, 1, 0]
    assert [one.running for one in spread(running=300, slots=64)(2)] == [64, 64]
    assert spread(kv=1.5)(2) == [Gauges(kv=0.75)] * 2
    assert uneven(9, 1)(3) == [Gauges(9), Gauges(1), Gauges(1)]
    assert idle(2) == [Gauges(), Gauges()]


def test_what_finds_no_slot_waits() -> None:
    assert served(100, 64, 0.8)(1) == [Gauges(64, 36, 0.8)]
    assert served(100, 64, 0.8)(2) == [Gauges(50, 0, 0.8 * 50 / 64)] * 2


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_signal_is_put_to_so_many_thresholds_and_no_other_moves(signal: str) -> None:
    shares = OURS.shares(amount(OURS, signal, 1.3)(1))
    assert shares.pop(signal) == pytest.approx(1.3, rel=0.1)
    assert set(shares.values()) == {0}


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_a_step_is_too_much_for_its_pods_and_not_for_one_more(step: int) -> None:
    load = requests(OURS, step)
    assert 1.1 < max(OURS.shares(load(step)).values()) < 1.2
    assert max(OURS.shares(load(step + 1)).values()) < 1
    assert OURS.shares(load(step))["queue"] == 0


def test_the_reference_keeps_thresholds_and_drops_what_ours_adds() -> None:
    made = reference.scaled_object(scaled_object())
    assert made["metadata"] == {"name": "reference", "namespace": "n"}
    assert [one["metadata"]["threshold"] for one in made["spec"]["triggers"]] == ["0.7", "0.6", "8"]
    assert all(
        "metricType" not in one and "ignoreNullValues" not in one["metadata"] for one in made["spec"]["triggers"]
    )
    assert all("namespace" not in one["metadata"]["query"] for one in made["spec"]["triggers"])
    assert made["spec"].keys() & {"fallback", "advanced"} == set()


def test_the_reference_has_pods_of_its_own() -> None:
    labels = {"app.kubernetes.io/name": "m", "app.oam.dev/name": "app"}
    ours = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "m", "namespace": "n", "labels": labels, "uid": "1", "ownerReferences": []},
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app.kubernetes.io/name": "m"}},
            "template": {
                "metadata": {"labels": {"app.kubernetes.io/name": "m"}},
                "spec": {
                    "serviceAccountName": "m",
                    "containers": [{"args": ["/models/m", "--served-model-name", "m"]}],
                },
            },
        },
        "status": {},
    }
    made = reference.deployment(ours)
    own = {"app.kubernetes.io/name": "reference"}
    assert made["metadata"] == {"name": "reference", "namespace": "n", "labels": own}
    assert made["spec"]["selector"]["matchLabels"] == made["spec"]["template"]["metadata"]["labels"] == own
    pod_spec = made["spec"]["template"]["spec"]
    assert pod_spec["serviceAccountName"] == "m"
    args = pod_spec["containers"][0]["args"]
    assert (args, made["spec"]["replicas"]) == (["/models/m", "--served-model-name", "reference"], 1)
    assert ours["metadata"]["name"] == "m"


def pod(name: str, ready: str = "True", component: str = "inference") -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": "m", "app.kubernetes.io/component": component}
    return {
        "metadata": {
            "name": name,
            "namespace": "n",
            "labels": labels,
            "creationTimestamp": f"2026-01-01T00:00:0{name}Z",
        },
        "spec": {"containers": [{"args": ["/models/m", "--served-model-name", "served"]}]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def edge_pod() -> dict[str, Any]:
    made = pod("9", component="edge")
    made["metadata"]["labels"]["app.kubernetes.io/name"] = "door"
    made["spec"]["containers"] = [{"env": []}]
    return made


def fetch(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def test_pods_that_serve_are_found_and_say_what_the_queries_ask_for() -> None:
    fleet = Fleet()
    for one in (pod("2"), pod("1"), pod("3", ready="False"), pod("4", component="preload")):
        fleet.seen(one, True)
    fleet.put(("n", "m"), uneven(9, 1))
    port = next(port for port in range(19200, 19300) if ports.free(port))
    server = Server(fleet, port)
    try:
        rows = json.loads(fetch(port, "/targets"))
        assert {row["labels"]["pod"] for row in rows} == {"1", "2"}
        assert {row["labels"]["namespace"] for row in rows} == {"n"}
        page = fetch(port, "/pods/n/1")
        assert 'vllm:num_requests_running{engine="0",model_name="served"} 9.0' in page
        text = (ROOT / "definitions/trait/keda-saturation-scaling.cue").read_text(encoding="utf-8")
        assert set(re.findall(r"vllm:\w+", text)) == set(re.findall(r"vllm:\w+", page))
        fleet.seen(edge_pod(), True)
        fleet.put(("n", "door"), spread(running=7, slots=100))
        assert fetch(port, "/pods/n/9").splitlines()[1] == "inference_api_in_flight_requests 7.0"
        rows = json.loads(fetch(port, "/targets"))
        assert {(row["labels"]["pod"], row["labels"]["service"]) for row in rows} == {
            ("1", "m"),
            ("2", "m"),
            ("9", "door"),
        }
        text = (ROOT / "definitions/trait/inference-queue-scaling.cue").read_text(encoding="utf-8")
        assert "inference_api_in_flight_requests" in text
        fleet.seen(edge_pod(), False)
        fleet.hide(("n", "m"))
        assert json.loads(fetch(port, "/targets")) == []
        fleet.hide(("n", "m"), False)
        fleet.seen(pod("1"), False)
        assert fleet.gauges(("n", "m")) == [Gauges(9)]
    finally:
        server.stop()
    assert ports.free(port)


def test_a_track_tells_each_change_once() -> None:
    now = [0.0]
    track = Track("case", OURS, lambda _: None, lambda: now[0], lambda: None)
    for at, (wanted, ready) in enumerate([(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)]):
        now[0] = float(at)
        track.seen(wanted, ready)
        track.sample([Gauges(running=32)])
    assert track.path(0) == [1, 2, 3]
    assert track.path(1.5) == [2, 3]
    assert track.path(1.5, 2.5) == [2]
    assert track.steps(1.5) == [1.5]
    assert track.reach(3, 5)
    assert not track.reach(4, 0)
    asked, ready, running = track.series(9)
    assert (asked.name, asked.unit) == ("asked for", "replicas (case)")
    assert asked.points == ((0, 1), (1, 1), (1, 2), (3, 2), (3, 3), (9, 3))
    assert ready.points[-1] == (9, 3)
    assert (running.name, running.points) == ("running", ((0, 71.4), (4, 71.4)))


def test_waiting_ends_when_the_ground_is_gone() -> None:
    def gone() -> None:
        raise DrillError("a program has died")

    track = Track("case", OURS, lambda _: None, lambda: 0.0, gone)
    with pytest.raises(DrillError):
        track.reach(2)


def test_a_case_that_fails_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ground = Ground.__new__(Ground)
    ground.stopped = threading.Event()
    ground._programs = []
    track = Track("case", OURS, lambda _: None, lambda: 0.0, ground.check)

    def waits(_: Ground) -> list[Any]:
        track.reach(2, 3600)
        return []

    def fails(_: Ground) -> list[Any]:
        raise DrillError("KEDA has died")

    monkeypatch.setattr(scenario, "_CASES", (waits, fails))
    with pytest.raises(DrillError, match="KEDA has died"):
        scenario._side_by_side(ground)
    assert not [one for one in threading.enumerate() if one.name.startswith("ThreadPoolExecutor")]
