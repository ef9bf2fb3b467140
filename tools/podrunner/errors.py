"""What goes wrong, with what a person is told."""

from __future__ import annotations


class RunnerError(Exception):
    """The runner cannot do what it is asked.

    Attributes:
        message: what is wrong.
        hint: what may help, "" when nothing is known.
        exit_code: of the command.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.message = message
        self.hint = hint


class Refused(RunnerError):
    """The API server answered with an error.

    Attributes:
        status: of HTTP.
    """

    exit_code = 4

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Unreachable(RunnerError):
    """The API server does not answer."""

    exit_code = 4


class NotRunnable(RunnerError):
    """A container cannot be started.

    Attributes:
        reason: as the kubelet words it, for instance CreateContainerConfigError.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
