"""Kept connections to the backend, for httpx.

httpx brings a pool, and that looks at every connection for every request, with a system call for each idle one: after
a burst of 200 streams each request pays for 200. Here the one used last is taken, whatever the number of others.
How many there are at most is not this module's matter: the edge bounds the requests that are at the backend.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx

KEEP_SECONDS = 4.0
"""How long a connection is kept unused. Uvicorn, which vLLM runs on, closes after 5."""

OLDEST_SECONDS = 30.0
"""How old a connection may get. Behind a Service it leads to one pod for good; pods that come later want work, too."""

STALE_SECONDS = 1.0
"""A kept connection that the backend had closed fails at once; what fails later was at work, and is not sent twice."""

_LOST = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


@dataclass(slots=True)
class _Connection:
    """A transport of one connection. Times are the loop's."""

    transport: httpx.AsyncHTTPTransport
    born: float
    idle_since: float = 0.0


class Pool(httpx.AsyncBaseTransport):
    """A transport that holds a transport of one connection for each request at a time.

    Args:
        context: how to speak TLS with a backend behind https.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
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
        if self._idle:
            try:
                return await self._send(self._idle.pop(), request)
            except _LOST:
                if loop.time() - started > STALE_SECONDS:
                    raise
        return await self._send(_Connection(self._new(), loop.time()), request)

    async def _send(self, connection: _Connection, request: httpx.Request) -> httpx.Response:
        try:
            response = await connection.transport.handle_async_request(request)
        except BaseException:
            await connection.transport.aclose()
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Stream(response.stream, self, connection)
        return response

    def _new(self) -> httpx.AsyncHTTPTransport:
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEP_SECONDS)
        return httpx.AsyncHTTPTransport(verify=self._context, trust_env=False, limits=limits)

    async def keep(self, connection: _Connection) -> None:
        """Take a connection back whose answer was read, or given up."""
        connection.idle_since = asyncio.get_running_loop().time()
        if self._closed or connection.idle_since - connection.born > OLDEST_SECONDS:
            await connection.transport.aclose()
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
                await self._idle.popleft().transport.aclose()

    async def aclose(self) -> None:
        """Close what is kept; what is in use closes when its answer ends."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        while self._idle:
            await self._idle.pop().transport.aclose()


class _Stream(httpx.AsyncByteStream):
    """An answer's body, that gives its connection back."""

    def __init__(self, inner: httpx.AsyncByteStream, pool: Pool, connection: _Connection) -> None:
        self._inner, self._pool = inner, pool
        self._connection: _Connection | None = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._inner.__aiter__()

    async def aclose(self) -> None:
        """Close the answer; one that was not read to its end closes its connection, too."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await self._inner.aclose()
        except BaseException:
            await connection.transport.aclose()
            raise
        await self._pool.keep(connection)
