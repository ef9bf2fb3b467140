"""Overrides that change nothing (SP121: the next reader believes them), and those that a hub does not take (SP321)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sailplan.findings import dotted, shortened
from sailplan.knobs import knobs
from sailplan.model import Path
from sailplan.rules.registry import Problem, Problems, component_rule, fleet_rule
from sailplan.rules.view import Placed, View, parameter


@fleet_rule("SP121", "override that changes nothing", "warning")
def unused(view: View) -> Problems:
    """An override for a trait that nothing there has, or that repeats the value that holds anyway, does nothing."""
    used = dict.fromkeys(name for placed in view.placed for name in placed.component.environments)
    for environment in used:
        yield from _of_environment(view, environment)
    for placed in view.placed:
        yield from _of_intent(view, placed)


@component_rule("SP321", "override that the hub refuses")
def refused(view: View, placed: Placed) -> Problems:
    """KubeVela 1.11 refuses an override of an inner property that has a default, when the base leaves it out.

    It is composed and rendered all the same, and refused ("field not allowed") when the Application is applied.
    """
    component = placed.component
    schema = view.parameters.get(component.definition, {})
    for environment, (properties, _) in placed.environments:
        for path in _leaves(properties):
            default = (parameter(schema, path) or {}).get("default")
            if len(path) > 1 and default is not None and _get(component.properties, path) is None:
                message = f"{dotted(path)} of {component.name} is said for {environment} only, which KubeVela refuses"
                fix = f"say it in the model or a capability too: {shortened(default)} is the default"
                given = shortened(_get(properties, path))
                whole = ("properties", *path)
                yield Problem(placed.at(environment, *whole), placed.field(*whole), message, given, fix=fix)


def _leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path


def _of_environment(view: View, environment: str) -> Problems:
    document = view.environment(environment)
    attached = {trait for placed in view.within(environment) for trait in placed.component.environments[environment][1]}
    for trait in document.spec.get("overrides", {}).get("traits", {}):
        if trait not in attached:
            path = ("spec", "overrides", "traits", trait)
            message = f"no component in {environment} has the trait {trait}"
            there = ", ".join(sorted(attached))
            yield Problem(document.at(*path), dotted(path), message, trait, there, fix="delete the override")


def _of_intent(view: View, placed: Placed) -> Problems:
    catalog, component = view.catalog, placed.component
    if not placed.app.spec.get("overrides"):
        return
    turnable = knobs(catalog.presets[component.model], [catalog.capabilities[name] for name in component.capabilities])
    for environment, parts in placed.app.spec.get("overrides", {}).items():
        for name, value in parts.get(component.name, {}).items():
            target = turnable[name].target
            base = _get({"properties": component.properties, "traits": component.traits}, target)
            own = _get(view.environment(environment).spec.get("overrides", {}), target)
            if base == value and own in (None, value):
                path = ("spec", "overrides", environment, component.name, name)
                message = f"{name} is {shortened(value)} in {environment} without this override too"
                yield Problem(placed.app.at(*path), dotted(path), message, shortened(value), fix="delete the override")


def _get(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value.get(str(key)) if isinstance(value, Mapping) else None
    return value
