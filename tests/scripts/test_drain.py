"""The engine's preStop hook: it waits until no request is left, at least and at most so long, and never fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts.rendered import scripts

_SPACE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--net"]


def _metrics(running: str, waiting: str, model: str = "demo") -> str:
    """As the engine writes them: comments, other metrics of similar names, several engines."""
    labels = f'{{engine="0",model_name="{model}"}}'
    return "\n".join([
        "# HELP vllm:num_requests_running Number of requests in model execution batches.",
        "# TYPE vllm:num_requests_running gauge",
        f"vllm:num_requests_running{labels} {running}",
        f"vllm:num_requests_waiting{labels} {waiting}",
        f'vllm:num_requests_waiting_by_reason{{engine="0",model_name="{model}",reason="deferred"}} 9.0',
        f"vllm:num_requests_running_total{labels} 123.0",
        f"vllm:kv_cache_usage_perc{labels} 0.5",
        "python_info{version=\"3\"} 1.0",
        "",
    ])  # fmt: skip


IDLE, RUNNING, WAITING = _metrics("0.0", "0.0"), _metrics("1.0", "0.0"), _metrics("0.0", "3.0")


@dataclass(frozen=True)
class Case:
    """Answers of the engine in turn (none: nobody listens), and seconds between which the hook must end."""

    answers: tuple[str, ...]
    earliest: float
    latest: float
    least: float = 0.0
    most: float = 20.0
    proxy: bool = False


SLACK = 11.0
"""Seconds that a busy machine may add."""

CASES = {
    "idle": Case((IDLE,), 2, 3 + SLACK, least=2),
    "idle, nothing to wait for": Case((IDLE,), 0, SLACK),
    "runs, then idle": Case((RUNNING, RUNNING, RUNNING, IDLE), 3, 3 + SLACK),
    "waits, then idle": Case((WAITING, WAITING, IDLE), 2, 2 + SLACK),
    "idle for a moment only": Case((IDLE, RUNNING, RUNNING, RUNNING, IDLE), 4, 4 + SLACK, least=1.5),
    "busy for ever": Case((RUNNING,), 3, 3 + SLACK, most=3),
    "one of two engines busy": Case((IDLE + RUNNING, IDLE + RUNNING, IDLE), 2, 2 + SLACK),
    "gone from the start": Case((), 0, SLACK, least=15),
    "gone while it answers": Case((RUNNING, "gone"), 1, 2 + SLACK, least=15),
    "slow": Case((f"slow {RUNNING}", f"slow {IDLE}"), 3.4, 3.4 + SLACK),
    "never answers": Case(("stuck",), 3, 3 + SLACK, most=3),
    "answers drop by drop": Case(("drops",), 3, 3 + SLACK, most=3),
    "half an answer, then busy, then idle": Case(("half", RUNNING, IDLE), 2, 2 + SLACK),
    "not a number": Case((_metrics("NaN", "NaN"),), 1, 2 + SLACK, least=1),
    "whole numbers and exponents": Case(
        (_metrics("1", "0"), _metrics("0", "1e+00"), _metrics("0", "0e+00")), 2, 2 + SLACK
    ),
    "odd labels": Case((_metrics("2.0", "0.0", "a} 0.0 {b"), _metrics("0.0", "0.0", "a} 1.0 {b 1.0")), 1, 1 + SLACK),
    "with a time stamp": Case(
        (_metrics("1.0 1712345", "0.0 1712345"), _metrics("0.0 1712345", "0.0 1712345")), 1, 1 + SLACK
    ),
    "no metrics": Case(("404",), 1, 2 + SLACK, least=1),
    "an empty page": Case(("",), 1, 2 + SLACK, least=1),
    "a proxy in the environment": Case((RUNNING, IDLE), 1, 1 + SLACK, proxy=True),
}


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    """All cases at once: they do little but wait. Each has a network of its own."""
    if subprocess.run([*_SPACE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no network namespaces here: the drain hook was NOT tried")
    done: dict[str, dict[str, Any]] = {}
    threads = [threading.Thread(target=_run, args=(name, case, done)) for name, case in CASES.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


@pytest.mark.parametrize("name", CASES)
def test_the_hook(results: dict[str, dict[str, Any]], name: str) -> None:
    case, result = CASES[name], results[name]
    assert (result["code"], result["said"]) == (0, "")
    assert case.earliest <= result["seconds"] <= case.latest, result
    if case.answers:
        assert result["asked"] >= len(case.answers)


def test_it_leaves_time_for_the_stop_itself() -> None:
    """Least and most as rendered: the defaults of drainSeconds, and of the grace period less ten seconds."""
    python, flag, _, least, most = scripts().drain
    assert (python, flag) == ("python3", "-c")
    assert (float(least), float(most)) == (15, 110)


def _run(name: str, case: Case, done: dict[str, dict[str, Any]]) -> None:
    arguments = [*scripts().drain[1:3], str(case.least), str(case.most)]
    nowhere = {"http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1"} if case.proxy else {}
    process = subprocess.Popen(
        [*_SPACE, sys.executable, str(Path(__file__).with_name("engine.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": os.defpath, **nowhere},
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(json.dumps({"answers": case.answers, "arguments": arguments}), timeout=45)
        done[name] = json.loads(output)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
