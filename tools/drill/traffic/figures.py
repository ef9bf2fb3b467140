"""What is said of requests and replicas: numbers in, figures out. Pure."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from drill.model import Figure, Series
from drill.scaling.figures import arrow
from drill.traffic.clients import Answer

_BUCKET = 3.0
_MARGIN = 10.0
"""Points that a replica's share may be away from an even one: connections are spread, not tokens."""


def shares(answers: Sequence[Answer], since: float, until: float, replicas: int) -> list[Figure]:
    """How the answers of a time were spread, a figure a replica, in the order of their names."""
    counted = Counter(one.instance for one in answers if since <= one.ended <= until and not one.wrong)
    total, even = counted.total(), 100 / replicas
    promise = f"{even:.0f} +/- {_MARGIN:.0f}"
    made = []
    for number in range(replicas):
        part = sorted(counted.items())[number][1] if number < len(counted) else 0
        share = 100 * part / total if total else 0.0
        ok = abs(share - even) <= _MARGIN and len(counted) == replicas
        made.append(Figure(f"share of replica {number + 1} of {replicas}", round(share, 1), "%", promise, ok))
    return made


def answered(answers: Sequence[Answer], told: Mapping[str, float], busy: bool) -> list[Figure]:
    """How many were answered, by whom late, and how many were lost.

    Args:
        answers: all of them.
        told: when each pod was told to go.
        busy: whether each of these had requests then.
    """
    lost = [one for one in answers if one.wrong]
    late = [one for one in answers if not one.wrong and told.get(one.instance, one.ended) < one.ended]
    slowest = max((one.ended - one.began for one in answers), default=0.0)
    return [
        Figure("requests answered", len(answers) - len(lost), "requests", "above 0", len(answers) > len(lost)),
        Figure("requests lost while replicas came and went", len(lost), "requests", "0", not lost),
        Figure("answered by replicas that had been told to go", len(late), "requests", "above 0" if busy else "",
               bool(late) or not busy),
        Figure("slowest answer", round(slowest, 1), "s"),
    ]  # fmt: skip


def gpus(path: Sequence[int], each: int) -> Figure:
    """GPUs that were asked for from beginning to end; never more than those of one replica at a step."""
    steps = [abs(after - before) for before, after in itertools.pairwise(path)]
    promise = f"by {each} at a step" if each != 1 else "one at a step"
    return Figure("GPUs asked for", arrow([each * one for one in path]), "GPUs", promise, set(steps) == {1})


def series(answers: Sequence[Answer], aims: Sequence[tuple[float, int]], end: float) -> list[Series]:
    """Load as lines of a plot: requests in flight, and answers of each replica a second."""
    flying: list[tuple[float, float]] = []
    for (at, count), (then, _) in itertools.pairwise([*aims, (end, 0)]):
        flying += [(round(at, 2), float(count)), (round(then, 2), float(count))]
    made = [Series("by the clients", "requests in flight", tuple(flying))]
    names = sorted({one.instance for one in answers if one.instance})
    for name in names:
        counted = Counter(int(one.ended / _BUCKET) for one in answers if one.instance == name)
        whole = range(min(counted), max(counted) + 1)
        points = tuple(((place + 0.5) * _BUCKET, counted[place] / _BUCKET) for place in whole)
        made.append(Series(name, "answers a second", points))
    return made
