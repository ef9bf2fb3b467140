"""The facade under load, beside the same requests to the simulator itself, in one run.

Figures are printed. Asserted is what no slow machine excuses: nothing lost or mixed up, memory that stops growing.
"""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from facade.edge import Edge
from facade.edge import edge as running_edge
from facade.load import Load, load
from simulators import Sim, launch, ready

REQUESTS, ROUND, STREAMS = 10_000, 500, 200

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def sim() -> Iterator[Sim]:
    fast = {"VLLM_SIM_FIRST_TOKEN_SECONDS": "0", "VLLM_SIM_TOKEN_SECONDS": "0"}
    made = ready(launch("m", "--served-model-name", "m", "--max-num-seqs", "256", **fast))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def edge(sim: Sim) -> Iterator[Edge]:
    with running_edge(f"{sim.url}/v1", MODEL="m") as made:
        yield made


def run(url: str, clients: int, requests: int, *, stream: bool = False, mark: str = "t") -> Load:
    host, _, port = url.removeprefix("http://").partition(":")
    return asyncio.run(load(host, int(port), clients=clients, requests=requests, stream=stream, mark=mark))


def memory(edge: Edge) -> float:
    """MiB of memory that the facade holds."""
    pages = int(Path(f"/proc/{edge.process.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / MIB


def busy(edge: Edge) -> float:
    """Seconds of a processor that the facade has used."""
    fields = Path(f"/proc/{edge.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(name: str, seen: Load) -> None:
    middle, tail = (seen.percentile(part) * 1000 for part in (0.5, 0.99))
    print(f"  {name:<42} p50 {middle:8.2f} ms   p99 {tail:8.2f} ms   {seen.rate:7.0f} requests/s", flush=True)


def test_latency_rate_and_memory(edge: Edge, sim: Sim) -> None:
    """10,000 requests through the facade and as many past it, turn by turn: both meet the same machine."""
    run(edge.url, 1, 50)
    began = busy(edge)
    for clients, rounds in ((1, 4), (16, REQUESTS // ROUND - 4)):
        through, direct = Load(), Load()
        for number in range(rounds):
            direct += run(sim.url, clients, ROUND, mark=f"d{clients}.{number}")
            through += run(edge.url, clients, ROUND, mark=f"f{clients}.{number}")
            if (clients, number) == (16, 4):
                warm = memory(edge)
        show(f"{clients} at a time, direct", direct)
        show(f"{clients} at a time, through the facade", through)
        middle, tail = ((through.percentile(part) - direct.percentile(part)) * 1000 for part in (0.5, 0.99))
        print(f"  {'added':<42} p50 {middle:8.2f} ms   p99 {tail:8.2f} ms", flush=True)
    end = memory(edge)
    print(f"  processor time of the facade {(busy(edge) - began) / REQUESTS * 1000:.2f} ms a request", flush=True)
    print(f"  memory after 4,500 requests {warm:.1f} MiB, after {REQUESTS} {end:.1f} MiB", flush=True)
    assert edge.metric("inference_api_requests_total", path="/v1/chat/completions", status="200") == REQUESTS + 50
    assert end - warm < 5
    assert end < 128


def test_two_hundred_streams_at_once(edge: Edge, sim: Sim) -> None:
    """Each stream is read to its end and holds its own token, first and last."""
    before = edge.metric("inference_api_requests_total", path="/v1/chat/completions", status="200")
    direct = run(sim.url, STREAMS, STREAMS * 3, stream=True, mark="ds")
    through = run(edge.url, STREAMS, STREAMS * 3, stream=True, mark="fs")
    show(f"{STREAMS} streams at once, direct", direct)
    show(f"{STREAMS} streams at once, through the facade", through)
    print(f"  memory after it {memory(edge):.1f} MiB", flush=True)
    after = edge.metric("inference_api_requests_total", path="/v1/chat/completions", status="200")
    assert after - before == STREAMS * 3
    assert edge.metric("inference_api_in_flight_requests") == 0
    assert edge.metric("inference_api_upstream_errors_total") == 0
    # A single request after the crowd pays for none of its connections.
    show("1 at a time, after the crowd", run(edge.url, 1, 50))
