"""What goes wrong, with what a person or a client is told."""

from __future__ import annotations

from http import HTTPStatus


class Unusable(Exception):
    """The simulator cannot start like this.

    Attributes:
        message: what is wrong.
        code: exit code, 2 for arguments that the engine's parser refuses, 1 for what the engine refuses at boot.
    """

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Refused(Exception):
    """A request that gets an error answer.

    Attributes:
        status: of HTTP.
        kind: the error's type, as vLLM words it.
        parameter: the field that is wrong, None when there is no single one.
    """

    def __init__(
        self,
        message: str,
        status: HTTPStatus = HTTPStatus.BAD_REQUEST,
        kind: str = "BadRequestError",
        parameter: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.parameter = parameter


def unknown_model(name: str) -> Refused:
    """The answer to a model that is not served here."""
    return Refused(f"The model `{name}` does not exist.", HTTPStatus.NOT_FOUND, "NotFoundError", "model")
