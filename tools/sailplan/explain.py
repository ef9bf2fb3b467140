"""What a definition takes: its parameters with usage, type, default and bounds, as `kubectl explain` shows an API.

Everything is read from the definition itself: its header, and the JSON Schema that is generated from its `parameter`
(catalog/schema/json/definitions/), so nothing here can be out of date.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sailplan.catalog import PARAMETERS
from sailplan.errors import FindingsError
from sailplan.model import Catalog, Finding, Position
from sailplan.names import unknown

_DESCRIPTION = re.compile(r'^\s*description:\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_TYPE = re.compile(r'^\s*type:\s*"([a-z-]+)"', re.MULTILINE)
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Definition:
    """One X-definition: what it is, and the JSON Schema of its parameter."""

    name: str
    type: str
    version: str
    description: str
    schema: Mapping[str, Any] = field(repr=False)

    @property
    def properties(self) -> Mapping[str, Any]:
        """Its parameters by name."""
        found = self.schema.get("properties", {})
        return found if isinstance(found, Mapping) else {}

    def plain(self) -> dict[str, Any]:
        """For machines: the facts above, the parameter as JSON Schema."""
        return {
            "type": self.type,
            "version": self.version,
            "description": self.description,
            "parameter": dict(self.schema),
        }


def definition(catalog: Catalog, name: str) -> Definition:
    """The definition called `name`.

    Raises:
        UsageError: there is none.
        FindingsError: its generated JSON Schema is missing.
    """
    if name not in catalog.definitions:
        raise unknown("definition", name, catalog.definitions)
    file = next(Path(catalog.root, "definitions").glob(f"*/{name}.cue"))
    head = file.read_text(encoding="utf-8").partition("\ntemplate:")[0]
    kind, said = _TYPE.search(head), _DESCRIPTION.search(head)
    return Definition(
        name=name,
        type=kind[1] if kind else file.parent.name,
        version=catalog.definitions[name],
        description=json.loads(f'"{said[1]}"') if said else "",
        schema=_schema(catalog, name),
    )


def explain(catalog: Catalog, path: str) -> str:
    """The text for `DEFINITION` or `DEFINITION.FIELD.FIELD`.

    Raises:
        UsageError: there is no such definition or field.
    """
    name, *fields = path.split(".")
    found = definition(catalog, name)
    node: Mapping[str, Any] = found.schema
    for depth, part in enumerate(fields):
        inside = _inner(node, found.schema)
        if part not in inside and "*" not in inside:
            raise unknown(f"field of {'.'.join([name, *fields[:depth]])}:", part, inside)
        node = inside.get(part, inside.get("*", {}))
    return "".join(_page(found, fields, _resolved(node, found.schema)))


def _page(found: Definition, fields: list[str], node: Mapping[str, Any]) -> Iterator[str]:
    yield f"DEFINITION: {found.name}\nTYPE:       {found.type}\nVERSION:    {found.version}\n"
    if fields:
        yield f"FIELD:      {'.'.join(fields)} <{_type(node, found.schema)}>{_limits(node)}\n"
    yield "\nDESCRIPTION:\n"
    yield _wrapped(str(node.get("description", "")) if fields else found.description, "  ")
    inside = _inner(node, found.schema)
    if inside:
        yield "\nFIELDS:\n"
        required = node.get("required", ())
        for name, below in inside.items():
            yield from _field(name, _resolved(below, found.schema), found.schema, name in required)


def _field(name: str, node: Mapping[str, Any], whole: Mapping[str, Any], required: bool) -> Iterator[str]:
    shown = "<any name>" if name == "*" else name
    yield f"  {shown}\t<{_type(node, whole)}>{' -required-' if required else ''}{_limits(node)}\n"
    yield _wrapped(str(node.get("description", "")), "      ")


def _inner(node: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """Fields below a node, by name; `*` stands for the names a person chooses."""
    node = _resolved(node, whole)
    found: dict[str, Any] = {}
    for part in (node, *node.get("allOf", ()), *node.get("anyOf", ()), *node.get("oneOf", ())):
        found.update(_resolved(part, whole).get("properties", {}))
    more = node.get("additionalProperties")
    if isinstance(more, Mapping):
        found["*"] = more
    for below in node.get("patternProperties", {}).values():
        found["*"] = below
    items = node.get("items")
    return found or (_inner(items, whole) if isinstance(items, Mapping) else {})


def _resolved(node: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return node
    found: Any = whole
    for key in reference.removeprefix("#/").split("/"):
        found = found.get(key, {})
    return {**found, **{key: value for key, value in node.items() if key != "$ref"}}


def _type(node: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    if "enum" in node:
        return "|".join(str(value) for value in node["enum"])
    kind = node.get("type")
    if kind == "array":
        return f"list of {_type(_resolved(node.get('items', {}), whole), whole)}"
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    if kind is None:
        choices = [_type(_resolved(part, whole), whole) for key in ("anyOf", "oneOf") for part in node.get(key, ())]
        return " or ".join(dict.fromkeys(choices)) or "any"
    return "map" if kind == "object" else str(kind)


def _limits(node: Mapping[str, Any]) -> str:
    said = {
        "default": "default {}",
        "minimum": "at least {}",
        "exclusiveMinimum": "more than {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "less than {}",
        "pattern": "like {}",
    }
    whole = {**{key: value for part in node.get("allOf", ()) for key, value in part.items()}, **node}
    parts = [text.format(_value(whole[key])) for key, text in said.items() if key in whole]
    return f"  ({', '.join(parts)})" if parts else ""


def _value(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def _wrapped(text: str, indent: str) -> str:
    lines = textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
    return "".join(f"{line}\n" for line in lines)


def _schema(catalog: Catalog, name: str) -> Mapping[str, Any]:
    path = Path(catalog.root, PARAMETERS, f"{name}.json")
    if not path.is_file():
        at = Position(path.relative_to(catalog.root).as_posix())
        raise FindingsError(
            [Finding("SP901", "error", at, "", "the file is missing", fix="run `sailplan schema --write`")]
        )
    found = json.loads(path.read_text(encoding="utf-8"))
    return found if isinstance(found, Mapping) else {}
