"""One component in one cluster: whether it serves, and what it waits for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sailplan import reasons

Object = Mapping[str, Any]

RESOURCE = "nvidia.com/gpu"
"""What GPUs are called where the catalog does not say."""

_NAME = "app.kubernetes.io/name"
_WEIGHTS = "preload: "


@dataclass(frozen=True, slots=True)
class Part:
    """One component in one cluster.

    Attributes:
        name, cluster: which.
        health: healthy, unhealthy, absent (nothing of it is there yet), or unknown (its cluster does not answer).
        message: what it waits for before it exists, then how many of its pods are ready.
        reasons: why it is not healthy: its preload Job's words, its Deployment's, its pods', its traits'.
        gpus: GPUs that its pods ask for.
    """

    name: str
    cluster: str
    health: str
    message: str
    reasons: tuple[str, ...]
    gpus: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What is in an environment's namespace in one cluster."""

    pods: Sequence[Object]
    jobs: Sequence[Object]
    deployments: Sequence[Object]

    def of(self, name: str) -> Seen:
        """What belongs to one component."""
        return Seen(_own(self.pods, name), _own(self.jobs, name), _own(self.deployments, name))


def _own(items: Iterable[Object], name: str) -> list[Object]:
    return [one for one in items if (one["metadata"].get("labels") or {}).get(_NAME) == name]


def part(component: Mapping[str, Any], cluster: str, where: str, service: Mapping[str, Any], seen: Seen | None) -> Part:
    """Judge one component. What lives in its cluster counts.

    KubeVela keeps its own picture up only while a step deploys it (measured); afterwards it stays, whatever happens.

    Args:
        component: of the Application.
        cluster: its name.
        where: state of its environment.
        service: what the hub says of it there; empty for nothing.
        seen: what is in its namespace; None when its cluster does not answer.
    """
    name = component["name"]
    if seen is None:
        return Part(name, cluster, "unknown", str(service.get("message") or ""), (), 0)
    own = seen.of(name)
    if not (service or own.pods or own.jobs or own.deployments):
        return Part(name, cluster, "absent", "", (), 0)
    serves, message = _serves(component, own, service)
    traits = [] if where == "live" else _unhealthy(service)
    healthy = serves and (where != "deploying" or bool(service.get("healthy")))
    # A rollout beside what serves, or a replica more than there are GPUs, is worth a word though all is healthy.
    why = _pods(own.pods) if healthy else _why(own)
    # What everything else waits for comes first.
    first = [one for one in traits if one.startswith(_WEIGHTS) or not own.deployments]
    # Of a component that is not there yet the hub only repeats what some trait says (measured).
    message = message if own.deployments or not first else ""
    said, *more = dict.fromkeys([*first, *([message] if message else []), *why, *traits]) or [""]
    gpus = reasons.gpus(own.pods, RESOURCE)
    return Part(name, cluster, "healthy" if healthy else "unhealthy", said, tuple(more), gpus)


def _serves(component: Mapping[str, Any], own: Seen, service: Mapping[str, Any]) -> tuple[bool, str]:
    if not own.deployments:
        # Not there yet, or nothing that has one: a quota.
        return bool(service.get("healthy")), str(service.get("message") or "")
    return reasons.deployment(own.deployments[0], component.get("properties", {}).get("replicas"))


def _unhealthy(service: Mapping[str, Any]) -> list[str]:
    """Words of the traits that are not healthy; the weights' first, as everything else waits for them."""
    traits = [one for one in service.get("traits") or () if one.get("healthy") is False]
    said = [f"{one['type']}: {one.get('message') or 'unhealthy'}" for one in traits]
    return sorted(said, key=lambda one: not one.startswith(_WEIGHTS))


def _why(own: Seen) -> list[str]:
    failed = [said for one in own.jobs if (said := reasons.job(one))]
    refused = [said for one in own.deployments if (said := reasons.refused(one))]
    return [*failed, *refused, *_pods(own.pods)]


def _pods(pods: Iterable[Object]) -> list[str]:
    now = datetime.now(UTC)
    return [said for one in pods if (said := reasons.pod(one, now))]
