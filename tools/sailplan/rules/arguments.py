"""SP5xx, second part: further flags for the engine."""

from __future__ import annotations

from collections.abc import Iterator

from sailplan.findings import dotted
from sailplan.model import Catalog, Position
from sailplan.rules.flags import Engine, engine, managed, stands_for
from sailplan.rules.registry import Problem, Problems, catalog_rule, component_rule
from sailplan.rules.view import Placed, View


@component_rule("SP503", "flag that the engine does not know", engine=True)
def unknown_flag(view: View, placed: Placed) -> Problems:
    """The engine ends at once on a flag that its version does not have, so the list is that version's own."""
    for at, field, argument in _arguments(placed):
        known = _engine(view, placed)
        if known is None:
            continue
        wrong, near, fix = known.wrong(argument)
        if wrong:
            name = argument.partition("=")[0]
            yield Problem(at, field, wrong, argument, "a flag of the engine", near, fix or f"leave {name} out")


@component_rule("SP504", "flag that is managed", engine=True)
def managed_flag(view: View, placed: Placed) -> Problems:
    """Flags that a parameter or trait owns are set there: given twice, the engine takes the last one."""
    owned = managed(view.catalog)
    for at, field, argument in _arguments(placed):
        known = _engine(view, placed)
        names = known.find(argument) if known else []
        full = names[0] if len(names) == 1 else argument
        clash = stands_for(full, owned) or stands_for(argument, owned)
        if clash:
            message = f"{argument} sets {clash[0]}, which a parameter or trait owns, or the platform fixes"
            yield Problem(at, field, message, argument, fix="use the parameter: `sailplan explain vllm-model`")


@catalog_rule("SP505", "list of engine flags missing")
def no_flags(catalog: Catalog) -> Problems:
    """Further flags are checked against the list of the pinned engine version; without the list they cannot be."""
    for name in catalog.images.spec["engines"] if catalog.images else {}:
        if catalog.images and engine(catalog, name) is None:
            path = ("spec", "engines", name, "flags")
            file = catalog.images.spec["engines"][name]["flags"]
            message = f"catalog/{file} is not there, or is no list of flags"
            yield Problem(
                catalog.images.at(*path), dotted(path), message, file, fix="make it from the engine's own parser"
            )


def _arguments(placed: Placed) -> Iterator[tuple[Position, str, str]]:
    """Every further flag of a component, once: where, its field, and as written."""
    said: set[str] = set()
    for environment, (properties, _) in placed.environments:
        for place, argument in enumerate(properties.get("extraArgs", ())):
            if argument not in said:
                said.add(argument)
                path = ("properties", "extraArgs")
                yield placed.at(environment, *path), f"{placed.field(*path)}[{place}]", str(argument)


def _engine(view: View, placed: Placed) -> Engine | None:
    return engine(view.catalog, view.catalog.models[placed.component.model].spec["engine"])
