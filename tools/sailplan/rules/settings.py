"""SP1xx, third part: what an intent sets, against the knobs that the presets offer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sailplan import phrases
from sailplan.findings import dotted, nearest, shortened
from sailplan.knobs import Knob, definition, knobs, suits
from sailplan.model import Catalog, Document, Path
from sailplan.phrases import out_of_bounds, shown
from sailplan.rules.names import component_name
from sailplan.rules.registry import Problem, Problems, intent_rule
from sailplan.rules.view import parameter, parameters

TYPES = {"integer": (int,), "number": (int, float), "string": (str,), "boolean": (bool,)}
WORDS = {"integer": "a whole number", "number": "a number", "string": "text", "boolean": "true or false"}


@intent_rule("SP106", "not to be set")
def not_a_knob(catalog: Catalog, app: Document) -> Problems:
    """A product team may set what the presets offer as knobs; the rest is the platform team's business."""
    for path, model, chosen, wishes in _wishes(catalog, app):
        turnable = knobs(model, chosen)
        # A capability for another component is a finding of its own; its knobs are no advice.
        own = knobs(model, [one for one in chosen if suits(one, model)])
        for name, value in wishes.items():
            if name not in turnable:
                yield _refused(catalog, app, (*path, name), model, own, name, value)


@intent_rule("SP107", "knob out of its range")
def out_of_range(catalog: Catalog, app: Document) -> Problems:
    """A preset says how far a knob may be turned, and why."""
    schemas = parameters(catalog)
    for path, model, chosen, wishes in _wishes(catalog, app):
        turnable = knobs(model, chosen)
        for name, value in wishes.items():
            knob = turnable.get(name)
            taken = parameter_of(knob, schemas, definition(model)) if knob else {}
            kind = _kind(knob, taken) if knob else ""
            if knob and kind and not _is(value, kind):
                given = "text" if isinstance(value, str) else shortened(value)
                message = f"{name} is {given}, not {WORDS[kind]}"
                fix = f"write {WORDS[kind]}"
                yield Problem(
                    app.at(*path, name), dotted((*path, name)), message, shortened(value), knob.range, fix=fix
                )
            elif knob and not within(value, knob.min, knob.max, knob.allowed):
                message = f"{name} {shortened(value)} is out of the range that the preset lets a product team set"
                yield Problem(
                    app.at(*path, name),
                    dotted((*path, name)),
                    message,
                    shortened(value),
                    knob.range,
                    nearest(str(value), map(str, knob.allowed)) if knob.allowed else "",
                    f"{knob.description}; see {knob.position}" if knob.description else f"see {knob.position}",
                )
            elif knob and (wrong := _unfit(value, taken)):
                empty = not str(value).strip()
                fix = f"write some text, or leave {name} out" if empty else knob.description or f"see {knob.position}"
                allowed = "text that is not empty" if empty else phrases.taken(taken)
                message = f"{name} {wrong}"
                yield Problem(app.at(*path, name), dotted((*path, name)), message, shown(value), allowed, fix=fix)


def _wishes(catalog: Catalog, app: Document) -> Iterator[tuple[Path, Document, list[Document], Mapping[str, Any]]]:
    """Everything an intent sets, for components whose model exists: where, model, capabilities, knobs and values."""
    for index, component in enumerate(app.spec["components"]):
        model = catalog.presets.get(component["model"])
        if model is None:
            continue
        names = component.get("capabilities", ())
        chosen = [catalog.capabilities[name] for name in names if name in catalog.capabilities]
        if component.get("set"):
            yield ("spec", "components", index, "set"), model, chosen, component["set"]
        own_name = component_name(catalog, component)
        for environment, components in app.spec.get("overrides", {}).items():
            if components.get(own_name):
                yield ("spec", "overrides", environment, own_name), model, chosen, components[own_name]


def _refused(
    catalog: Catalog, app: Document, path: Path, model: Document, turnable: Mapping[str, Knob], name: str, value: Any
) -> Problem:
    fitting = [one for one in catalog.capabilities.values() if suits(one, model)]
    offered = [one.name for one in fitting if name in knobs(model, [one])]
    near = nearest(name, turnable)
    if offered:
        message = f"{name} cannot be set here: it belongs to the capability {' or '.join(offered)}, which is not chosen"
        near, fix = "", f"choose {offered[0]}, or leave {name} out"
    else:
        message = f"{name} cannot be set: the preset {model.name} does not let a product team turn it"
        fix = f"did you mean {near}?" if near else "ask the platform team for a knob, or leave it out"
    allowed = ", ".join(sorted(turnable)) or "nothing"
    return Problem(app.at(*path), dotted(path), message, f"{name}: {shortened(value)}", allowed, near, fix)


def parameter_of(knob: Knob, schemas: Mapping[str, Mapping[str, Any]], component: str) -> Mapping[str, Any]:
    """JSON Schema of the parameter that a knob turns; empty when there is none."""
    head, *rest = knob.target
    name, path = (component, rest) if head == "properties" else (str(rest[0]), rest[1:])
    return parameter(schemas.get(name, {}), tuple(path)) or {}


def _kind(knob: Knob, taken: Mapping[str, Any]) -> str:
    """Type of the parameter that a knob turns; the knob's own when the definition does not say."""
    kind = str(taken.get("type", "")) or knob.type
    return kind if kind in TYPES else ""


def _unfit(value: Any, taken: Mapping[str, Any]) -> str:
    """Why the definition will refuse a value that the knob itself would let pass; "" when it takes it."""
    wrong = [said for part in (taken, *taken.get("allOf", ())) if (said := out_of_bounds(value, part))]
    return "says nothing" if wrong and not str(value).strip() else next(iter(wrong), "")


def within(value: Any, low: Any, high: Any, allowed: Sequence[Any] | None) -> bool:
    """Whether a value lies in a knob's range; None is an open end."""
    if allowed is not None and value not in allowed:
        return False
    if isinstance(value, str):
        return low is None and high is None
    return (low is None or value >= low) and (high is None or value <= high)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean") == isinstance(value, bool)
