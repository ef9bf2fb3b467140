"""The layers of one component, put on each other: model, profile, capabilities, environment, intent. Pure.

Facts of documents become parameters by the tables of `facts`; what a document says about parameters directly is merged
as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sailplan import facts
from sailplan.knobs import Knob
from sailplan.layers import At, Stack, value_at
from sailplan.model import EDGE, ENGINE, Catalog, Document, Origin, Path


@dataclass(frozen=True, slots=True)
class Engine:
    """The vllm-model that an edge stands in front of: its component, what it serves, and who said so."""

    component: str
    served: str
    origin: Origin


def presets(catalog: Catalog, model: Document, profile: str, chosen: Iterable[Document]) -> Stack:
    """The layers below the environment: model, profile, capabilities."""
    capabilities = list(chosen)
    own = model.spec["profiles"][profile]
    attached = {*model.spec.get("traits", {}), *own.get("traits", {})}
    attached |= {trait for capability in capabilities for trait in capability.spec.get("traits", {})}
    stack = Stack()
    # Who attaches a trait is who it came from, even where settings that were waiting for it are merged first.
    for layer, document, place in (
        ("model", model, ("spec", "traits")),
        ("profile", model, ("spec", "profiles", profile, "traits")),
        *(("capability", capability, ("spec", "traits")) for capability in capabilities),
    ):
        for trait in value_at(document.data, place) or {}:
            stack.origins.setdefault(("traits", trait), Origin(layer, document.at(*place, trait)))
    _state(stack, "model", model, (), facts.MODEL, attached)
    _merge(stack, "model", model, ("spec", "properties"), ("properties",))
    _engine(stack, catalog, model)
    _merge(stack, "model", model, ("spec", "traits"), ("traits",))
    _merge(stack, "model", model, ("spec", "settings"), ("traits",), only=attached)
    _state(stack, "profile", model, ("profiles", profile), facts.PROFILE, attached)
    _gpu_class(stack, catalog, profile, model, attached)
    _merge(stack, "profile", model, ("spec", "profiles", profile, "properties"), ("properties",))
    _merge(stack, "profile", model, ("spec", "profiles", profile, "traits"), ("traits",))
    for capability in capabilities:
        _merge(stack, "capability", capability, ("spec", "properties"), ("properties",))
        _merge(stack, "capability", capability, ("spec", "traits"), ("traits",))
    return stack


def edge(preset: Document, chosen: Iterable[Document], engine: Engine | None) -> Stack:
    """The layers of an edge below the environment: its preset, then capabilities.

    Args:
        preset: the edge.
        chosen: presets of the capabilities.
        engine: the component that it stands in front of, unless the preset itself says what answers.
    """
    capabilities = list(chosen)
    attached = {*preset.spec.get("traits", {})}
    attached |= {trait for capability in capabilities for trait in capability.spec.get("traits", {})}
    stack = Stack()
    stack.data.update({"properties": {}, "traits": {}})
    _merge(stack, "model", preset, ("spec", "properties"), ("properties",))
    _merge(stack, "model", preset, ("spec", "traits"), ("traits",))
    _state(stack, "model", preset, (), facts.EDGE, attached)
    if engine:
        stood: list[Path] = [("traits", trait) for trait in facts.BACKENDS if trait in attached]
        for place in (("properties",), *stood):
            stack.put((*place, "backendURL"), facts.engine_url(engine.component), engine.origin)
            stack.put((*place, "model"), engine.served, engine.origin)
    _merge(stack, "model", preset, ("spec", "settings"), ("traits",), only=attached)
    for capability in capabilities:
        _merge(stack, "capability", capability, ("spec", "edgeProperties"), ("properties",))
        _merge(stack, "capability", capability, ("spec", "traits"), ("traits",))
    return stack


def environment(stack: Stack, document: Document, name: str, definition: str = ENGINE) -> None:
    """Put an environment's facts and overrides on top, for the component called `name`."""
    attached = set(stack.data["traits"])
    table = facts.ENVIRONMENT if definition == ENGINE else facts.EDGE_ENVIRONMENT
    _state(stack, "environment", document, (), table, attached)
    domain = document.spec.get("web", {}).get("domain")
    if domain and "http-route" in attached:
        at = Origin("environment", document.at("spec", "web", "domain"))
        stack.put(("traits", "http-route", "hostname"), facts.host_name(name, domain), at)
    carriers = document.spec.get("web", {}).get("dataPlane")
    if carriers and {"http-route", "network-policy"} <= attached:
        # Only models with a host name open their port to the web gateway.
        at = Origin("environment", document.at("spec", "web", "dataPlane"))
        stack.put(("traits", "network-policy", "clients", "web-gateway"), dict(carriers), at)
    registry = document.spec.get("images", {}).get("registry", "")
    if registry and definition == EDGE:
        _mirror_edge(stack, document, registry)
    elif registry:
        at = Origin("environment", document.at("spec", "images", "registry"))
        stack.put(("properties", "image"), facts.mirrored(stack.data["properties"]["image"], registry), at)
    own = "properties" if definition == ENGINE else "edgeProperties"
    _merge(stack, "environment", document, ("spec", "overrides", own), ("properties",))
    _merge(stack, "environment", document, ("spec", "overrides", "traits"), ("traits",), only=attached)


def admit(stack: Stack, edge: str, document: Document, origin: Origin) -> None:
    """Let an edge of the same application ask the component, where a network policy would keep it out."""
    if "network-policy" in stack.data["traits"]:
        peer = {"namespace": document.spec["namespace"], "labels": {"app.kubernetes.io/name": edge}}
        stack.put(("traits", "network-policy", "clients", edge), peer, origin)


def turn(stack: Stack, turnable: Mapping[str, Knob], wishes: Mapping[str, Any], app: Document, at: Path) -> None:
    """Turn the knobs that a product team set."""
    for name, value in wishes.items():
        stack.put(turnable[name].target, value, Origin("app", app.at(*at, name)))


def _mirror_edge(stack: Stack, document: Document, registry: str) -> None:
    image = stack.data["properties"].get("image", facts.EDGE_IMAGE)
    at = Origin("environment", document.at("spec", "images", "registry"))
    stack.put(("properties", "image"), facts.mirrored(image, registry), at)


def _engine(stack: Stack, catalog: Catalog, model: Document) -> None:
    images = catalog.images
    if images is None or "image" in stack.data["properties"]:
        return
    engine = model.spec["engine"]
    origin = Origin("model", images.at("spec", "engines", engine, "image"))
    stack.put(("properties", "image"), images.spec["engines"][engine]["image"], origin)


def _gpu_class(stack: Stack, catalog: Catalog, name: str, model: Document, attached: set[str]) -> None:
    if "gpu" not in attached or catalog.gpus is None:
        return
    stack.put(("traits", "gpu", "class"), name, Origin("profile", model.at("spec", "profiles", name)))
    _state(stack, "profile", catalog.gpus, ("classes", name), facts.GPU_CLASS, attached)


def _state(
    stack: Stack, layer: str, document: Document, base: Path, table: Iterable[facts.Fact], attached: set[str]
) -> None:
    """Put the facts of `table` that `document` states below `base` of its spec onto the stack."""
    for fact in table:
        if fact.target[0] == "traits" and fact.target[1] not in attached:
            continue
        stated = value_at(document.spec, (*base, *fact.source))
        value = None if stated is None else fact.turn(stated, document.spec)
        if value is not None and value != {}:
            place = ("spec", *base, *fact.source)
            if isinstance(value, Mapping):
                stack.merge(value, _origin(layer, document, place), fact.target)
            else:
                stack.put(fact.target, value, Origin(layer, document.at(*place)))


def _merge(
    stack: Stack, layer: str, document: Document, source: Path, target: Path, only: set[str] | None = None
) -> None:
    """Merge the map at `source` of a document; of its entries `only` those named, when given."""
    value = value_at(document.data, source) or {}
    if only is not None:
        value = {key: item for key, item in value.items() if key in only}
    stack.merge(value, _origin(layer, document, source), target)


def _origin(layer: str, document: Document, place: Path) -> At:
    def at(inner: Path) -> Origin:
        return Origin(layer, document.at(*place, *inner))

    return at
