"""SP121: overrides that change nothing. Nobody notices them, and the next reader believes them."""

from __future__ import annotations

from sailplan.findings import dotted, shortened
from sailplan.knobs import knobs
from sailplan.layers import value_at
from sailplan.rules.registry import Problem, Problems, fleet_rule
from sailplan.rules.view import Placed, View


@fleet_rule("SP121", "override that changes nothing", "warning")
def unused(view: View) -> Problems:
    """An override for a trait that nothing there has, or that repeats the value that holds anyway, does nothing."""
    used = dict.fromkeys(name for placed in view.placed for name in placed.component.environments)
    for environment in used:
        yield from _of_environment(view, environment)
    for placed in view.placed:
        yield from _of_intent(view, placed)


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
            base = value_at({"properties": component.properties, "traits": component.traits}, target)
            own = value_at(view.environment(environment).spec.get("overrides", {}), target)
            if base == value and own in (None, value):
                path = ("spec", "overrides", environment, component.name, name)
                message = f"{name} is {shortened(value)} in {environment} without this override too"
                yield Problem(placed.app.at(*path), dotted(path), message, shortened(value), fix="delete the override")
