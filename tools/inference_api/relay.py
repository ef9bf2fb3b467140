"""Passes one request to the backend and its answer back, piece by piece, within time limits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator

import httpx
from starlette.types import Receive, Scope, Send

from .backend import Backend, Call
from .errors import ApiError, BackendError, BackendTimeout, BadRequest, Overloaded
from .exchange import Exchange, of
from .guard import Guard, Interrupted, Why
from .headers import back
from .metrics import Metrics
from .settings import Settings

_TOO_LONG = {
    Why.FIRST_BYTE: "the backend did not begin to answer in time",
    Why.BETWEEN_BYTES: "the backend stopped in the middle of its answer",
    Why.TOTAL: "the request took longer than it may",
}


class Relay:
    """Passes requests on, up to a number at one time."""

    def __init__(self, settings: Settings, backend: Backend, metrics: Metrics) -> None:
        self._settings, self._backend, self._metrics = settings, backend, metrics
        self._guards: set[Guard] = set()

    def stop(self) -> int:
        """End all that is under way; return how many that were."""
        guards = list(self._guards)
        for guard in guards:
            guard.interrupt(Why.STOPPED)
        return len(guards)

    async def __call__(self, call: Call, scope: Scope, receive: Receive, send: Send, sent: Callable[[], None]) -> None:
        """Pass a call on.

        Args:
            call: what the backend gets.
            scope: the client's request, which must be read to its end.
            receive: tells when the client leaves.
            send: takes the answer.
            sent: called when the request's body is no longer needed.

        Raises:
            ApiError: nothing was sent to the client yet, and this should be.
            Interrupted: the client has gone.
        """
        exchange = of(scope)
        answer = _Answer(self._settings, scope, send)
        try:
            with self._admitted() as guard:
                async with guard, _watched(receive, exchange, guard):
                    await self._pass(call, exchange, answer, guard, sent)
        except Interrupted as error:
            exchange.outcome = error.why.value
            await answer.cut(self._interrupted(error.why))
        except httpx.HTTPError as error:
            exchange.detail = f"{type(error).__name__}: {error}"[:200]
            await answer.cut(self._backend.failed(error))

    @contextlib.contextmanager
    def _admitted(self) -> Iterator[Guard]:
        if len(self._guards) >= self._settings.max_connections:
            self._metrics.refused.inc()
            raise Overloaded("too many requests at once")
        guard = Guard(self._settings.request_timeout_seconds)
        self._guards.add(guard)
        self._metrics.in_flight.set(len(self._guards))
        try:
            yield guard
        finally:
            self._guards.discard(guard)
            self._metrics.in_flight.set(len(self._guards))

    async def _pass(
        self, call: Call, exchange: Exchange, answer: _Answer, guard: Guard, sent: Callable[[], None]
    ) -> None:
        guard.allow(self._settings.first_byte_timeout_seconds, Why.FIRST_BYTE)
        response = await self._backend.open(call, lambda words: setattr(exchange, "detail", words))
        if call.body is not None:
            call.body.forget()
        sent()
        try:
            if response.status_code >= 400:
                exchange.outcome = "backend_error" if response.status_code >= 500 else "backend_refused"
            self._judge(response)
            await answer.relay(response, guard)
        finally:
            await response.aclose()

    def _judge(self, response: httpx.Response) -> None:
        """Refuse answers that are not for clients: about the edge's own key, elsewhere, or not in OpenAI's shape."""
        status, kind = response.status_code, response.headers.get("content-type", "")
        if status in (401, 403) and not self._settings.forward_authorization:
            self._backend.count("refused_key")
            raise BackendError("the backend refuses this edge", code="backend_auth")
        if status < 200:
            raise BackendError("the backend gives no answer but a change of protocol", code="backend_broken")
        if 300 <= status < 400:
            self._backend.count("redirect")
            raise BackendError("the backend sends elsewhere", code="backend_redirect")
        if status >= 500:
            self._backend.count("status_5xx")
        if status >= 400 and "json" not in kind:
            raise _reworded(response)

    def _interrupted(self, why: Why) -> ApiError | None:
        """Return what to tell the client; None when nobody listens."""
        if why in (Why.CLIENT_GONE, Why.CLIENT_SLOW):
            return None
        if why is Why.STOPPED:
            return Overloaded("this server stops", code="stopping")
        self._backend.count(why.value)
        return BackendTimeout(_TOO_LONG[why])


def _reworded(response: httpx.Response) -> ApiError:
    """Return an error of the backend in OpenAI's shape, with its status."""
    status = response.status_code
    if status >= 500:
        retry = {"retry-after": response.headers["retry-after"]} if "retry-after" in response.headers else {}
        message = f"the backend failed with status {status}"
        return BackendError(message, status=status, code="backend_error", headers=retry)
    return BadRequest(f"the backend refused with status {status}", status=status, code="backend_refused")


class _Answer:
    """The client's side of one answer."""

    def __init__(self, settings: Settings, scope: Scope, send: Send) -> None:
        self._settings, self._scope, self._send = settings, scope, send
        self._events = False
        self._tail = b"\n\n"

    async def relay(self, response: httpx.Response, guard: Guard) -> None:
        """Send the answer as it comes.

        Its head goes out with the first piece of the body: until then a failure can still be told with a status.
        """
        pieces: AsyncIterator[bytes] = response.aiter_raw()
        piece = await anext(pieces, b"")
        guard.allow(self._settings.client_timeout_seconds, Why.CLIENT_SLOW)
        await self._start(response)
        left = -1 if "transfer-encoding" in response.headers else int(response.headers.get("content-length", -1))
        while piece:
            left -= len(piece)
            guard.allow(self._settings.client_timeout_seconds, Why.CLIENT_SLOW)
            await self._piece(piece, more=left != 0)
            guard.allow(self._settings.between_bytes_timeout_seconds, Why.BETWEEN_BYTES)
            piece = await anext(pieces, b"")
        if left != 0:
            await self._piece(b"", more=False)

    async def _start(self, response: httpx.Response) -> None:
        headers = back(response.headers.raw)
        self._events = response.headers.get("content-type", "").startswith("text/event-stream")
        if self._events:
            # Proxies in front must not gather events either.
            headers.append((b"x-accel-buffering", b"no"))
        await self._send({"type": "http.response.start", "status": response.status_code, "headers": headers})

    async def _piece(self, piece: bytes, *, more: bool) -> None:
        if piece and self._events:
            self._tail = (self._tail + piece)[-2:]
        await self._send({"type": "http.response.body", "body": piece, "more_body": more})

    async def cut(self, error: ApiError | None) -> None:
        """End an answer early.

        Before its head went out, the error is raised for the client to get. Later a stream of events gets it as its
        last event, as engines do; anything else is broken off, so that half of an answer does not pass for a whole.
        """
        exchange = of(self._scope)
        if error and not exchange.status:
            raise error
        if error and exchange.outcome == "ok":
            exchange.outcome = error.code
        if error and self._events:
            gap = b"" if self._tail == b"\n\n" else b"\n\n"
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._settings.client_timeout_seconds):
                    await self._piece(gap + b"data: " + error.body() + b"\n\n", more=False)
                    return
        await abort(self._scope)


async def abort(scope: Scope) -> None:
    """Close the client's connection at once, whatever still waits to be sent (`protocol` gives the means)."""
    close = scope.get("state", {}).get("abort")
    if close is not None:
        close()
        # The protocol learns of it in the loop's next round; until then it would take our return for a mistake.
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def _watched(receive: Receive, exchange: Exchange, guard: Guard) -> AsyncIterator[None]:
    """Interrupt the guarded work when the client leaves before it has the whole answer."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if not exchange.finished:
            guard.interrupt(Why.CLIENT_GONE)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
