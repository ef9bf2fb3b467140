"""Defaults of definitions that a component has to say itself, because some environment changes them. Pure.

KubeVela 1.11 looks at a component before the overrides of its environments, and stands in for what they will bring: for
every property that an override sets, whichever component it is meant for, a property of that dotted name. For an inner
one that has a default (`rollout.maxUnavailable`) that is a name which a closed parameter refuses: "field not allowed"
(measured; source: augmentComponentParamsForValidation in its pkg/appfile/validate.go). A component that says the
property is left alone, so it says the default. What is optional and what a map with free names lacks is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sailplan.layers import Stack, difference
from sailplan.model import Component, Origin, Path, Position


def said(components: Sequence[Component], parameters: Mapping[str, Mapping[str, Any]]) -> tuple[Component, ...]:
    """The components, with the defaults that they have to say.

    Args:
        components: of one Application.
        parameters: JSON Schema of the parameters of component definitions, by name.
    """
    changed = dict.fromkeys(path for component in components for path in _changed(component))
    return tuple(_saying(component, changed, parameters.get(component.definition, {})) for component in components)


def _changed(component: Component) -> Iterator[Path]:
    """Inner properties that environments change."""
    for properties, _ in component.environments.values():
        yield from (path for path in _leaves(difference(component.properties, properties)) if len(path) > 1)


def _leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path


def _saying(component: Component, paths: Iterable[Path], schema: Mapping[str, Any]) -> Component:
    values = {path: _default(schema, component.properties, path) for path in paths}
    values = {path: default for path, default in values.items() if default is not None}
    if not values:
        return component
    origin = Origin("definition", Position(f"definitions/component/{component.definition}.cue"))
    base = Stack()
    base.data = {"properties": component.properties}
    base, origins = base.copy(), dict(component.origins)
    environments = {}
    for path, default in values.items():
        base.put(("properties", *path), default, origin)
    for name, (properties, traits) in component.environments.items():
        below = base.copy()
        below.merge(properties, lambda _: origin, ("properties",))
        environments[name] = (below.data["properties"], traits)
        origins = {**{("environments", name, *at): origin for at in base.origins}, **origins}
    return replace(
        component,
        properties=base.data["properties"],
        environments=environments,
        origins={**base.origins, **origins},
    )


def _default(schema: Mapping[str, Any], properties: Mapping[str, Any], path: Path) -> Any:
    """Default of the property at a path; None when it has none, is said already, or hangs on an entry not there."""
    here: Mapping[str, Any] = schema
    value: Any = properties
    for key in path:
        value = value.get(str(key)) if isinstance(value, Mapping) else None
        named, free = here.get("properties", {}), here.get("additionalProperties")
        if key not in named and value is None:
            return None
        here = named[key] if key in named else free if isinstance(free, Mapping) else {}
    return here.get("default") if value is None else None
