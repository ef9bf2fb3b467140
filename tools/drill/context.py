"""What a scenario is given, and the clock its figures are taken by."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from drill.errors import DrillError
from drill.model import Event

ENVIRONMENT = "drill"
"""The environment whose objects are put under traffic."""


def _silent(_: str) -> None:
    """Tell nobody."""


@dataclass
class Context:
    """One run of one scenario.

    Attributes:
        root: the checkout.
        folder: scratch space of this scenario's own, removed afterwards by who made it.
        app: name of the application that is put under traffic.
        component: one of its components; "" leaves the choice to the scenario.
        say: gets a line for people now and then.
        events: marks for the plots, see `mark`.
    """

    root: Path
    folder: Path
    app: str = "inference-fleet"
    component: str = ""
    say: Callable[[str], None] = _silent
    events: list[Event] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the scenario began."""
        return time.monotonic() - self.began

    def mark(self, text: str) -> None:
        """Put a mark on the plots, now, and tell people."""
        self.events.append(Event(round(self.seconds, 2), text))
        self.say(text)


def until(what: str, check: Callable[[], object], seconds: float, every: float = 0.1) -> None:
    """Wait until `check` gives something true.

    Args:
        what: for the error, as in "the gateway answers".
        check: raises DrillError when it will never come true.
        seconds: how long to try.
        every: seconds between two tries.

    Raises:
        DrillError: it did not come true.
    """
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise DrillError(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)
