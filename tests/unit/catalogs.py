"""The repository's own catalog, changed in one place: what tests of rules and of the schema start from."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sailplan import rules
from sailplan.catalog import load
from sailplan.compose import compose
from sailplan.findings import errors
from sailplan.model import Catalog, Document, Finding

ROOT = Path(__file__).parents[2]

GONE = object()
"""As the new value: the key is taken away."""

Edits = Mapping[str, Any]
"""Where -> new value. Where is `GROUP/NAME: key key ...`, keys separated by blanks, numbers for places in lists:
`models/qwen-coder: spec status`, `apps/guardrail: spec components 0 name`, `gpus: spec classes l4 fp8`."""


@cache
def repository() -> Catalog:
    """The catalog as committed."""
    return load(ROOT)


def edited(edits: Edits, catalog: Catalog | None = None) -> Catalog:
    """A catalog with some values changed; places of values stay those of the files."""
    made = catalog or repository()
    for where, value in edits.items():
        made = _edit(made, where, value)
    return made


def findings(edits: Edits, app: str | None = None) -> list[Finding]:
    """What the rules say about the changed catalog: about one intent, or about all."""
    catalog = edited(edits)
    apps = [catalog.apps[app]] if app else list(catalog.apps.values())
    found = [one for intent in apps for one in rules.references(catalog, intent)]
    whole = [intent for intent in apps if not errors(rules.references(catalog, intent))]
    return [*found, *rules.check(catalog, [compose(catalog, intent) for intent in whole])]


def document(where: str, catalog: Catalog) -> Document:
    """The document that `where` names."""
    group, _, name = where.partition(":")[0].partition("/")
    held = getattr(catalog, group)
    found = held[name] if name else held
    assert isinstance(found, Document)
    return found


def _edit(catalog: Catalog, where: str, value: Any) -> Catalog:
    target, _, path = where.partition(":")
    group, _, name = target.partition("/")
    if not path and isinstance(value, Document | None):
        return replace(catalog, **{group: {**getattr(catalog, group), name: value} if name else value})
    old = document(where, catalog)
    data = deepcopy(dict(old.data))
    _set(data, [int(key) if key.isdigit() else key for key in path.split()], value)
    new = replace(old, data=data, name=data.get("metadata", {}).get("name", old.name))
    return replace(catalog, **{group: {**getattr(catalog, group), name: new} if name else new})


def _set(data: Any, path: list[str | int], value: Any) -> None:
    *way, last = path
    for key in way:
        data = data.setdefault(key, {}) if isinstance(data, dict) else data[key]
    if value is GONE:
        del data[last]
    else:
        data[last] = value
