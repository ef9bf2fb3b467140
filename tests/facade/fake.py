"""A backend that does what a test wants, byte for byte: a server of plain sockets in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any

LIMIT = 90.0
"""Seconds for anything that should take none: the machine may have much else to do."""


@dataclass
class Request:
    """What came, and a way to answer."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    writer: asyncio.StreamWriter
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, body: bytes, status: str = "200 OK", kind: str = "application/json", more: str = "") -> None:
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n"
        await self.write(head.encode() + body)

    async def begin(self, kind: str = "text/event-stream; charset=utf-8") -> None:
        await self.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())

    async def piece(self, data: bytes) -> None:
        await self.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.write(b"0\r\n\r\n")


Behaviour = Callable[[Request], Coroutine[Any, Any, None]]


async def plain(request: Request) -> None:
    """Answer as a chat model that repeats what it was sent."""
    if request.method == "GET":
        await request.answer(b'{"object": "list", "data": []}')
        return
    await request.answer(json.dumps({"choices": [{"message": {"content": request.body.decode()}}]}).encode())


class Backend:
    """One fake. `behaviour` may be exchanged at any time; `requests` is what came, oldest first."""

    def __init__(self) -> None:
        self.behaviour: Behaviour = plain
        self.requests: list[Request] = []
        self.connections = 0
        self.open = 0
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Listen; again on the same port after `stop`."""
        self.run(self._listen())

    def stop(self) -> None:
        """Stop listening and close what is open."""
        self.run(self._close())

    def close(self) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT)
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT)

    def event(self) -> asyncio.Event:
        """An event for behaviours to wait for; set it with `fire`."""
        return asyncio.Event()

    def fire(self, event: asyncio.Event) -> None:
        self._loop.call_soon_threadsafe(event.set)

    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]

    def last(self) -> Request:
        return self.posts()[-1]

    async def _listen(self) -> None:
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._one(reader, writer):
                    pass
        finally:
            self.open -= 1
            self._tasks.discard(task)
            self._writers.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in head[1:] if line)]
        request = Request(method, path, headers, b"", writer)
        size = int((request.header("content-length") or ["0"])[0])
        request.body = await reader.readexactly(size)
        self.requests.append(request)
        work = asyncio.create_task(self.behaviour(request))
        self._tasks.add(work)
        # A byte that comes before the answer is done would be a second request at once: the edge never does that.
        leaving = asyncio.create_task(reader.read(1))
        await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
        self._tasks.discard(work)
        if not work.done():
            assert leaving.result() == b""
            request.gone.set()
            work.cancel()
            return False
        if leaving.done():
            request.gone.set()
            return False
        leaving.cancel()
        await asyncio.wait({leaving})
        work.result()
        return not writer.is_closing()


@contextlib.contextmanager
def backend() -> Iterator[Backend]:
    made = Backend()
    try:
        yield made
    finally:
        made.close()


def until(what: str, check: Callable[[], Any]) -> Any:
    """Wait for a condition; return what it gave."""
    deadline = time.monotonic() + LIMIT
    while not (found := check()):
        assert time.monotonic() < deadline, f"not within {LIMIT:.0f} s: {what}"
        time.sleep(0.01)
    return found
