"""Where each value of a composed Application came from: the layer, the file and the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sailplan.compose import CAPABILITIES, MODELS
from sailplan.findings import dotted
from sailplan.model import Catalog, Component, Composition, Origin, Path, Position
from sailplan.policies import override_name, topology_name


def origins(catalog: Catalog, composition: Composition) -> dict[Path, Origin]:
    """Origin of every leaf of the Application, by its path; empty maps and lists count as leaves.

    What no preset and no intent says (kinds, names of policies, the steps) has none.
    """
    found = dict(_components(composition))
    found.update(_metadata(composition))
    for index, policy in enumerate(composition.application["spec"]["policies"]):
        base: Path = ("spec", "policies", index, "properties")
        for environment in (catalog.environments[name] for name in composition.app.spec["environments"]):
            if policy["name"] == topology_name(environment.name):
                for key in ("clusters", "namespace"):
                    found[*base, key] = Origin("environment", environment.at("spec", key))
            elif policy["name"] == override_name(environment.name):
                found.update(_override(composition, environment.name, policy, (*base, "components")))
    return found


def comment(catalog: Catalog, composition: Composition) -> Callable[[Path], str]:
    """What `writer.dump` writes behind each line of the Application."""
    known = origins(catalog, composition)
    return lambda path: str(known.get(path, ""))


def lines(catalog: Catalog, composition: Composition) -> list[dict[str, Any]]:
    """Every leaf that has an origin: its path, value, layer, file and line, in the Application's order."""
    known = origins(catalog, composition)
    return [
        {
            "path": dotted(path),
            "value": value,
            "layer": known[path].layer,
            "file": known[path].position.file,
            "line": known[path].position.line,
        }
        for path, value in leaves(composition.application)
        if path in known
    ]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The scalars of plain data, with their paths; empty maps and lists, and lists of scalars, are leaves too."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def _metadata(composition: Composition) -> Iterator[tuple[Path, Origin]]:
    app = composition.app
    yield ("metadata", "name"), Origin("app", app.at("metadata", "name"))
    if "namespace" in composition.application["metadata"]:
        yield ("metadata", "namespace"), Origin("app", app.at("metadata", "namespace"))
    for annotation in (MODELS, CAPABILITIES):
        yield ("metadata", "annotations", annotation), Origin("app", app.at("spec", "components"))


def _components(composition: Composition) -> Iterator[tuple[Path, Origin]]:
    for index, component in enumerate(composition.components):
        base: Path = ("spec", "components", index)
        intent: Path = ("spec", "components", index)
        yield (*base, "name"), Origin("app", composition.app.at(*intent, "name"))
        yield (*base, "type"), Origin("definition", Position(f"definitions/component/{component.definition}.cue"))
        yield from _values(component, (), (*base, "properties"), ("properties",), component.properties)
        for place, (name, properties) in enumerate(component.traits.items()):
            trait: Path = (*base, "traits", place)
            attached = component.origins.get(("traits", name))
            if attached:
                yield (*trait, "type"), attached
            yield from _values(component, (), (*trait, "properties"), ("traits", name), properties)


def _override(
    composition: Composition, environment: str, policy: Mapping[str, Any], base: Path
) -> Iterator[tuple[Path, Origin]]:
    made = {f"^{component.name}$": component for component in composition.components}
    layer: Path = ("environments", environment)
    for index, entry in enumerate(policy["properties"]["components"]):
        component = made[entry["name"]]
        at: Path = (*base, index)
        yield from _values(component, layer, (*at, "properties"), ("properties",), entry.get("properties", {}))
        for place, trait in enumerate(entry.get("traits", ())):
            inside: Path = (*at, "traits", place, "properties")
            yield from _values(component, layer, inside, ("traits", trait["type"]), trait["properties"])


def _values(
    component: Component, layer: Path, base: Path, inner: Path, values: Mapping[str, Any]
) -> Iterator[tuple[Path, Origin]]:
    for path, _ in leaves(values):
        origin = component.origins.get((*layer, *inner, *path))
        if origin and path:
            yield (*base, *path), origin
