"""SP1xx, first part: every name in an intent must exist, and every value it sets must be one it may set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sailplan.compose import default_name
from sailplan.findings import dotted, nearest, shortened
from sailplan.model import Catalog, Document, Path
from sailplan.rules.registry import Problem, Problems, intent_rule


@intent_rule("SP101", "unknown model")
def unknown_model(catalog: Catalog, app: Document) -> Problems:
    """A component names a model or edge preset, a file in catalog/models."""
    for index, component in enumerate(app.spec["components"]):
        path = ("spec", "components", index, "model")
        yield from unknown(app, path, "model", component["model"], catalog.presets)


@intent_rule("SP102", "unknown capability")
def unknown_capability(catalog: Catalog, app: Document) -> Problems:
    """A capability is a file in catalog/capabilities."""
    for index, component in enumerate(app.spec["components"]):
        for place, name in enumerate(component.get("capabilities", ())):
            path = ("spec", "components", index, "capabilities", place)
            yield from unknown(app, path, "capability", name, catalog.capabilities)


@intent_rule("SP103", "unknown environment")
def unknown_environment(catalog: Catalog, app: Document) -> Problems:
    """An environment is a file in catalog/environments."""
    for place, name in enumerate(app.spec["environments"]):
        yield from unknown(app, ("spec", "environments", place), "environment", name, catalog.environments)


@intent_rule("SP104", "override for another environment")
def override_environment(catalog: Catalog, app: Document) -> Problems:
    """An override for an environment that the application does not go to changes nothing, and nobody would notice."""
    there = app.spec["environments"]
    for name in app.spec.get("overrides", {}):
        if name not in there:
            path = ("spec", "overrides", name)
            where = "which this application does not go to" if name in catalog.environments else "which does not exist"
            message = f"override for environment {name}, {where}"
            yield among(app, path, message, name, there)


@intent_rule("SP105", "override for another component")
def override_component(catalog: Catalog, app: Document) -> Problems:
    """KubeVela adds a component that an override names and the application lacks, so a misspelt name must end here."""
    names = [name for name in (component_name(catalog, part) for part in app.spec["components"]) if name]
    for environment, components in app.spec.get("overrides", {}).items():
        for name in components:
            if name not in names:
                path = ("spec", "overrides", environment, name)
                yield among(
                    app, path, f"override for component {name}, which this application does not have", name, names
                )


@intent_rule("SP108", "unknown profile")
def unknown_profile(catalog: Catalog, app: Document) -> Problems:
    """A model runs on the GPU classes that its preset has a profile for."""
    for index, component in enumerate(app.spec["components"]):
        model = catalog.presets.get(component["model"])
        if model and "profile" in component:
            path = ("spec", "components", index, "profile")
            known = model.spec.get("profiles", {})
            yield from unknown(app, path, f"profile of {model.name}", component["profile"], known)


@intent_rule("SP109", "nothing to deploy")
def nothing(catalog: Catalog, app: Document) -> Problems:
    """An application has at least one component and goes to at least one environment."""
    for key in ("components", "environments"):
        if not app.spec[key]:
            message = f"{key} is empty"
            yield Problem(
                app.at("spec", key), f"spec.{key}", message, "[]", f"at least one of the {key}", fix=f"name {key}"
            )


@intent_rule("SP110", "component name taken twice")
def duplicate_component(catalog: Catalog, app: Document) -> Problems:
    """Components of one application have names of their own; without a name the preset's served name is taken."""
    seen: dict[str, int] = {}
    for index, component in enumerate(app.spec["components"]):
        name = component_name(catalog, component)
        if name in seen:
            path = ("spec", "components", index, "name" if "name" in component else "model")
            message = f"two components are named {name}; the other is components[{seen[name]}]"
            yield Problem(app.at(*path), dotted(path), message, name, fix="give this one a name of its own")
        if name:
            seen.setdefault(name, index)


_RESERVED = {
    "vllm": "its Service would set VLLM_PORT, which the engine reads",
    "default": "its ServiceAccount would be the one of all other pods in the namespace",
}


@intent_rule("SP111", "component name that is taken")
def reserved(catalog: Catalog, app: Document) -> Problems:
    """A Service named vllm sets VLLM_PORT in every pod, which the engine reads; default is the namespace's account."""
    for index, component in enumerate(app.spec["components"]):
        name = component_name(catalog, component)
        if name in _RESERVED:
            path = ("spec", "components", index, "name" if "name" in component else "model")
            message = f"a component may not be named {name}: {_RESERVED[name]}"
            yield Problem(app.at(*path), dotted(path), message, name, fix="give it another name")


@intent_rule("SP303", "conflicting capabilities")
def conflicting_capabilities(catalog: Catalog, app: Document) -> Problems:
    """Two capabilities may do the same thing in different ways; the presets say which."""
    for path, name, capability, names in _chosen(catalog, app):
        for other in capability.spec.get("conflicts", ()):
            if other in names:
                message = f"{name} and {other} exclude each other"
                yield Problem(app.at(*path), dotted(path), message, name, fix=f"choose {name} or {other}")


@intent_rule("SP304", "capability needs another")
def required_capability(catalog: Catalog, app: Document) -> Problems:
    """Some capabilities only make sense on top of another: a canary without a gateway splits nothing."""
    for path, name, capability, names in _chosen(catalog, app):
        for other in capability.spec.get("requires", ()):
            if other not in names:
                message = f"{name} needs the capability {other}, which is not chosen"
                yield Problem(app.at(*path), dotted(path), message, name, fix=f"add {other} to the capabilities")


@intent_rule("SP305", "capability for another model")
def capability_for_model(catalog: Catalog, app: Document) -> Problems:
    """A capability may hold values that are true for some models only, such as the name of an adapter."""
    for path, name, capability, _ in _chosen(catalog, app):
        models = capability.spec.get("models", ())
        component = app.spec["components"][path[2]]
        if models and component["model"] not in models:
            message = f"{name} is not for the model {component['model']}"
            allowed = ", ".join(models)
            yield Problem(app.at(*path), dotted(path), message, component["model"], allowed, fix=f"leave {name} out")


def unknown(document: Document, path: Path, what: str, name: str, known: Iterable[str]) -> Problems:
    """The problem with a name, when it is not among those known."""
    names = sorted(known)
    if name not in names:
        yield among(document, path, f"unknown {what} {shortened(name)}", name, names)


def among(document: Document, path: Path, message: str, name: str, names: Iterable[str]) -> Problem:
    """The problem with a name that is none of `names`."""
    known = list(names)
    near = nearest(name, known)
    fix = f"did you mean {near}?" if near else ""
    return Problem(document.at(*path), dotted(path), message, name, ", ".join(known) or "none", near, fix)


def component_name(catalog: Catalog, component: Mapping[str, Any]) -> str:
    """Name of a component; "" when its model does not exist."""
    preset = catalog.presets.get(component["model"])
    return str(component.get("name") or (default_name(preset) if preset else ""))


def _chosen(catalog: Catalog, app: Document) -> Iterator[tuple[Path, str, Document, list[str]]]:
    """Every capability that is chosen and exists: where, its name, its preset, and all that are chosen beside it."""
    for index, component in enumerate(app.spec["components"]):
        names = component.get("capabilities", [])
        for place, name in enumerate(names):
            if name in catalog.capabilities:
                yield ("spec", "components", index, "capabilities", place), name, catalog.capabilities[name], names
