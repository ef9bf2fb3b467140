"""The closed loop: load spread over the replicas that are ready, ours and the reference platform's side by side."""

from __future__ import annotations

import functools
import math

from drill.model import Figure
from drill.scaling import reference
from drill.scaling.figures import changes, exactly, replicas, settled
from drill.scaling.ground import Ground
from drill.scaling.intent import LOOP
from drill.scaling.load import Load, idle, served
from drill.scaling.signals import HOLD
from drill.scaling.triggers import Triggers

_STEPS = 4
_CONSTANT = 45
_AGAIN = 12


def closed(ground: Ground) -> list[Figure]:
    """Load in steps, then constant, then half of it, for ours and for the reference's triggers."""
    ours, theirs, twin = (ground.track(name) for name in (LOOP, reference.NAME, "twin"))
    began = ground.context.seconds
    _ramp(ground)
    steady = ground.context.seconds
    ground.context.mark("closed loop: constant load from here")
    ramp, asleep = ours.path(began), twin.path(began)
    twin.load(requests(twin.triggers, 1))
    ours.hold(_CONSTANT)
    held, flaps, awake = (track.path(steady) for track in (ours, theirs, twin))
    less = _less(ground)
    return [
        settled("loop: load in four steps", ramp, _STEPS + 1, over=2),
        changes(f"loop: constant load for {_CONSTANT} s", held),
        *less,
        replicas("reference triggers: the same constant load", flaps, "flaps: why ours differ", len(flaps) > 2),
        _vanished(ground),
        exactly("two environments: twin without load, while the other takes it", asleep, [1]),
        settled("two environments: twin under load, while the other is steady", awake, 2),
    ]


def _ramp(ground: Ground) -> None:
    """Raise the load by steps, each of which wants one replica more of ours."""
    ours, theirs = ground.track(LOOP), ground.track(reference.NAME)
    for step in range(1, _STEPS + 1):
        load = requests(ours.triggers, step)
        theirs.load(load)
        ours.load(load)
        ours.until(functools.partial(ours.has, step + 1), 120)
    ours.settle(_STEPS + 1, HOLD)


def _less(ground: Ground) -> list[Figure]:
    """Half the load for ours. The reference's metrics vanish meanwhile, its load stays."""
    ours = ground.track(LOOP)
    ground.hide(reference.NAME)
    fell = ours.load(requests(ours.triggers, 2))
    ours.reach(3)
    path, steady = ours.path(fell), ground.context.seconds
    ours.hold(_AGAIN)
    return [
        exactly("loop: half the load", path, [5, 4, 3], ", one at a time"),
        changes(f"loop: constant again for {_AGAIN} s", ours.path(steady)),
    ]


def _vanished(ground: Ground) -> Figure:
    theirs = ground.track(reference.NAME)
    theirs.until(lambda: theirs.wanted == 1, 60)
    left = theirs.wanted
    theirs.load(idle)
    ground.hide(reference.NAME, False)
    name = "reference triggers: metrics vanish under load"
    return Figure(name, left, "replicas", "1: a lost series reads as no load", left == 1)


def requests(triggers: Triggers, step: int) -> Load:
    """Return requests in flight for which `step` pods are too few and one more is enough.

    1.15 thresholds a pod: 15 % too much for `step` pods, which is more than the autoscaler's tolerance of 10 %. The KV
    cache fills with the slots, so that it stays below its threshold whenever running requests do.
    """
    kv_full = min(1.0, 0.9 * triggers.kv / triggers.running)
    return served(math.ceil(1.15 * triggers.running * triggers.slots * step), triggers.slots, kv_full)
