"""A checkout whose Ollama is a simulator on this machine, and clients that ask edges as an application would."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from plane.checkout import Checkout
from plane.support import ROOT, Desk
from podrunner.handle import Handle

LIMIT = 240.0
"""Seconds; for a machine with much else to do."""

OLLAMA = "llama3.2:1b"
OTHER = "llama3.2:3b"
_URL = "http://host.docker.internal:11434/v1"


class Family:
    """Applications of edges on a hub whose pods are processes.

    Attributes:
        desk: somebody at the hub.
        runner: what runs the pods.
        checkout: a copy of this one, to change.
    """

    def __init__(self, desk: Desk, runner: Handle, checkout: Checkout) -> None:
        self.desk = desk
        self.runner = runner
        self.checkout = checkout

    def deliver(self, app: str) -> None:
        """`sailplan compose APP | vela up -f -`, and wait until everything answers."""
        ran = self.checkout.sailplan("compose", app)
        assert ran.code == 0, ran.all
        self.desk.up(ran.out)
        self.desk.until_phase(app, "running", LIMIT)

    def change(self, file: str, old: str, new: str) -> None:
        """Replace one text in one file of the checkout."""
        path = self.checkout.folder / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, (file, old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def get(self, namespace: str, name: str, path: str, key: str = "") -> httpx.Response:
        """Ask an edge through its Service, with a key where one is given."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"http://{self._address(namespace, name)}{path}"
        return httpx.get(url, headers=headers, timeout=LIMIT, trust_env=False)

    def chat(self, namespace: str, name: str, text: str, **more: Any) -> dict[str, Any]:
        """What an edge answers to a request that names neither model, nor temperature, nor system message."""
        body = {"messages": [{"role": "user", "content": text}], **more}
        url = f"http://{self._address(namespace, name)}/v1/chat/completions"
        answer = httpx.post(url, json=body, timeout=LIMIT, trust_env=False)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        assert text in found["choices"][0]["message"]["content"]
        return found

    def until_said(self, namespace: str, name: str, key: str, value: Any) -> dict[str, Any]:
        """Ask until the backend was told `value`; every single answer on the way must be a good one."""
        told: list[dict[str, Any]] = []

        def said() -> bool:
            told.append(self.chat(namespace, name, "again")["sim"])
            return bool(told[-1].get(key) == value)

        self.runner.wait(f"{name} says {key} {value!r}", said, LIMIT)
        return told[-1]

    def _address(self, namespace: str, name: str) -> str:
        return f"{self.runner.service(namespace, name)}:8080"


def adapted(folder: Path, url: str) -> None:
    """Let the presets' Ollama be at another address."""
    path = folder / "catalog/models/llama32-1b.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count(_URL) == 1
    path.write_text(text.replace(_URL, url), encoding="utf-8")


@contextlib.contextmanager
def ollama(folder: Path) -> Iterator[str]:
    """An OpenAI-compatible server outside of the cluster, with two models; gives its base URL.

    The real Ollama cannot be had here; to an edge one such server is like another.
    """
    address = "127.0.0.1"
    with socket.socket() as probe:
        probe.bind((address, 0))
        port = probe.getsockname()[1]
    # Arguments after `--served-model-name`: one name or several.
    argv = [sys.executable, "-m", "vllm_sim", OLLAMA, "--served-model-name", OLLAMA, OTHER, "--port", str(port)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tools"), "VLLM_SIM_HOST": address}
    with (folder / "ollama.log").open("wb") as log:
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield f"http://{address}:{port}/v1"
    finally:
        process.terminate()
        process.wait(60)
