"""The committed list of flags on its own: what a reader may rely on. Needs no engine."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from toolchain.engine.flags import FILE, render

LIST: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
NAMES = [row["name"] for row in LIST["flags"]]
SPELLINGS = {
    text for row in LIST["flags"] for text in (row["name"], row.get("negation"), *row.get("aliases", ())) if text
}


def test_names_are_long_sorted_and_unique() -> None:
    assert sorted(set(NAMES)) == NAMES
    assert all(re.fullmatch(r"--[a-z0-9]+(-[a-z0-9]+)*", name) for name in NAMES)


def test_spellings_are_unique() -> None:
    everything = [t for row in LIST["flags"] for t in (row["name"], row.get("negation"), *row.get("aliases", ())) if t]
    assert len(everything) == len(SPELLINGS)


@pytest.mark.parametrize("row", LIST["flags"], ids=NAMES)
def test_rows_are_closed(row: dict[str, Any]) -> None:
    known = {"name", "aliases", "negation", "takes", "type", "choices", "default", "repeats", "deprecated"}
    assert not set(row) - known
    assert row["takes"] in {"none", "value", "optional", "values"}
    assert ("type" in row) == (row["takes"] != "none")
    assert row.get("type", "str") in {"str", "int", "float", "json", "size", "size or auto"}


def test_removed_flags_are_no_beginning_of_one_that_exists() -> None:
    """Else the parser would take one for an abbreviation, and the hint would be wrong."""
    assert not [(old, name) for old in LIST["removed"] for name in SPELLINGS if name.startswith(old)]


def test_hints_name_flags_that_exist() -> None:
    for hint in LIST["removed"].values():
        assert hint.startswith("gone")
        assert not set(re.findall(r"--[a-z0-9-]+", hint)) - SPELLINGS


def test_values_belong_to_flags() -> None:
    assert not set(LIST["values"]) - set(NAMES)
    assert all(LIST["values"].values())


def test_rendering_is_stable() -> None:
    found = {key: LIST[key] for key in ("version", "positional", "flags", "values")}
    assert render(found) == FILE.read_text(encoding="utf-8")
