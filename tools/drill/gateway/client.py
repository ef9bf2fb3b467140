"""Requests to a gateway through its Unix socket, one at a time or many at once, and what came back."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OK = 200
_SECONDS = 60
_CHAT = "/v1/chat/completions"
FAILED = 0
"""Status of a request that got no answer at all."""


@dataclass(frozen=True)
class Answer:
    """What came back of one request.

    Attributes:
        asked: name that the client asked for.
        status: of HTTP; `FAILED` when the connection broke.
        reached: name that the engine was asked for, as the engine says; "" without an answer of an engine.
        at: seconds of the monotonic clock when the answer was there.
        text: the body (of errors), or what broke.
        chunks: of a stream: when each event came (monotonic clock).
    """

    asked: str
    status: int
    reached: str = ""
    at: float = 0.0
    text: str = ""
    kind: str = ""
    chunks: tuple[float, ...] = ()
    done: bool = False


class Unix(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, door: Path) -> None:
        super().__init__("gateway", timeout=_SECONDS)
        self._door = str(door)

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_SECONDS)
        self.sock.connect(self._door)


@dataclass
class Caller:
    """Asks over one connection that it keeps, as clients do; a new one when the old one was closed.

    Attributes:
        door: Unix socket of what is asked.
        begun: called with every piece of a stream.
    """

    door: Path
    begun: Callable[[], None] = lambda: None
    _link: Unix | None = field(default=None, repr=False)

    def ask(self, name: str, *, headers: Mapping[str, str] | None = None, tokens: int = 1, **more: Any) -> Answer:
        """One chat request, or a stream of one (`stream=True`)."""
        body = {"model": name, "messages": [{"role": "user", "content": "ahoy"}], "max_tokens": tokens, **more}
        return self.post(name, json.dumps(body), headers)

    def post(self, name: str, body: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Any body to the chat path."""
        kept = self._link is not None
        try:
            return self._post(name, body, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            # A server may close a connection that waits for the next request; only then trying again is no second try.
            if kept and isinstance(error, http.client.RemoteDisconnected | BrokenPipeError | ConnectionResetError):
                return self.post(name, body, headers)
            return Answer(name, FAILED, at=time.monotonic(), text=repr(error))

    def _post(self, name: str, body: str, headers: Mapping[str, str] | None) -> Answer:
        self._link = self._link or Unix(self.door)
        self._link.request("POST", _CHAT, body, {"content-type": "application/json", **(headers or {})})
        response = self._link.getresponse()
        kind = response.headers.get("content-type", "")
        if kind.startswith("text/event-stream"):
            return _stream(name, response, kind, self.begun)
        text = response.read().decode(errors="replace")
        return Answer(name, response.status, _reached(text), time.monotonic(), text, kind)

    def close(self) -> None:
        """Let go of the connection."""
        if self._link:
            self._link.close()
        self._link = None


def _stream(name: str, response: http.client.HTTPResponse, kind: str, begun: Callable[[], None]) -> Answer:
    """Read events one by one, with the time of each."""
    chunks, reached, done = [], "", False
    while line := response.readline():
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        done = data == b"[DONE]"
        if not done:
            chunks.append(time.monotonic())
            begun()
            reached = reached or _reached(data.decode())
    return Answer(name, response.status, reached, time.monotonic(), "", kind, tuple(chunks), done)


def _reached(text: str) -> str:
    """The name that the engine was asked for: the simulator says it, and so does `model` of every OpenAI answer."""
    try:
        data = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(data, dict):
        return ""
    own = data.get("sim")
    return str(own["model"] if isinstance(own, dict) and "model" in own else data.get("model", ""))


def ask(door: Path, name: str, **more: Any) -> Answer:
    """One request over a connection of its own."""
    caller = Caller(door)
    try:
        return caller.ask(name, **more)
    finally:
        caller.close()


def many(door: Path, name: str, count: int, at_once: int = 8, **more: Any) -> list[Answer]:
    """`count` requests, `at_once` at the same time, each over a connection that is kept."""

    def some(share: int) -> list[Answer]:
        caller = Caller(door)
        try:
            return [caller.ask(name, **more) for _ in range(share)]
        finally:
            caller.close()

    shares = [count // at_once + (place < count % at_once) for place in range(at_once)]
    with ThreadPoolExecutor(at_once) as pool:
        return [answer for answers in pool.map(some, shares) for answer in answers]


def get(door: Path, path: str) -> tuple[int, str]:
    """GET something; (FAILED, what broke) without an answer."""
    link = Unix(door)
    try:
        link.request("GET", path)
        response = link.getresponse()
        return response.status, response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return FAILED, repr(error)
    finally:
        link.close()


def shares(answers: Sequence[Answer]) -> dict[str, float]:
    """How many percent of the answers came from an engine that was asked for each name."""
    counted = Counter(answer.reached for answer in answers)
    return {name: 100.0 * count / len(answers) for name, count in counted.items()} if answers else {}


def statuses(answers: Iterable[Answer]) -> dict[int, int]:
    """How many answers had each status."""
    return dict(sorted(Counter(answer.status for answer in answers).items()))
