"""The ASGI application: paths, with everything around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from .endpoints import Edge
from .errors import ApiError, BadRequest
from .observe import Observe


def build(edge: Edge) -> Starlette:
    """Return the application of an edge."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await edge.backend.aclose()

    app = Starlette(
        routes=edge.routes(),
        middleware=[Middleware(Observe, metrics=edge.metrics)],
        exception_handlers={HTTPException: _refused, Exception: _bug},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


async def _refused(_: Request, error: Exception) -> Response:
    """Turn the router's refusals into ours."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        raise BadRequest(
            "this method is not allowed here", status=405, code="method_not_allowed", headers=dict(error.headers or {})
        )
    raise BadRequest("there is no such path", status=error.status_code, code="unknown_path")


async def _bug(request: Request, _: Exception) -> Response:
    """Tell of a mistake of ours without showing it; the log has it, under the same request id."""
    exchange = request.scope.get("exchange")
    headers = {"x-request-id": exchange.request_id} if exchange else {}
    return ApiError("an error inside this server; the log has more", headers=headers).response()
