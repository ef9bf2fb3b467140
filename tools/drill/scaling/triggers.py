"""What a ScaledObject of ours says, in numbers. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from drill.errors import DrillError
from drill.scaling.load import Gauges

_EDGE_SLOTS = 4096
"""An edge has no slots: more than any load here."""


@dataclass(frozen=True, slots=True)
class Triggers:
    """What the workload's ScaledObject says, and how many sequences one engine works on at once.

    An edge has one signal, requests under way, which is held to be the running ones; the others have no threshold.
    """

    least: int
    most: int
    running: float
    kv: float
    waiting: float
    slots: int
    window: int
    period: int

    def shares(self, pods: list[Gauges]) -> dict[str, float]:
        """Each signal as a share of its threshold: 1 means that it asks for what is there."""
        if not pods:
            return {}
        return {
            "running": max(one.running for one in pods) / self.slots / self.running,
            "kv-cache": max(one.kv for one in pods) / self.kv,
            "queue": sum(one.waiting for one in pods) / self.waiting / len(pods),
        }

    @classmethod
    def of(cls, scaled_object: dict[str, Any]) -> Triggers:
        """Read a ScaledObject.

        Raises:
            DrillError: it is not as `keda-saturation-scaling` or `inference-queue-scaling` renders it.
        """
        spec = scaled_object["spec"]
        rows = {one["name"]: one["metadata"] for one in spec["triggers"]}
        down = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
        limits = {
            "least": spec["minReplicaCount"],
            "most": spec["maxReplicaCount"],
            "window": down["stabilizationWindowSeconds"],
            "period": down["policies"][0]["periodSeconds"],
        }
        if "in-flight" in rows:
            ratio = float(rows["in-flight"]["threshold"]) / _EDGE_SLOTS
            return cls(**limits, running=ratio, kv=math.inf, waiting=math.inf, slots=_EDGE_SLOTS)
        slots = re.search(r"/ (\d+)$", rows["running"]["query"])
        if slots is None:
            raise DrillError(f"no number of slots in the query {rows['running']['query']!r}")
        return cls(
            **limits,
            running=float(rows["running"]["threshold"]),
            kv=float(rows["kv-cache"]["threshold"]),
            waiting=float(rows["waiting"]["threshold"]),
            slots=int(slots[1]),
        )
