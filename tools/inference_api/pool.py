"""Kept connections to the backend: httpx' requests and answers, over single connections of its lower half, httpcore.

httpx' own pool looks at every connection for every request, with a system call for each idle one: after a burst of
200 streams each request pays for 200. Here the one used last is taken, whatever the number of others, and nothing
stands between a request and its connection: a third less of a processor's time for each. How many there are at most is
not this module's matter: the edge bounds the requests that are at the backend.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpcore
import httpx

KEEP_SECONDS = 4.0
"""How long a connection is kept unused. Uvicorn, which vLLM runs on, closes after 5."""

OLDEST_SECONDS = 30.0
"""How old a connection may get. Behind a Service it leads to one pod for good; pods that come later want work, too."""

STALE_SECONDS = 2.0
"""A kept connection that the backend had closed fails at once; what fails later was at work, and is not sent twice."""

_LOST = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)

_KINDS: tuple[tuple[type[Exception], type[httpx.TransportError]], ...] = (
    (httpcore.ConnectTimeout, httpx.ConnectTimeout),
    (httpcore.TimeoutException, httpx.ReadTimeout),
    (httpcore.ConnectError, httpx.ConnectError),
    (httpcore.WriteError, httpx.WriteError),
    (httpcore.NetworkError, httpx.ReadError),
    (httpcore.LocalProtocolError, httpx.LocalProtocolError),
    (httpcore.ProtocolError, httpx.RemoteProtocolError),
    (httpcore.ConnectionNotAvailable, httpx.RemoteProtocolError),
)
"""What errors of httpcore are called in httpx, the special ones first."""


@dataclass(slots=True)
class _Connection:
    """One connection. Times are the loop's."""

    wire: httpcore.AsyncHTTPConnection
    born: float
    idle_since: float = 0.0


class Pool(httpx.AsyncBaseTransport):
    """Connections to one server.

    Args:
        url: the server; what follows the port does not matter.
        context: how to speak TLS with a server behind https.
    """

    def __init__(self, url: httpx.URL, context: ssl.SSLContext) -> None:
        default = 443 if url.scheme == "https" else 80
        self._origin = httpcore.Origin(url.raw_scheme, url.raw_host, url.port or default)
        self._context = context
        self._idle: deque[_Connection] = deque()
        self._sweeper: asyncio.Task[None] | None = None
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request over the connection used last, or a new one.

        One that was kept may have been closed by the backend in this very moment. The request then goes out again
        over a new one, once, since nobody has looked at it.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        while self._idle:
            connection = self._idle.pop()
            if connection.wire.has_expired():
                await connection.wire.aclose()
                continue
            try:
                return await self._send(connection, request)
            except _LOST:
                if loop.time() - started > STALE_SECONDS:
                    raise
                break
        wire = httpcore.AsyncHTTPConnection(self._origin, self._context, keepalive_expiry=KEEP_SECONDS)
        return await self._send(_Connection(wire, started), request)

    async def _send(self, connection: _Connection, request: httpx.Request) -> httpx.Response:
        url = httpcore.URL(
            scheme=self._origin.scheme, host=self._origin.host, port=self._origin.port, target=request.url.raw_path
        )
        raw = httpcore.Request(
            request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        try:
            with _named():
                answer = await connection.wire.handle_async_request(raw)
        except BaseException:
            await connection.wire.aclose()
            raise
        return httpx.Response(answer.status, headers=answer.headers, stream=_Stream(answer, self, connection))

    async def keep(self, connection: _Connection) -> None:
        """Take a connection back whose answer was read, or given up."""
        connection.idle_since = asyncio.get_running_loop().time()
        old = connection.idle_since - connection.born > OLDEST_SECONDS
        if self._closed or old or not connection.wire.is_idle():
            await connection.wire.aclose()
            return
        self._idle.append(connection)
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = asyncio.create_task(self._sweep())

    async def _sweep(self) -> None:
        """Close what was not used for long; runs for as long as something is kept."""
        loop = asyncio.get_running_loop()
        while self._idle:
            wait = self._idle[0].idle_since + KEEP_SECONDS - loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            else:
                await self._idle.popleft().wire.aclose()

    async def aclose(self) -> None:
        """Close what is kept; what is in use closes when its answer ends."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        while self._idle:
            await self._idle.pop().wire.aclose()


class _Stream(httpx.AsyncByteStream):
    """An answer's body, that gives its connection back."""

    def __init__(self, answer: httpcore.Response, pool: Pool, connection: _Connection) -> None:
        self._answer, self._pool = answer, pool
        self._connection: _Connection | None = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _named():
            async for piece in self._answer.aiter_stream():
                yield piece

    async def aclose(self) -> None:
        """Close the answer; one that was not read to its end closes its connection, too."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await self._answer.aclose()
        except BaseException:
            await connection.wire.aclose()
            raise
        await self._pool.keep(connection)


@contextmanager
def _named() -> Iterator[None]:
    """Raise errors by the names that httpx gives them."""
    try:
        yield
    except tuple(kind for kind, _ in _KINDS) as error:
        name = next(name for kind, name in _KINDS if isinstance(error, kind))
        raise name(str(error)) from error
