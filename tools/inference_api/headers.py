"""Which headers pass the edge, in either direction, and request ids. Pure.

Requests pass by a list of what may: a header that steers an engine or a gateway (where to send a request, whom to
believe) is nothing that a stranger sets. Answers pass by a list of what may not.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable

Headers = Iterable[tuple[bytes, bytes]]

HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
     "transfer-encoding", "upgrade")
)  # fmt: skip
"""They speak about one connection (RFC 9110, 7.6.1), and the edge has two."""

PASSED_ON = frozenset((b"accept", b"accept-encoding", b"user-agent", b"traceparent", b"tracestate", b"baggage"))
"""What the backend gets of the client's headers, beside what settings add."""

_KEPT_BACK = frozenset(name.encode() for name in HOP_BY_HOP) | {b"server", b"date", b"set-cookie", b"x-request-id"}
_SANE_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")


def values(headers: Headers, name: bytes) -> list[bytes]:
    """Return what was given for a header, each line by itself. Names come in lower case (ASGI)."""
    return [value for key, value in headers if key == name]


def single(headers: Headers, name: bytes) -> bytes | None:
    """Return a header's value when it was given exactly once."""
    found = values(headers, name)
    return found[0] if len(found) == 1 else None


def has_body(headers: Headers) -> bool:
    """Return whether a request says that a body follows."""
    return any(name in (b"content-length", b"transfer-encoding") and value != b"0" for name, value in headers)


def request_id(headers: Headers) -> str:
    """Return the client's own request id when it is one that logs and headers can bear, else a new one."""
    given = single(headers, b"x-request-id")
    return given.decode("ascii") if given and _SANE_ID.fullmatch(given) else uuid.uuid4().hex


def _named_by_connection(headers: Headers) -> set[bytes]:
    lines = values(headers, b"connection")
    return {token.strip().lower() for line in lines for token in line.split(b",")}


def onward(headers: Headers, passed: frozenset[bytes], identifier: str) -> list[tuple[bytes, bytes]]:
    """Return what the backend gets of a client's headers, with the request's id.

    Without `accept-encoding` the answer must come as it is: nobody here would unpack it.
    """
    headers = list(headers)
    dropped = _named_by_connection(headers)
    kept = [(name, value) for name, value in headers if name in passed and name not in dropped]
    if not any(name == b"accept-encoding" for name, _ in kept):
        kept.append((b"accept-encoding", b"identity"))
    return [*kept, (b"x-request-id", identifier.encode())]


def back(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return what the client gets of the backend's headers."""
    lowered = [(name.lower(), value) for name, value in headers]
    dropped = _KEPT_BACK | _named_by_connection(lowered)
    if values(lowered, b"transfer-encoding"):
        # Then a length counts for nothing (RFC 9112, 6.3).
        dropped |= {b"content-length"}
    return [(name, value) for name, value in lowered if name not in dropped]


def media_type(headers: Headers) -> tuple[str, str]:
    """Return the content type without parameters, and its charset; both in lower case, empty when not given."""
    kind, _, rest = (single(headers, b"content-type") or b"").decode("latin-1").lower().partition(";")
    charset = re.search(r"charset=\"?([^\s;\"]*)", rest)
    return kind.strip(), charset[1] if charset else ""
