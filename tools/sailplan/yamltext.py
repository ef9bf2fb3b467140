"""YAML text to plain data and places, with every trap of YAML a finding instead of a surprise.

PyYAML's C parser builds nodes; this module turns them into data. It reads a stricter YAML than either version of the
standard: what YAML 1.1 (PyYAML), YAML 1.2 or Go's parsers would each read differently (`no`, `012`, `5e10`, a date)
is refused, with the advice to write quotes. Anchors and merge keys work; what they expand to is limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from sailplan.findings import dotted, shortened
from sailplan.model import Finding, Path, Position
from sailplan.scalars import Plain, plain


class Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]
    """The C parser where PyYAML has it; both give the same nodes.

    What an unquoted scalar means is decided in `scalars`, so the parser need not look: that is half of its time.
    """

    def resolve(self, kind: type, value: str, implicit: object) -> str:
        """The tag of a node that has none of its own."""
        return _TAG_OF[kind]

    def ascend_resolver(self) -> None:
        """Nothing to resolve, so nothing to keep track of."""

    def descend_resolver(self, current_node: object, current_index: object) -> None:
        """Nothing to resolve, so nothing to keep track of."""


MAX_DEPTH = 64
"""Levels of nesting in one document; ours have ten. It also bounds recursion, here and in the C parser."""

MAX_VALUES = 200_000
"""Values in one document after anchors are expanded; a large preset has two hundred."""

_SUSPECT = 1000
"""From how many brackets, or how long a line, nesting is counted before the C parser sees the text: it recurses
without a limit of its own, and 100,000 brackets end the process (measured)."""

_TAG_OF: dict[type, str] = {
    yaml.ScalarNode: "tag:yaml.org,2002:str",
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
    yaml.MappingNode: "tag:yaml.org,2002:map",
}

_MERGE = "<<"
_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null"))


@dataclass(frozen=True, slots=True)
class Parsed:
    """One YAML document of a text: its data and the place where it starts (line and column from 1)."""

    data: Any
    line: int
    column: int


class Positions(Mapping[Path, tuple[int, int]]):
    """Place of every value of one document, found when first asked for: a clean catalog never asks."""

    __slots__ = ("_found", "_index", "_text")

    def __init__(self, text: str, index: int) -> None:
        self._text = text
        self._index = index
        self._found: dict[Path, tuple[int, int]] | None = None

    def _all(self) -> dict[Path, tuple[int, int]]:
        if self._found is None:
            nodes = [node for node in yaml.compose_all(self._text, Loader=Loader) if node is not None]
            self._found = dict(_places(nodes[self._index], ())) if self._index < len(nodes) else {}
        return self._found

    def __getitem__(self, path: Path) -> tuple[int, int]:
        return self._all()[path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def parse(text: str, file: str) -> tuple[list[Parsed], list[Finding]]:
    """Read all documents of `text`; empty ones are left out.

    Returns:
        The documents, and what is wrong with them. With any finding the data is not to be trusted.
    """
    if text.startswith("\ufeff"):
        message = "the file starts with a byte order mark"
        return [], [Finding("SP009", "error", Position(file, 1, 1), "", message, fix="save it as UTF-8 without a mark")]
    try:
        place = _too_deep(text)
        if place:
            return [], [_deep(Position(file, *place))]
        nodes = [node for node in yaml.compose_all(text, Loader=Loader) if node is not None]
    except yaml.YAMLError as error:
        return [], [_syntax(error, text, file)]
    reader = _Reader(file)
    return [Parsed(reader.read(node), *_place(node)) for node in nodes], reader.findings


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
            self.findings.append(_deep(self._at(node)))

    def _scalar(self, node: Any, path: Path) -> Any:
        if node.tag not in _TAGS:
            self._say("SP005", node, path, f"the tag {node.tag} means nothing here", fix="delete the tag")
            return node.value
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
            if key.value == _MERGE and not key.style:
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
        return str(node.value)

    def _say(self, rule: str, node: Any, path: Path, message: str, given: str = "", fix: str = "") -> None:
        self.findings.append(
            Finding(rule, "error", self._at(node), dotted(path), message, given=shortened(given), fix=fix)
        )

    def _at(self, node: Any) -> Position:
        return Position(self.file, *_place(node))


def _last(path: Path) -> str:
    name = next((key for key in reversed(path) if isinstance(key, str)), "the value")
    return f"an item of {name}" if path and isinstance(path[-1], int) else name


def _place(node: Any) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _places(node: Any, path: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Place of the value of `node` and of all inside it; an entry of a map is at its key."""
    yield path, _place(node)
    yield from _inner(node, path)


def _inner(node: Any, path: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _places(item, (*path, index))
    elif isinstance(node, yaml.MappingNode):
        # Merged entries first: the map's own ones, which win, then take their places.
        for key, value in sorted(node.value, key=lambda entry: entry[0].value != _MERGE):
            if key.value == _MERGE and not key.style:
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    yield from _inner(source, path)
            else:
                here = (*path, str(key.value))
                yield here, _place(key)
                yield from _inner(value, here)


def _too_deep(text: str) -> tuple[int, int] | None:
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
                return _place(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None


def _deep(position: Position) -> Finding:
    return Finding("SP011", "error", position, "", f"values are nested more than {MAX_DEPTH} levels deep")


def _syntax(error: yaml.YAMLError, text: str, file: str) -> Finding:
    mark: Any = getattr(error, "problem_mark", None)
    position = Position(file, mark.line + 1, mark.column + 1) if mark else _offset(error, text, file)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    if "\\t" in problem or (mark and _line(text, mark.line)[mark.column : mark.column + 1] == "\t"):
        return Finding("SP005", "error", position, "", "a tab where YAML wants spaces", fix="indent with spaces")
    if "nesting depth" in problem:
        return _deep(position)
    context = getattr(error, "context", None)
    return Finding("SP005", "error", position, "", f"not YAML: {f'{context}, ' if context else ''}{problem}")


def _offset(error: yaml.YAMLError, text: str, file: str) -> Position:
    """Place of a character that YAML does not allow; such errors carry an offset, not a line."""
    offset = getattr(error, "position", None)
    if not isinstance(offset, int) or offset < 0:
        return Position(file)
    before = text[:offset]
    return Position(file, before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number] if number < len(lines) else ""
