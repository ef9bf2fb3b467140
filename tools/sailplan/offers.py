"""Where a capability may be picked: tried by composing one component with it, and asking the rules. Pure.

The catalog has passed the schema. Models are models and edges; environments are those of the catalog.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sailplan.compose import components
from sailplan.findings import errors
from sailplan.knobs import suits
from sailplan.model import ENGINE, Catalog, Document, Finding

_TRIED = "tried-component"
"""Name of the component that is tried; in what is said about it the model's name stands for it."""


def refusal(catalog: Catalog, model: str, capability: str, environment: str) -> str:
    """Why a component of `model` with `capability` would be refused in `environment`; "" when it would not.

    What the capability requires is picked with it, and an edge of an engine gets one. Other applications do not count.
    """
    found = _refusal(catalog, model, capability, environment)
    return _named(reason(found), model) if found else ""


def reason(found: Finding) -> str:
    """What a finding says, without the brackets at its end that go into the details."""
    return re.sub(r" \([^()]*\)$", "", found.message)


def anywhere(catalog: Catalog, model: str, capability: str, environments: Iterable[str] = ()) -> str:
    """Why `capability` may be picked for `model` in none of `environments`, all without any; "" when it may in one.

    What all of them say alike is said without an environment, and with what to do about it.
    """
    found = []
    for name in environments or sorted(catalog.environments):
        refused = _refusal(catalog, model, capability, name)
        if not refused:
            return ""
        found.append((reason(refused).removesuffix(f" in {name}"), refused))
    text, first = found[0]
    alike = len(found) > 1 and len({text for text, _ in found}) == 1
    return _named(f"{text}; {first.fix}" if alike and first.fix else reason(first), model)


def warnings(catalog: Catalog, model: str, capability: str, environments: Sequence[str]) -> list[str]:
    """What is said about a component of `model` with `capability` in `environments`, none of which refuses it."""
    found = _said(catalog, _trial(catalog, model, _with_required(catalog, capability), environments))
    own = [one for one in found if one.severity == "warning" and one.field.startswith("spec.components[0]")]
    return [_named(f"{one.message}; {one.fix}", model) for one in own]


def fitting(catalog: Catalog, capability: str) -> list[str]:
    """The models that a capability is for, by component and by name, wherever it may be picked."""
    document = catalog.capabilities[capability]
    return sorted(name for name, preset in catalog.presets.items() if suits(document, preset))


def by_environment(catalog: Catalog, capability: str, models: Sequence[str]) -> dict[str, str]:
    """Every environment, and why a capability may be picked there for none of `models`; "" when it may for one."""
    return {
        name: _unless_one_goes(refusal(catalog, model, capability, name) for model in models)
        for name in sorted(catalog.environments)
    }


def _unless_one_goes(tried: Iterator[str]) -> str:
    first = ""
    for refused in tried:
        if not refused:
            return ""
        first = first or refused
    return first


def _with_required(catalog: Catalog, capability: str) -> list[str]:
    picked = [capability]
    for name in picked:
        required = catalog.capabilities[name].spec.get("requires", ())
        picked += [one for one in required if one in catalog.capabilities and one not in picked]
    return picked


def _refusal(catalog: Catalog, model: str, capability: str, environment: str) -> Finding | None:
    app = _trial(catalog, model, _with_required(catalog, capability), [environment])
    return next(iter(errors(_said(catalog, app))), None)


def _named(text: str, model: str) -> str:
    return text.replace(_TRIED, model)


def _trial(catalog: Catalog, model: str, capabilities: Sequence[str], environments: Sequence[str]) -> Document:
    parts: list[Mapping[str, Any]] = [{"model": model, "name": _TRIED, "capabilities": list(capabilities)}]
    if catalog.presets[model].spec.get("backend", {}).get("engine"):
        parts += [{"model": name, "name": f"{_TRIED}-engine"} for name in list(catalog.models)[:1]]
    return Document("App", _TRIED, "", {"spec": {"components": parts, "environments": list(environments)}}, {})


def _said(catalog: Catalog, app: Document) -> list[Finding]:
    """What the rules say about the first component of `app`, alone in the world."""
    from sailplan import rules
    from sailplan.rules.registry import run
    from sailplan.rules.view import Placed, View

    if found := errors(rules.references(catalog, app)):
        return found
    placed = Placed(app, 0, components(catalog, app)[0])
    view = View(catalog, [placed])
    subjects = ("component", "engine") if placed.component.definition == ENGINE else ("component",)
    alone = [one for subject in subjects for one in run(subject, view, placed)]
    return [*run("all", view), *alone]
