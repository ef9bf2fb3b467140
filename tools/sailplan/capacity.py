"""How many GPUs components ask for. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from sailplan.model import Component


@dataclass(frozen=True, slots=True)
class Demand:
    """GPUs at the least and at the most replicas."""

    least: int
    most: int


def demand(component: Component, environment: str) -> Demand:
    """GPUs that a component takes in an environment: those of one replica, times its replicas."""
    properties, traits = component.environments[environment]
    count = int(traits.get("gpu", {}).get("count", 1)) if "gpu" in traits else 0
    scaler = traits.get("keda-saturation-scaling")
    if scaler is None:
        fixed = int(properties.get("replicas", 1))
        return Demand(count * fixed, count * fixed)
    return Demand(count * int(scaler.get("minReplicas", 1)), count * int(scaler.get("maxReplicas", 3)))
