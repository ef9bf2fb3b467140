"""Cases of one workload by itself: each signal alone, and the hottest pod."""

from __future__ import annotations

import math

from drill.model import Figure
from drill.scaling.figures import exactly, replicas, settled
from drill.scaling.ground import Ground
from drill.scaling.load import Load, idle, spread, uneven
from drill.scaling.track import Track
from drill.scaling.triggers import Triggers

SIGNALS = ("running", "kv-cache", "queue")

HOLD = 8
"""Seconds without a change after which replicas are taken to have settled: several looks of the autoscaler."""


def alone(ground: Ground, signal: str, case: str = "") -> list[Figure]:
    """One signal crosses its threshold, goes on to where all replicas are needed, far beyond, and back.

    Args:
        ground: what it stands on.
        signal: one of SIGNALS.
        case: whose workload it is; the signal's unless another is named.
    """
    case = case or signal
    track = ground.track(case)
    most = track.triggers.most
    began = track.load(amount(track.triggers, signal, 1.3))
    track.settle(2, HOLD)
    first = track.path(began)
    rose = track.load(amount(track.triggers, signal, 1.3 * (most - 1)))
    track.reach(most)
    track.load(amount(track.triggers, signal, 3 * most))
    track.hold(HOLD)
    path = track.path(rose)
    others = max(value for name in SIGNALS if name != signal for value in track.signals(began, name))
    alone_indeed = Figure(f"{case}: other signals meanwhile", others, "% of threshold", "0", others == 0)
    rises = path == sorted(path) and path[-1] == most
    return [
        settled(f"{case}: 1.3 of its threshold", first, 2),
        replicas(f"{case}: more, then thrice what {most} can take", path, f"2 to {most}, and stays", rises),
        *([] if math.isinf(track.triggers.kv) else [alone_indeed]),  # an edge has no other
        *back(track, case),
    ]


def hottest(ground: Ground) -> list[Figure]:
    """Two pods are there; then one is hot and the other idle: the hot one decides, not the mean."""
    track = ground.track("hottest")
    if track.triggers.most < 3:
        return [Figure("hottest: not tried", f"{track.triggers.most} replicas are all that it may have")]
    full = track.triggers.running * track.triggers.slots
    track.load(amount(track.triggers, "running", 1.3))
    track.settle(2, HOLD)
    hot, cool = round(1.3 * full), round(0.1 * full)
    began = track.load(uneven(hot, cool))
    track.until(lambda: track.wanted != 2, 60)
    path = track.path(began)
    track.load(idle)
    mean = 100 * (hot + cool) / 2 / full
    name = f"hottest: one pod runs {hot} requests, one {cool} (mean: {mean:.0f} % of threshold)"
    return [exactly(name, path, [2, 3], ": the hottest pod drives")]


def back(track: Track, case: str) -> list[Figure]:
    """Take all load away: replicas go one at a time, the first of them after the window."""
    most, least, window = track.wanted, track.triggers.least, track.triggers.window
    fell = track.load(idle)
    track.reach(least, window + 60 + 10 * track.triggers.period)
    path, steps = track.path(fell), track.steps(fell)
    after = round(steps[0], 1) if steps else math.inf
    # The window counts from the last look that still saw the load, which may have been some time before the load fell.
    in_time = window / 2 <= after < math.inf
    return [
        exactly(f"{case}: load gone", path, list(range(most, least - 1, -1)), ", one at a time"),
        Figure(f"{case}: first replica goes after", after, "s", f"about {window}: the window", in_time),
    ]


def amount(triggers: Triggers, signal: str, thresholds: float) -> Load:
    """Return a load that puts one signal to so many thresholds of one pod, and no other above zero."""
    if signal == "running":
        return spread(running=round(thresholds * triggers.running * triggers.slots), slots=triggers.slots)
    if signal == "kv-cache":
        return spread(kv=thresholds * triggers.kv)
    return spread(waiting=max(math.ceil(thresholds * triggers.waiting), int(triggers.waiting) + 1))
