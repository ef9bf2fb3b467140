"""What the API server is told about a pod. Pure: facts in, patches out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from .api import Object


@dataclass(slots=True)
class Facts:
    """What is known of a pod's process.

    Attributes:
        address: the pod's.
        began: when the pod was taken up.
        running_since: when its process started, "" while none runs.
        pid: of the process.
        started, ready: what the start-up and readiness probes say.
        restarts: how often the process ended and was started again.
        waiting: reason and message while no process runs.
        ended: how the process ended last: reason, message, exitCode, startedAt, finishedAt.
        phase: of the pod.
    """

    address: str
    began: str
    running_since: str = ""
    pid: int = 0
    started: bool = False
    ready: bool = False
    restarts: int = 0
    waiting: tuple[str, str] = ("ContainerCreating", "")
    ended: dict[str, Any] = field(default_factory=dict)
    phase: str = "Pending"


def now() -> str:
    """The present moment as the API writes it, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def patch(pod: Object, facts: Facts) -> Object:
    """The status of a pod, for its subresource `status`."""
    # The list of addresses would be merged with what somebody said before.
    addresses = {"podIP": facts.address, "podIPs": [{"$patch": "replace"}, {"ip": facts.address}]}
    return {
        "status": {
            "phase": facts.phase,
            "hostIP": "127.0.0.1",
            **(addresses if facts.address else {}),
            "startTime": facts.began,
            "conditions": _conditions(pod, facts),
            "containerStatuses": [_container(one, place, facts) for place, one in enumerate(pod["spec"]["containers"])],
        }
    }


def _conditions(pod: Object, facts: Facts) -> list[Object]:
    had = {one["type"]: one for one in pod.get("status", {}).get("conditions") or []}
    ready = facts.ready and facts.phase == "Running"
    why = {} if ready else {"reason": "ContainersNotReady", "message": "containers with unready status"}
    wanted: dict[str, Object] = {
        "PodReadyToStartContainers": {"status": "True"},
        "Initialized": {"status": "True"},
        "ContainersReady": {"status": str(ready), **why},
        "Ready": {"status": str(ready), **why},
    }
    return [_condition(name, row, had.get(name, {})) for name, row in wanted.items()]


def _condition(name: str, row: Object, had: Mapping[str, Any]) -> Object:
    """A condition; its time moves only when its status does."""
    same = had.get("status") == row["status"]
    since = had.get("lastTransitionTime") if same else None
    # None removes what an earlier patch said.
    return {"type": name, "reason": None, "message": None, **row, "lastTransitionTime": since or now()}


def _container(container: Object, place: int, facts: Facts) -> Object:
    head = {"name": container["name"], "image": container["image"], "imageID": f"podrunner://{container['image']}"}
    if place:
        # Only the first container has a process; the others must not keep the pod from being ready.
        state = {"running": {"startedAt": facts.began}}
        return {**head, "ready": True, "started": True, "restartCount": 0, "state": state, "lastState": {}}
    return {
        **head,
        "containerID": f"podrunner://{facts.pid}" if facts.pid else "",
        "ready": facts.ready,
        "started": facts.started,
        "restartCount": facts.restarts,
        "state": _state(facts),
        "lastState": {"terminated": facts.ended} if facts.ended and facts.phase in ("Running", "Pending") else {},
    }


def _state(facts: Facts) -> Object:
    if facts.phase in ("Succeeded", "Failed"):
        return {"terminated": facts.ended}
    if facts.running_since:
        return {"running": {"startedAt": facts.running_since}}
    reason, message = facts.waiting
    return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}


def ended(code: int, since: str, reason: str = "", message: str = "") -> dict[str, Any]:
    """How a process ended.

    Args:
        code: exit code, below 0 the number of the signal that ended it.
        since: when it had started.
        reason: why it was ended, "" when it ended by itself.
        message: the end of what it said.
    """
    number = 128 - code if code < 0 else code
    why = reason or ("Completed" if number == 0 else "Error")
    return {"exitCode": number, "reason": why, "message": message, "startedAt": since, "finishedAt": now()}
