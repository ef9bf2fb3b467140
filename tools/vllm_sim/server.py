"""Runs a simulated engine: loads, listens, and ends on SIGTERM as the engine does."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

import uvicorn
from starlette.types import Scope

from .app import Service
from .settings import Settings

KEEP_ALIVE_SECONDS = 5
"""How long an idle connection stays open; vLLM's own default."""


class _Server(uvicorn.Server):
    """uvicorn, which leaves signals to us: it would end by the signal, and the engine ends with 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def cut(self, scope: Scope) -> None:
        """Drop the connection that a request came over."""
        for connection in list(self.server_state.connections):
            if getattr(connection, "client", None) == scope["client"]:
                _abort(connection)

    def abort(self) -> None:
        """Drop every connection that still has an answer to come."""
        for connection in list(self.server_state.connections):
            cycle = getattr(connection, "cycle", None)
            if cycle is not None and not cycle.response_complete:
                _abort(connection)


def _abort(connection: Any) -> None:
    transport = getattr(connection, "transport", None)
    if transport is not None:
        transport.abort()


async def serve(settings: Settings) -> int:
    """Load, listen and answer until SIGTERM or ^C; return the exit code.

    From the signal on no connection is taken. Requests in flight get `shutdown_timeout` seconds, then their connections
    are cut. (With a time of 0 the real engine leaves such clients waiting until it is killed.)
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if settings.load_seconds:
        _say(f"loads for {settings.load_seconds:g} s")
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), settings.load_seconds or 1e-6)
    if stop.is_set():
        return 0
    service = Service(settings)
    server = _Server(_config(settings, service))
    service.cut = server.cut
    running = asyncio.create_task(server.serve())
    ending = asyncio.create_task(_end(server, stop, settings.shutdown_timeout))
    try:
        await running
    except SystemExit:  # the address is taken or no address, which uvicorn has said with a code of its own
        _say(f"cannot listen on {settings.host}:{settings.port} (VLLM_SIM_HOST or --host, --port)")
        return 1
    finally:
        ending.cancel()
    return 0


async def _end(server: _Server, stop: asyncio.Event, seconds: float) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    config = server.config
    _say(f"listens on http://{config.host}:{config.port}")
    await stop.wait()
    server.should_exit = True
    if seconds:
        await asyncio.sleep(seconds)
    server.abort()


def _say(text: str) -> None:
    print(f"vllm_sim {text}", file=sys.stderr, flush=True)


def _config(settings: Settings, service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        service.app(),
        host=settings.host,
        port=settings.port,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
