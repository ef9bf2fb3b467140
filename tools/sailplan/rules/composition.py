"""SP3xx: things that do not go together, or that an environment does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sailplan.findings import dotted
from sailplan.model import Catalog
from sailplan.policies import SCALER, SCALERS
from sailplan.rules.registry import Problem, Problems, catalog_rule, component_rule, fleet_rule
from sailplan.rules.view import Placed, View

CONFLICTS: Mapping[tuple[str, str], str] = {
    (SCALER, "scaler"): "both set the number of replicas",
    (SCALER, "cpuscaler"): "both make an autoscaler for the same Deployment",
    (SCALER, "hpa"): "both make an autoscaler for the same Deployment",
    ("inference-autoscaling", "inference-queue-scaling"): "both make an autoscaler for the same Deployment",
    ("model-config", "llmd-routing"): "both say which backend is asked",
    ("scaler", "hpa"): "both set the number of replicas",
    ("scaler", "cpuscaler"): "both set the number of replicas",
}
"""Traits that do the same thing. KubeVela reads `conflictsWith` of a definition and does nothing about it."""


@component_rule("SP301", "conflicting traits")
def conflicting_traits(view: View, placed: Placed) -> Problems:
    """Two traits that own the same field undo each other's work for ever."""
    for (one, other), reason in CONFLICTS.items():
        for environment, (_, traits) in placed.environments:
            if one in traits and other in traits:
                message = f"{placed.component.name} has the traits {one} and {other}: {reason}"
                at = placed.at(environment, "traits", other)
                yield Problem(at, placed.field("traits", other), message, other, fix=f"keep {one} or {other}")


@component_rule("SP307", "fewest replicas above most")
def replicas_turned_around(view: View, placed: Placed) -> Problems:
    """A scaler with a minimum above its maximum is refused by the API server."""
    for environment, trait, scaler in _scalers(placed):
        defaults = view.parameters.get(trait, {}).get("properties", {})
        low = scaler.get("minReplicas", defaults.get("minReplicas", {}).get("default", 1))
        high = scaler.get("maxReplicas", defaults.get("maxReplicas", {}).get("default", 3))
        if low > high:
            message = f"{placed.component.name} in {environment}: minReplicas {low} is above maxReplicas {high}"
            at = placed.at(environment, "traits", trait, "minReplicas")
            field = placed.field("traits", trait, "minReplicas")
            yield Problem(at, field, message, str(low), f"at most {high}", fix="lower one, or raise the other")


@component_rule("SP308", "fixed replicas and a scaler")
def replicas_and_scaler(view: View, placed: Placed) -> Problems:
    """With a fixed number of replicas every deployment puts back what the scaler had changed."""
    for environment, _, _ in _scalers(placed):
        properties = placed.component.environments[environment][0]
        if "replicas" in properties:
            message = (
                f"{placed.component.name} has replicas {properties['replicas']} and a scaler, which owns that number"
            )
            at = placed.at(environment, "properties", "replicas")
            yield Problem(at, placed.field("properties", "replicas"), message, fix="delete replicas, or the capability")


@component_rule("SP309", "no replica to wake up")
def scale_to_zero(view: View, placed: Placed) -> Problems:
    """At zero replicas there are no engine metrics, and nothing else that could ask for a replica."""
    for environment, trait, scaler in _scalers(placed):
        if scaler.get("minReplicas") == 0:
            message = (
                f"{placed.component.name} in {environment}: at 0 replicas no engine metric is left to wake the model"
            )
            at = placed.at(environment, "traits", trait, "minReplicas")
            yield Problem(at, placed.field("traits", trait, "minReplicas"), message, "0", "at least 1", fix="write 1")


@catalog_rule("SP310", "two ways to keep weights")
def two_storages(catalog: Catalog) -> Problems:
    """Weights are kept on one shared claim, or on a claim made for each model; not both."""
    for document in catalog.environments.values():
        storage = document.spec["storage"]
        own = [key for key in ("storageClassName", "size", "accessMode") if key in storage]
        if "claim" in storage and own:
            path = ("spec", "storage", own[0])
            message = f"storage names an existing claim, and {own[0]} for claims to be made"
            yield Problem(document.at(*path), dotted(path), message, fix=f"delete claim, or {' and '.join(own)}")


@component_rule("SP311", "no pod may go and none may come")
def stuck_rollout(view: View, placed: Placed) -> Problems:
    """With no pod above and none below the wanted number, an update can never replace one."""
    for environment, (properties, _) in placed.environments:
        rollout = properties.get("rollout", {})
        rolling = rollout.get("strategy", "RollingUpdate") == "RollingUpdate"
        if rolling and rollout.get("maxSurge", 0) == 0 and rollout.get("maxUnavailable", 1) == 0:
            message = (
                f"{placed.component.name}: maxSurge and maxUnavailable are both 0, so no pod could ever be replaced"
            )
            at = placed.at(environment, "properties", "rollout", "maxUnavailable")
            yield Problem(at, placed.field("properties", "rollout"), message, "0", fix="write maxUnavailable: 1")


@fleet_rule("SP312", "two writers in one folder")
def two_writers(view: View) -> Problems:
    """Two preload Jobs that fill one folder of one claim break each other's files."""
    seen: dict[tuple[str, str, str, str], Placed] = {}
    for cluster, namespace, placed, environment in places(view):
        properties, traits = placed.component.environments[environment]
        if "preload" not in traits:
            continue
        weights = properties.get("weights", {})
        claim = weights.get("claimName", f"{placed.component.name}-weights")
        folder = weights.get("subPath", placed.component.name)
        other = seen.setdefault((cluster, namespace, claim, folder), placed)
        if other is not placed and other.component.name != placed.component.name:
            message = f"{placed.name} and {other.name} write the folder {folder} of the claim {claim} in {environment}"
            at = placed.at(environment, "properties", "weights", "subPath")
            field = placed.field("properties", "weights", "subPath")
            yield Problem(at, field, message, folder, fix="give one another subPath")


@catalog_rule("SP313", "two disruption budgets")
def two_budgets(catalog: Catalog) -> Problems:
    """A PodDisruptionBudget has one of its two fields."""
    for document in catalog.environments.values():
        budget = document.spec.get("scheduling", {}).get("disruptionBudget")
        if budget is not None and len(budget) != 1:
            path = ("spec", "scheduling", "disruptionBudget")
            message = "disruptionBudget has minAvailable or maxUnavailable, one of the two"
            yield Problem(document.at(*path), dotted(path), message, ", ".join(budget), fix="keep one")


@fleet_rule("SP317", "one secret, two makers")
def two_makers(view: View) -> Problems:
    """Two ExternalSecrets of one name belong to two components, which take it from each other at every update."""
    seen: dict[tuple[str, str, str], Placed] = {}
    for cluster, namespace, placed, environment in places(view):
        for name in placed.component.environments[environment][1].get("external-secret", {}).get("secrets", {}):
            other = seen.setdefault((cluster, namespace, name), placed)
            if other is not placed:
                message = f"{placed.name} and {other.name} both make the secret {name} in {environment}"
                at = placed.here("capabilities")
                yield Problem(
                    at, placed.field("traits", "external-secret"), message, name, fix="keep it on one of them"
                )


def _scalers(placed: Placed) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for environment, (_, traits) in placed.environments:
        for trait in SCALERS:
            if trait in traits:
                yield environment, trait, traits[trait]


def places(view: View) -> Iterator[tuple[str, str, Placed, str]]:
    """Every cluster and namespace with a component in it; those being checked last, to be the ones that are named."""
    for placed in [*view.others, *view.placed]:
        for environment in placed.component.environments:
            spec = view.environment(environment).spec
            for cluster in spec["clusters"]:
                yield cluster, spec["namespace"], placed, environment
