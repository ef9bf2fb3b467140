"""Ends a piece of work from outside (a time limit, a client that has gone, a server that stops) and says by what."""

from __future__ import annotations

import asyncio
import enum
from types import TracebackType


class Why(enum.Enum):
    """Why work was interrupted. The values are words for logs and metrics."""

    CLIENT_GONE = "client_gone"
    CLIENT_SLOW = "client_slow"
    FIRST_BYTE = "first_byte_timeout"
    BETWEEN_BYTES = "between_bytes_timeout"
    TOTAL = "request_timeout"
    STOPPED = "stopped"


class Interrupted(Exception):
    """The guarded work was ended; `why` says by what."""

    def __init__(self, why: Why) -> None:
        super().__init__(why.value)
        self.why = why


class Guard:
    """Guards one task: `async with Guard(total) as guard`. Leaving it raises Interrupted when it was interrupted.

    One timer serves all phases of a request. A phase that ends in time only moves the deadline; the timer looks at it
    when it goes off, so that a stream of a thousand pieces does not set a thousand timers.

    Args:
        total: seconds for all of it.
    """

    def __init__(self, total: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + total
        self._deadline, self._phase = self._end, Why.TOTAL
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self.why: Why | None = None

    def allow(self, seconds: float, phase: Why) -> None:
        """Begin a phase: its time, and what to say when that is over. The total holds in every phase."""
        deadline = self._loop.time() + seconds
        self._deadline, self._phase = (deadline, phase) if deadline < self._end else (self._end, Why.TOTAL)
        if self._timer is None or self._deadline < self._timer.when():
            self._set()

    def interrupt(self, why: Why) -> None:
        """End the work. Only the first reason counts."""
        if self.why is None and self._task is not None:
            self.why = why
            self._task.cancel()

    def _set(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._deadline, self._over)

    def _over(self) -> None:
        if self._loop.time() < self._deadline:
            self._set()
        else:
            self.interrupt(self._phase)

    async def __aenter__(self) -> Guard:
        self._task = asyncio.current_task()
        self._set()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        task, self._task = self._task, None
        if self.why is None or task is None:
            return
        # The cancellation is ours, unless somebody else wants the task to end as well.
        if task.uncancel() == 0 or kind is not asyncio.CancelledError:
            raise Interrupted(self.why) from None
