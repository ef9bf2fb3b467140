"""What a client is told when something goes wrong, in OpenAI's shape.

    ApiError                 {"error": {"message", "type", "param", "code"}} and an HTTP status
    |- BadRequest       400  the request itself is wrong (subclasses and other 4xx by `status`)
    |- BackendError     502  the backend is down, broke off, or answers what is no answer
    |- BackendTimeout   504  the backend took longer than it may
    `- Overloaded       503  this edge is full, or stops

Words here never hold a key, a prompt, or the backend's address: they go to strangers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response


class ApiError(Exception):
    """An answer that is an error.

    Args:
        message: what is wrong, for a person.
        status: HTTP status.
        code: short name for a program; stable.
        param: the field of the request that is wrong.
        headers: more headers of the answer.
    """

    status = 500
    kind = "server_error"
    code = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status or type(self).status
        self.code = code or type(self).code
        self.param = param
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        """Return the JSON document that OpenAI's clients expect."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return json.dumps({"error": error}).encode()

    def response(self) -> Response:
        """Return the whole answer."""
        return Response(self.body(), self.status, self.headers, media_type="application/json")


class BadRequest(ApiError):
    """The request is wrong; sending it again as it is will not help."""

    status = 400
    kind = "invalid_request_error"
    code = "invalid_request"


class BackendError(ApiError):
    """The backend cannot be reached, broke off, or gave what is no answer."""

    status = 502
    code = "backend_unavailable"


class BackendTimeout(ApiError):
    """The backend took too long."""

    status = 504
    code = "backend_timeout"


class Overloaded(ApiError):
    """There is no room for the request now."""

    status = 503
    code = "overloaded"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message, code=code, headers={"retry-after": "1"})
