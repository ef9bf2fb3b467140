"""What can be wrong with YAML before there is any data: nesting without end, and syntax."""

from __future__ import annotations

from typing import Any

import yaml

from sailplan.model import Finding, Position
from sailplan.yamlnodes import Loader, place

MAX_DEPTH = 64
"""Levels of nesting in one document; ours have ten. It also bounds recursion, here and in the C parser."""

_SUSPECT = 1000
"""From how many brackets, or how long a line, nesting is counted before the C parser sees the text: it recurses
without a limit of its own, and 100,000 brackets end the process (measured)."""


def too_deep(text: str) -> tuple[int, int] | None:
    """Where nesting passes the limit, counted event by event, which needs no recursion; None for ordinary text."""
    longest = max(map(len, text.splitlines()), default=0)
    if text.count("[") + text.count("{") < _SUSPECT and longest < _SUSPECT:
        return None
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                return place(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None


def deep(position: Position) -> Finding:
    """The finding for nesting without end."""
    return Finding("SP011", "error", position, "", f"values are nested more than {MAX_DEPTH} levels deep")


def syntax(error: yaml.YAMLError, text: str, file: str) -> Finding:
    """The finding for what the parser refuses."""
    mark: Any = getattr(error, "problem_mark", None)
    position = Position(file, mark.line + 1, mark.column + 1) if mark else _offset(error, text, file)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    if "\\t" in problem or (mark and _line(text, mark.line)[mark.column : mark.column + 1] == "\t"):
        return Finding("SP005", "error", position, "", "a tab where YAML wants spaces", fix="indent with spaces")
    if "nesting depth" in problem:
        return deep(position)
    odd = getattr(error, "character", None)
    if isinstance(odd, int):
        message = f"not YAML: {codepoint(chr(odd))}, a character that cannot be printed"
        return Finding("SP005", "error", position, "", message, fix="write it without")
    context = getattr(error, "context", None)
    return Finding("SP005", "error", position, "", f"not YAML: {f'{context}, ' if context else ''}{problem}")


def codepoint(character: str) -> str:
    """A character by its number, for what cannot be shown: `U+0007`."""
    return f"U+{ord(character):04X}"


def _offset(error: yaml.YAMLError, text: str, file: str) -> Position:
    """Place of a character that YAML does not allow; such errors carry an offset in bytes, not a line."""
    offset = getattr(error, "position", None)
    if not isinstance(offset, int) or offset < 0:
        return Position(file)
    before = text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore")
    return Position(file, before.count("\n") + 1, len(before) - before.rfind("\n"))


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number] if number < len(lines) else ""
