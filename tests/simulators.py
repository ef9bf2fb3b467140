"""Simulated engines as processes, each on an address of its own, for the tests of several folders."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 90.0
"""Seconds for anything that should take none: the machine may have much else to do."""


@dataclass
class Sim:
    """One running simulator."""

    process: subprocess.Popen[str]
    url: str
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx.Client(base_url=self.url, timeout=LIMIT, trust_env=False)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.client.post(path, json=body)

    def chat(self, text: str, **more: Any) -> httpx.Response:
        return self.post("/v1/chat/completions", messages=[{"role": "user", "content": text}], **more)

    def state(self, **wish: Any) -> dict[str, Any]:
        answer = self.client.put("/sim/state", json=wish)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def metrics(self) -> dict[str, float]:
        rows = [line.rpartition(" ") for line in self.client.get("/metrics").text.splitlines() if line[:1] != "#"]
        return {name: float(value) for name, _, value in rows}

    def metric(self, name: str, **labels: str) -> float:
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        found = [v for k, v in self.metrics().items() if k.split("{")[0] == name and all(w in k for w in wanted)]
        assert len(found) == 1, f"{name}{labels}: {len(found)} series"
        return found[0]

    def until(self, what: str, check: Callable[[], Any]) -> None:
        deadline = time.monotonic() + LIMIT
        while not check():
            assert self.process.poll() is None, "the simulator ended"
            assert time.monotonic() < deadline, f"not within {LIMIT:.0f} s: {what}"
            time.sleep(0.02)

    def stop(self) -> int:
        self.client.close()
        self.process.terminate()
        try:
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def address() -> tuple[str, int]:
    """A loopback address that nobody else uses, and a port that is free there."""
    while True:
        host = f"127.{random.randint(128, 250)}.{random.randint(1, 250)}.{random.randint(1, 250)}"
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind((host, 0))
            return host, probe.getsockname()[1]


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "vllm_sim", *args]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "tools"), **more}


def launch(*args: str, **env: str) -> Sim:
    host, port = address()
    process = subprocess.Popen(
        command(*args, "--port", str(port)),
        env=environment(VLLM_SIM_HOST=host, **env),
        stderr=subprocess.PIPE,
        text=True,
    )
    return Sim(process, f"http://{host}:{port}")


def ready(sim: Sim) -> Sim:
    def healthy() -> bool:
        with contextlib.suppress(httpx.ConnectError):
            return sim.client.get("/health").status_code == 200
        return False

    sim.until("it is healthy", healthy)
    return sim
