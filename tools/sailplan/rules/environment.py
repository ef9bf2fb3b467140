"""SP3xx, second part: what an environment must have or say for what is deployed there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sailplan.findings import dotted
from sailplan.layers import value_at
from sailplan.model import Path
from sailplan.policies import SCALER
from sailplan.rules.registry import Problem, Problems, component_rule
from sailplan.rules.view import Demand, Placed, View

NEEDS: Mapping[str, tuple[Path, str]] = {
    "ai-gateway-route": (("gateway",), "an AI gateway"),
    "http-route": (("web", "domain"), "a gateway for host names (web)"),
    "external-secret": (("hub", "store"), "a secret store with the hub's token (hub.store)"),
    SCALER: (("metrics", "serverAddress"), "metrics to scale by"),
    "inference-queue-scaling": (("metrics", "serverAddress"), "metrics to scale by"),
    "observability": (("metrics", "scrape"), "anybody who scrapes (metrics)"),
}
"""What a trait needs an environment to say, and how to call it."""

SCRAPERS = {"VMServiceScrape": "victoria-metrics", "ServiceMonitor": "prometheus-operator"}
"""Kind of the object that asks for scraping, and the API that it belongs to."""

SETTINGS: Mapping[str, tuple[Path, Mapping[str, str]]] = {
    "network-policy": (("network",), {"cilium": "cilium"}),
    "preload": (("network",), {"cilium": "cilium"}),
    "observability": (("metrics", "scrape"), SCRAPERS),
    "inference-queue-scaling": (("metrics", "scrape"), SCRAPERS),
}
"""APIs that a trait needs because of how the environment is set: trait -> setting, and value -> API."""


@component_rule("SP306", "the environment lacks an API")
def missing_api(view: View, placed: Placed) -> Problems:
    """Objects of an API that a cluster does not have are refused there, after everything else was deployed."""
    apis = view.catalog.apis.spec["apis"] if view.catalog.apis else {}
    for environment in placed.component.environments:
        spec = view.environment(environment).spec
        for reason, need, path in _needs(view, placed, environment):
            if need not in spec.get("provides", ()):
                crds = ", ".join(apis.get(need, {}).get("crds", ())) or need
                clusters = ", ".join(spec["clusters"])
                message = f"{reason} needs {need}, which {environment} (cluster {clusters}) does not provide: {crds}"
                fix = f"install it and add {need} to provides, or leave it out there"
                have = ", ".join(spec.get("provides", ())) or "nothing"
                yield Problem(placed.here(*path), placed.field(*path), message, need, have, fix=fix)


@component_rule("SP314", "the environment does not say what a trait needs")
def missing_setting(view: View, placed: Placed) -> Problems:
    """What an environment leaves out would become the definition's default, which fits the reference platform only."""
    for environment, (_, traits) in placed.environments:
        document = view.environment(environment)
        for trait, (path, what) in NEEDS.items():
            if trait in traits and value_at(document.spec, path) is None:
                message = f"{placed.component.name} has {trait}, and {environment} does not have {what}"
                at = document.at("spec", path[0])
                yield Problem(at, dotted(("spec", *path)), message, fix=f"add {dotted(path)} to {document.file}")


@component_rule("SP315", "parameter missing")
def missing_parameter(view: View, placed: Placed) -> Problems:
    """After all layers are merged, every parameter without a default has a value."""
    said: set[str] = set()
    for environment, (properties, traits) in placed.environments:
        parts: list[tuple[str, Path, Mapping[str, Any]]] = [(placed.component.definition, ("properties",), properties)]
        parts += [(name, ("traits", name), values) for name, values in traits.items() if name != "lora-canary"]
        for definition, base, values in parts:
            if definition not in view.demands:
                continue
            for path in _absent(view.demands[definition], values, base):
                field = placed.field(*path)
                if field not in said:
                    said.add(field)
                    message = f"{path[-1]} of {definition} is missing for {placed.component.name} in {environment}"
                    yield Problem(
                        placed.at(environment, *path), field, message, fix="add it to the preset or environment"
                    )


@component_rule("SP316", "scaling and a policy, and nobody may scrape")
def scraper_shut_out(view: View, placed: Placed) -> Problems:
    """Scaling reads metrics; a policy that does not let the scraper in makes them empty, and the model never scales."""
    for environment, (_, traits) in placed.environments:
        peer = view.environment(environment).spec.get("metrics", {}).get("peer")
        if "network-policy" in traits and {SCALER, "observability"} & traits.keys() and peer is None:
            why = SCALER if SCALER in traits else "observability"
            document = view.environment(environment)
            message = (
                f"{placed.component.name} has {why} and network-policy, and {environment} does not say who scrapes"
            )
            at = document.at("spec", "metrics")
            yield Problem(at, "spec.metrics.peer", message, fix=f"add metrics.peer to {document.file}")


@component_rule("SP322", "scaling, and nobody scrapes", "warning")
def nobody_scrapes(view: View, placed: Placed) -> Problems:
    """Saturation scaling reads the engine's metrics; when nothing asks for scraping they are empty, and nothing scales.

    An environment may say that its platform scrapes every model without being asked.
    """
    bare = [
        environment
        for environment, (_, traits) in placed.environments
        if SCALER in traits and "observability" not in traits
        if not view.environment(environment).spec.get("metrics", {}).get("scrapesEverything", False)
    ]
    if bare:
        path, name = _attaching(view, placed, SCALER)
        message = f"{placed.component.name} scales by metrics that nobody scrapes in {', '.join(bare)}"
        files = ", ".join(view.environment(environment).file for environment in bare)
        fix = f"add observability; or say metrics.scrapesEverything: true in {files}, where the platform scrapes anyway"
        field = dotted(("spec", "components", placed.index, *path))
        yield Problem(placed.here(*path), field, message, name, fix=fix)


def _attaching(view: View, placed: Placed, trait: str) -> tuple[Path, str]:
    """Where in the intent's component the capability that brings a trait stands, and its name; else the model."""
    for place, name in enumerate(placed.component.capabilities):
        if trait in view.catalog.capabilities[name].spec.get("traits", {}):
            return ("capabilities", place), name
    return ("model",), placed.component.model


@component_rule("SP319", "a host name and a policy, and nobody may come in", "warning")
def web_shut_out(view: View, placed: Placed) -> Problems:
    """A policy admits named peers only; without the web gateway's pods among them its requests find a closed port."""
    for environment, (_, traits) in placed.environments:
        document = view.environment(environment)
        if {"http-route", "network-policy"} <= traits.keys() and "dataPlane" not in document.spec.get("web", {}):
            message = (
                f"{placed.component.name} has http-route and network-policy, "
                f"and {environment} does not say which pods carry the web gateway's traffic"
            )
            yield Problem(
                document.at("spec", "web"), "spec.web.dataPlane", message, fix=f"add web.dataPlane to {document.file}"
            )


@component_rule("SP318", "shared weights that nobody downloads", "warning", engine=True)
def nobody_downloads(view: View, placed: Placed) -> Problems:
    """The engine has no way to the hub: without preload the weights must have been put there by other means."""
    for environment, (_, traits) in placed.environments:
        if "preload" not in traits:
            message = f"{placed.component.name} in {environment}: no preload, so the weights must be there already"
            yield Problem(placed.here("model"), placed.field("traits"), message, fix="attach preload in the preset")


def _needs(view: View, placed: Placed, environment: str) -> Iterator[tuple[str, str, Path]]:
    """What a component needs of an environment's clusters: why, the API, and where in the intent that was asked for."""
    for place, name in enumerate(placed.component.capabilities):
        for need in view.catalog.capabilities[name].spec.get("needs", ()):
            yield f"the capability {name}", need, ("capabilities", place)
    spec = view.environment(environment).spec
    for trait in placed.component.environments[environment][1]:
        path, apis = SETTINGS.get(trait, ((), {}))
        need = apis.get(str(value_at(spec, path)), "") if path else ""
        if need:
            yield f"{trait} with {'.'.join(map(str, path))}: {value_at(spec, path)}", need, ()


def _absent(wanted: Demand, values: Any, path: Path) -> Iterator[Path]:
    """Paths of required parameters that `values` lacks."""
    if not isinstance(values, dict):
        return
    for name in wanted.names:
        if name not in values:
            yield (*path, name)
    for key, below in wanted.inner.items():
        if key in values:
            yield from _absent(below, values[key], (*path, key))
    if wanted.free:
        for key, value in values.items():
            if key not in wanted.inner:
                yield from _absent(wanted.free, value, (*path, key))
