"""Constant traffic for one name, over gateways that take over from one another; every answer is kept."""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType

from drill.context import Context, until
from drill.gateway.cell import Cell
from drill.gateway.client import OK, Answer, Caller
from drill.model import Series

_WORKERS = 4
_PAUSE = 0.2
"""Seconds between two requests of a worker: the figures are of shares, not of speed."""

_DRAIN_SECONDS = 60
_BUCKET = 3.0


class Traffic:
    """Clients that ask for one name all the time. Use it as a context manager.

    Args:
        name: what they ask for.
        cell: the gateway that gets the requests until `use` names another.
    """

    def __init__(self, name: str, cell: Cell) -> None:
        self.answers: list[Answer] = []
        self._name = name
        self._cell = cell
        self._flying: Counter[Cell] = Counter()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(_WORKERS)]

    def __enter__(self) -> Traffic:
        """Begin."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, after the answers that are still awaited."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def use(self, cell: Cell) -> None:
        """Send what comes from now on to another gateway."""
        with self._lock:
            self._cell = cell

    def drained(self, cell: Cell) -> None:
        """Wait until a gateway that gets nothing new owes no answer any more.

        Raises:
            DrillError: it still owes one after a minute.
        """
        until("the old gateway has answered everything", lambda: not self._flying[cell], _DRAIN_SECONDS)

    def _work(self) -> None:
        caller: Caller | None = None
        while not self._stop.wait(_PAUSE):
            with self._lock:
                cell = self._cell
                self._flying[cell] += 1
            if caller is None or caller.door != cell.door:
                if caller:
                    caller.close()
                caller = Caller(cell.door)
            answer = caller.ask(self._name)
            with self._lock:
                self._flying[cell] -= 1
                self.answers.append(answer)
        if caller:
            caller.close()

    @property
    def lost(self) -> list[Answer]:
        """Requests that did not get what they asked for."""
        return [answer for answer in self.answers if answer.status != OK]

    def series(self, context: Context, canary: str) -> list[Series]:
        """Share of the canary, and requests a second, over the scenario's time."""
        buckets: dict[int, list[Answer]] = {}
        for answer in sorted(self.answers, key=lambda one: one.at):
            buckets.setdefault(int((answer.at - context.began) / _BUCKET), []).append(answer)
        for edge in {min(buckets, default=0), max(buckets, default=0)} & buckets.keys():
            del buckets[edge]  # not whole: a share of few answers says nothing
        middle = {key: (key + 0.5) * _BUCKET for key in buckets}
        share = [
            (middle[key], 100.0 * sum(one.reached == canary for one in some) / len(some))
            for key, some in buckets.items()
        ]
        rate = [(middle[key], len(some) / _BUCKET) for key, some in buckets.items()]
        return [
            Series("share that reached the canary", "% of requests", tuple(share)),
            Series("answers", "requests a second", tuple(rate)),
        ]


class Stream:
    """One long stream through a gateway, in a thread of its own."""

    def __init__(self, cell: Cell, name: str, tokens: int) -> None:
        self._found: list[Answer] = []
        self._begun = threading.Event()
        self._tokens = tokens
        self._thread = threading.Thread(target=self._read, args=(cell, name), daemon=True)
        self._thread.start()

    def _read(self, cell: Cell, name: str) -> None:
        caller = Caller(cell.door, self._begun.set)
        self._found.append(caller.ask(name, tokens=self._tokens, stream=True, ignore_eos=True))
        self._begun.set()
        caller.close()

    def until_begun(self) -> None:
        """Wait for its first piece (or its end)."""
        self._begun.wait()

    def end(self) -> Answer:
        """Wait for its end."""
        self._thread.join()
        return self._found[0]

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return self._thread.is_alive()
