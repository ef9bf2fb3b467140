"""Cases in which metrics are lost under load: of one model, and all of them with Prometheus."""

from __future__ import annotations

import functools

from drill.model import Figure
from drill.scaling.figures import exactly, replicas, yes
from drill.scaling.ground import Ground
from drill.scaling.intent import LOOP
from drill.scaling.signals import HOLD, amount, back

_MARGIN = 10
"""Seconds beyond the window: what would go because of lost metrics is gone by then."""

_AFTER = 6


def vanish(ground: Ground) -> list[Figure]:
    """The metrics of one model vanish while it is under load; Prometheus goes on."""
    track = ground.track("vanish")
    track.load(amount(track.triggers, "running", 1.3))
    track.settle(2, HOLD)
    track.until(functools.partial(ground.sighted, "vanish"), 60)
    ground.hide("vanish")
    began = ground.context.seconds
    ground.context.mark("vanish: metrics are gone")
    noticed = track.until(functools.partial(ground.blind, "vanish"), 60)
    track.hold(track.triggers.window + _MARGIN)
    path, lost = track.path(began), ground.context.seconds - began
    ground.hide("vanish", False)
    seen = track.until(functools.partial(ground.sighted, "vanish"), 60)
    return [
        exactly(f"vanish: metrics gone for {lost:.0f} s under load", path, [2], ", and stays"),
        yes("vanish: KEDA runs on the fallback", noticed),
        yes("vanish: metrics back, fallback over", seen),
        *back(track, "vanish"),
    ]


def blind(ground: Ground) -> list[Figure]:
    """Prometheus dies while models are under load, and comes back."""
    tracks = {name: ground.track(name) for name in (LOOP, "twin", "queue")}
    queue = tracks["queue"]
    queue.load(amount(queue.triggers, "queue", 1.3))
    queue.settle(2, HOLD)
    ground.crash_prometheus()
    began = ground.context.seconds
    ground.context.mark("Prometheus dies")
    noticed = all(queue.until(functools.partial(ground.blind, name), 60) for name in tracks)
    queue.hold(queue.triggers.window + _MARGIN)
    dead = ground.context.seconds - began
    ground.restart_prometheus()
    ground.context.mark("Prometheus is back")
    seen = all(queue.until(functools.partial(ground.sighted, name), 60) for name in tracks)
    queue.hold(_AFTER)
    paths = {name: track.path(began) for name, track in tracks.items()}
    return [
        *(_stays(f"Prometheus dead for {dead:.0f} s under load: {name}", path) for name, path in paths.items()),
        yes("Prometheus dead: KEDA runs on the fallback", noticed),
        yes("Prometheus back: fallback over", seen),
    ]


def _stays(name: str, path: list[int]) -> Figure:
    return replicas(name, path, "as many as before, also when it is back", len(path) == 1 and path[0] > 1)
