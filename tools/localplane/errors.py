"""What can go wrong with a local plane.

PlaneError        words for a person, a hint what to do, exit code 1
  ComponentDied   a process of the plane ended by itself; the end of its log is in the message
  NotReady        something did not come true in time
  ApiError        an API server refused a request
"""

from __future__ import annotations


class PlaneError(Exception):
    """Anything that stops the plane from doing what was asked. `hint` says what helps."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class ComponentDied(PlaneError):
    """A process that was started is gone."""


class NotReady(PlaneError):
    """A condition that should come true by itself did not, in the time it was given."""


class ApiError(PlaneError):
    """An API server answered with an error status.

    Attributes:
        status: HTTP status code.
        reason: the `reason` of the Status object, for instance "NotFound"; "" when there is none.
    """

    def __init__(self, message: str, status: int, reason: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
