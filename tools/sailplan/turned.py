"""Knobs as people read them: the value in force, who said so, and how far it may be turned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sailplan import layering
from sailplan.findings import shortened
from sailplan.knobs import Knob, definition, knobs
from sailplan.layers import value_at
from sailplan.model import Catalog, Component, Document, Path
from sailplan.rules.settings import parameter_of
from sailplan.rules.view import parameters
from sailplan.texts import shown, table

HEAD = ("knob", "value", "from", "may be", "")
UNTOLD = ("-", "")

Value = tuple[str, str]
"""A value as text, and the layer that it comes from: `default` is the definition's own."""


def of_component(catalog: Catalog, component: Component) -> list[str]:
    """The knobs of a component of an application, with the values of its environments."""
    preset = catalog.presets[component.model]
    chosen = [catalog.capabilities[name] for name in component.capabilities]

    def values(knob: Knob) -> list[Value]:
        return _told_apart({name: _in(catalog, component, knob, name) for name in component.environments})

    return _lines(knobs(preset, chosen), values)


def of_preset(catalog: Catalog, preset: Document, offered: Sequence[Document]) -> list[str]:
    """The knobs of a model or an edge with the capabilities that it is offered, without any environment."""
    if preset.kind == "Edge":
        stack = layering.edge(preset, offered, None)
    else:
        stack = layering.presets(catalog, preset, next(iter(preset.spec["profiles"])), offered)
    layers = {path: origin.layer for path, origin in stack.origins.items()}
    return _lines(
        knobs(preset, offered),
        lambda knob: [_value(catalog, knob, definition(preset), stack.data, layers)],
    )


def of_capability(catalog: Catalog, capability: Document) -> list[str]:
    """The knobs of a capability by itself; models have values of their own."""
    spec = capability.spec
    own = {"properties": spec.get("properties", spec.get("edgeProperties", {})), "traits": spec.get("traits", {})}
    nothing = Document("Model", "", "", {"spec": {}}, {})
    return _lines(
        knobs(nothing, [capability]), lambda knob: [_value(catalog, knob, definition(capability), own, "capability")]
    )


def _lines(found: Mapping[str, Knob], values: Callable[[Knob], Sequence[Value]]) -> list[str]:
    """A line a knob; one more for every other value that it has."""
    rows = []
    for name, knob in sorted(found.items()):
        first, *others = values(knob)
        rows.append((name, *first, knob.range, knob.description))
        rows += [("", *other, "", "") for other in others]
    return table([HEAD, *rows]) if rows else []


def _in(catalog: Catalog, component: Component, knob: Knob, environment: str) -> Value:
    properties, traits = component.environments[environment]
    start = ("environments", environment)
    layers = {path[2:]: origin.layer for path, origin in component.origins.items() if path[:2] == start}
    return _value(catalog, knob, component.definition, {"properties": properties, "traits": traits}, layers)


def _told_apart(found: Mapping[str, Value]) -> list[Value]:
    """One value for all environments, or each environment's own."""
    if len(set(found.values())) == 1:
        return [next(iter(found.values()))]
    return [(f"{value} in {name}", layer) for name, (value, layer) in found.items()]


def _value(
    catalog: Catalog, knob: Knob, component: str, data: Mapping[str, Any], layers: Mapping[Path, str] | str
) -> Value:
    value = value_at(data, knob.target)
    if value is not None:
        layer = layers if isinstance(layers, str) else layers.get(knob.target, "")
        return _short(value), layer
    default = parameter_of(knob, parameters(catalog), component).get("default")
    return UNTOLD if default is None else (_short(default), "default")


def _short(value: Any) -> str:
    return shortened(" ".join(shown(value).split()), 40)
