"""What the pods of one model report under a load. Pure: numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gauges:
    """What one engine reports: requests it works on, requests that wait, share of its KV cache in use (0 to 1)."""

    running: int = 0
    waiting: int = 0
    kv: float = 0.0


Load = Callable[[int], list[Gauges]]
"""Gauges of each of so many pods, the oldest pod first."""


def idle(pods: int) -> list[Gauges]:
    """Nothing to do."""
    return [Gauges()] * pods


def spread(*, running: int = 0, waiting: int = 0, kv: float = 0.0, slots: int = 1) -> Load:
    """Signals spread evenly over the pods, each by itself as no engine would: to see what each of them does alone.

    Args:
        running: requests in work over all pods; no pod works on more than `slots`.
        waiting: requests that wait, over all pods.
        kv: KV cache in use over all pods, in units of one pod's.
        slots: sequences that one engine works on at once.
    """

    def load(pods: int) -> list[Gauges]:
        works, waits = _shares(running, pods), _shares(waiting, pods)
        return [Gauges(min(slots, works[pod]), waits[pod], min(1.0, kv / pods)) for pod in range(pods)]

    return load


def served(requests: int, slots: int, kv_full: float) -> Load:
    """So many requests in flight, spread evenly, as engines serve them: what finds no slot waits.

    Args:
        requests: in flight over all pods.
        slots: sequences that one engine works on at once.
        kv_full: share of the KV cache that an engine uses when all its slots are taken.
    """

    def load(pods: int) -> list[Gauges]:
        return [
            Gauges(min(slots, share), max(0, share - slots), kv_full * min(slots, share) / slots)
            for share in _shares(requests, pods)
        ]

    return load


def uneven(first: int, others: int) -> Load:
    """One pod works on more requests than each of the others."""

    def load(pods: int) -> list[Gauges]:
        return [Gauges(first), *[Gauges(others)] * (pods - 1)]

    return load


def _shares(total: int, pods: int) -> list[int]:
    """Spread whole requests over pods as evenly as they go."""
    return [total // pods + (pod < total % pods) for pod in range(pods)]
