"""JSON Schema for editors, from the OpenAPI that cue writes for the CUE schema.

OpenAPI loses two things and says a few differently, so these steps follow it:

1. Maps are closed: an object with named properties takes no others. (cue drops closedness.)
2. Of a definition's parameters, what has a default may be left out. (cue lists it as required.) So may a list, and a
   map all of whose entries may be left out. Documents of the catalog have no defaults: there, a `!` says what is
   required.
3. A choice is `anyOf`: CUE's `|` does not mind when two sides match.
4. `exclusiveMinimum: true` is OpenAPI 3.0; JSON Schema has the number itself there.
5. References point into `$defs`, and descriptions begin behind `+usage=`; what stands before it is for who changes the
   definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DIALECT = "http://json-schema.org/draft-07/schema#"
"""Draft 7: what editors understand. `$defs` is only a place there, and references to it work."""

_REFERENCE = "#/components/schemas/"


def convert(schemas: Mapping[str, Any], defaults: bool = False) -> dict[str, Any]:
    """All schemas of an OpenAPI document as JSON Schema, by name; references point to `#/$defs/NAME`.

    Args:
        schemas: as cue writes them.
        defaults: they are parameters of definitions, so step 2 applies.
    """
    made = {name: _schema(schema) for name, schema in schemas.items()}
    return {name: _optional(schema, made) for name, schema in made.items()} if defaults else made


def alone(name: str, schemas: Mapping[str, Any], title: str, description: str = "") -> dict[str, Any]:
    """One of the converted schemas as a document of its own, with the definitions that it needs."""
    needed: dict[str, Any] = {}
    _collect(schemas[name], schemas, needed)
    top = dict(schemas[name])
    return {
        "$schema": DIALECT,
        "title": title,
        "description": description or top.pop("description", ""),
        **{key: value for key, value in top.items() if key != "description"},
        **({"$defs": dict(sorted(needed.items()))} if needed else {}),
    }


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: _member(key, value) for key, value in schema.items()}
    if "oneOf" in made:
        made["anyOf"] = made.pop("oneOf")
    for bound in ("Minimum", "Maximum"):
        if made.pop(f"exclusive{bound}", False):
            made[f"exclusive{bound}"] = made.pop(bound.lower())
    _hoist_default(made)
    if made.get("properties") and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def _member(key: str, value: Any) -> Any:
    if key == "properties":
        return {name: _schema(inner) for name, inner in value.items()}
    if key in ("allOf", "anyOf", "oneOf"):
        return [_schema(inner) for inner in value]
    if key in ("items", "additionalProperties", "not") and isinstance(value, Mapping):
        return _schema(value)
    if key == "$ref":
        return value.replace(_REFERENCE, "#/$defs/")
    if key == "description":
        return value.rpartition("+usage=")[2].replace("\n", " ")
    return value


def _hoist_default(made: dict[str, Any]) -> None:
    """Move it up: cue puts the default of `*a | =~"x" & !~"y"` into one of the parts; it belongs to the whole."""
    for part in made.get("allOf", ()):
        if "default" in part:
            made["default"] = part.pop("default")


def _optional(schema: Any, schemas: Mapping[str, Any]) -> Any:
    """The schema with everything dropped from `required` that may be left out."""
    if isinstance(schema, list):
        return [_optional(item, schemas) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _optional(value, schemas) for key, value in schema.items()}
    if isinstance(made.get("required"), list):
        properties = made.get("properties", {})
        needed = [name for name in made["required"] if not _omissible(properties.get(name, {}), schemas)]
        made.pop("required")
        if needed:
            made["required"] = needed
    return made


def _omissible(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> bool:
    if "$ref" in schema:
        return _omissible(schemas[schema["$ref"].removeprefix("#/$defs/")], schemas)
    if "anyOf" in schema:
        return "default" in schema or any(_omissible(part, schemas) for part in schema["anyOf"])
    needed = schema.get("required", ())
    inner = schema.get("properties", {})
    whole = schema.get("type") == "object" and all(_omissible(inner.get(name, {}), schemas) for name in needed)
    return "default" in schema or schema.get("type") == "array" or whole


def _collect(schema: Any, schemas: Mapping[str, Any], found: dict[str, Any]) -> None:
    if isinstance(schema, list):
        for item in schema:
            _collect(item, schemas, found)
    elif isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix("#/$defs/")
            if name not in found:
                found[name] = schemas[name]
                _collect(schemas[name], schemas, found)
        for value in schema.values():
            _collect(value, schemas, found)
