"""Plain text for people: titles, sections, aligned columns, values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def title(word: str, name: str, description: str) -> str:
    """A thing's kind and name, and its description below."""
    return f"{word} {name}\n  {description}\n" if description else f"{word} {name}\n"


def section(head: str, lines: Sequence[str]) -> str:
    """A heading and its lines, `none` without any."""
    return f"\n{head}:\n" + "".join(f"  {line}\n" for line in lines or ["none"])


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as aligned lines."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def facts(pairs: Mapping[str, Any]) -> list[str]:
    """Names and values, one line each; empty values are left out."""
    return table([(f"{key}:", shown(value)) for key, value in pairs.items() if value not in (None, "", [], {})])


def shown(value: Any) -> str:
    """A value as people read it: `yes`, `a, b`, `key value`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shown(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    return str(value)
