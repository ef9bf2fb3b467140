"""The server that does the work: requests to it, its failures in our words, and whether it is there."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import httpx

from .errors import ApiError, BackendError, BackendTimeout
from .keys import Watched, read_key
from .metrics import Metrics
from .pool import Pool
from .settings import Settings

LOG = logging.getLogger("inference_api.backend")


class Body(httpx.AsyncByteStream):
    """The body of a call, that can be forgotten once it was sent: a stream may last for many minutes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size = len(content)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content

    def forget(self) -> None:
        """Give the memory back."""
        self._content = b""


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the backend: method, path after its /v1, headers, and a body for POST."""

    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    body: Body | None = None


class Backend:
    """Sends calls.

    Raises (when made):
        KeysError: the backend's key cannot be read.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._base = settings.backend_url
        url = httpx.URL(self._base)
        self._host = url.netloc
        self._pool = Pool(url, httpx.create_ssl_context())
        key = settings.backend_api_key_file
        self._key = Watched(key, read_key) if key else None
        self._timeouts = httpx.Timeout(None, connect=settings.connect_timeout_seconds).as_dict()

    async def open(self, call: Call, refused: Callable[[str], None] = lambda _: None) -> httpx.Response:
        """Send a call; return the answer with its body still to come. The caller closes it.

        The time until an answer comes is the caller's to bound, but for the connection's.

        Args:
            call: what to send.
            refused: told in detail what went wrong, for the log; the error itself goes to a stranger.

        Raises:
            BackendError, BackendTimeout: there is none.
        """
        # A request with a stream of our own gets none of httpx' own headers, either.
        headers = [(b"host", self._host), *call.headers]
        if self._key:
            headers.append((b"authorization", f"Bearer {self._key.get()}".encode()))
        if call.body is not None:
            headers += [(b"content-type", b"application/json"), (b"content-length", str(call.body.size).encode())]
        url, more = self._base + call.path, {"timeout": self._timeouts}
        request = httpx.Request(call.method, url, headers=headers, stream=call.body or Body(b""), extensions=more)
        try:
            return await self._pool.handle_async_request(request)
        except httpx.HTTPError as error:
            # The error's own text may name hosts, never a header's value.
            refused(f"{type(error).__name__}: {error}"[:200])
            raise self.failed(error) from None

    def failed(self, error: httpx.HTTPError) -> ApiError:
        """Return what the client is told about a failure of the connection, and count it."""
        reason, told = _told(error)
        self._metrics.upstream_errors.labels(reason).inc()
        return told

    def count(self, reason: str) -> None:
        """Count a failure that is no failure of the connection."""
        self._metrics.upstream_errors.labels(reason).inc()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


def _told(error: httpx.HTTPError) -> tuple[str, ApiError]:
    if isinstance(error, httpx.ConnectTimeout):
        return "connect_timeout", BackendTimeout("the backend does not take the connection in time")
    if isinstance(error, httpx.ConnectError):
        return "connect", BackendError("the backend cannot be reached")
    if isinstance(error, httpx.TimeoutException):
        return "timeout", BackendTimeout("the backend took too long")
    return "broken", BackendError("the backend broke off the connection", code="backend_broken")


class Readiness:
    """Whether the backend answers. However many ask, it is asked once, and what it said holds for a moment."""

    def __init__(self, backend: Backend, settings: Settings, metrics: Metrics) -> None:
        self._backend, self._metrics = backend, metrics
        self._limit, self._keep = settings.ready_timeout_seconds, settings.ready_cache_seconds
        self._good_until = 0.0
        self._ready: bool | None = None
        self._asking: asyncio.Task[bool] | None = None

    async def ready(self) -> bool:
        """Return whether the backend gives any answer to /models that is no server's error."""
        if time.monotonic() < self._good_until:
            return self._ready is True
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        # Whoever leaves must not take the answer from the others who wait for it.
        return await asyncio.shield(self._asking)

    async def _ask(self) -> bool:
        call = Call("GET", "/models", [(b"accept-encoding", b"identity"), (b"user-agent", b"inference-api")])
        try:
            async with asyncio.timeout(self._limit):
                response = await self._backend.open(call)
                await response.aclose()
            ready = response.status_code < 500
        except (ApiError, TimeoutError):
            ready = False
        if ready != self._ready:
            LOG.log(logging.INFO if ready else logging.WARNING, "backend is %s", "there" if ready else "not there")
        self._ready, self._good_until = ready, time.monotonic() + self._keep
        self._metrics.ready.set(ready)
        return ready
