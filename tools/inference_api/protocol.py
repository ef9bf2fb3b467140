"""uvicorn's HTTP/1.1, with the limits and words of this edge.

What uvicorn leaves to a proxy in front: a client that never sends its request, more sockets than there should be, and
words for requests that are no HTTP.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from .errors import ApiError, BadRequest, Overloaded
from .settings import Settings


class EdgeProtocol(H11Protocol):
    """One client's connection. `limited` makes a class with limits."""

    head_seconds = 30.0
    most_sockets = 2048

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or refuse it when there are too many."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, "abort": transport.abort}
        self._wait_for_head()
        if len(self.connections) > self.most_sockets:
            self._refuse(Overloaded("too many connections"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes. A head that drips in does not get more time for each drop."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._head_came()
        elif self._head_timer is None:
            self._wait_for_head()

    def on_response_complete(self) -> None:
        """Go on to the next request; the time that it may take is uvicorn's keep-alive until its first byte."""
        self._head_came()
        super().on_response_complete()

    def _wait_for_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._head_late)

    def _head_came(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_late(self) -> None:
        if self.conn.trailing_data[0]:
            self._refuse(BadRequest("the request came too slowly", status=408, code="request_timeout"))
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP. uvicorn calls this while it handles h11's error, which knows a better status."""
        status = getattr(sys.exception(), "error_status_hint", 400)
        if status == 431:
            self._refuse(BadRequest("the request's headers are too large", status=431, code="headers_too_large"))
        else:
            self._refuse(BadRequest("this is not HTTP/1.1 as we read it", status=status, code="bad_http"))

    def _refuse(self, error: ApiError) -> None:
        """Send an error outside of any request and close; in the middle of an answer there is only the closing."""
        self._head_came()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE) or self.transport.is_closing():
            self.transport.abort()
            return
        response = error.response()
        headers = [*response.raw_headers, (b"connection", b"close")]
        head = h11.Response(status_code=error.status, headers=headers, reason=STATUS_PHRASES.get(error.status, b""))
        for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def limited(settings: Settings) -> type[EdgeProtocol]:
    """Return the protocol with the limits of the settings: each request at the backend, and as many that only wait."""

    class Limited(EdgeProtocol):
        head_seconds = settings.client_timeout_seconds
        most_sockets = 2 * settings.max_connections + 64

    return Limited
