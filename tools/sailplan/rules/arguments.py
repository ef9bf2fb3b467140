"""SP5xx, second part: further flags for the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sailplan.findings import dotted, nearest, shortened
from sailplan.model import Catalog, Position
from sailplan.rules.flags import Engine, engine, managed, normal, stands_for
from sailplan.rules.registry import Problem, Problems, catalog_rule, component_rule
from sailplan.rules.view import Placed, View


@component_rule("SP503", "flag that the engine does not know")
def unknown_flag(view: View, placed: Placed) -> Problems:
    """The engine ends at once on a flag that its version does not have, so the list is that version's own."""
    for at, field, argument in _arguments(placed):
        known = _engine(view, placed)
        if known is None:
            continue
        wrong, near, fix = _flag(known, argument)
        if wrong:
            name = argument.partition("=")[0]
            yield Problem(at, field, wrong, argument, "a flag of the engine", near, fix or f"leave {name} out")


@component_rule("SP504", "flag that is managed")
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


def _flag(known: Engine, argument: str) -> tuple[str, str, str]:
    """What is wrong with one flag: message, nearest right one, fix; all empty when nothing is."""
    name = argument.partition("=")[0]
    found = known.find(argument)
    gone = next((text for flag, text in known.removed.items() if normal(flag) == normal(argument)), None)
    if gone is not None:
        return f"this engine no longer has {name}", "", gone
    if not found:
        near = nearest(normal(argument), known.flags)
        return f"this engine does not know {name}", near, f"did you mean {near}?" if near else ""
    if len(found) > 1:
        return f"{name} may be any of {shortened(', '.join(found))}", "", "write the whole name"
    return _value(known.flags[found[0]], argument)


def _value(flag: Mapping[str, Any], argument: str) -> tuple[str, str, str]:
    """What is wrong with the value that a known flag gets."""
    name, equals, value = argument.partition("=")
    switched_off = normal(argument).startswith("--no-")
    if (flag.get("takes") == "none" or switched_off) and equals:
        return f"{name} takes no value", "", f"write {name}"
    if flag.get("takes") in ("value", "values") and not equals and not switched_off:
        return f"{name} needs a value", "", f"write {name}=VALUE"
    choices = [str(choice) for choice in flag.get("choices") or ()]
    if equals and choices and value not in choices:
        near = nearest(value, choices)
        message = f"{name} does not take {shortened(value)}, only {', '.join(choices)}"
        return message, near, f"write {name}={near or 'VALUE'}"
    return "", "", ""
