"""The tables of tests/definitions/cases/NAME.yaml: what a definition makes of its parameters, and what it refuses.

cases:                          # rendered by vela; `minimal` and `full` (every parameter) must be there
  NAME:
    properties: {...}           # of the definition
    component: {...}            # properties of the component under a trait: vllm-model, or inference-api
    before: {TRAIT: {...}}      # traits in front of it
    objects: [Kind/name, ...]   # exactly what it adds to the component's own Deployment, Service and ServiceAccount
    expect: {Kind/name: ...}    # in the words of match.py; the name may be a pattern (Job/model-preload-*)
refused:                        # by vela; the definition's own rules (errs)
  NAME:
    properties: {...}, component: {...}, before: {...}, name: ..., workload: plain
    says: [message, ...]
bounds:                         # by cue; values of one field, `/` between levels, `*` as in the `full` case
  FIELD: {accepted: [...], refused: [...]}
status:
  NAME:
    of: CASE                    # rendered objects that are there; `minimal` without it
    live: {OUTPUT: {...}}       # what the cluster adds to them; `output` is the workload
    healthy: true
    message: ...
"""

from __future__ import annotations

import functools
import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from definitions.engine import Object, Objects, Refused, application, component, dry_run, render
from definitions.files import CASES, COMPONENTS, EDGE_TRAITS, FILES, MODES

OWN = {"Deployment/model", "Service/model", "ServiceAccount/model"}
PLAIN = Path(__file__).parent / "fixtures" / "plain.cue"


@functools.cache
def table(definition: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.load((CASES / f"{definition}.yaml").read_text(), yaml.CSafeLoader)
    return {section: found.get(section) or {} for section in ("cases", "refused", "bounds", "status")}


def rows(section: str) -> list[tuple[str, str]]:
    """(definition, name of the row) of one section, over all tables there are."""
    there = [definition for definition in FILES if (CASES / f"{definition}.yaml").is_file()]
    return [(definition, name) for definition in there for name in table(definition)[section]]


def part(definition: str, row: Object, name: str = "model") -> Object:
    """The component that a row speaks of."""
    traits = list((row.get("before") or {}).items())
    if row.get("workload"):
        return component(name, {"image": "x"}, [(definition, row.get("properties") or {})], row["workload"])
    if definition in COMPONENTS:
        return component(name, row.get("properties"), traits, definition)
    under = "inference-api" if definition in EDGE_TRAITS else "vllm-model"
    return component(name, row.get("component"), [*traits, (definition, row.get("properties") or {})], under)


@functools.cache
def rendered(definition: str, mode: str) -> dict[str, Objects | Refused]:
    """All `cases` of a definition. They go to vela a few at a time, and one by one only when it refuses some."""
    wanted = table(definition)["cases"]
    aliases = {name: f"model{number:03}" for number, name in enumerate(wanted)}
    try:
        parts = [part(definition, row, aliases[name]) for name, row in wanted.items()]
        found = render(parts, MODES[mode], batch=6)
    except Refused:
        return {name: _alone(definition, row, mode) for name, row in wanted.items()}
    return {name: renamed(found[alias], alias) for name, alias in aliases.items()}


def _alone(definition: str, row: Object, mode: str) -> Objects | Refused:
    try:
        return render([part(definition, row)], MODES[mode])["model"]
    except Refused as refused:
        return refused


def renamed(objects: Objects, alias: str, name: str = "model") -> Objects:
    """The same objects under another component name, which must not be part of any other text."""
    changed: Objects = json.loads(json.dumps(objects).replace(alias, name))
    return changed


def objects_of(definition: str, case: str, mode: str) -> Objects:
    found = rendered(definition, mode)[case]
    if isinstance(found, Refused):
        raise found
    return found


def refuse(definition: str, name: str, mode: str) -> str:
    """What vela says to a row of `refused`."""
    row = table(definition)["refused"][name]
    app = application([part(definition, row, row.get("name", "model"))])
    try:
        dry_run(app, MODES[mode], [PLAIN] if row.get("workload") else [])
    except Refused as refused:
        return str(refused)
    raise AssertionError("rendered, though it should have been refused")


def pick(objects: Objects, pattern: str) -> Object:
    found = [item for key, item in objects.items() if fnmatchcase(key, pattern)]
    assert len(found) == 1, f"{pattern}: {len(found)} of {sorted(objects)}"
    return found[0]
