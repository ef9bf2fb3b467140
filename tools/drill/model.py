"""What a scenario gives back. Plain data: scenarios fill it, report.py prints it, tests read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from drill.context import Context

Value = float | int | str
"""What a figure holds: a number, or a word where a number says nothing."""


@dataclass(frozen=True)
class Figure:
    """One measured value and whether it is as promised.

    `name` is a short phrase ("share of the canary"), `unit` may be empty, `expected` says the promise in words
    ("8 to 12 %"; empty when the value is only told), `ok` whether it holds.
    """

    name: str
    value: Value
    unit: str = ""
    expected: str = ""
    ok: bool = True


@dataclass(frozen=True)
class Series:
    """One line of a plot: points are (seconds since the scenario began, value), in the order of time.

    Series of the same unit share a plot.
    """

    name: str
    unit: str
    points: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Event:
    """Something worth a mark on the plots: `at` is seconds since the scenario began."""

    at: float
    text: str


@dataclass(frozen=True)
class Result:
    """What a scenario found. `seconds` is how long it took, set-up included."""

    scenario: str
    title: str
    seconds: float
    figures: tuple[Figure, ...] = ()
    series: tuple[Series, ...] = ()
    events: tuple[Event, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every figure holds. A scenario without figures has shown nothing, so it is not ok."""
        return bool(self.figures) and all(figure.ok for figure in self.figures)


@dataclass(frozen=True)
class Need:
    """Something that a scenario cannot run without.

    `find` gives where it is, or None; `remedy` is what a person types to get it.
    """

    name: str
    find: Callable[[], Path | None] = field(compare=False)
    remedy: str = ""


@dataclass(frozen=True)
class Scenario:
    """A row of the list: `run` gets the context and gives the result; it stops what it started in any case."""

    name: str
    title: str
    needs: tuple[Need, ...]
    run: Callable[[Context], Result] = field(compare=False)
