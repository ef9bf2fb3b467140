"""SP1xx, second part: names between presets, and what presets offer as knobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from sailplan.findings import dotted, shortened
from sailplan.fit import gpu_classes
from sailplan.knobs import definition
from sailplan.model import Catalog
from sailplan.rules.names import unknown
from sailplan.rules.registry import Problem, Problems, catalog_rule
from sailplan.rules.settings import within
from sailplan.rules.view import parameter, parameters

_KNOB = re.compile(r"[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)+")
_CLIENT = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@catalog_rule("SP012", "name taken twice")
def duplicate(catalog: Catalog) -> Problems:
    """Presets of one kind have names of their own, or it would be chance which one is used."""
    for document in catalog.duplicates:
        message = f"another {document.kind} is named {document.name} too"
        yield Problem(
            document.at("metadata", "name"), "metadata.name", message, document.name, fix="rename one of them"
        )


@catalog_rule("SP114", "environment without clusters")
def no_clusters(catalog: Catalog) -> Problems:
    """Without a cluster KubeVela places nothing, and says that all went well."""
    for document in catalog.environments.values():
        if not document.spec["clusters"]:
            message = "clusters is empty: nothing would be deployed anywhere"
            yield Problem(
                document.at("spec", "clusters"), "spec.clusters", message, "[]", fix="name a cluster, such as local"
            )


@catalog_rule("SP115", "unknown engine")
def unknown_engine(catalog: Catalog) -> Problems:
    """Engine images are named once, in catalog/images.yaml."""
    engines = catalog.images.spec["engines"] if catalog.images else {}
    for model in catalog.models.values():
        yield from unknown(model, ("spec", "engine"), "engine", model.spec["engine"], engines)


@catalog_rule("SP116", "unknown GPU class")
def unknown_class(catalog: Catalog) -> Problems:
    """GPU classes are named once, in catalog/gpus.yaml."""
    classes = gpu_classes(catalog)
    for model in catalog.models.values():
        for name in model.spec["profiles"]:
            yield from unknown(model, ("spec", "profiles", name), "GPU class", name, classes)
    for document in catalog.environments.values():
        yield from unknown(document, ("spec", "gpu", "class"), "GPU class", document.spec["gpu"]["class"], classes)


@catalog_rule("SP117", "unknown API")
def unknown_api(catalog: Catalog) -> Problems:
    """What clusters may offer is named once, in catalog/apis.yaml."""
    apis = catalog.apis.spec["apis"] if catalog.apis else {}
    for document, key in chain(
        ((one, "needs") for one in catalog.capabilities.values()),
        ((one, "provides") for one in catalog.environments.values()),
    ):
        for place, name in enumerate(document.spec.get(key, ())):
            yield from unknown(document, ("spec", key, place), "API", name, apis)


@catalog_rule("SP118", "capability names what does not exist")
def unknown_in_capability(catalog: Catalog) -> Problems:
    """Capabilities name others that they need or exclude, and the models that they are for."""
    for capability in catalog.capabilities.values():
        for key, known in (
            ("requires", catalog.capabilities),
            ("conflicts", catalog.capabilities),
            ("models", catalog.presets),
        ):
            what = "model" if key == "models" else "capability"
            for place, name in enumerate(capability.spec.get(key, ())):
                yield from unknown(capability, ("spec", key, place), what, name, known)


@catalog_rule("SP119", "knob that turns nothing")
def broken_knob(catalog: Catalog) -> Problems:
    """A knob has a dotted name, bounds that leave something, and a target that the definition has."""
    schemas = parameters(catalog)
    offered = {name for one in catalog.capabilities.values() for name in one.spec.get("knobs", {})}
    for document in chain(catalog.presets.values(), catalog.capabilities.values()):
        for name, knob in document.spec.get("knobs", {}).items():
            known = set() if document.kind == "Capability" else offered
            for message, fix in _knob(name, knob, known, schemas, definition(document)):
                path = ("spec", "knobs", name)
                yield Problem(document.at(*path), dotted(path), message, shortened(knob.get("target", name)), fix=fix)


@catalog_rule("SP123", "model without a profile")
def no_profile(catalog: Catalog) -> Problems:
    """A preset says on which GPU classes its model runs, and on how many GPUs; without one it can run nowhere."""
    for model in catalog.models.values():
        if not model.spec["profiles"]:
            message = f"{model.name} has no profile, so it runs on no GPU class"
            yield Problem(
                model.at("spec", "profiles"), "spec.profiles", message, "{}", fix="add one, such as l4: {gpus: 1}"
            )


@catalog_rule("SP124", "preset outside its own knob")
def outside_own_knob(catalog: Catalog) -> Problems:
    """A preset's own value lies within the range that it offers; otherwise nobody could set back what they changed."""
    turned = {
        name: knob["target"]
        for capability in catalog.capabilities.values()
        for name, knob in capability.spec.get("knobs", {}).items()
        if "target" in knob
    }
    for model in catalog.presets.values():
        for name, knob in model.spec.get("knobs", {}).items():
            value = _preset(model.spec, knob.get("target", turned.get(name, "")))
            if value is not None and not within(value, knob.get("min"), knob.get("max"), knob.get("allowed")):
                path = ("spec", "knobs", name)
                message = f"{model.name} itself has {shortened(value)} for {name}, outside the range that it offers"
                yield Problem(model.at(*path), dotted(path), message, shortened(value), fix="widen the range")


@catalog_rule("SP120", "assumption about nothing")
def broken_assumption(catalog: Catalog) -> Problems:
    """What a preset marks as assumed must be there, or the mark outlives the value and hides the next one."""
    for model in catalog.models.values():
        for place, name in enumerate(model.spec.get("assumed", ())):
            if not _reaches(model.spec, name):
                path = ("spec", "assumed", place)
                message = f"assumed names {shortened(name)}, and the preset has no such value"
                yield Problem(model.at(*path), dotted(path), message, name, fix="write its path below spec, with dots")


@catalog_rule("SP122", "name of a client")
def client_name(catalog: Catalog) -> Problems:
    """Names of clients become parts of object fields: lower-case letters, digits and dashes."""
    for document in catalog.environments.values():
        for name, client in document.spec.get("clients", {}).items():
            path = ("spec", "clients", name)
            if not _CLIENT.fullmatch(name):
                allowed = "lower-case letters, digits and dashes"
                yield Problem(document.at(*path), dotted(path), f"{name} is no name for a client", name, allowed)
            if not client["labels"]:
                message = f"clients.{name} has no labels: every pod of its namespace would be let in"
                yield Problem(document.at(*path, "labels"), f"{dotted(path)}.labels", message, "{}", fix="name labels")


def _knob(
    name: str, knob: Mapping[str, Any], offered: set[str], schemas: Mapping[str, Mapping[str, Any]], component: str
) -> Iterator[tuple[str, str]]:
    """What is wrong with a knob: message and fix."""
    if not _KNOB.fullmatch(name):
        yield f"{name} is no name for a knob", "write words joined by dots: scaling.maxReplicas"
    low, high = knob.get("min"), knob.get("max")
    if low is not None and high is not None and low > high:
        yield f"min {low} of {name} is above its max {high}", "turn them around"
    if knob.get("allowed") == []:
        yield f"{name} allows no value at all", "list values, or delete allowed"
    if "target" in knob:
        if not _exists(knob["target"], schemas, component):
            yield f"the target of {name} is no parameter: {knob['target']}", "see `sailplan explain` for their names"
    elif name not in offered:
        yield f"{name} has no target, and no capability has a knob of that name to narrow", "add a target"


def _preset(spec: Mapping[str, Any], target: str) -> Any:
    """What a preset says at a knob's target, by itself."""
    head, *rest = target.split(".")
    places = ("traits", "settings") if head == "traits" else (head,)
    for place in places:
        value: Any = spec.get(place)
        for key in rest:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    return None


def _exists(target: str, schemas: Mapping[str, Mapping[str, Any]], component: str) -> bool:
    head, *rest = target.split(".")
    name, path = (component, rest) if head == "properties" else (rest[0], rest[1:])
    return name in schemas and bool(path) and parameter(schemas[name], tuple(path)) is not None


def _reaches(value: Any, name: str) -> bool:
    """Whether a dotted name leads to a value; keys may hold dots themselves."""
    if not name:
        return True
    if not isinstance(value, Mapping):
        return False
    return any(
        name == key or (name.startswith(f"{key}.") and _reaches(value[key], name[len(key) + 1 :])) for key in value
    )
