"""`/sim/state`: what a test forces on a running engine, and what it has served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .engine import DISCONNECT, ERROR, HANG, Engine, Forced
from .errors import Refused

_FIELDS = {"running": "running", "waiting": "waiting", "kvUsage": "usage", "latencySeconds": "latency"}
_FAULTS = (None, ERROR, HANG, DISCONNECT)


class Control:
    """Reads and sets an engine's state.

    Attributes:
        asked: requests for text by the model they named.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.asked: Counter[str] = Counter()

    def read(self) -> dict[str, Any]:
        """What is forced (null where nothing is), what the gauges say, what is really in flight, and who was asked."""
        engine = self._engine
        forced = {name: getattr(engine.forced, own) for name, own in _FIELDS.items()}
        gauges = {"running": engine.running, "waiting": engine.waiting, "kvUsage": engine.usage}
        known = {"gauges": gauges, "busy": engine.busy, "asked": dict(self.asked)}
        return {**forced, "fault": engine.forced.fault, **known, "instance": engine.settings.instance}

    def change(self, wish: Mapping[str, Any]) -> None:
        """Set what is named; null lets the engine speak for itself again. All or nothing.

        Raises:
            Refused: an unknown field, or a value that makes no sense.
        """
        for name, value in wish.items():
            if name == "fault":
                if value not in _FAULTS:
                    raise Refused(f"fault: one of {', '.join(map(str, _FAULTS[1:]))} or null", parameter=name)
            elif name not in _FIELDS:
                known = ", ".join([*_FIELDS, "fault"])
                raise Refused(f"{name}: unknown; known are {known}", parameter=name)
            elif value is not None and not _amount(value, 1.0 if name == "kvUsage" else 1e9):
                raise Refused(f"{name}: a number from 0 on or null is required", parameter=name)
        for name, value in wish.items():
            setattr(self._engine.forced, _FIELDS.get(name, name), value)

    def reset(self) -> None:
        """Force nothing any more, and forget who was asked."""
        self._engine.forced = Forced()
        self.asked.clear()


def _amount(value: Any, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most
