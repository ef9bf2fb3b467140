"""Slots, the queue, clients that leave, the end, and the faults that tests inject."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from simulators import LIMIT, ROOT, Sim, launch

SLOW = {"VLLM_SIM_FIRST_TOKEN_SECONDS": "600"}
"""Nothing is ever answered within a test."""


def hold(sim: Sim, count: int, **more: object) -> list[httpx.Client]:
    """Put requests into the engine that stay there; closing a client takes its own out again."""
    clients = []
    for _ in range(count):
        before = sim.state()["busy"]
        client = httpx.Client(base_url=sim.url, timeout=LIMIT, trust_env=False)
        body = {"prompt": "x" * 400, **more}
        threading.Thread(target=ask, args=(client, body), daemon=True).start()
        clients.append(client)
        sim.until("the request is in", lambda before=before: sim.state()["busy"] == before + 1)
    return clients


def ask(client: httpx.Client, body: dict[str, object]) -> None:
    with contextlib.suppress(httpx.HTTPError, RuntimeError):
        client.post("/v1/completions", json=body)


def raw(sim: Sim, body: str) -> socket.socket:
    """A request over a plain socket, so that the client can vanish."""
    place = urlsplit(sim.url)
    link = socket.create_connection((str(place.hostname), place.port or 0), timeout=LIMIT)
    head = f"POST /v1/completions HTTP/1.1\r\nHost: sim\r\nContent-Length: {len(body)}\r\n\r\n"
    link.sendall((head + body).encode())
    return link


def test_slots_queue_and_cache(start: Callable[..., Sim]) -> None:
    sim = start("m", "--max-num-seqs", "2", VLLM_SIM_KV_TOKENS="1000", **SLOW)
    hold(sim, 3)
    assert sim.metric("vllm:num_requests_running") == 2
    assert sim.metric("vllm:num_requests_waiting") == 1
    assert sim.metric("vllm:num_requests_waiting_by_reason", reason="capacity") == 1
    assert sim.metric("vllm:kv_cache_usage_perc") == pytest.approx(0.2)


def test_a_full_cache_lets_nobody_in(start: Callable[..., Sim]) -> None:
    sim = start("m", VLLM_SIM_KV_TOKENS="150", **SLOW)
    hold(sim, 2)
    assert (sim.metric("vllm:num_requests_running"), sim.metric("vllm:num_requests_waiting")) == (1, 1)


def test_a_client_that_leaves_frees_its_place(start: Callable[..., Sim]) -> None:
    sim = start("m", "--max-num-seqs", "1", **SLOW)
    for stream in ("false", "true"):
        first = raw(sim, f'{{"prompt": "x", "stream": {stream}}}')
        sim.until("one runs", lambda: sim.state()["gauges"]["running"] == 1)
        second = raw(sim, '{"prompt": "x"}')
        sim.until("one waits", lambda: sim.state()["gauges"]["waiting"] == 1)
        before = sim.metric("vllm:request_success_total", finished_reason="abort")
        second.close()
        sim.until("nobody waits", lambda: sim.state()["gauges"]["waiting"] == 0)
        first.close()
        sim.until("nobody runs", lambda: sim.state()["busy"] == 0)
        assert sim.metric("vllm:request_success_total", finished_reason="abort") == before + 2
        assert sim.metric("vllm:kv_cache_usage_perc") == 0


def test_first_come_first_served(start: Callable[..., Sim]) -> None:
    sim = start("m", "--max-num-seqs", "1")
    sim.state(fault="hang")
    hold(sim, 1)
    order: list[int] = []

    def one(number: int) -> None:
        with httpx.Client(base_url=sim.url, timeout=LIMIT, trust_env=False) as client:
            client.post("/v1/completions", json={"prompt": f"{number}", "max_tokens": 40, "ignore_eos": True})
            order.append(number)

    with ThreadPoolExecutor(5) as pool:
        for number in range(5):
            pool.submit(one, number)
            sim.until("it waits", lambda number=number: sim.state()["gauges"]["waiting"] == number + 1)
        sim.state(fault=None)
    assert order == [0, 1, 2, 3, 4]


def test_many_streams_at_once_and_none_mixed_up(start: Callable[..., Sim]) -> None:
    sim = start("m", "--max-num-seqs", "256", VLLM_SIM_TOKEN_SECONDS="0.05")

    def one(number: int) -> str:
        body = {"messages": [{"role": "user", "content": f"number {number}"}], "stream": True}
        with httpx.stream(
            "POST", f"{sim.url}/v1/chat/completions", json=body, timeout=LIMIT, trust_env=False
        ) as answer:
            text = "".join(answer.iter_text())
        return "".join(re.findall(r'"delta":\{"content":"([^"]*)"', text))

    with ThreadPoolExecutor(200) as pool:
        said = list(pool.map(one, range(200)))
    assert said == [f"sim m says: number {number}" for number in range(200)]
    assert sim.metric("vllm:request_success_total", finished_reason="stop") == 200


def test_faults(sim: Sim) -> None:
    sim.state(fault="error")
    answer = sim.chat("x")
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "InternalServerError")
    assert sim.client.get("/health").status_code == 200
    sim.state(fault="disconnect")
    with pytest.raises(httpx.RemoteProtocolError):
        sim.chat("x")
    with pytest.raises(httpx.RemoteProtocolError):
        sim.chat("x", stream=True)
    sim.state(fault="hang")
    with pytest.raises(httpx.ReadTimeout):
        short = httpx.Timeout(LIMIT, read=0.3)
        httpx.post(f"{sim.url}/v1/completions", json={"prompt": "x"}, timeout=short, trust_env=False)
    sim.until("the hung one was taken out", lambda: sim.state()["busy"] == 0)
    sim.client.delete("/sim/state")
    assert sim.chat("x").status_code == 200


def test_forced_gauges_and_latency(sim: Sim) -> None:
    sim.state(running=3, waiting=40, kvUsage=0.75, latencySeconds=0.2)
    found = {name.split("{")[0]: value for name, value in sim.metrics().items()}
    assert found["vllm:num_requests_running"] == 3
    assert found["vllm:num_requests_waiting"] == 40
    assert found["vllm:kv_cache_usage_perc"] == 0.75
    assert sim.chat("x").elapsed.total_seconds() >= 0.2
    sim.client.delete("/sim/state")
    assert sim.metric("vllm:num_requests_waiting") == 0


@pytest.mark.parametrize(
    "wish", [{"fault": "fire"}, {"runing": 1}, {"kvUsage": 2}, {"waiting": "x"}, {"running": True}]
)
def test_states_that_make_no_sense(sim: Sim, wish: dict[str, object]) -> None:
    before = sim.state()
    assert sim.client.put("/sim/state", json=wish).status_code == 400
    assert sim.state() == before


def test_adapters_count_under_the_base(sim: Sim) -> None:
    sim.chat("x", model="first")
    names = {label for name in sim.metrics() for label in re.findall(r'model_name="([^"]*)"', name)}
    assert names == {"base"}
    infos = [name for name in sim.metrics() if name.startswith("vllm:lora_requests_info")]
    assert any('max_lora="2"' in one and 'running_lora_adapters="first"' in one for one in infos)


def test_the_prefix_cache_finds_what_it_has_seen(start: Callable[..., Sim]) -> None:
    sim = start("m", "--enable-lora", "--lora-modules", "a=/a")
    for model in ("m", "m", "a"):
        sim.post("/v1/completions", model=model, prompt="y" * 64 * 3)
    assert sim.metric("vllm:prefix_cache_queries_total") == 48 * 3
    assert sim.metric("vllm:prefix_cache_hits_total") == 48


def test_every_metric_that_is_asked_for_anywhere_is_there(sim: Sim) -> None:
    sim.chat("x", model="first")
    there = {name.split("{")[0] for name in sim.metrics()}
    files = [
        path for folder in ("definitions", "catalog", "applications", "tools") for path in (ROOT / folder).rglob("*")
    ]
    asked = [
        (name, path)
        for path in sorted(files)
        if path.suffix in (".cue", ".yaml", ".json", ".py") and "vllm_sim" not in path.parts and path.is_file()
        for name in re.findall(r"\bvllm:[a-z_]{3,}", path.read_text(encoding="utf-8"))
    ]
    assert "vllm:num_requests_running" in {name for name, _ in asked}

    def known(name: str, path: Path) -> bool:
        # A program may look for the beginning of a name; a query may not.
        return name in there or (path.suffix == ".py" and any(one.startswith(name) for one in there))

    assert [(name, str(path)) for name, path in asked if not known(name, path)] == []


def test_nobody_listens_while_it_loads(start: Callable[..., Sim]) -> None:
    sim = launch("m", VLLM_SIM_LOAD_SECONDS="600")
    assert sim.process.stderr is not None
    assert "loads" in sim.process.stderr.readline()
    with pytest.raises(httpx.ConnectError):
        sim.client.get("/health")
    assert sim.stop() == 0


def test_sigterm_cuts_what_is_in_flight(start: Callable[..., Sim]) -> None:
    sim = start("m", **SLOW)
    link = raw(sim, '{"prompt": "x"}')
    sim.until("it runs", lambda: sim.state()["busy"] == 1)
    assert sim.stop() == 0
    with link, contextlib.suppress(ConnectionResetError):
        assert link.recv(1) == b""


def test_sigterm_with_a_shutdown_timeout_lets_it_finish(start: Callable[..., Sim]) -> None:
    sim = start("m", "--shutdown-timeout", str(int(LIMIT)), "--max-num-seqs", "1")
    sim.state(fault="hang")
    links = [raw(sim, '{"prompt": "x"}') for _ in range(2)]
    sim.until("both are in", lambda: sim.state()["busy"] == 2)
    sim.state(fault=None, latencySeconds=0.5)
    os.kill(sim.process.pid, signal.SIGTERM)
    for link in links:
        with link:
            assert link.recv(15) == b"HTTP/1.1 200 OK"
    assert sim.process.wait(LIMIT) == 0


def test_it_is_small(sim: Sim) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc on this system")
    status = Path(f"/proc/{sim.process.pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    assert int(peak[1]) < 60 * 1024
