"""Says in a person's words what is wrong with a document that CUE refuses.

CUE stops looking for one sort of mistake when it found another, and of a choice it lists every branch. So this module
walks the document along the JSON Schema that is made from the CUE, and says all at once. It decides nothing: it sees
only documents that CUE refused, and where it has nothing to say, CUE's own words stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sailplan.findings import dotted, nearest, shortened
from sailplan.model import Document, Finding, Path
from sailplan.phrases import TYPES, Schema, called, fits_type, out_of_bounds, retyped, shown, taken, type_of
from sailplan.toolbox.cue import Refusal

_TWICE = re.compile(r'equal value \("?(?P<item>.*?)"?\) at position \d+ and (?P<at>\d+)')

_IN_TRAITS = ("traits", "settings")


def without(data: Any, findings: Iterable[Finding], path: Path = ()) -> Any:
    """The data without the values that `findings` are about (of a list, without all of it: its places would shift)."""
    wrong = {finding.field for finding in findings}
    if not isinstance(data, Mapping):
        return data
    kept = {}
    for key, value in data.items():
        here = dotted((*path, key))
        if here in wrong or any(field.startswith(f"{here}[") for field in wrong):
            continue
        kept[key] = without(value, findings, (*path, key))
    return kept


def explain(document: Document, refusals: Sequence[Refusal], schemas: Mapping[str, Schema]) -> list[Finding]:
    """What is wrong with a document.

    Args:
        document: one that CUE refuses.
        refusals: what CUE says, with paths inside the document.
        schemas: JSON Schema of every kind, with references to `#/$defs/NAME`.
    """
    walk = _Walk(document, schemas)
    said = list(walk.value(document.data, schemas[document.kind], ()))
    places = {finding.field for finding in said}
    return said + [
        _in_cues_words(document, refusal, taken(walk.at(refusal.path[:-1])))
        for refusal in refusals
        if not any(covers(place, dotted(refusal.path)) for place in places) and not (said and _missed(refusal))
    ]


class _Walk:
    """One walk along a document and its schema."""

    def __init__(self, document: Document, schemas: Mapping[str, Schema]) -> None:
        self.document = document
        self.schemas = schemas

    def value(self, value: Any, schema: Schema, path: Path) -> Iterator[Finding]:
        """What is wrong with a value."""
        schema = self._resolved(schema)
        if "anyOf" in schema:
            yield from self._choice(value, schema, path)
            return
        wanted = schema.get("type")
        if wanted and not fits_type(value, wanted):
            yield self._of_type(value, schema, [wanted], path)
        elif isinstance(value, Mapping):
            yield from self._map(value, schema, path)
        elif isinstance(value, list):
            yield from self._list(value, schema, path)
        else:
            yield from self._scalar(value, schema, path)

    def at(self, path: Path) -> Schema:
        """The schema of the value at a path; empty where there is a choice, or none."""
        schema = self._resolved(self.schemas[self.document.kind])
        for key in path:
            inner = schema.get("items") if isinstance(key, int) else schema.get("properties", {}).get(key)
            others = schema.get("additionalProperties")
            schema = self._resolved(inner or (others if isinstance(others, Mapping) else {}))
        return schema

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].removeprefix("#/$defs/")]
        return schema

    def _choice(self, value: Any, schema: Schema, path: Path) -> Iterator[Finding]:
        """A value with several allowed shapes: the mistakes of the shape that has fewest."""
        parts = [self._resolved(part) for part in schema["anyOf"]]
        fitting = [part for part in parts if fits_type(value, part.get("type"))]
        if not fitting:
            yield self._of_type(value, schema, [str(part.get("type")) for part in parts], path)
            return
        outcomes = [list(self.value(value, part, path)) for part in fitting]
        yield from min(outcomes, key=len)

    def _map(self, value: Mapping[str, Any], schema: Schema, path: Path) -> Iterator[Finding]:
        known = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        misspelt = {nearest(key, known) for key in value if key not in known}
        for name in schema.get("required", ()):
            if name not in value and name not in misspelt:
                yield self._missing(name, self._resolved(known.get(name, {})), path)
        for key, item in value.items():
            here = (*path, key)
            if key in known:
                yield from self.value(item, known[key], here)
            elif others is False:
                yield self._unknown(key, [name for name in known if name not in value], known, here)
            elif isinstance(others, Mapping):
                yield from self.value(item, others, here)

    def _list(self, value: Sequence[Any], schema: Schema, path: Path) -> Iterator[Finding]:
        for index, item in enumerate(value):
            yield from self.value(item, schema.get("items", {}), (*path, index))

    def _scalar(self, value: Any, schema: Schema, path: Path) -> Iterator[Finding]:
        if "enum" in schema and value not in schema["enum"]:
            yield self._not_among(value, schema["enum"], path)
            return
        for part in (schema, *schema.get("allOf", ())):
            wrong = out_of_bounds(value, part)
            if wrong:
                message = f"{called(path)} {shortened(value)} {wrong}"
                yield self._finding("SP003", path, message, shortened(value), taken(schema))
                return

    def _not_among(self, value: Any, choices: Sequence[Any], path: Path) -> Finding:
        allowed = ", ".join(map(str, choices))
        near = nearest(str(value), map(str, choices))
        if len(choices) == 1:
            message = f"{called(path)} must be {allowed}"
            return self._finding("SP003", path, message, shortened(value), allowed, near, f"write {allowed}")
        message = f"{called(path)} {shortened(value)} is not one of the choices"
        fix = f"did you mean {near}?" if near else ""
        return self._finding("SP003", path, message, shortened(value), allowed, near, fix)

    def _missing(self, name: str, schema: Schema, path: Path) -> Finding:
        where = f" in {called(path)}" if path else ""
        message = f"{name} is missing{where}"
        only = schema.get("enum", ())
        fix = f"write {name}: {only[0]}" if len(only) == 1 else f"add {name}"
        return self._finding("SP004", path, message, allowed=taken(schema), fix=fix, missing=name)

    def _unknown(self, key: str, free: Sequence[str], known: Mapping[str, Any], path: Path) -> Finding:
        what = "trait" if len(path) > 1 and path[-2] in _IN_TRAITS else "key"
        near = nearest(key, known)
        where = f" in {called(path[:-1])}" if len(path) > 1 else ""
        twice = f"{near} is there already; delete this" if near and near not in free else f"did you mean {near}?"
        fix = twice if near else "delete it, or see what is allowed"
        allowed = ", ".join(known)
        return self._finding("SP001", path, f"unknown {what} {shortened(key)}{where}", key, allowed, near, fix)

    def _of_type(self, value: Any, schema: Schema, wanted: Sequence[str], path: Path) -> Finding:
        names = list(dict.fromkeys(TYPES.get(name, name) for name in wanted))
        message = f"{called(path)} is {TYPES[type_of(value)]}, not {' or '.join(names)}"
        allowed = taken(schema) if schema.get("type") in ("string", "integer", "number") else " or ".join(names)
        if isinstance(value, Mapping) and self.document.kind == "App" and (leaf := _leaf(value)):
            # Knobs have dots in their names, which look like maps in maps.
            name = ".".join((str(path[-1]), *leaf[0]))
            return self._finding("SP002", path, message, shown(value), allowed, name, f"write {name}: {shown(leaf[1])}")
        return self._finding("SP002", path, message, shown(value), allowed, fix=retyped(value, wanted))

    def _finding(
        self,
        rule: str,
        path: Path,
        message: str,
        given: str = "",
        allowed: str = "",
        near: str = "",
        fix: str = "",
        missing: str = "",
    ) -> Finding:
        field = dotted((*path, missing)) if missing else dotted(path)
        return Finding(rule, "error", self.document.at(*path), field, message, given, allowed, near, fix)


def _leaf(value: Mapping[str, Any]) -> tuple[tuple[str, ...], Any] | None:
    """The first value in maps of maps that is none itself, and the keys on the way; None when there is none."""
    for key, inner in value.items():
        below = _leaf(inner) if isinstance(inner, Mapping) else ((), inner)
        if below:
            return (str(key), *below[0]), below[1]
    return None


def _missed(refusal: Refusal) -> bool:
    """Whether CUE only misses a field, which the walk says better: as missing, or as misspelt."""
    return refusal.messages == ("field is required but not present",)


def _in_cues_words(document: Document, refusal: Refusal, around: str) -> Finding:
    """The finding for a refusal that the walk has no words for, such as a name that a map does not take.

    Args:
        document: the one that is refused.
        refusal: what CUE says.
        around: what the map takes that the refused value is in, in words.
    """
    from sailplan.refusals import words

    path = refusal.path
    at = document.at(*path)
    if "field not allowed" in refusal.messages:
        message = f"{called(path)} is not a name that {called(path[:-1])} takes"
        return Finding("SP001", "error", at, dotted(path), message, str(path[-1]), around, fix="choose another name")
    twice = next((found for found in map(_TWICE.search, refusal.messages) if found), None)
    if twice:
        message = f"{twice['item']} is listed twice in {called(path)}"
        at = document.at(*path, int(twice["at"]))
        return Finding("SP003", "error", at, dotted(path), message, twice["item"], fix="delete one of the two")
    said = words(refusal.messages)
    return Finding("SP003", "error", at, dotted(path), f"{called(path)} {said.message}", said.given, said.allowed)


def covers(said: str, field: str) -> bool:
    """Whether a finding at `said` is about `field`, or about something in it."""
    return said == field or said.startswith((f"{field}.", f"{field}[")) or field.startswith((f"{said}.", f"{said}["))
