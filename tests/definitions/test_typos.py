"""A misspelt key at any level of any parameter is refused, and the refusal names it.

KubeVela itself ignores keys that a definition does not know, unless the parameter is closed at that level.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from definitions import cases, parameters
from definitions.cases import table
from definitions.engine import Refused, render
from definitions.files import FILES, MODES
from definitions.test_cases import judged

Mutant = tuple[str, dict[str, Any]]


def misspelt(name: str) -> str:
    """A likely slip: two letters swapped, or one doubled where that changes nothing."""
    swapped = f"{name[:-2]}{name[-1]}{name[-2]}"
    return swapped if swapped != name else f"{name}{name[-1]}"


def mutants(
    properties: Any, level: parameters.Level, way: tuple[str, ...] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(misspelt path, properties with that one key misspelt beside its right spelling), for every key of every level.

    A level whose names are free (a map) has no misspelling of its own, but the levels below it have.
    """
    for name in level.values:
        if name != "*":
            wrong = misspelt(name)
            yield ".".join((*way, wrong)), _with(properties, way, wrong, _value(properties, (*way, name)))
    for name, below in level.levels.items():
        real = next(iter(_value(properties, way))) if name == "*" else name
        yield from mutants(properties, below, (*way, real))


def _value(properties: Any, way: tuple[str, ...]) -> Any:
    for step in way:
        properties = properties.get(step, {})
    return properties


def _with(properties: Any, way: tuple[str, ...], key: str, value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(properties))
    at = copy
    for step in way:
        at = at.setdefault(step, {})
    at[key] = value
    return copy


def all_mutants(definition: str) -> list[tuple[str, dict[str, Any]]]:
    full = table(definition)["cases"]["full"]["properties"]
    return [found for found in mutants(full, parameters.tree(definition)) if "exclude.original" not in found[0]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("definition", FILES)
def test_every_level_refuses_a_misspelt_key(definition: str, mode: str) -> None:
    planted = all_mutants(definition)
    assert len(planted) >= sum(1 for path, _ in parameters.tree(definition).fields() if not path.endswith("*")) - 1
    said = judged(definition, [mutant for _, mutant in planted], mode)
    for at, (path, _) in enumerate(planted):
        assert f"{path.split('.')[-1]}: field not allowed" in said.get(at, "").replace('"', ""), path


@pytest.mark.parametrize("definition", FILES)
def test_vela_refuses_the_deepest(definition: str) -> None:
    """The real engine agrees, on the first key of the deepest level."""
    path, mutant = max(all_mutants(definition), key=lambda found: found[0].count("."))
    row = table(definition)["cases"]["full"]
    part = cases.part(definition, {**row, "properties": mutant})
    with pytest.raises(Refused) as refused:
        render([part])
    assert f"parameter.{path}: field not allowed" in str(refused.value).replace('"', "")
