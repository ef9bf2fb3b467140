"""Reads request bodies, within limits: one body's size, all bodies' size together, and time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import Receive

from .errors import BadRequest, Overloaded
from .guard import Interrupted, Why
from .headers import Headers, has_body, media_type, single, values


def judge(headers: Headers, longest: int) -> None:
    """Refuse a body by its headers, before it is read.

    Raises:
        BadRequest: it is not JSON, is packed, is too long, or two readers could disagree about where it ends.
    """
    lengths = values(headers, b"content-length")
    if lengths and values(headers, b"transfer-encoding"):
        # Some servers believe the one, some the other: the classic way to smuggle a second request past a proxy.
        raise BadRequest("Content-Length and Transfer-Encoding exclude each other", code="bad_framing")
    if not has_body(headers):
        raise BadRequest("the body is empty; a JSON object is expected", code="invalid_json")
    encoding = single(headers, b"content-encoding")
    if values(headers, b"content-encoding") and (encoding or b"").strip().lower() != b"identity":
        raise BadRequest("a body with a Content-Encoding is not read here", status=415, code="unsupported_encoding")
    kind, charset = media_type(headers)
    if kind != "application/json" or charset not in ("", "utf-8", "utf8", "us-ascii"):
        message = "Content-Type must be given once, as application/json in UTF-8"
        raise BadRequest(message, status=415, code="unsupported_media_type")
    if lengths and int(lengths[0]) > longest:
        raise too_large(longest)


def too_large(longest: int) -> BadRequest:
    """Return the error of a body above the limit."""
    return BadRequest(f"the body is larger than {longest} bytes", status=413, code="request_too_large")


class Bodies:
    """Reads bodies and knows how many bytes of them are held at the moment.

    Args:
        longest: bytes of one body.
        together: bytes of all.
        seconds: for a client to send one.
    """

    def __init__(self, longest: int, together: int, seconds: float) -> None:
        self._longest, self._together, self._seconds = longest, together, seconds
        self.held = 0

    @contextmanager
    def held_bytes(self) -> Iterator[_Held]:
        """Count what `read` reads for as long as the block lasts."""
        held = _Held(self)
        try:
            yield held
        finally:
            held.release()

    async def read(self, receive: Receive, held: _Held) -> bytes:
        """Read one body to its end.

        Raises:
            BadRequest: it is too large, or came too slowly.
            Overloaded: all bodies together are too large.
            Interrupted: the client has gone.
        """
        pieces = []
        try:
            async with asyncio.timeout(self._seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Interrupted(Why.CLIENT_GONE)
                    pieces.append(message.get("body", b""))
                    more = message.get("more_body", False)
                    self._count(held, len(pieces[-1]))
        except TimeoutError:
            raise BadRequest("the body came too slowly", status=408, code="request_timeout") from None
        return b"".join(pieces)

    def _count(self, held: _Held, size: int) -> None:
        held.add(size)
        if held.size > self._longest:
            raise too_large(self._longest)
        if self.held > self._together:
            raise Overloaded("too many large requests at once")


class _Held:
    """The bytes of one body."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies, self.size = bodies, 0

    def add(self, size: int) -> None:
        """Count more bytes."""
        self.size += size
        self._bodies.held += size

    def release(self) -> None:
        """Forget them; a second call does nothing."""
        self._bodies.held -= self.size
        self.size = 0
