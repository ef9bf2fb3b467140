"""The edge's paths."""

from __future__ import annotations

import asyncio
import logging
import re
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .backend import Backend, Body, Call, Readiness
from .body import Bodies, judge
from .errors import BadRequest, Overloaded
from .exchange import of
from .guard import Interrupted, Why
from .headers import PASSED_ON, has_body, onward
from .keys import ClientKeys
from .metrics import CONTENT_TYPE, Metrics
from .policy import CHAT, COMPLETIONS, EMBEDDINGS, Prepared, prepare
from .relay import Relay
from .settings import Settings

LOG = logging.getLogger("inference_api")

SMALL = 64 * 1024
"""Bytes of a body that are parsed where they arrive; more takes so long that others would wait, so a thread does it."""

_MODEL = re.compile(r"(?!\.\.?(/|$))[A-Za-z0-9._:@+-]+(/(?!\.\.?(/|$))[A-Za-z0-9._:@+-]+)*")


class Edge:
    """Everything that one server holds.

    Raises (when made):
        KeysError: a file with keys cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.backend = Backend(settings, self.metrics)
        self.readiness = Readiness(self.backend, settings, self.metrics)
        self.relay = Relay(settings, self.backend, self.metrics)
        self.bodies = Bodies(settings.max_body_bytes, settings.max_bodies_bytes, settings.client_timeout_seconds)
        place = settings.api_keys_file or settings.api_keys_dir
        self.keys = ClientKeys(place) if place else None
        more = frozenset(name.encode() for name in settings.forward_headers)
        self.passed_on = PASSED_ON | more | ({b"authorization"} if settings.forward_authorization else set())
        # Not the loop's own threads: those look up names, and a slow name server would hold up large requests.
        self.parsers = ThreadPoolExecutor(2, "parser")
        self.draining = False

    def routes(self) -> list[Route]:
        """Return all paths."""
        posts = [Route(f"/v1{kind}", _Post(self, kind), methods=["POST"]) for kind in (CHAT, COMPLETIONS, EMBEDDINGS)]
        models = [Route(path, _Models(self), methods=["GET"]) for path in ("/v1/models", "/v1/models/{model:path}")]
        return [
            *posts,
            *models,
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/metrics", self.show_metrics),
        ]

    async def healthz(self, _: Request) -> Response:
        """Say that this process lives."""
        return PlainTextResponse("ok")

    async def readyz(self, _: Request) -> Response:
        """Say whether requests should come here."""
        if self.draining:
            raise Overloaded("this server stops", code="stopping")
        if not await self.readiness.ready():
            raise Overloaded("the backend cannot be reached", code="backend_unavailable")
        return PlainTextResponse("ok")

    async def show_metrics(self, _: Request) -> Response:
        """Show metrics."""
        return Response(self.metrics.text(), media_type=CONTENT_TYPE)

    def enter(self, scope: Scope) -> None:
        """Let a client in, if it has a key where keys are asked for."""
        if self.keys is not None:
            of(scope).client = self.keys.client(scope["headers"])

    def call(self, method: str, path: str, scope: Scope, content: bytes | None = None) -> Call:
        """Return the call that the backend gets for a request."""
        headers = onward(scope["headers"], self.passed_on, of(scope).request_id)
        return Call(method, path, headers, None if content is None else Body(content))


class _Guarded:
    """An endpoint where a client may leave at any time."""

    def __init__(self, edge: Edge) -> None:
        self.edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; a client that has gone gets nothing."""
        self.edge.enter(scope)
        try:
            await self.serve(scope, receive, send)
        except Interrupted:
            of(scope).outcome = Why.CLIENT_GONE.value

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do the work."""
        raise NotImplementedError


class _Post(_Guarded):
    """A request with a JSON body."""

    def __init__(self, edge: Edge, kind: str) -> None:
        super().__init__(edge)
        self.kind = kind

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read, add what is missing, pass on."""
        edge = self.edge
        judge(scope["headers"], edge.settings.max_body_bytes)
        with edge.bodies.held_bytes() as held:
            prepared = await self._prepare(await edge.bodies.read(receive, held))
            exchange = of(scope)
            exchange.model, exchange.stream = prepared.model, prepared.stream
            call = edge.call("POST", self.kind, scope, prepared.content)
            del prepared
            await edge.relay(call, scope, receive, send, held.release)

    async def _prepare(self, body: bytes) -> Prepared:
        settings = self.edge.settings
        if len(body) <= SMALL:
            return prepare(self.kind, body, settings)
        return await asyncio.get_running_loop().run_in_executor(self.edge.parsers, prepare, self.kind, body, settings)


class _Models(_Guarded):
    """The backend's list of models, or one of them."""

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        model: str | None = scope["path_params"].get("model")
        if scope["method"] != "GET":
            message, allowed = "this method is not allowed here", {"allow": "GET"}
            raise BadRequest(message, status=405, code="method_not_allowed", headers=allowed)
        if model is not None and (len(model) > 256 or not _MODEL.fullmatch(model)):
            raise BadRequest("there is no such model", status=404, code="model_not_found", param="model")
        path = "/models" if model is None else f"/models/{model}"
        if has_body(scope["headers"]):
            raise BadRequest("a request for models has no body", code="unexpected_body")
        await self.edge.relay(self.edge.call("GET", path, scope), scope, receive, send, lambda: None)
