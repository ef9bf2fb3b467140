"""The tree of a definition's parameter, read from its own text: which names each level knows, and what each field says.

CUE's own exports lose closedness, comments or patterns; the subset of CUE that a `parameter` is written in is small.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

from definitions.files import text

_OPEN, _SHUT = "{([", "})]"


@dataclass
class Level:
    """One `close({...})`: named fields, and the pattern of free names when it is a map.

    Attributes:
        path: dotted, `*` for a free name; empty for the parameter itself.
        usage: text of `+usage`, by field.
        required: fields without `?`; most have a default.
        pattern: the regular expression (or other constraint) of free names, empty without any.
        values: what stands right of the colon, by field.
        levels: the fields that are levels themselves.
    """

    path: str = ""
    usage: dict[str, str] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    pattern: str = ""
    values: dict[str, str] = field(default_factory=dict)
    levels: dict[str, Level] = field(default_factory=dict)

    def walk(self) -> Iterator[Level]:
        yield self
        for level in self.levels.values():
            yield from level.walk()

    def fields(self) -> Iterator[tuple[str, str]]:
        """(dotted path, value) of every field below, maps' own entries as `*`."""
        for level in self.walk():
            for name, value in level.values.items():
                yield f"{level.path}.{name}".lstrip("."), value


def block(name: str) -> str:
    """The text right of a definition's `parameter:`."""
    return _balanced(text(name).split("\n\tparameter: ", 1)[1])


@functools.cache
def tree(name: str) -> Level:
    return _level(block(name), "")


def _balanced(source: str, stops: str = "\n,}") -> str:
    """The expression at the start of the source, up to the first of `stops` outside all brackets and quotes."""
    depth, quoted = 0, False
    for at, char in enumerate(source):
        if char == '"' and source[at - 1] != "\\":
            quoted = not quoted
        elif not quoted and char in stops and depth == 0:
            return source[:at]
        elif not quoted:
            depth += (char in _OPEN) - (char in _SHUT)
    return source


def _level(source: str, path: str) -> Level:
    """A level from its `close({...})`."""
    level = Level(path)
    rest, said = source.strip().removeprefix("close({").removesuffix("})"), ""
    while rest := rest.strip(" \t\n,"):
        if rest.startswith("//"):
            comment, _, rest = rest.partition("\n")
            said = comment.removeprefix("// +usage=") if comment.startswith("// +usage=") else said
            continue
        label, value, rest = _field(rest)
        _add(level, label, value, said)
        said = ""
    return level


def _field(source: str) -> tuple[str, str, str]:
    """Label, value and what follows."""
    head = _balanced(source, ":")
    value = _balanced(source[len(head) :].removeprefix(":").lstrip())
    after = source.index(value, len(head)) + len(value)
    return head.strip(), value.strip(), source[after:]


def _add(level: Level, label: str, value: str, said: str) -> None:
    name = "*" if label.startswith("[") else label.rstrip("?").strip('"')
    if name == "*":
        level.pattern = label[1:-1]
    elif not label.endswith("?"):
        level.required.add(name)
    level.values[name] = value
    level.usage[name] = said
    if value.startswith("close({") and value.endswith("})") and _balanced(value) == value:
        level.levels[name] = _level(value, f"{level.path}.{name}".lstrip("."))
