"""The facade as a process of its own, on a free port of loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from facade.fake import LIMIT, until

ROOT = Path(__file__).resolve().parents[2]


class Edge:
    """A running facade. `lines` is its log so far."""

    def __init__(self, backend_url: str, **env: str) -> None:
        clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "tools"), "PORT": "0", "DRAIN_SECONDS": "0"}
        # The log on a pipe that a thread empties: a full pipe would stop the process.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "inference_api"],
            env={**clean, "BACKEND_URL": backend_url, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.port = int(self.logged("listening")["port"])
        except BaseException:
            self.kill()
            raise
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=LIMIT, trust_env=False)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)

    def records(self, message: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in list(self.lines) if line.startswith("{")]
        return [record for record in found if record["message"] == message]

    def logged(self, message: str, count: int = 1) -> dict[str, Any]:
        """Wait for the log to say something for the COUNTth time."""

        def look() -> list[dict[str, Any]]:
            alive = self.process.poll() is None
            found = self.records(message)
            assert found or alive, f"the facade ended with {self.process.returncode}:\n{''.join(self.lines)}"
            return found if len(found) >= count else []

        return dict(until(f"{message!r} in the log", look)[count - 1])

    def access(self, identifier: str) -> dict[str, Any]:
        """Wait for the access log's line about a request."""

        def look() -> list[dict[str, Any]]:
            return [record for record in self.records("request") if record["request_id"] == identifier]

        return dict(until(f"{identifier} in the access log", look)[0])

    def chat(self, text: str = "hello", headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
        body = {"messages": [{"role": "user", "content": text}], **more}
        return self.client.post("/v1/chat/completions", json=body, headers=headers)

    def raw(self, data: bytes, *, shut: bool = False) -> bytes:
        """Send bytes on a connection of their own; return all that comes until the other side closes."""
        with self.connect() as sock:
            with contextlib.suppress(ConnectionError):
                sock.sendall(data)
                if shut:
                    sock.shutdown(socket.SHUT_WR)
            return read_all(sock)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of all series of a name with these labels."""
        total = 0.0
        for line in self.client.get("/metrics").text.splitlines():
            series, _, value = line.rpartition(" ")
            if series.partition("{")[0] == name and all(f'{key}="{want}"' in series for key, want in labels.items()):
                total += float(value)
        return total

    def signal(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        code = self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(LIMIT)

    def stop(self) -> None:
        """Stop it; a traceback in the log of any test is a failure of that test."""
        self.client.close()
        if self.process.poll() is None:
            self.signal()
            try:
                self.wait()
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        assert not [line for line in self.lines if "Traceback" in line], "".join(self.lines)


def read_all(sock: socket.socket) -> bytes:
    pieces = []
    with contextlib.suppress(ConnectionError):
        while piece := sock.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


@contextlib.contextmanager
def edge(backend_url: str, **env: str) -> Iterator[Edge]:
    made = Edge(backend_url, **env)
    try:
        yield made
    finally:
        made.stop()
