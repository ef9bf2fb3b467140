"""The HTTP side: vLLM's paths, and `/sim/state` for tests."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from http import HTTPStatus
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from . import answers, protocol
from .answers import Writer
from .control import Control
from .engine import DISCONNECT, ERROR, Engine
from .errors import Refused
from .protocol import Ask
from .settings import VERSION, Settings
from .streams import Gone, Stream, unless_gone

Handler = Callable[[Request], Awaitable[Response]]


class Service:
    """Answers requests with one engine.

    Args:
        settings: of the engine.

    Attributes:
        cut: drops the connection that a request came over; the server sets it.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine = Engine(settings)
        self.control = Control(self.engine)
        self.cut: Callable[[Scope], None] = lambda _: None
        self._since = int(time.time())

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/health", self.health),
                Route("/ping", self.health, methods=["GET", "POST"]),
                Route("/version", self.version),
                Route("/load", self.load),
                Route("/metrics", self.metrics),
                Route("/v1/models", self._open(self.models)),
                Route("/v1/chat/completions", self._open(self.chat), methods=["POST"]),
                Route("/v1/completions", self._open(self.completion), methods=["POST"]),
                Route("/v1/embeddings", self._open(self.embeddings), methods=["POST"]),
                Route("/tokenize", self.tokenize, methods=["POST"]),
                Route("/sim/state", self.state, methods=["GET", "PUT", "DELETE"]),
            ],
            exception_handlers={Refused: _refused, HTTPException: _http_error, Gone: _gone},
        )

    async def health(self, _: Request) -> Response:
        """Well as soon as it listens: the port is closed until the model is loaded."""
        return Response()

    async def version(self, _: Request) -> Response:
        """The version of the engine that this stands in for."""
        return JSONResponse({"version": VERSION})

    async def load(self, _: Request) -> Response:
        """Requests in flight."""
        return JSONResponse({"server_load": self.engine.busy})

    async def metrics(self, _: Request) -> Response:
        """Prometheus' text format."""
        return Response(self.engine.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def models(self, _: Request) -> Response:
        """The base and its adapters."""
        return JSONResponse(answers.models(self.settings, self._since))

    async def chat(self, request: Request) -> Response:
        """Chat, whole or streamed."""
        return await self._text(request, protocol.chat, chat=True)

    async def completion(self, request: Request) -> Response:
        """Completion, whole or streamed."""
        return await self._text(request, protocol.completion, chat=False)

    async def embeddings(self, request: Request) -> Response:
        """A vector a text."""
        read = await _body(request)
        model, texts = protocol.inputs(read, self.settings)
        self.control.asked[model] += 1
        return JSONResponse(answers.embeddings(model, texts, read, self.settings.seed))

    async def tokenize(self, request: Request) -> Response:
        """How many tokens a prompt has; their numbers mean nothing."""
        read = await _body(request)
        text = read.get("prompt")
        if not isinstance(text, str):
            text = protocol.chat(read, self.settings).prompt
        count = protocol.tokens(text)
        return JSONResponse(
            {"count": count, "max_model_len": self.settings.max_model_len, "tokens": list(range(count))}
        )

    async def state(self, request: Request) -> Response:
        """What a test forces; see `Control`."""
        if request.method == "PUT":
            self.control.change(await _body(request))
        if request.method == "DELETE":
            self.control.reset()
        return JSONResponse(self.control.read())

    async def _text(self, request: Request, read: Callable[[dict[str, Any], Settings], Ask], chat: bool) -> Response:
        ask = read(await _body(request), self.settings)
        self.control.asked[ask.model] += 1
        writer = Writer(ask, chat, self._told(request, ask))
        if self.engine.forced.fault == ERROR:
            self.engine.metrics.ended("error")
            raise Refused("EngineCore encountered an issue.", HTTPStatus.INTERNAL_SERVER_ERROR, "InternalServerError")
        if ask.stream:
            return Stream(self._chunks(request, writer))
        return JSONResponse(await unless_gone(request.receive, self._whole(request, writer)))

    async def _whole(self, request: Request, writer: Writer) -> dict[str, Any]:
        text, made, why = [], 0, "stop"
        async with contextlib.aclosing(self.engine.pieces(writer.ask)) as pieces:
            async for piece, reason in pieces:
                text.append(piece)
                made, why = made + 1, reason or why
        await self._maybe_cut(request)
        return writer.whole("".join(text), made, why)

    async def _chunks(self, request: Request, writer: Writer) -> AsyncGenerator[str, None]:
        made = 0
        async with contextlib.aclosing(self.engine.pieces(writer.ask)) as pieces:
            async for piece, reason in pieces:
                for one in [] if made else writer.first():
                    yield _event(one)
                made += 1
                yield _event(writer.piece(piece, reason))
                await self._maybe_cut(request)
        if writer.ask.usage:
            yield _event(writer.last(made))
        yield "data: [DONE]\n\n"

    async def _maybe_cut(self, request: Request) -> None:
        if self.engine.forced.fault == DISCONNECT:
            self.cut(request.scope)
            # Until the server has noticed and cancels this.
            await asyncio.Event().wait()

    def _told(self, request: Request, ask: Ask) -> dict[str, Any]:
        headers = {name: value for name, value in request.headers.items() if name.startswith("x-")}
        return {
            "model": ask.model,
            "served": self.settings.name,
            "adapter": ask.adapter or None,
            "system": ask.system,
            "temperature": ask.temperature,
            "instance": self.settings.instance,
            "headers": headers,
        }

    def _open(self, handler: Handler) -> Handler:
        """Let those in who show a key, or anybody when there are no keys."""

        async def guarded(request: Request) -> Response:
            if self.settings.keys and not self._known(request):
                return JSONResponse({"error": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
            return await handler(request)

        return guarded

    def _known(self, request: Request) -> bool:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        given = key.encode()
        found = [hmac.compare_digest(given, one.encode()) for one in self.settings.keys]
        return scheme.lower() == "bearer" and any(found)


async def _body(request: Request) -> dict[str, Any]:
    return protocol.body(await request.body())


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n"


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse(answers.error(error), error.status)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    return JSONResponse(answers.error(Refused(str(error.detail), status, status.phrase)), status, error.headers)


async def _gone(_: Request, __: Exception) -> Response:
    """Nobody reads this."""
    return Response(status_code=499)
