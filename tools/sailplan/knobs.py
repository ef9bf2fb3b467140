"""What a product team may turn, and how far: knobs of the model and of the chosen capabilities, taken together.

A knob with a `target` exists; a knob of the same name without one narrows it. When several narrow, the tightest holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sailplan.model import EDGE, ENGINE, Document, Path, Position


def definition(preset: Document) -> str:
    """The component definition whose parameters a preset sets and turns."""
    return EDGE if preset.kind == "Edge" else str(preset.spec.get("component", ENGINE))


def suits(capability: Document, preset: Document) -> bool:
    """Whether a capability is for components of a preset: by its component definition, and by name."""
    named = capability.spec.get("models") or (preset.name,)
    return preset.name in named and definition(capability) == definition(preset)


@dataclass(frozen=True, slots=True)
class Knob:
    """One value that an intent may set.

    Attributes:
        name: dotted, as written in an intent, `scaling.maxReplicas`.
        target: where the value goes; starts with `properties` or `traits`.
        min, max: bounds, both allowed; None when open.
        allowed: the values that may be chosen; None when the bounds alone decide.
        type: integer, number, string or boolean, told by the bounds or choices; empty when neither says.
        description: one line for people.
        position: where the knob is declared.
    """

    name: str
    target: Path
    min: float | None = None
    max: float | None = None
    allowed: tuple[Any, ...] | None = None
    type: str = ""
    description: str = ""
    position: Position | None = None

    @property
    def range(self) -> str:
        """The values it takes, for people: `1 to 8`, `300s, 600s`."""
        if self.allowed is not None:
            return ", ".join(str(value) for value in self.allowed)
        if self.min is not None and self.max is not None:
            return f"{self.min} to {self.max}"
        if self.min is not None:
            return f"at least {self.min}"
        return f"at most {self.max}" if self.max is not None else "any"


def knobs(model: Document, capabilities: Iterable[Document]) -> dict[str, Knob]:
    """The knobs that a component of `model` with `capabilities` has, by name.

    A knob whose trait neither the model nor a capability attaches is left out: it would turn nothing.
    """
    sources = [*capabilities, model]
    attached = {trait for source in sources for trait in source.spec.get("traits", {})}
    declared = [(source, name, knob) for source in sources for name, knob in source.spec.get("knobs", {}).items()]
    found: dict[str, Knob] = {}
    for source, name, knob in declared:
        if knob.get("target"):
            made = _knob(name, knob, source.at("spec", "knobs", name))
            found[name] = _narrow(found[name], knob) if name in found else made
    for _, name, knob in declared:
        if name in found and not knob.get("target"):
            found[name] = _narrow(found[name], knob)
    return {name: knob for name, knob in found.items() if knob.target[0] != "traits" or knob.target[1] in attached}


def _knob(name: str, knob: Mapping[str, Any], position: Position) -> Knob:
    allowed = tuple(knob["allowed"]) if "allowed" in knob else None
    return Knob(
        name=name,
        target=tuple(knob["target"].split(".")),
        min=knob.get("min"),
        max=knob.get("max"),
        allowed=allowed,
        type=_type(allowed or [knob[bound] for bound in ("min", "max") if bound in knob]),
        description=knob.get("description", ""),
        position=position,
    )


def _narrow(knob: Knob, other: Mapping[str, Any]) -> Knob:
    lows = [bound for bound in (knob.min, other.get("min")) if bound is not None]
    highs = [bound for bound in (knob.max, other.get("max")) if bound is not None]
    allowed = knob.allowed
    if "allowed" in other:
        chosen = tuple(other["allowed"])
        allowed = chosen if allowed is None else tuple(value for value in allowed if value in chosen)
    return replace(
        knob,
        min=max(lows, default=None),
        max=min(highs, default=None),
        allowed=allowed,
        description=other.get("description", knob.description),
    )


def _type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {int}:
        return "integer"
    if kinds and kinds <= {int, float}:
        return "number"
    if kinds == {str}:
        return "string"
    return "boolean" if kinds == {bool} else ""
