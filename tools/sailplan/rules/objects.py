"""SP113, SP125: names that objects get by adding to their component's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sailplan.rules.composition import places
from sailplan.rules.registry import Problem, Problems, component_rule, fleet_rule
from sailplan.rules.view import Placed, View

LONGEST_WITH_PRELOAD = 44
"""Characters of a name to which `-preload-` and ten digits are added; source: definitions/trait/preload.cue."""


@fleet_rule("SP113", "object of another component")
def objects_taken(view: View) -> Problems:
    """Objects add to their component's name: x with preload and a component x-preload overwrite each other's."""
    seen: dict[tuple[str, str, str, str], Placed] = {}
    for cluster, namespace, placed, environment in places(view):
        for kind, name in _objects(placed, environment):
            other = seen.setdefault((cluster, namespace, kind, name), placed)
            # Components of one name take each other's every object, which SP110 and SP112 say.
            if other.component.name != placed.component.name:
                message = f"{placed.name} and {other.name} both make the {kind} {name} in {environment}"
                at = placed.here("name" if "name" in placed.app.spec["components"][placed.index] else "model")
                yield Problem(at, placed.field(), message, name, fix="choose another name for one of the components")
                break


@component_rule("SP125", "component name too long for its traits")
def too_long(view: View, placed: Placed) -> Problems:
    """The preload Job adds 19 characters to the name, and Kubernetes writes a Job's name into a label of 63."""
    name = placed.component.name
    preloaded = any("preload" in traits for _, (_, traits) in placed.environments)
    if preloaded and len(name) > LONGEST_WITH_PRELOAD:
        at = placed.here("name" if "name" in placed.app.spec["components"][placed.index] else "model")
        message = f"the name {name} has {len(name)} characters, too many for the preload Job that adds 19"
        allowed = f"at most {LONGEST_WITH_PRELOAD} characters"
        yield Problem(at, placed.field(), message, name, allowed, fix="choose a shorter name")


def _objects(placed: Placed, environment: str) -> Iterator[tuple[str, str]]:
    """Kind and name of every object whose name is not the component's alone, and of those it could meet."""
    name = placed.component.name
    properties, traits = placed.component.environments[environment]
    yield "ServiceAccount", name
    if "network-policy" in traits:
        yield "network policy", name
    if "preload" in traits:
        yield from _preload(name, properties, traits["preload"])
    if "ai-gateway-route" in traits:
        yield "Backend", f"{name}-direct"
        yield "AIServiceBackend", name
        # The AI gateway's controller makes one for each of its routes.
        yield "HTTPRoute", name
    if "http-route" in traits:
        yield "HTTPRoute", f"{name}-web"
    if "inferencePool" in traits.get("llmd-routing", {}):
        yield "HTTPRoute", f"{name}-pool"
    for adapter, values in traits.get("lora-canary", {}).get("adapters", {}).items():
        if "weightPercent" in values:
            yield "AIServiceBackend", f"{name}-canary-{adapter}"


def _preload(name: str, properties: Mapping[str, Any], preload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "serviceAccountName" not in preload:
        yield "ServiceAccount", f"{name}-preload"
    if preload.get("policy") != "none":
        yield "network policy", f"{name}-preload"
    if preload.get("createClaim", True):
        yield "PersistentVolumeClaim", properties.get("weights", {}).get("claimName", f"{name}-weights")
