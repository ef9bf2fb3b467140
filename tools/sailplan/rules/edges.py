"""SP126 to SP129, SP320: edges, and what stands behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sailplan.compose import component_name, engine
from sailplan.findings import dotted, nearest
from sailplan.knobs import definition, suits
from sailplan.model import EDGE, ENGINE, Catalog, Document
from sailplan.rules.registry import Problem, Problems, catalog_rule, intent_rule


@catalog_rule("SP126", "edge without a clear backend")
def unclear_backend(catalog: Catalog) -> Problems:
    """What answers is a url with a model, or an engine of the application; with both, nobody knows which is asked."""
    for document in catalog.edges.values():
        backend = document.spec["backend"]
        path = ("spec", "backend")
        if bool(backend.get("engine")) == ("url" in backend):
            message = "backend says url and model, or engine: one of the two"
            yield Problem(document.at(*path), dotted(path), message, ", ".join(backend) or "{}", fix="keep one of them")
        elif ("model" in backend) != ("url" in backend):
            message = "the model of a url is missing" if "url" in backend else "an engine serves its own model"
            fix = "add model" if "url" in backend else "delete model"
            yield Problem(document.at(*path), dotted((*path, "model")), message, fix=fix)


@intent_rule("SP127", "edge in front of nothing")
def nothing_behind(catalog: Catalog, app: Document) -> Problems:
    """An edge of an engine stands in front of one component of its own application, in the same namespace."""
    parts = app.spec["components"]
    engines = [component_name(catalog, part) for part in parts if part["model"] in catalog.models]
    for index, part in enumerate(parts):
        preset = catalog.edges.get(part["model"])
        wants = bool(preset and preset.spec["backend"].get("engine"))
        path = ("spec", "components", index, "backend" if "backend" in part else "model")
        given = str(part.get("backend", part["model"]))
        near = nearest(given, engines) if "backend" in part else ""
        if wants and not engine(catalog, app, index):
            fix = (
                f"write backend: {near or engines[0]}" if engines else "add a component with a model of catalog/models"
            )
            message = f"{part['model']} wants an engine of this application behind it; {_lacking(part, engines)}"
            yield Problem(app.at(*path), dotted(path), message, given, ", ".join(engines) or "none", near, fix)
        elif "backend" in part and not wants:
            message = f"{part['model']} stands in front of no component, so backend changes nothing"
            yield Problem(app.at(*path), dotted(path), message, given, fix="delete backend")


def _lacking(part: Mapping[str, Any], engines: Sequence[str]) -> str:
    """Why an edge has no engine."""
    if not engines:
        return "there is no engine"
    return f"{part['backend']} is none" if "backend" in part else "there are several engines, and no backend says which"


@intent_rule("SP320", "capability for another component")
def other_component(catalog: Catalog, app: Document) -> Problems:
    """Capabilities attach traits of an engine or of an edge, and a trait refuses any other workload."""
    for index, part in enumerate(app.spec["components"]):
        preset = catalog.presets.get(part["model"])
        if preset is None:
            continue
        wanted = definition(preset)
        fitting = [name for name, one in catalog.capabilities.items() if suits(one, preset)]
        for place, name in enumerate(part.get("capabilities", ())):
            chosen = catalog.capabilities.get(name)
            if chosen is not None and definition(chosen) != wanted:
                path = ("spec", "components", index, "capabilities", place)
                near = nearest(name, fitting)
                words = {ENGINE: "a model that we serve", EDGE: "an edge"}
                message = f"{name} is for {words[definition(chosen)]} ({definition(chosen)}); {preset.name} is {wanted}"
                fix = f"did you mean {near}?" if near else f"leave {name} out"
                yield Problem(app.at(*path), dotted(path), message, name, ", ".join(fitting), near, fix)


@catalog_rule("SP128", "parameters of the other component")
def other_parameters(catalog: Catalog) -> Problems:
    """A capability is for one component definition, and sets parameters of that one."""
    for document in catalog.capabilities.values():
        wrong = "properties" if definition(document) == EDGE else "edgeProperties"
        if wrong in document.spec:
            path = ("spec", wrong)
            right = "edgeProperties" if wrong == "properties" else "properties"
            message = f"{wrong} are not those of {definition(document)}"
            yield Problem(document.at(*path), dotted(path), message, wrong, right, fix=f"write {right}, or component")


TRAITS = {
    EDGE: ("inference-autoscaling", "inference-queue-scaling", "llmd-routing", "model-config", "prompt-policy"),
    ENGINE: (
        "ai-gateway-route",
        "external-secret",
        "gpu",
        "http-route",
        "keda-saturation-scaling",
        "kv-offload",
        "lora-canary",
        "network-policy",
        "observability",
        "prefix-cache",
        "preload",
    ),
}
"""Traits by the component that they go with. A test holds this against what the definitions refuse."""


@catalog_rule("SP129", "trait of the other component")
def other_traits(catalog: Catalog) -> Problems:
    """A trait of ours is for engines or for edges, and refuses any other workload, on the hub at the latest."""
    for document in (*catalog.presets.values(), *catalog.capabilities.values()):
        own = definition(document)
        for name in document.spec.get("traits", {}):
            whose = next((one for one, traits in TRAITS.items() if name in traits), own)
            if own in TRAITS and whose != own:
                path = ("spec", "traits", name)
                message = f"{name} is a trait of {whose}; {document.name} is for {own}"
                near = nearest(name, TRAITS[own])
                allowed = ", ".join(TRAITS[own])
                fix = f"did you mean {near}?" if near else f"delete {name}"
                yield Problem(document.at(*path), dotted(path), message, name, allowed, near, fix)
