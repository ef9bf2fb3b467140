"""YAML nodes: the parser that makes them, and where each value stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from sailplan.model import Path

_TAG_OF: dict[type, str] = {
    yaml.ScalarNode: "tag:yaml.org,2002:str",
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
    yaml.MappingNode: "tag:yaml.org,2002:map",
}

MERGE = "<<"
"""The key that merges another map in."""


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


class Positions(Mapping[Path, tuple[int, int]]):
    """Place of every value of one document, found when first asked for: a clean catalog never asks."""

    __slots__ = ("_found", "_index", "_text")

    def __init__(self, text: str, index: int) -> None:
        self._text = text
        self._index = index
        self._found: dict[Path, tuple[int, int]] | None = None

    def _all(self) -> dict[Path, tuple[int, int]]:
        if self._found is None:
            nodes = roots(self._text)
            self._found = dict(_places(nodes[self._index], ())) if self._index < len(nodes) else {}
        return self._found

    def __getitem__(self, path: Path) -> tuple[int, int]:
        return self._all()[path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def roots(text: str) -> list[Any]:
    """The documents of a text; empty ones, such as after a last `---`, are left out.

    Raises:
        yaml.YAMLError: the text is not YAML.
    """
    nodes = [node for node in yaml.compose_all(text, Loader=Loader) if node is not None]
    return [node for node in nodes if not isinstance(node, yaml.ScalarNode) or node.value or node.style]


def place(node: Any) -> tuple[int, int]:
    """Line and column of a node or event, from 1."""
    return node.start_mark.line + 1, node.start_mark.column + 1


def _places(node: Any, path: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Place of the value of `node` and of all inside it; an entry of a map is at its key."""
    yield path, place(node)
    yield from _inner(node, path)


def _inner(node: Any, path: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _places(item, (*path, index))
    elif isinstance(node, yaml.MappingNode):
        # Merged entries first: the map's own ones, which win, then take their places.
        for key, value in sorted(node.value, key=lambda entry: entry[0].value != MERGE):
            if key.value == MERGE and not key.style:
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    yield from _inner(source, path)
            else:
                here = (*path, str(key.value))
                yield here, place(key)
                yield from _inner(value, here)
