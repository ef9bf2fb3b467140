"""Figures as this scenario has them: paths of replicas, and yes or no."""

from __future__ import annotations

from drill.model import Figure


def arrow(path: list[int]) -> str:
    """Write a path of replicas: "1 -> 2 -> 3"."""
    return " -> ".join(map(str, path))


def replicas(name: str, path: list[int], promise: str, ok: bool) -> Figure:
    """A path of replicas, with the promise in words."""
    return Figure(name, arrow(path) or "none", "replicas", promise, ok)


def exactly(name: str, path: list[int], promised: list[int], words: str = "") -> Figure:
    """A path of replicas that is promised to the letter; `words` come after it."""
    return replicas(name, path, arrow(promised) + words, path == promised)


def settled(name: str, path: list[int], at: int, over: int = 1) -> Figure:
    """A path upwards that ends where it should.

    Before that it may go a little beyond: a new pod counts as soon as it is ready, while the metric still tells of the
    load before it was there.
    """
    ok = path[-1] == at and max(path) <= at + over
    return replicas(name, path, f"settles at {at}, and {at + over} at most before", ok)


def changes(name: str, path: list[int]) -> Figure:
    """How often replicas changed while they should not have."""
    return Figure(name, len(path) - 1, "changes of replicas", "0", len(path) == 1)


def yes(name: str, answer: bool) -> Figure:
    """A question whose answer is promised to be yes."""
    return Figure(name, "yes" if answer else "no", "", "yes", answer)
