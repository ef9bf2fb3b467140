"""The workflow of a composed Application: environment after environment, routes only to healthy models. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sailplan.model import Component, Document
from sailplan.policies import SCALER, WITHHOLD, override_name, topology_name

DOWNLOAD_SECONDS = 21600
"""How long a preload Job may run when nobody says: the default of `preload`."""

REPLICAS = 3
"""Most replicas of a scaler when nobody says: the default of `keda-saturation-scaling`."""

PLACE_SECONDS = 900
"""Allowed for each pod before its engine starts: a node is made on demand (minutes), an image of 10 GB is pulled."""

_STARTUP_SECONDS = 330
_ENGINE_SECONDS = 180
_SLOWEST = 0.05
"""Gigabytes a second: the slowest shared file system seen. These three are the start-up probe's in `vllm-model`."""


def steps(
    environments: Iterable[Document], policies: Collection[str], components: Sequence[Component] = ()
) -> list[dict[str, Any]]:
    """Steps for all environments, in the intent's order.

    A deploy step waits until everything is healthy, forever unless it has a time limit: the longest that a download, a
    place to run and the starts of all replicas, one after the other, may take together. When it is over the step and
    with it the workflow fails; what is running stays, and nothing is collected (measured). An approval has no limit.

    Args:
        environments: the environments to deploy to.
        policies: names of the policies that exist; a step names no other.
        components: what is deployed.
    """
    return [step for environment in environments for step in _environment(environment, policies, components)]


def deploy_name(environment: str, withheld: bool = False) -> str:
    """Name of an environment's deploy step: of the first, which holds routes back, or of the last."""
    return f"deploy-{environment}-withheld" if withheld else f"deploy-{environment}"


def deploy(environment: str, policies: Collection[str], withheld: bool = False, seconds: int = 0) -> dict[str, Any]:
    """One deploy step, without a time limit for 0. The order of its policies is the order in which they apply."""
    wanted = [topology_name(environment), override_name(environment), *([WITHHOLD] if withheld else [])]
    used = [name for name in wanted if name in policies]
    limit = {"timeout": duration(seconds)} if seconds else {}
    return {"name": deploy_name(environment, withheld), "type": "deploy", **limit, "properties": {"policies": used}}


def duration(seconds: int) -> str:
    """Whole minutes, rounded up, as KubeVela reads them: `6h47m`."""
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"{hours}h{minutes}m" if hours else f"{minutes}m"


def download_seconds(traits: Mapping[str, Mapping[str, Any]]) -> int:
    """Longest that the weights of a component may take to arrive; 0 when it does not fetch any."""
    return int(traits["preload"].get("activeDeadlineSeconds", DOWNLOAD_SECONDS)) if "preload" in traits else 0


def rollout_seconds(properties: Mapping[str, Any], traits: Mapping[str, Mapping[str, Any]]) -> int:
    """Longest that all replicas of a component may take to be replaced, one after the other."""
    scaler = traits.get(SCALER)
    most = properties.get("replicas", 1) if scaler is None else scaler.get("maxReplicas", REPLICAS)
    return max(1, int(most)) * (startup_seconds(properties) + PLACE_SECONDS)


def startup_seconds(properties: Mapping[str, Any]) -> int:
    """At least what the start-up probe of a component allows."""
    model = properties.get("model")
    # An edge has the name of a model there, and no weights.
    size = float(model.get("weightsGB", 0)) if isinstance(model, Mapping) else 0.0
    computed = max(_STARTUP_SECONDS, math.ceil(_ENGINE_SECONDS + size / _SLOWEST))
    return int(properties.get("startupSeconds", computed))


def _environment(
    environment: Document, policies: Collection[str], components: Sequence[Component]
) -> list[dict[str, Any]]:
    name = environment.name
    values = [component.environments[name] for component in components]
    rollout = max((rollout_seconds(*one) for one in values), default=_STARTUP_SECONDS + PLACE_SECONDS)
    whole = max((rollout_seconds(*one) + download_seconds(one[1]) for one in values), default=rollout)
    made: list[dict[str, Any]] = []
    if environment.spec.get("gate") == "approve":
        made.append({"name": f"approve-{name}", "type": "suspend"})
    if WITHHOLD not in policies:
        return [*made, deploy(name, policies, seconds=whole)]
    # KubeVela waits for a deploy step's objects to be healthy, so the second step adds the route to a model that
    # answers. It is never taken away again: objects are collected when a workflow ends, not between steps (measured).
    return [*made, deploy(name, policies, True, whole), deploy(name, policies, seconds=rollout)]
