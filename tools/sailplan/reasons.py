"""Why a pod does not serve yet, in a person's words. Pure: Kubernetes objects in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

Object = Mapping[str, Any]

_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")


def pod(item: Object, now: datetime) -> str:
    """Why a pod is not ready, or has not ended; "" when it is or has.

    Args:
        item: the pod.
        now: with a time zone; durations are counted up to it.
    """
    status = item.get("status", {})
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    ready = conditions.get("Ready", {}).get("status") == "True"
    # A preload pod has no readiness probe, so it is ready all the time and done only when it has ended.
    if status.get("phase") == "Succeeded" or (ready and not _preloads(item)):
        return ""
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return _unschedulable(item, str(scheduled.get("message", "")))
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        said = _container(container)
        if said:
            return said
    if item["metadata"].get("deletionTimestamp"):
        return "stops"
    if status.get("phase") == "Failed":
        return f"failed: {status.get('message') or status.get('reason') or 'see its log'}"
    return _loading(item, now)


def deployment(item: Object, fixed: int | None = None) -> tuple[bool, str]:
    """Whether a Deployment serves as it was asked to last, and how many of its pods are ready.

    The same judgement as our components' health policies: one ready pod of the present version serves, pods that a
    scaler asked for on top may still be on their way.

    Args:
        item: the Deployment.
        fixed: replicas that its Application asks for; None when a scaler decides, or nobody.
    """
    status, wanted = item.get("status", {}), int(item["spec"].get("replicas", 1))
    ready, updated = int(status.get("readyReplicas", 0)), int(status.get("updatedReplicas", 0))
    current = status.get("observedGeneration", 0) >= item["metadata"].get("generation", 0)
    least = min(wanted, fixed or 1)
    if current and min(ready, updated) >= least and status.get("replicas", 0) <= updated:
        return True, f"{ready}/{wanted} ready, serving" if wanted else "scaled to zero"
    return False, f"{ready}/{wanted} ready, {updated} up to date"


def refused(item: Object) -> str:
    """Why a Deployment could not even make its pods (quota, admission); "" when it could."""
    for one in item.get("status", {}).get("conditions") or ():
        if one["type"] == "ReplicaFailure" and one["status"] == "True":
            return f"pods are refused: {one.get('message') or one.get('reason')}"
    return ""


def job(item: Object) -> str:
    """Why a preload Job has not succeeded for good; "" when it has, or still tries."""
    for one in item.get("status", {}).get("conditions") or ():
        if one["type"] == "Failed" and one["status"] == "True":
            return f"preload failed: {one.get('message') or one.get('reason')}"
    return ""


def gpus(items: Iterable[Object], resource: str) -> int:
    """GPUs that pods ask for; those that have ended ask for none.

    Args:
        items: pods.
        resource: name of the extended resource, `nvidia.com/gpu`.
    """
    return sum(
        int(container.get("resources", {}).get("requests", {}).get(resource, 0))
        for item in items
        if item.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        for container in item["spec"].get("containers", ())
    )


def budget(item: Object) -> int:
    """Seconds that the first container has to start; 0 when it has no start-up probe."""
    probe = item["spec"]["containers"][0].get("startupProbe") or {}
    return int(probe.get("failureThreshold", 3)) * int(probe.get("periodSeconds", 10)) if probe else 0


def seconds(since: str, now: datetime) -> int:
    """Seconds from a Kubernetes time (`2026-01-01T00:00:00Z`) to `now`."""
    return max(0, int((now - datetime.fromisoformat(since)).total_seconds()))


def _preloads(item: Object) -> bool:
    return bool((item["metadata"].get("labels") or {}).get("app.kubernetes.io/component") == "preload")


def _unschedulable(item: Object, said: str) -> str:
    asked = {
        name
        for container in item["spec"].get("containers", ())
        for name in container.get("resources", {}).get("requests", {})
        if name.endswith("/gpu") and name in said
    }
    return f"no free {', '.join(sorted(asked))}: {said}" if asked else f"unschedulable: {said}"


def _container(status: Object) -> str:
    waiting = status.get("state", {}).get("waiting") or {}
    reason, message = str(waiting.get("reason", "")), str(waiting.get("message", ""))
    if reason in _IMAGE:
        return f"image {status.get('image', '')} cannot be pulled: {message or reason}"
    ended = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated")
    if ended and ended.get("exitCode"):
        why = ended.get("reason", "Error")
        return f"{status['name']} ended with code {ended['exitCode']} ({why}), {status.get('restartCount', 0)} restarts"
    return f"{reason}: {message}" if reason and reason not in ("ContainerCreating", "PodInitializing") else ""


def _loading(item: Object, now: datetime) -> str:
    started = item.get("status", {}).get("startTime")
    if not started:
        return "waits for its node"
    running = seconds(started, now)
    if _preloads(item):
        return f"weights are being downloaded, for {running} s"
    limit = budget(item)
    return f"weights still loading, for {running} s" + (f" of at most {limit} s" if limit else "")
