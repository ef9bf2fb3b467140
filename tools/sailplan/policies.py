"""The policies of a composed Application: where it goes, what changes there, what KubeVela must leave alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sailplan.layers import difference
from sailplan.model import Component, Document

ROUTE = "ai-gateway-route"
SCALER = "keda-saturation-scaling"
SCALERS = (SCALER, "inference-autoscaling", "inference-queue-scaling")
"""Traits that own the number of a component's pods."""
WITHHOLD = "withhold-routes"


def topology_name(environment: str) -> str:
    """Name of the policy that says where an environment is."""
    return f"topology-{environment}"


def override_name(environment: str) -> str:
    """Name of the policy that says what an environment changes."""
    return f"override-{environment}"


def policies(environments: Sequence[Document], components: Sequence[Component]) -> list[dict[str, Any]]:
    """All policies: each environment's two, routes held back, replicas left alone, claims kept, Jobs taken whole.

    A policy that would say nothing is not written: KubeVela refuses an override without components.
    """
    made: list[dict[str, Any]] = []
    for environment in environments:
        made += [topology(environment), *override(environment.name, components)]
    return [*made, *withhold_routes(components), *apply_once(components), *collect(components)]


def topology(environment: Document) -> dict[str, Any]:
    """Clusters and namespace of an environment."""
    where = {"clusters": list(environment.spec["clusters"]), "namespace": environment.spec["namespace"]}
    return {"name": topology_name(environment.name), "type": "topology", "properties": where}


def override(environment: str, components: Iterable[Component]) -> list[dict[str, Any]]:
    """What must change on top of the base components to get what the environment wants; empty for nothing.

    Names are anchored: KubeVela reads them as regular expressions that may match anywhere. Components carry no `type`,
    so a name that matches nothing is an error there, never a new component.
    """
    changed = [entry for entry in (_changes(component, environment) for component in components) if len(entry) > 1]
    return _override(override_name(environment), changed)


def withhold_routes(components: Iterable[Component]) -> list[dict[str, Any]]:
    """The policy of each first deploy step: no route until the model behind it is healthy."""
    routed = [component.name for component in components if ROUTE in component.traits]
    return _override(WITHHOLD, [{"name": f"^{name}$", "traits": [{"type": ROUTE, "disable": True}]} for name in routed])


def apply_once(components: Iterable[Component]) -> list[dict[str, Any]]:
    """The replica count of a scaled component is the scaler's, also in the edit that attaches the scaler."""
    rules = [
        {
            "selector": {"componentNames": [component.name], "resourceTypes": ["Deployment"]},
            "strategy": {"path": ["spec.replicas"]},
        }
        for component in components
        if component.traits.keys() & set(SCALERS)
    ]
    return (
        [{"name": "apply-once", "type": "apply-once", "properties": {"enable": True, "rules": rules}}] if rules else []
    )


def collect(components: Iterable[Component]) -> list[dict[str, Any]]:
    """What is deleted with the Application, and how.

    Claims that we render hold downloaded weights, so deleting the Application must not delete them. And an Application
    that is made again takes them over: KubeVela refuses to apply over an object that is there and belongs to nobody
    (measured). Jobs take their pods along: the API server leaves them behind unless it is told (measured).
    """
    preloads = [
        traits["preload"]
        for component in components
        for _, traits in component.environments.values()
        if "preload" in traits
    ]
    claims = {"selector": {"resourceTypes": ["PersistentVolumeClaim"]}}
    jobs = {"selector": {"resourceTypes": ["Job"]}, "strategy": "onAppUpdate", "propagation": "cascading"}
    renders = any(preload.get("createClaim", True) for preload in preloads)
    rules = [*([{**claims, "strategy": "never"}] if renders else []), *([jobs] if preloads else [])]
    kept = {"name": "collect", "type": "garbage-collect", "properties": {"rules": rules}}
    taken = {"name": "take-weights", "type": "take-over", "properties": {"rules": [claims]}}
    return [*([kept] if rules else []), *([taken] if renders else [])]


def _override(name: str, components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": name, "type": "override", "properties": {"components": components}}] if components else []


def _changes(component: Component, environment: str) -> dict[str, Any]:
    properties, traits = component.environments[environment]
    entry: dict[str, Any] = {"name": f"^{component.name}$"}
    changed = difference(component.properties, properties)
    if changed:
        entry["properties"] = changed
    changed_traits = [
        {"type": name, "properties": changes}
        for name, changes in ((name, _trait_changes(component, name, wanted)) for name, wanted in traits.items())
        if changes
    ]
    if changed_traits:
        entry["traits"] = changed_traits
    return entry


def _trait_changes(component: Component, name: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    return difference(component.traits[name], wanted)
