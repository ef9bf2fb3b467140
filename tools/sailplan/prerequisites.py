"""What an environment must have before its applications can be deployed there.

Only what the composed components really use is listed: an environment that nobody routes to needs no gateway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sailplan.model import Catalog, Component, Document

Traits = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, order=True)
class Prerequisite:
    """One thing that must exist: its kind, its name (with its namespace in front), and what it is for."""

    kind: str
    name: str
    reason: str


def prerequisites(catalog: Catalog, environment: Document, components: Iterable[Component]) -> list[Prerequisite]:
    """What `components` need in `environment`, cluster-wide things first, the same thing once."""
    name = environment.name
    used = [component for component in components if name in component.environments]
    values = [component.environments[name] for component in used]
    found = [
        *_clusters(environment),
        *_nodes(catalog, environment, values),
        *_apis(catalog, environment, used),
        *_pods(environment, values),
        *_storage(environment, values),
        *_secrets(environment, values),
        *_gateways(environment, values),
        *_metrics(values),
    ]
    return list(dict.fromkeys(found))


def _clusters(environment: Document) -> Iterator[Prerequisite]:
    for cluster in environment.spec["clusters"]:
        yield Prerequisite("Cluster", cluster, "the hub itself" if cluster == "local" else "joined to the hub")
    yield Prerequisite("Namespace", environment.spec["namespace"], "the models run here")


def _nodes(catalog: Catalog, environment: Document, values: Sequence[tuple[Any, Traits]]) -> Iterator[Prerequisite]:
    gpus = [traits["gpu"] for _, traits in values if "gpu" in traits]
    labels = sorted({f"{key}={value}" for gpu in gpus for key, value in gpu.get("nodeSelector", {}).items()})
    if gpus:
        name = environment.spec["gpu"]["class"]
        facts = catalog.gpus.spec["classes"].get(name, {}) if catalog.gpus else {}
        resource = facts.get("resourceName", "GPUs")
        reason = f"{environment.spec['gpu']['budget']} x {resource}" + (
            f", nodes {', '.join(labels)}" if labels else ""
        )
        yield Prerequisite("GPUs", name, reason)
    for runtime in sorted({gpu.get("runtimeClassName", _default_runtime(catalog)) for gpu in gpus} - {""}):
        yield Prerequisite("RuntimeClass", runtime, "GPU pods run under it")


def _default_runtime(catalog: Catalog) -> str:
    """What the definition itself says when no layer does."""
    from sailplan.explain import definition

    if "gpu" not in catalog.definitions:
        return ""
    said = definition(catalog, "gpu").properties.get("runtimeClassName", {})
    return str(said.get("default", ""))


def _apis(catalog: Catalog, environment: Document, used: Sequence[Component]) -> Iterator[Prerequisite]:
    facts = catalog.apis.spec["apis"] if catalog.apis else {}
    for need in needs(catalog, environment, used):
        api = facts.get(need, {})
        version = f" >= {api['minVersion']}" if "minVersion" in api else ""
        yield Prerequisite("CRDs", ", ".join(api.get("crds", ())), f"{need}{version}")


def needs(catalog: Catalog, environment: Document, used: Sequence[Component]) -> list[str]:
    """Keys of catalog/apis.yaml that `used` need in `environment`, sorted."""
    chosen = {name for component in used for name in component.capabilities}
    found = {need for name in chosen for need in catalog.capabilities[name].spec.get("needs", ())}
    attached = {trait for component in used for trait in component.environments[environment.name][1]}
    if environment.spec["network"] == "cilium" and attached & {"network-policy", "preload"}:
        found.add("cilium")
    if attached & {"observability", "inference-queue-scaling"}:
        scraped_by = {"VMServiceScrape": "victoria-metrics", "ServiceMonitor": "prometheus-operator"}
        found.add(scraped_by[environment.spec["metrics"]["scrape"]])
    return sorted(found)


def _pods(environment: Document, values: Sequence[tuple[Any, Traits]]) -> Iterator[Prerequisite]:
    for properties, _ in values:
        if "priorityClassName" in properties:
            yield Prerequisite("PriorityClass", properties["priorityClassName"], "of the engine's pods")
        for secret in properties.get("imagePullSecrets", {}):
            yield _inside(environment, "Secret", secret, "pulls images")
        if "apiKeys" in properties:
            yield _inside(environment, "Secret", properties["apiKeys"]["secretName"], "keys of the edge's clients")
        for secret in properties.get("secrets", {}):
            yield _inside(environment, "Secret", secret, "environment of the engine")


def _storage(environment: Document, values: Sequence[tuple[Any, Traits]]) -> Iterator[Prerequisite]:
    for properties, traits in values:
        preload = traits.get("preload")
        if preload is None or not preload.get("createClaim", True):
            claim = properties.get("weights", {}).get("claimName")
            if claim:
                yield _inside(environment, "PersistentVolumeClaim", claim, "holds the weights, a folder a model")
        elif "storageClassName" in preload:
            yield Prerequisite("StorageClass", preload["storageClassName"], "of the claim made for each model")
        else:
            yield Prerequisite("StorageClass", "(default)", "of the claim made for each model")
        if preload and "serviceAccountName" in preload:
            reason = "the preload Job runs under it, and may write the weights"
            yield _inside(environment, "ServiceAccount", preload["serviceAccountName"], reason)


def _secrets(environment: Document, values: Sequence[tuple[Any, Traits]]) -> Iterator[Prerequisite]:
    for _, traits in values:
        fetched = traits.get("external-secret", {}).get("secrets", {})
        for secret, wanted in traits.get("preload", {}).get("secrets", {}).items():
            if wanted and secret not in fetched:
                yield _inside(environment, "Secret", secret, "HF_TOKEN for the preload Job, and for nothing else")
        store = traits.get("external-secret", {}).get("store", {})
        keys = ", ".join(sorted(item["key"] for item in fetched.values()))
        if store:
            named = store.get("kind", "ClusterSecretStore")
            name = (
                store["name"] if named == "ClusterSecretStore" else f"{environment.spec['namespace']}/{store['name']}"
            )
            yield Prerequisite(named, name, f"has {keys}")


def _gateways(environment: Document, values: Sequence[tuple[Any, Traits]]) -> Iterator[Prerequisite]:
    for _, traits in values:
        routed = [traits.get(trait, {}) for trait in ("ai-gateway-route", "http-route")]
        routed.append(traits.get("llmd-routing", {}).get("inferencePool", {}))
        for gateway in (one.get("gateway") for one in routed):
            if gateway:
                name = f"{gateway['namespace']}/{gateway['name']}"
                yield Prerequisite("Gateway", name, f"accepts routes from {environment.spec['namespace']}")


def _metrics(values: Sequence[tuple[Any, Traits]]) -> Iterator[Prerequisite]:
    for _, traits in values:
        for trait, what in (("keda-saturation-scaling", "engine"), ("inference-queue-scaling", "edge")):
            address = traits.get(trait, {}).get("serverAddress")
            if address:
                yield Prerequisite("Metrics", address, f"KEDA asks it for the {what}'s load")


def _inside(environment: Document, kind: str, name: str, reason: str) -> Prerequisite:
    return Prerequisite(kind, f"{environment.spec['namespace']}/{name}", reason)
