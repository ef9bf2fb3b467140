"""The real server with a tiny model and two adapters: names in the API, names of metrics, and how it stops."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolchain.engine.environment import ensure, variables

pytestmark = pytest.mark.engine

BOOT_SECONDS = 600.0
QUERIED = {
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "vllm:time_to_first_token_seconds_bucket",
    "vllm:time_to_first_token_seconds_count",
    "vllm:request_success_total",
}
"""Metrics that scaling, alerts and the drain script ask for."""


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[bytes]
    port: int
    before: str  # what /health said while the model was loading

    def get(self, path: str) -> tuple[int, str]:
        return self._ask("GET", path)

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, str]:
        return self._ask("POST", path, json.dumps(body))

    def _ask(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(link):
            link.request(method, path, body, {"Content-Type": "application/json"})
            answer = link.getresponse()
            return answer.status, answer.read().decode()


@pytest.fixture(scope="module")
def server(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    scratch = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [ensure().with_name("vllm"), "serve", tiny / "model", "--served-model-name", "base", "--host", "127.0.0.1",
            "--port", str(port), "--max-model-len", "2048", "--max-num-seqs", "4", "--enforce-eager", "--enable-lora",
            "--max-loras", "2", "--max-lora-rank", "32", "--shutdown-timeout", "60",
            "--lora-modules", f"small={tiny / 'rank8'}", f"large={tiny / 'rank32'}"]  # fmt: skip
    with (scratch / "log").open("wb") as log:
        process = subprocess.Popen(argv, env=variables(scratch), cwd=scratch, stdout=log, stderr=log, process_group=0)
    try:
        yield Server(process, port, wait_until_healthy(process, port, scratch / "log"))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> str:
    """Return what was said before the first 200, in the order seen, without repeats."""
    seen: list[str] = []
    deadline = time.monotonic() + BOOT_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.closing(link):
            try:
                link.request("GET", "/health")
                said = str(link.getresponse().status)
            except OSError as error:
                said = type(error).__name__
        if said == "200":
            return ",".join(dict.fromkeys(seen))
        seen.append(said)
        time.sleep(0.5)
    raise AssertionError("the server did not come up:\n" + log.read_text(errors="replace")[-3000:])


def completion(model: str, tokens: int = 8) -> dict[str, Any]:
    return {"model": model, "prompt": "ships sail", "max_tokens": tokens, "temperature": 0, "ignore_eos": True}


def samples(server: Server) -> list[tuple[str, dict[str, str], float]]:
    status, text = server.get("/metrics")
    assert status == 200
    rows = re.findall(r"^([a-z_:]+)\{(.*)\} (\S+)$", text, re.MULTILINE)
    return [(name, dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)) for name, labels, value in rows]


def test_health_is_refused_until_the_model_is_loaded(server: Server) -> None:
    """So a start-up probe on /health is enough: it never says 200 too early, and never 503."""
    assert server.before == "ConnectionRefusedError"


def test_models_lists_the_base_and_its_adapters(server: Server) -> None:
    status, text = server.get("/v1/models")
    assert status == 200
    assert {row["id"]: row["parent"] for row in json.loads(text)["data"]} == {
        "base": None,
        "small": "base",
        "large": "base",
    }


def test_unknown_models_are_404(server: Server) -> None:
    status, text = server.post("/v1/completions", completion("other"))
    assert (status, json.loads(text)["error"]["type"]) == (404, "NotFoundError")


def test_metrics_that_we_query_exist_and_count_adapters_under_the_base(server: Server) -> None:
    for model in ("base", "small", "large"):
        status, text = server.post("/v1/completions", completion(model))
        assert status == 200, text
    found = samples(server)
    assert not QUERIED - {name for name, _, _ in found}
    assert {labels["model_name"] for name, labels, _ in found if name in QUERIED} == {"base"}
    done = [(labels["finished_reason"], value) for name, labels, value in found if name == "vllm:request_success_total"]
    assert dict(done)["length"] >= 3
    assert "abort" in dict(done)


def test_cache_usage_is_a_share_of_one(server: Server) -> None:
    usage = [value for name, _, value in samples(server) if name == "vllm:kv_cache_usage_perc"]
    assert all(0 <= value <= 1 for value in usage)


def test_adapters_cannot_be_loaded_by_callers(server: Server) -> None:
    status, _ = server.post("/v1/load_lora_adapter", {"lora_name": "mine", "lora_path": "/tmp"})
    assert status == 404


def test_drain_script_waits_for_requests_in_flight(server: Server, containers: dict[str, dict[str, Any]]) -> None:
    """The preStop hook as rendered, at this server's port: it ends after the request, not before."""
    command = next(iter(containers.values()))["lifecycle"]["preStop"]["exec"]["command"]
    script = command[2].replace("8000", str(server.port))
    with running(server, tokens=1500) as ended:
        done = subprocess.run([sys.executable, "-c", script, "0", "100"], timeout=120, check=False)
        hook = time.monotonic()
    assert done.returncode == 0
    assert ended["at"] <= hook


def test_a_stopping_server_finishes_what_it_has_and_takes_nothing_new(server: Server) -> None:
    """With --shutdown-timeout. Without it the engine dies at once, and the client waits until the kill: measured."""
    with running(server, tokens=1500) as ended:
        os.kill(server.process.pid, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                server.get("/health")
            except ConnectionRefusedError:
                break
            time.sleep(0.05)
        else:
            pytest.fail("new connections are still taken 5 s after SIGTERM")
    assert ended["status"] == 200
    assert server.process.wait(timeout=120) == 0


@contextlib.contextmanager
def running(server: Server, tokens: int) -> Iterator[dict[str, Any]]:
    """Hold a request in flight for the length of the block; afterwards say how it ended."""
    ended: dict[str, Any] = {}

    def ask() -> None:
        ended["status"], _ = server.post("/v1/completions", completion("base", tokens))
        ended["at"] = time.monotonic()

    thread = threading.Thread(target=ask)
    thread.start()
    while not any(value > 0 for name, _, value in samples(server) if name == "vllm:num_requests_running"):
        assert thread.is_alive(), "the request was over before it was seen: ask for more tokens"
        time.sleep(0.02)
    yield ended
    thread.join(timeout=120)
    assert not thread.is_alive()
