"""YAML text to plain data and places, with every trap of YAML a finding instead of a surprise.

PyYAML's C parser builds nodes; this module turns them into data. It reads a stricter YAML than either version of the
standard: what YAML 1.1 (PyYAML), YAML 1.2 or Go's parsers would each read differently (`no`, `012`, `5e10`, a date)
is refused, with the advice to write quotes. Anchors and merge keys work; what they expand to is limited.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from sailplan.findings import dotted, shortened
from sailplan.model import Finding, Path, Position
from sailplan.scalars import Plain, plain
from sailplan.yamlfaults import MAX_DEPTH, codepoint, deep, syntax, too_deep
from sailplan.yamlnodes import MERGE, Positions, place, roots

__all__ = ["MAX_DEPTH", "MAX_VALUES", "Parsed", "Positions", "parse"]


MAX_VALUES = 200_000
"""Values in one document after anchors are expanded; a large preset has two hundred."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
"""Control characters (C0, DEL, C1), those that turn the direction of text, so that it reads otherwise than it is,
halves of characters, which cannot be written as UTF-8, and what is no character: a byte order mark inside a text ends
CUE, the others KubeVela's reader of YAML (measured). Escapes can make them all."""
_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null"))


@dataclass(frozen=True, slots=True)
class Parsed:
    """One YAML document of a text: its data and the place where it starts (line and column from 1)."""

    data: Any
    line: int
    column: int


def parse(text: str, file: str) -> tuple[list[Parsed], list[Finding]]:
    """Read all documents of `text`; empty ones are left out.

    Returns:
        The documents, and what is wrong with them. With any finding the data is not to be trusted.
    """
    if text.startswith("\ufeff"):
        message = "the file starts with a byte order mark"
        return [], [Finding("SP009", "error", Position(file, 1, 1), "", message, fix="save it as UTF-8 without a mark")]
    try:
        beyond = too_deep(text)
        if beyond:
            return [], [deep(Position(file, *beyond))]
        nodes = roots(text)
    except yaml.YAMLError as error:
        return [], [syntax(error, text, file)]
    reader = _Reader(file)
    return [Parsed(reader.read(node), *place(node)) for node in nodes], reader.findings


class _Reader:
    """Turns nodes into data and notes what is wrong on the way."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self._values = 0

    def read(self, node: Any) -> Any:
        self._values = 0
        return self._value(node, ())

    def _value(self, node: Any, path: Path) -> Any:
        self._values += 1
        if len(path) > MAX_DEPTH or self._values > MAX_VALUES:
            return self._stop(node, path)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if node.tag not in _TAGS:
            self._say("SP005", node, path, f"the tag {node.tag} means nothing here", fix="delete the tag")
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _stop(self, node: Any, path: Path) -> None:
        """Note once that the document is beyond all limits; everything after it is skipped."""
        if self._values > MAX_VALUES:
            if not any(finding.id == "SP011" for finding in self.findings):
                self._say("SP011", node, path, f"anchors expand to more than {MAX_VALUES} values")
        elif not any(finding.id == "SP011" for finding in self.findings):
            self.findings.append(deep(self._at(node)))

    def _scalar(self, node: Any, path: Path) -> Any:
        if node.tag not in _TAGS:
            self._say("SP005", node, path, f"the tag {node.tag} means nothing here", fix="delete the tag")
            return node.value
        odd = _UNPRINTABLE.search(node.value)
        if odd:
            message = f"{_last(path)} holds {codepoint(odd[0])}, a character that cannot be printed"
            self._say("SP005", node, path, message, given=ascii(node.value), fix="write it without")
            return ascii(node.value)
        if node.style:  # quoted, or a block: text, whatever it looks like
            return node.value
        read = plain(node.value)
        if read.problem:
            self._odd(node, path, read)
        elif read.value is None:
            message = f"{_last(path)} has no value"
            self._say("SP008", node, path, message, fix="write the value, {} for an empty map, or delete the line")
        return read.value

    def _odd(self, node: Any, path: Path, read: Plain) -> None:
        self._say("SP007", node, path, f"{_last(path)} is {read.problem}", given=node.value, fix=read.fix)

    def _mapping(self, node: Any, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.value == MERGE and not key.style:
                self._merge(merged, value, path)
                continue
            name = self._key(key, path)
            if name in data:
                first = next(other for other, _ in node.value if other.value == name)
                message = f"{name} is written twice; the first is in line {first.start_mark.line + 1}"
                self._say("SP006", key, (*path, name), message, given=name, fix="keep one of the two")
            data[name] = self._value(value, (*path, name))
        return {**merged, **data} if merged else data

    def _merge(self, merged: dict[str, Any], node: Any, path: Path) -> None:
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(source, yaml.MappingNode):
                for key, value in self._mapping(source, (*path, "<<")).items():
                    merged.setdefault(key, value)
            else:
                self._say("SP005", source, path, "<< merges maps, and this is none", fix="delete the line")

    def _key(self, node: Any, path: Path) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._say(
                "SP005", node, path, "a key is a list or a map; keys are text", fix="write a name before the colon"
            )
            return ""
        if not node.style:
            read = plain(node.value)
            if not isinstance(read.value, str) or read.problem:
                what = read.problem or "not text to YAML"
                fix = f'write it in quotes: "{node.value}"'
                self._say("SP007", node, path, f"the key {node.value} is {what}", given=node.value, fix=fix)
        odd = _UNPRINTABLE.search(node.value)
        if odd:
            message = f"a key holds {codepoint(odd[0])}, a character that cannot be printed"
            self._say("SP005", node, path, message, given=ascii(node.value))
            return ascii(node.value)
        return str(node.value)

    def _say(self, rule: str, node: Any, path: Path, message: str, given: str = "", fix: str = "") -> None:
        self.findings.append(
            Finding(rule, "error", self._at(node), dotted(path), message, given=shortened(given), fix=fix)
        )

    def _at(self, node: Any) -> Position:
        return Position(self.file, *place(node))


def _last(path: Path) -> str:
    name = next((key for key in reversed(path) if isinstance(key, str)), "the value")
    return f"an item of {name}" if path and isinstance(path[-1], int) else name
