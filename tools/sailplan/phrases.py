"""Phrases for values and schemas: what a value is, how it breaks a bound, what would be taken, how to write it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sailplan.findings import shortened
from sailplan.model import Path

Schema = Mapping[str, Any]
"""A JSON Schema."""

TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a map",
    "null": "nothing",
}


def fits_type(value: Any, wanted: Any) -> bool:
    """Whether a value is of a type of JSON Schema; None is any."""
    kind = type_of(value)
    return wanted is None or kind == wanted or (wanted == "number" and kind == "integer")


def type_of(value: Any) -> str:
    """The type of JSON Schema that a value has."""
    if isinstance(value, bool):
        return "boolean"
    kinds: tuple[tuple[type, str], ...] = (
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (Mapping, "object"),
        (list, "array"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def retyped(value: Any, wanted: Sequence[str]) -> str:
    """How to write a value so that it has one of the wanted types."""
    if "string" in wanted and isinstance(value, (int, float)):
        return (
            f"write it in quotes: {shown(str(value).lower() if isinstance(value, bool) else str(value), quoted=True)}"
        )
    if isinstance(value, str) and not {"string", "object", "array"} & set(wanted):
        plain = {"boolean": ("true", "false")}.get(wanted[0])
        if plain is not None:
            return "write it without quotes" if value in plain else "write true or false"
        return "write it without quotes" if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value) else "write a number"
    if wanted[0] == "array" and not isinstance(value, Mapping):
        return f"write [{shown(value)}]"
    if wanted[0] == "object":
        return "write a map: lines NAME: VALUE, or {}"
    return "write a list: [A, B], or lines that start with a dash" if wanted[0] == "array" else ""


def out_of_bounds(value: Any, schema: Schema) -> str:
    """How a scalar breaks the bounds of its schema; "" when it does not."""
    if isinstance(value, str):
        if len(value) > schema.get("maxLength", len(value)):
            return f"has {len(value)} characters; at most {schema['maxLength']}"
        if "pattern" in schema and not re.search(_python(schema["pattern"]), value):
            return "is not of the form that is wanted"
        if "pattern" in schema.get("not", {}) and re.search(_python(schema["not"]["pattern"]), value):
            return "is of a form that is refused"
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ""
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    outside = value < low or value > high
    return "is out of range" if outside or _beyond(value, above, below) else ""


def _beyond(value: float, above: float | None, below: float | None) -> bool:
    return (above is not None and value <= above) or (below is not None and value >= below)


def _python(pattern: str) -> str:
    """A Go pattern for Python: `$` means the very end."""
    return pattern.replace("\\z", "\\Z") if not pattern.endswith("$") else f"{pattern[:-1]}\\Z"


def taken(schema: Schema) -> str:
    """What a schema takes, in words."""
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") in ("integer", "number"):
        bounds, meaning = _bounds(schema), _meaning(schema)
        return f"{TYPES[schema['type']]}{f', {bounds}' if bounds else ''}{f' ({meaning})' if meaning else ''}"
    return _meaning(schema) or _form(schema) or TYPES.get(str(schema.get("type")), "")


def _form(schema: Schema) -> str:
    forms = [part["pattern"] for part in (schema, *schema.get("allOf", ())) if "pattern" in part]
    return f"text like {' and '.join(forms)}" if forms else ""


def _bounds(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    words = [f"more than {schema['exclusiveMinimum']}"] if "exclusiveMinimum" in schema else []
    words += [f"less than {schema['exclusiveMaximum']}"] if "exclusiveMaximum" in schema else []
    if low is not None and high is not None:
        return ", ".join([f"{low} to {high}", *words])
    words += [f"at least {low}"] if low is not None else []
    words += [f"at most {high}"] if high is not None else []
    return ", ".join(words)


def _meaning(schema: Schema) -> str:
    """The description of a schema, as part of a sentence."""
    return str(schema.get("description", "")).rstrip(".")


def called(path: Path) -> str:
    """What to call the value at a path: its own name, or the list it is in."""
    if not path:
        return "the document"
    if isinstance(path[-1], int):
        return f"{called(path[:-1])}[{path[-1]}]"
    return shortened(path[-1])


def shown(value: Any, quoted: bool = False) -> str:
    """A value as text; text itself with quotes only when asked for."""
    if isinstance(value, str) and not quoted:
        return shortened(value)
    return shortened(json.dumps(value, ensure_ascii=False))
