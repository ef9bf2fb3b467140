"""A default that an environment overrides is said by the base component; nothing else is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from sailplan import rules
from sailplan.compose import compose
from sailplan.defaults import said
from sailplan.findings import errors
from sailplan.model import Component, Composition
from sailplan.origins import origins
from sailplan.render import render
from unit.catalogs import edited, repository

FLEET = "inference-fleet"
ONE = {
    "apps/inference-fleet: spec components": [{"model": "qwen-coder", "name": "coder"}],
    "environments/dev: spec overrides properties": {"rollout": {"maxUnavailable": 2}},
}


def component(properties: Any, other: Any, name: str = "coder") -> Component:
    return Component(name, name, "", (), properties, {"gpu": {}}, {"dev": (other, {}), "live": (properties, {})}, {})


SCHEMA = {
    "parts": {
        "properties": {
            "size": {"default": 1},
            "rollout": {"properties": {"surge": {"default": 0}, "down": {"default": 1}, "free": {"type": "integer"}}},
            "spread": {"additionalProperties": {"properties": {"skew": {"default": 1}}}},
        }
    }
}


def bases(*components: Component) -> list[Mapping[str, Any]]:
    made = [replace(one, definition="parts") for one in components]
    return [one.properties for one in said(made, SCHEMA)]


@pytest.mark.parametrize(
    ("base", "dev", "becomes"),
    [
        ({}, {"rollout": {"down": 2}}, {"rollout": {"down": 1}}),
        ({"rollout": {"surge": 3}}, {"rollout": {"surge": 3, "down": 2}}, {"rollout": {"surge": 3, "down": 1}}),
        ({"rollout": {"down": 3}}, {"rollout": {"down": 2}}, {"rollout": {"down": 3}}),
        # KubeVela takes these as they are: no default, not an inner one, in an entry that the base does not have.
        ({}, {"rollout": {"free": 2}}, {}),
        ({}, {"size": 2}, {}),
        ({}, {"spread": {"zone": {"skew": 2}}}, {}),
        ({"spread": {"zone": {}}}, {"spread": {"zone": {"skew": 2}}}, {"spread": {"zone": {"skew": 1}}}),
    ],
)
def test_what_the_base_says(base: Any, dev: Any, becomes: Any) -> None:
    before = deepcopy((base, dev))
    assert bases(component(base, dev)) == [becomes]
    assert (base, dev) == before


def test_an_override_counts_for_every_component() -> None:
    """KubeVela stands in for what overrides set in all components, whichever they are meant for (measured)."""
    changed, other = component({}, {"rollout": {"down": 2}}), component({}, {}, "other")
    assert bases(changed, other) == [{"rollout": {"down": 1}}, {"rollout": {"down": 1}}]


def made(edits: dict[str, Any]) -> Composition:
    catalog = edited(edits)
    return compose(catalog, catalog.apps[FLEET])


def test_the_default_is_said_where_an_environment_overrides_it() -> None:
    composition = made(ONE)
    assert composition.application["spec"]["components"][0]["properties"]["rollout"] == {"maxUnavailable": 1}
    overrides = [policy for policy in composition.application["spec"]["policies"] if policy["type"] == "override"]
    said_by = {
        policy["name"]: part["properties"]["rollout"]
        for policy in overrides
        for part in policy["properties"]["components"]
        if "rollout" in part.get("properties", {})
    }
    assert said_by == {"override-dev": {"maxUnavailable": 2}}
    found = origins(edited(ONE), composition)
    inside = ("spec", "components", 0, "properties", "rollout", "maxUnavailable")
    assert str(found[inside]) == "definition definitions/component/vllm-model.cue"


def test_no_rule_minds() -> None:
    catalog = edited(ONE)
    app = catalog.apps[FLEET]
    assert errors(rules.references(catalog, app)) == []
    assert errors(rules.check(catalog, [compose(catalog, app)])) == []


def test_the_override_holds_in_its_environment_only() -> None:
    catalog = edited(ONE)
    composition = compose(catalog, catalog.apps[FLEET])
    assert {name: _unavailable(render(catalog, composition, name)) for name in ("dev", "staging")} == {
        "dev": 2,
        "staging": 1,
    }


def _unavailable(objects: list[dict[str, Any]]) -> int:
    found = [item["spec"]["strategy"]["rollingUpdate"] for item in objects if item["kind"] == "Deployment"]
    return int(found[0]["maxUnavailable"])


@pytest.mark.parametrize("app", ["inference-fleet", "catalog-sre"])
def test_saying_every_default_changes_no_object(app: str) -> None:
    """So writing one down is always right, also inside what is optional (`model.streaming.enabled`)."""
    catalog = repository()
    plain = compose(catalog, catalog.apps[app])
    name = catalog.apps[app].spec["environments"][0]
    part = plain.components[0]
    asked = {path: _other(default) for path, default in _defaults(catalog.parameters[part.definition])}
    assert len(asked) > 10
    wanted = deepcopy(dict(part.properties))
    for path, value in asked.items():
        _set(wanted, path, value)
    (full,) = said([replace(part, environments={name: (wanted, part.traits)})], catalog.parameters)
    spec = deepcopy(dict(plain.application["spec"]))
    spec["components"][0]["properties"] = full.properties
    assert full.properties != part.properties
    stated = replace(plain, application={**plain.application, "spec": spec})
    assert render(catalog, stated, name) == render(catalog, plain, name)


def _defaults(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, one in schema.get("properties", {}).items():
        yield from _defaults(one, (*path, key))
        if path and "default" in one:
            yield (*path, key), one["default"]


def _other(default: Any) -> str:
    return f"not {default}"


def _set(values: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        values = values.setdefault(key, {})
    values[path[-1]] = value


def test_committed_applications_stay_as_they_are() -> None:
    catalog = repository()
    for app in catalog.apps.values():
        assert compose(catalog, app) == compose(replace(catalog, parameters={}), app)
