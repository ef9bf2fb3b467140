"""The scenario `scaling`: all cases side by side on one hub, those that touch everything afterwards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed

from drill.context import Context
from drill.model import Figure, Result
from drill.scaling import intent, loops, lost, signals
from drill.scaling.ground import Ground, opened_ground

NAME = "scaling"
TITLE = "Real KEDA and Kubernetes' autoscaler on the catalog's triggers, by load"

Case = Callable[[Ground], list[Figure]]

_CASES: tuple[Case, ...] = (
    *(functools.partial(signals.alone, signal=name) for name in signals.SIGNALS),
    functools.partial(signals.alone, signal="running", case=intent.EDGE),
    loops.closed,
    signals.hottest,
    lost.vanish,
)


def run(context: Context) -> Result:
    """Put the chosen component under load in every way, and tell what its replicas did.

    Raises:
        DrillError: something did not start, or died.
    """
    with opened_ground(context) as ground:
        figures = _side_by_side(ground)
        figures += lost.blind(ground)
        end = context.seconds
        series = [line for track in ground.tracks.values() for line in track.series(end)]
    return Result(NAME, TITLE, context.seconds, tuple(figures), tuple(series), tuple(context.events))


def _side_by_side(ground: Ground) -> list[Figure]:
    """Run the cases at once, in their order of the figures; one that fails stops the others."""
    with ThreadPoolExecutor(len(_CASES)) as pool:
        tasks = [pool.submit(case, ground) for case in _CASES]
        try:
            for task in as_completed(tasks):
                task.result()
        except BaseException:
            ground.stopped.set()
            raise
    return [figure for task in tasks for figure in task.result()]
