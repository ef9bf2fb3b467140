"""The replicas and the signals of one workload over time, and waiting for them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from drill.model import Series
from drill.scaling.load import Gauges, Load
from drill.scaling.triggers import Triggers


class Track:
    """One workload: what was seen of it, from the first moment on.

    Args:
        case: name of the case that drives it; its plots are named after it.
        triggers: see there.
        put: puts the workload under a load.
        clock: seconds since the scenario began.
        check: raises when the ground under all of this is gone (a process has died).
    """

    def __init__(
        self,
        case: str,
        triggers: Triggers,
        put: Callable[[Load], None],
        clock: Callable[[], float],
        check: Callable[[], None],
    ) -> None:
        self.case = case
        self.triggers = triggers
        self._put = put
        self._clock = clock
        self._check = check
        self._changed = threading.Condition()
        self._wanted: list[tuple[float, int]] = []
        self._ready: list[tuple[float, int]] = []
        self._shares: dict[str, list[tuple[float, float]]] = {}

    def seen(self, wanted: int, ready: int) -> None:
        """Take in replicas as they are now."""
        now = self._clock()
        with self._changed:
            for points, value in ((self._wanted, wanted), (self._ready, ready)):
                if not points or points[-1][1] != value:
                    points.append((now, value))
            self._changed.notify_all()

    def sample(self, pods: list[Gauges]) -> None:
        """Take in the signals as they are now."""
        now = self._clock()
        for name, value in self.triggers.shares(pods).items():
            self._shares.setdefault(name, []).append((now, round(100 * value, 1)))

    def load(self, load: Load) -> float:
        """Put the workload under a load; return when."""
        self._put(load)
        return self._clock()

    @property
    def wanted(self) -> int:
        """Replicas that are asked for now."""
        with self._changed:
            return self._wanted[-1][1] if self._wanted else 0

    def reach(self, replicas: int, seconds: float = 120) -> bool:
        """Wait until so many replicas are asked for and ready; tell whether they came in time."""
        return self.until(lambda: self._now() == (replicas, replicas), seconds)

    def has(self, replicas: int) -> bool:
        """Tell whether at least so many replicas are ready."""
        return self._now()[1] >= replicas

    def settle(self, replicas: int, still: float, seconds: float = 120) -> bool:
        """Wait until so many replicas have been asked for and ready, without any change, for `still` seconds."""

        def settled() -> bool:
            with self._changed:
                last = max(self._wanted[-1][0], self._ready[-1][0]) if self._wanted else math.inf
            return self._now() == (replicas, replicas) and self._clock() - last >= still

        return self.until(settled, seconds)

    def until(self, check: Callable[[], bool], seconds: float) -> bool:
        """Wait until something about this workload is true."""
        deadline = time.monotonic() + seconds
        while not check():
            if time.monotonic() > deadline:
                return False
            self._check()
            with self._changed:
                self._changed.wait(0.5)
        return True

    def hold(self, seconds: float) -> list[int]:
        """Let time pass; return the replicas asked for meanwhile, each change once, the first those of the start."""
        began = self._clock()
        self.until(lambda: False, seconds)
        return self.path(began)

    def path(self, since: float, until: float = float("inf")) -> list[int]:
        """Replicas that were asked for from a moment on, each change once, the first those of that moment."""
        with self._changed:
            before = [value for at, value in self._wanted if at <= since][-1:]
            return before + [value for at, value in self._wanted if since < at <= until]

    def steps(self, since: float) -> list[float]:
        """Seconds from a moment to each change after it."""
        with self._changed:
            return [at - since for at, _ in self._wanted if at > since]

    def ready_after(self, since: float, replicas: int) -> float:
        """Seconds from a moment until at least so many replicas were ready; infinite when they never were."""
        with self._changed:
            return next((at - since for at, value in self._ready if at > since and value >= replicas), math.inf)

    def signals(self, since: float, name: str) -> list[float]:
        """Shares (in %) of a signal from a moment on."""
        return [value for at, value in list(self._shares.get(name, [])) if at >= since]

    def series(self, end: float) -> list[Series]:
        """Everything as lines of a plot: replicas as steps, signals in % of their thresholds."""
        made = [
            Series(name, f"replicas ({self.case})", _steps(points, end))
            for name, points in (("asked for", self._wanted), ("ready", self._ready))
        ]
        shown = {name: points for name, points in self._shares.items() if any(value for _, value in points)}
        unit = f"% of threshold ({self.case})"
        return made + [Series(name, unit, _thinned(points)) for name, points in shown.items()]

    def _now(self) -> tuple[int, int]:
        with self._changed:
            return (self._wanted[-1][1], self._ready[-1][1]) if self._wanted else (0, 0)


def _steps(points: list[tuple[float, int]], end: float) -> tuple[tuple[float, float], ...]:
    """Draw values that hold until the next one: two points a change."""
    made: list[tuple[float, float]] = []
    for at, value in points:
        if made:
            made.append((round(at, 2), made[-1][1]))
        made.append((round(at, 2), value))
    return (*made, (round(end, 2), made[-1][1])) if made else ()


def _thinned(points: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Leave out the inner points of a level line."""
    kept = [
        point
        for index, point in enumerate(points)
        if index in (0, len(points) - 1) or not points[index - 1][1] == point[1] == points[index + 1][1]
    ]
    return tuple((round(at, 2), value) for at, value in kept)
