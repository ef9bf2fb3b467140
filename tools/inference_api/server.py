"""Runs the application: listens, and stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator

import uvicorn

from .app import build
from .endpoints import Edge
from .protocol import limited

LOG = logging.getLogger("inference_api")

STOP = (signal.SIGTERM, signal.SIGINT)

KEEP_ALIVE_SECONDS = 75
"""For how long a client may keep an idle connection: longer than gateways in front do, so that they close first."""

LARGEST_HEAD = 64 * 1024

LAST_WORDS_SECONDS = 3.0
"""For clients to take the news that their request was ended."""


class Server(uvicorn.Server):
    """uvicorn's server, stopped in three steps.

    1. On a signal /readyz says 503, and requests are still served: it takes a moment until a Service looks elsewhere.
    2. After DRAIN_SECONDS nothing new is taken; what is under way goes on.
    3. After STOP_TIMEOUT_SECONDS what is still under way is told so, and ended.

    A second signal skips to step 3.
    """

    def __init__(self, edge: Edge) -> None:
        settings = edge.settings
        config = uvicorn.Config(
            build(edge),
            host=settings.host,
            port=settings.port,
            http=limited(settings),
            loop="asyncio",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            h11_max_incomplete_event_size=LARGEST_HEAD,
            backlog=1024,
        )
        super().__init__(config)
        self._edge = edge
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.TimerHandle | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for server in self.servers:
            for listener in server.sockets:
                host, port = listener.getsockname()[:2]
                LOG.info("listening", extra={"host": host, "port": port, "backend": self._edge.settings.backend_url})

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on signals. Unlike uvicorn's own this does not raise them again: a stop in order is a success."""
        loop = asyncio.get_running_loop()
        for number in STOP:
            loop.add_signal_handler(number, self._stop)
        try:
            yield
        finally:
            for number in STOP:
                loop.remove_signal_handler(number)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for what is under way, and close."""
        await super().shutdown(sockets)
        LOG.info("stopped")

    def _stop(self) -> None:
        loop, settings = asyncio.get_running_loop(), self._edge.settings
        if self._edge.draining:
            LOG.warning("second signal: stopping at once")
            self.should_exit = True
            self._cut()
            return
        self._edge.draining = True
        LOG.info("stopping", extra={"drain_seconds": settings.drain_seconds})
        loop.call_later(settings.drain_seconds, self._close)
        self._end = loop.call_later(settings.drain_seconds + settings.stop_timeout_seconds, self._cut)

    def _close(self) -> None:
        self.should_exit = True

    def _cut(self) -> None:
        """End what is still under way, and then whatever connection is left."""
        if count := self._edge.relay.stop():
            LOG.warning("ended requests that took too long to stop", extra={"count": count})
        asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self._abort)

    def _abort(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
