"""One request and its answer, as logs and metrics see it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from starlette.types import Scope


@dataclass(slots=True)
class Exchange:
    """What is known of a request while it is served. No prompt, no key, nothing of the body but the model's name.

    Attributes:
        request_id: for logs, the backend and the client.
        path: a known path of the edge, or "other".
        started: when it came, by the monotonic clock.
        status: HTTP status sent; 0 while nothing was.
        first_byte: seconds until the first byte of the answer's body went out.
        outcome: "ok", or what went wrong, in a word.
        detail: more words about it, for the log alone.
        client: name of the client's key.
        model: name asked for.
        stream: whether a stream was asked for.
        bytes_in, bytes_out: of the bodies.
        body_read: whether the request's body was read to its end.
        finished: whether the last of the answer was given to the server.
    """

    request_id: str
    path: str
    started: float = field(default_factory=time.monotonic)
    status: int = 0
    first_byte: float | None = None
    outcome: str = "ok"
    detail: str = ""
    client: str = ""
    model: str = ""
    stream: bool = False
    bytes_in: int = 0
    bytes_out: int = 0
    body_read: bool = False
    finished: bool = False

    def seconds(self) -> float:
        """Return the time since it came."""
        return time.monotonic() - self.started


def of(scope: Scope) -> Exchange:
    """Return the exchange that belongs to an ASGI scope; `observe` has put it there."""
    exchange: Exchange = scope["exchange"]
    return exchange
