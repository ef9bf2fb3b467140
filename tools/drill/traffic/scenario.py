"""The scenario `traffic`: load up in steps, constant, down to little, gone."""

from __future__ import annotations

import functools
import math

from drill.context import Context
from drill.model import Figure, Result, Series
from drill.scaling.figures import changes, exactly, settled
from drill.scaling.signals import HOLD
from drill.scaling.triggers import Triggers
from drill.traffic import figures
from drill.traffic.ground import Ground, opened_ground

NAME = "traffic"
TITLE = "Real KEDA on real requests: pods are processes that answer, come and go"

_REPLICAS = 3
"""At most, however much room the component has: two cores are enough for so many processes."""

_CONSTANT = 20
_LITTLE = 9
_DRAIN_SECONDS = 60
_SEEN = 25.0
"""Percent by which what the engines count may be away from what the clients keep in flight, on average."""


def run(context: Context) -> Result:
    """Put the chosen component under requests, and tell what its replicas did and what became of the requests.

    Raises:
        DrillError: something did not start, or died.
    """
    with opened_ground(context) as ground:
        found = [*_up(ground), *_constant(ground), *_down(ground)]
        found += figures.answered(ground.clients.answers, ground.told, _little(ground) >= _REPLICAS)
        found.append(figures.gpus(ground.traffic.path(0), ground.gpus))
        for answer in ground.clients.answers:
            if answer.wrong:
                context.mark(f"lost at {answer.ended:.1f} s: {answer.wrong}")
        series = _series(ground)
    return Result(NAME, TITLE, context.seconds, tuple(found), tuple(series), tuple(context.events))


def in_flight(triggers: Triggers, step: int) -> int:
    """Return requests in flight for which `step` pods are too few and one more is enough.

    `step` pods get at least 1.2 thresholds each for up to two of them, and one more at most 5/6: both are beyond the
    autoscaler's tolerance of 10 %. One pod alone has no slots for all of them where its threshold is above 2/3.
    """
    return math.ceil(triggers.running * triggers.slots * (step + 0.5))


def _up(ground: Ground) -> list[Figure]:
    """Load in steps, each of which wants one replica more."""
    track, made = ground.traffic, list[Figure]()
    for step in range(1, min(track.triggers.most, _REPLICAS)):
        count = in_flight(track.triggers, step)
        began = ground.clients.aim(count)
        ground.context.mark(f"{count} requests in flight")
        track.until(functools.partial(track.has, step + 1), 120)
        if step == 1:
            made += _saturated(ground, began)
        track.settle(step + 1, HOLD)
        name, over = f"up: {count} requests in flight", int(track.triggers.most > step + 1)
        made.append(settled(name, track.path(began), step + 1, over))
        made.append(Figure(f"up: replica {step + 1} answers after", round(track.ready_after(began, step + 1), 1), "s"))
    return made


def _saturated(ground: Ground, began: float) -> list[Figure]:
    """What the one pod reported until the second one came."""
    peaks = {name: max(ground.traffic.signals(began, name), default=0.0) for name in ("running", "queue", "kv-cache")}
    unit, waits = "% of threshold", in_flight(ground.traffic.triggers, 1) > ground.traffic.triggers.slots
    return [
        Figure("one replica: most requests running", peaks["running"], unit, "above 100", peaks["running"] > 100),
        Figure("one replica: most requests waiting", peaks["queue"], unit, "above 0" if waits else "",
               peaks["queue"] > 0 or not waits),
        Figure("one replica: fullest KV cache", peaks["kv-cache"], unit, "above 0", peaks["kv-cache"] > 0),
    ]  # fmt: skip


def _constant(ground: Ground) -> list[Figure]:
    """The same load for a while, on all replicas."""
    track, replicas = ground.traffic, ground.traffic.wanted
    began = ground.context.seconds
    track.hold(_CONSTANT)
    end = ground.context.seconds
    wanted = ground.clients.aims[-1][1]
    seen = [100 * value / wanted for at, value in ground.counted if began <= at <= end]
    mean = sum(seen) / len(seen) if seen else 0.0
    return [
        changes(f"constant load for {_CONSTANT} s", track.path(began, end)),
        Figure("in flight, as the engines count them", round(mean), "% of the clients' own", "100 +/- 25",
               abs(mean - 100) <= _SEEN),
        *figures.shares(ground.clients.answers, began, end, replicas),
    ]  # fmt: skip


def _down(ground: Ground) -> list[Figure]:
    """Little is left, so that every replica that goes has requests to end; then nothing."""
    track, triggers = ground.traffic, ground.traffic.triggers
    most, least = track.wanted, triggers.least
    fell = ground.clients.aim(_little(ground))
    ground.context.mark(f"{_little(ground)} requests in flight")
    track.reach(least, triggers.window + 60 + 10 * triggers.period)
    path, steps = track.path(fell), track.steps(fell)
    track.until(lambda: len(ground.pods) == least, _DRAIN_SECONDS)
    ground.clients.aim(0)
    track.until(lambda: ground.clients.idle, _DRAIN_SECONDS)
    ground.context.mark("no requests")
    after = round(steps[0], 1) if steps else math.inf
    in_time = triggers.window / 2 <= after < math.inf
    return [
        exactly("down: load gone but for little", path, list(range(most, least - 1, -1)), ", one at a time"),
        Figure("down: first replica goes after", after, "s", f"about {triggers.window}: the window", in_time),
        Figure("down: all are gone after", round(steps[-1], 1) if steps else math.inf, "s"),
    ]


def _little(ground: Ground) -> int:
    """Return requests in flight that one pod takes easily."""
    triggers = ground.traffic.triggers
    return max(1, min(_LITTLE, int(triggers.running * triggers.slots / 2)))


def _series(ground: Ground) -> list[Series]:
    end = ground.context.seconds
    counted = Series("by the engines", "requests in flight", tuple(ground.counted))
    load = figures.series(ground.clients.answers, ground.clients.aims, end)
    return [*ground.traffic.series(end), load[0], counted, *load[1:]]
