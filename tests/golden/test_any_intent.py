"""Any valid intent composes, passes every rule, and renders through the real vela into objects that fit their schemas.

The generator only knows what a product team can know: the presets, their knobs and ranges, and what goes together.
What it makes is valid by construction, so one refusal is a defect of a preset, a rule, the composer or a definition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.pod_security import pod_security_violations
from conformance.schemas import validate
from sailplan.facts import BACKENDS
from sailplan.findings import errors
from sailplan.knobs import Knob, definition, knobs
from sailplan.model import Catalog, Document
from sailplan.pipeline import plan
from sailplan.render import render_all
from unit.catalogs import edited, repository


def roomy() -> Catalog:
    """The repository's catalog without applications, and GPUs enough for any: budgets are not what is tested."""
    catalog = replace(repository(), apps={})
    return edited({f"environments/{name}: spec gpu budget": 999 for name in catalog.environments}, catalog)


CATALOG = roomy()
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,18}[a-z0-9]", fullmatch=True).filter(lambda name: name != "vllm")
# Once an application: a second ExternalSecret of one name, or a second server of the same adapters, is refused.
ONCE = {"hub-token", "sql-canary"}


@st.composite
def capabilities(draw: st.DrawFn, model: str, environments: list[str], taken: set[str]) -> list[str]:
    provided = set.intersection(*(set(CATALOG.environments[name].spec["provides"]) for name in environments))
    fitting = [
        name
        for name, document in sorted(CATALOG.capabilities.items())
        if name not in taken
        and definition(document) == definition(CATALOG.presets[model])
        and not _conflict(model, name)
        and set(document.spec.get("needs", ())) <= provided
        and (not document.spec.get("models") or model in document.spec["models"])
        and (name != "web-route" or all("web" in CATALOG.environments[env].spec for env in environments))
    ]
    chosen: list[str] = []
    for name in draw(st.lists(st.sampled_from(fitting), unique=True, max_size=len(fitting))):
        if not {name, *chosen} & set(CATALOG.capabilities[name].spec.get("conflicts", ())):
            chosen.append(name)
    for name in list(chosen):
        chosen += [need for need in CATALOG.capabilities[name].spec.get("requires", ()) if need not in chosen]
    return chosen


def _conflict(model: str, name: str) -> bool:
    """Whether a capability says what an edge asks, and its preset says so too."""
    traits = {*CATALOG.presets[model].spec.get("traits", {}), *CATALOG.capabilities[name].spec.get("traits", {})}
    return set(BACKENDS) <= traits or (name == "pool-routing" and model != "simulator")


@st.composite
def settings_of(draw: st.DrawFn, model: str, chosen: list[str]) -> dict[str, Any]:
    turnable = knobs(CATALOG.presets[model], [CATALOG.capabilities[name] for name in chosen])
    picked = draw(st.lists(st.sampled_from(sorted(turnable)), unique=True)) if turnable else []
    made = {name: draw(value(turnable[name])) for name in picked}
    # The one pair of knobs that bound each other.
    low, high = "scaling.minReplicas", "scaling.maxReplicas"
    if low in made or high in made:
        most = min(int(turnable[low].max or 1), int(turnable[high].max or 1))
        least = draw(st.integers(int(turnable[low].min or 1), most))
        made |= {low: least, high: draw(st.integers(least, int(turnable[high].max or 1)))}
    return made


def value(knob: Knob) -> st.SearchStrategy[Any]:
    if knob.allowed is not None:
        return st.sampled_from(knob.allowed)
    if knob.name == "prompt.system":
        return st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs"))).map("x{}".format)
    if knob.name == "keys.secret":
        return NAMES
    if knob.type == "number" or knob.name == "prompt.temperature":
        return st.floats(float(knob.min or 0), float(knob.max or 1)).map(lambda number: round(number, 2))
    return st.integers(int(knob.min or 1), int(knob.max or 1))


@st.composite
def intents(draw: st.DrawFn) -> Document:
    environments = draw(st.lists(st.sampled_from(sorted(CATALOG.environments)), unique=True, min_size=1, max_size=2))
    names = draw(st.lists(NAMES, unique=True, min_size=1, max_size=3))
    taken: set[str] = set()
    components: list[dict[str, Any]] = []
    engines: list[str] = []
    for name in names:
        # An edge of an engine needs one before it.
        known = {*CATALOG.models, *CATALOG.edges} - ({"engine-edge"} if len(engines) != 1 else set())
        model = draw(st.sampled_from(sorted(known)))
        engines += [name] if model in CATALOG.models else []
        chosen = draw(capabilities(model, environments, taken))
        taken |= ONCE & set(chosen)
        components.append(
            {"model": model, "name": name, "capabilities": chosen, "set": draw(settings_of(model, chosen))}
            | ({"backend": engines[0]} if model == "engine-edge" else {})
        )
    data = {
        "apiVersion": "catalog.oam.ai/v1",
        "kind": "App",
        "metadata": {"name": draw(NAMES), "owner": "someone"},
        "spec": {"components": components, "environments": environments},
    }
    return Document("App", str(data["metadata"]["name"]), "app.yaml", data, {})  # type: ignore[index]


@pytest.mark.conformance
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(intents())
def test_any_valid_intent_renders_and_passes(app: Document) -> None:
    made = plan(CATALOG, [app])
    assert not errors(made.findings)
    rendered = render_all(CATALOG, made.compositions[0], app.spec["environments"])
    assert set(rendered) == set(app.spec["environments"])
    for objects in rendered.values():
        deployed = {item["metadata"]["name"] for item in objects if item["kind"] == "Deployment"}
        assert deployed == {component["name"] for component in app.spec["components"]}
        for item in objects:
            assert validate(dict(item)) == []
            if item["kind"] in {"Deployment", "Job"}:
                assert pod_security_violations(item["spec"]["template"]) == []
