"""A person's words for what CUE says when a definition refuses a parameter.

CUE reports every branch it tried; one of its lines, or what they have in common, is what the person needs. Where a
definition speaks for itself (`errs`), it names the parameters that do not go together: the one that was written last
is where to look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sailplan.findings import shortened
from sailplan.layers import value_at
from sailplan.model import ENGINE, LAYERS, Component, Composition, Finding, Origin, Path, Position
from sailplan.toolbox.vela import Refusal

KINDS = {
    "int": "a whole number",
    "float": "a number",
    "number": "a number",
    "string": "text",
    "bool": "true or false",
    "list": "a list",
    "struct": "a map",
    "null": "nothing",
}

_BOUND = re.compile(r"invalid value (?P<given>.+) \(out of bound (?P<bound>.+)\)$")
_TYPES = re.compile(r"conflicting values .+ \(mismatched types (?P<one>\w+) and (?P<other>\w+)\)$")
_VALUES = re.compile(r"conflicting values (?P<one>.+) and (?P<other>.+)$")
_MISSING = re.compile(r"incomplete value (?P<wanted>.+)$")
_ABOVE = re.compile(r"(?P<one>\S+) (?P<given>\S+) is (?P<how>above|below) (?P<other>\S+) (?P<bound>[^\s:]+)")
_COMPARED = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than", "!=": "not"}


@dataclass(frozen=True, slots=True)
class Words:
    """What is wrong (`message`), with what was given and what would be taken, when CUE says so."""

    message: str
    given: str = ""
    allowed: str = ""


@dataclass(frozen=True, slots=True)
class _Named:
    """A value that a definition's own words name: its name below the parameter, where it came from, what it is."""

    name: str
    origin: Origin
    value: str


def finding(refusal: Refusal, composition: Composition, environment: str) -> Finding:
    """The finding for a definition's refusal, at the line that gave the value."""
    component = next((part for part in composition.components if part.name == refusal.component), None)
    inner: Path = tuple(part.strip('"') for part in re.findall(r'"[^"]+"|[^.]+', refusal.field))
    own = bool(refusal.trait) and bool(component) and not _is_components(refusal, component)
    place: Path = ("traits", refusal.trait) if own else ("properties",)
    definition = refusal.trait if own else component.definition if component else ENGINE
    path = ".".join(map(str, (refusal.component, *place, *inner)))
    message = f"{definition} refuses it in {environment}: "
    if component and not refusal.field:
        text = "; ".join(refusal.messages)
        # What a definition quotes is a value or the person's own words; it puts its name before some parameters.
        plain = re.sub(r'"[^"]*"', '""', text).replace(f"{definition}.", "")
        named = _named(plain, component, environment, place)
        if named:
            return _of_named(named, path, message, text)
    said = words(refusal.messages) if refusal.field else Words("; ".join(refusal.messages))
    position = _position(composition, component, environment, (*place, *inner))
    message += f"{refusal.field} {said.message}".lstrip()
    return Finding("SP302", "error", position, path, message, given=said.given, allowed=said.allowed)


def _of_named(named: Sequence[_Named], path: str, message: str, text: str) -> Finding:
    """The finding at the value that was written last: those below it were right before it came."""
    blamed = max(named, key=lambda one: LAYERS.index(one.origin.layer))
    others = [f"{one.name} ({one.origin.position})" for one in named if one is not blamed]
    fix = f"change {' or '.join([blamed.name, *others])}" if others else ""
    return Finding(
        id="SP302",
        severity="error",
        position=blamed.origin.position,
        field=f"{path}.{blamed.name}",
        message=f"{message}{text}",
        given=blamed.value,
        allowed=_wanted(text, blamed.name),
        fix=fix,
    )


def _wanted(text: str, name: str) -> str:
    """What would be taken for one of two values that a definition compares."""
    found = _ABOVE.search(text)
    if not found:
        return ""
    first = found["one"].endswith(name)
    least = found["how"] == ("below" if first else "above")
    return f"{'at least' if least else 'at most'} {found['bound' if first else 'given']}"


def _named(text: str, component: Component, environment: str, place: Path) -> list[_Named]:
    """The values that `text` names, in its order; of a map that it names, all that is in it."""
    properties, traits = component.environments.get(environment, ({}, {}))
    base: Path = ("environments", environment, *place)
    found: list[tuple[int, _Named]] = []
    for path, origin in component.origins.items():
        if path[: len(base)] != base or len(path) == len(base):
            continue
        inner = path[len(base) :]
        value = value_at({"properties": properties, "traits": traits}, (*place, *inner))
        spots = [_spot(text, inner[:end]) for end in range(1, len(inner) + 1)]
        if value is not None and not isinstance(value, Mapping) and max(spots) >= 0:
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            found.append((max(spots), _Named(".".join(map(str, inner)), origin, shortened(said))))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def _spot(text: str, path: Path) -> int:
    """Where `text` names a path as a word of its own; -1 where it does not."""
    name = re.escape(".".join(map(str, path)))
    found = re.search(rf"(?<![\w.-]){name}(?!\.?[\w-])", text)
    return found.start() if found else -1


def _is_components(refusal: Refusal, component: Component | None) -> bool:
    """Whether a trait only noticed what the component's own parameters lack."""
    noticed = any(line.startswith("incomplete value") for line in refusal.messages)
    return noticed and refusal.field.partition(".")[0] == "model" and component is not None


def _position(composition: Composition, component: Component | None, environment: str, path: Path) -> Position:
    app = composition.app
    if component is None:
        return app.at("spec", "components")
    for end in range(len(path), 1, -1):
        origin: Origin | None = component.origins.get(("environments", environment, *path[:end]))
        if origin:
            return origin.position
    return app.at("spec", "components", composition.components.index(component))


def words(messages: Sequence[str]) -> Words:
    """Say in words what CUE's lines about one parameter mean together."""
    lines = [line for line in messages if not line.startswith("invalid interpolation")]
    if "field not allowed" in lines:
        return Words("no such parameter")
    missing = next((found for found in map(_MISSING.search, lines) if found), None)
    if missing:
        return Words("is missing", allowed=_bound(_unquoted(missing["wanted"])))
    bounds = [found for found in map(_BOUND.search, lines) if found]
    if bounds:
        allowed = " and ".join(dict.fromkeys(_bound(found["bound"]) for found in bounds))
        return Words("is out of range", bounds[0]["given"], allowed)
    return _kind(lines) or _choice(lines) or Words("; ".join(lines))


def _unquoted(text: str) -> str:
    # From a marshal error the constraint comes as a quoted string, from a validation as it is.
    return str(json.loads(text)) if text.startswith('"') else text


def _kind(lines: Sequence[str]) -> Words | None:
    pairs = [(found["one"], found["other"]) for found in map(_TYPES.search, lines) if found]
    if not pairs:
        return None
    common = set(pairs[0]).intersection(*pairs)
    given = next((kind for kind in pairs[0] if kind in common), pairs[0][0])
    wanted = [kind for pair in pairs for kind in pair if kind != given]
    allowed = " or ".join(dict.fromkeys(KINDS.get(kind, kind) for kind in wanted))
    return Words("is of the wrong kind", KINDS.get(given, given), allowed)


def _choice(lines: Sequence[str]) -> Words | None:
    pairs = [(found["one"], found["other"]) for found in map(_VALUES.search, lines) if found]
    if not pairs:
        return None
    common = set(pairs[0]).intersection(*pairs)
    if len(common) != 1:
        return Words("has two values that contradict each other", allowed=" or ".join(pairs[0]))
    given = common.pop()
    choices = [value for pair in pairs for value in pair if value != given]
    return Words("is not one of the choices", given, ", ".join(choices))


def _bound(bound: str) -> str:
    for sign, meaning in _COMPARED.items():
        if bound.startswith(sign):
            return f"{meaning} {bound.removeprefix(sign).strip()}"
    if bound.startswith("=~"):
        return f"text like {bound.removeprefix('=~')}"
    return f"no text like {bound.removeprefix('!~')}" if bound.startswith("!~") else bound
