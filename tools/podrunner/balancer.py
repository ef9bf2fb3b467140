"""One port of a Service: takes connections and carries each to a pod that is ready."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

Backend = tuple[str, int]
"""Address and port of a pod."""

_HIGH = 256 * 1024
"""Bytes that may wait for a slow reader before the writer is slowed down."""


class Balancer:
    """Listens as long as there is a backend, so that without one a connection is refused, as on a cluster.

    The next connection goes to the backend with the fewest; those that run stay where they are.

    Args:
        host, port: where it listens.
    """

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.problem = ""
        self._backends: list[Backend] = []
        self._open: dict[Backend, int] = {}
        self._turn = 0
        self._server: asyncio.Server | None = None
        self._pipes: set[_Pipe] = set()

    @property
    def connections(self) -> int:
        """Connections that are carried now."""
        return sum(self._open.values())

    async def use(self, backends: Sequence[Backend]) -> None:
        """Take these backends from now on."""
        self._backends = sorted(backends)
        if self._backends and self._server is None:
            await self._listen()
        elif not self._backends:
            self._shut()

    def close(self) -> None:
        """Stop, and cut what is open."""
        self._shut()
        for pipe in list(self._pipes):
            pipe.abort()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(lambda: _Front(self), self.host, self.port, backlog=1024)
            self.problem = ""
        except OSError as error:
            self.problem = f"cannot listen on {self.host}:{self.port}: {error.strerror}"

    def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _next(self) -> Backend | None:
        """The backend with the fewest connections; those that have as few take turns."""
        if not self._backends:
            return None
        self._turn += 1
        turned = self._backends[self._turn % len(self._backends) :] + self._backends
        return min(turned[: len(self._backends)], key=lambda one: self._open.get(one, 0))

    async def join(self, front: _Front) -> None:
        """Connect a new connection to a backend, or drop it."""
        backend = self._next()
        if backend is None:
            front.abort()
            return
        self._open[backend] = self._open.get(backend, 0) + 1
        try:
            _, back = await asyncio.get_running_loop().create_connection(lambda: _Pipe(front), *backend)
        except OSError:
            front.abort()
            self._left(backend)
            return
        self._pipes.add(front)
        front.over = lambda: self._leave(front, backend)
        front.meet(back)

    def _leave(self, front: _Pipe, backend: Backend) -> None:
        self._pipes.discard(front)
        self._left(backend)

    def _left(self, backend: Backend) -> None:
        self._open[backend] -= 1
        if not self._open[backend]:
            del self._open[backend]


class _Pipe(asyncio.Protocol):
    """One end of a connection: what comes in here goes out at the other end."""

    def __init__(self, other: _Pipe | None = None) -> None:
        self.other = other
        self.transport: asyncio.Transport | None = None
        self.over = _nothing
        self._read_all = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=_HIGH)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)

    def eof_received(self) -> bool:
        self._read_all = True
        if self.other is not None and self.other._read_all:
            return False  # both have said all: this end closes, and then the other
        if self.other is not None and self.other.transport is not None:
            with contextlib.suppress(OSError):
                self.other.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            if exc is None:
                self.other.transport.close()
            else:
                self.other.transport.abort()
        self.over()
        self.over = _nothing

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def abort(self) -> None:
        """Cut this end; the other follows."""
        if self.transport is not None:
            self.transport.abort()


class _Front(_Pipe):
    """The end at which a client came in; it is not read from before the other end is there."""

    def __init__(self, balancer: Balancer) -> None:
        super().__init__()
        self._balancer = balancer
        self._joining: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.transport is not None
        self.transport.pause_reading()
        self._joining = asyncio.ensure_future(self._balancer.join(self))

    def meet(self, back: _Pipe) -> None:
        """Begin to carry."""
        self.other = back
        if self.transport is None or self.transport.is_closing():
            back.abort()
        else:
            self.transport.resume_reading()


def _nothing() -> None:
    """Nobody waits for the end yet."""
