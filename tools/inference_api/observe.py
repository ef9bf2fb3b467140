"""Around every request: its id, errors in OpenAI's shape, a line in the access log, metrics."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import ApiError
from .exchange import Exchange
from .headers import has_body, request_id
from .metrics import Metrics

LOG = logging.getLogger("inference_api.access")

KNOWN = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/models", "/healthz", "/readyz", "/metrics")
QUIET = ("/healthz", "/readyz", "/metrics")
"""Asked every few seconds by machines; logged at "debug" when all is well."""

CLIENT_GONE = 499
"""The status that logs and metrics show when nobody was there to take an answer."""

LINGER_SECONDS = 2.0
LINGER_BYTES = 4 * 1024 * 1024


def label(path: str) -> str:
    """Return the path as metrics show it: one of a short list."""
    if path in KNOWN:
        return path
    return "/v1/models" if path.startswith("/v1/models/") else "other"


class Observe:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; whatever happens it is counted and logged."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = Exchange(request_id(scope["headers"]), label(scope["path"]))
        exchange.body_read = not has_body(scope["headers"])
        scope["exchange"] = exchange
        wire = _Wire(exchange, receive, send)
        try:
            await self._answer(scope, wire)
        except BaseException as error:
            exchange.outcome = "stopped" if isinstance(error, asyncio.CancelledError) else "bug"
            raise
        finally:
            self._record(scope, exchange)

    async def _answer(self, scope: Scope, wire: _Wire) -> None:
        try:
            await self.app(scope, wire.receive, wire.send)
        except ApiError as error:
            if wire.exchange.outcome == "ok":
                wire.exchange.outcome = error.code
            if not wire.exchange.status:
                await error.response()(scope, wire.receive, wire.send)

    def _record(self, scope: Scope, exchange: Exchange) -> None:
        status = exchange.status or (CLIENT_GONE if exchange.outcome != "bug" else 500)
        self.metrics.answered(exchange, status)
        quiet = exchange.path in QUIET and status < 400
        if LOG.isEnabledFor(logging.DEBUG if quiet else logging.INFO):
            LOG.log(logging.DEBUG if quiet else logging.INFO, "request", extra=_line(scope, exchange, status))


class _Wire:
    """The two ends of a request, with an eye on what passes."""

    def __init__(self, exchange: Exchange, receive: Receive, send: Send) -> None:
        self.exchange, self._receive, self._send = exchange, receive, send

    async def receive(self) -> Message:
        """Take a piece of the request's body, or learn that the client has gone."""
        message = await self._receive()
        if message["type"] == "http.request":
            self.exchange.bytes_in += len(message.get("body", b""))
            self.exchange.body_read = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send a piece of the answer."""
        exchange = self.exchange
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", exchange.request_id.encode())]
            if exchange.status >= 400 and not exchange.body_read:
                message["headers"].append((b"connection", b"close"))
        else:
            size = len(message.get("body", b""))
            exchange.finished = not message.get("more_body", False)
            if size and exchange.first_byte is None:
                exchange.first_byte = exchange.seconds()
            exchange.bytes_out += size
            if exchange.status >= 400 and not exchange.body_read and not message.get("more_body", False):
                await self._linger(message)
                return
        await self._send(message)

    async def _linger(self, message: Message) -> None:
        """Send an error's end, but let a client that still sends its body read the error first.

        A connection that is closed with unread bytes in it is reset, and the reset may overtake the answer.
        """
        await self._send({**message, "more_body": True})
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while not self.exchange.body_read and self.exchange.bytes_in < LINGER_BYTES:
                    if (await self.receive())["type"] == "http.disconnect":
                        return
        except TimeoutError:
            pass
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _line(scope: Scope, exchange: Exchange, status: int) -> dict[str, Any]:
    """Return what the access log says. The query is left out: people put keys there."""
    client = scope.get("client")
    line: dict[str, Any] = {
        "request_id": exchange.request_id,
        "method": scope["method"][:16],
        "path": re.sub(r"[^A-Za-z0-9/._:-]", "?", scope["path"][:128]),
        "status": status,
        "outcome": exchange.outcome,
        "seconds": round(exchange.seconds(), 6),
        "first_byte_seconds": None if exchange.first_byte is None else round(exchange.first_byte, 6),
        "bytes_in": exchange.bytes_in,
        "bytes_out": exchange.bytes_out,
        "remote": client[0] if client else None,
    }
    if exchange.model:
        line |= {"model": exchange.model, "stream": exchange.stream}
    more = {"client": exchange.client, "detail": exchange.detail}
    return line | {key: value for key, value in more.items() if value}
