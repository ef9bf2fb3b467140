"""Parameters of one definition before and after: what was valid and is not any more. Pure.

Looks at JSON Schemas, so what they cannot say (patterns of map keys, rules between fields) it cannot see; rendering
the Applications of the repository sees the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")


def narrowed(old: Schema, new: Schema) -> list[str]:
    """What `new` refuses that `old` took, one line a parameter; [] when everything stays valid.

    Args:
        old: JSON Schema of the published parameter, without references.
        new: the same of the version to be published.
    """
    return list(_object(old, new, ""))


def _object(old: Schema, new: Schema, path: str) -> Iterator[str]:
    before, after = old.get("properties", {}), new.get("properties", {})
    rest = new.get("additionalProperties", {})
    for name in before:
        if name in after:
            yield from _value(before[name], after[name], f"{path}{name}")
        elif not isinstance(rest, Mapping):
            yield f"{path}{name} is gone"
    for name in new.get("required", ()):
        if name not in old.get("required", ()):
            yield f"{path}{name} is now required"
    one, other = old.get("additionalProperties"), new.get("additionalProperties")
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        yield from _value(one, other, f"{path}NAME")


def _value(old: Schema, new: Schema, path: str) -> Iterator[str]:
    if old.get("type") != new.get("type") and "type" in new and new["type"] != _wider(old.get("type")):
        yield f"{path} was {old.get('type', 'anything')} and is {new['type']}"
        return
    lost = [value for value in old.get("enum", ()) if value not in new.get("enum", (value,))]
    if lost:
        yield f"{path} no longer takes {', '.join(map(str, lost))}"
    if "enum" in new and "enum" not in old:
        yield f"{path} now takes {', '.join(map(str, new['enum']))} only"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"{path} must now look like {new['pattern']}"
    yield from _bounds(old, new, path)
    if isinstance(old.get("items"), Mapping) and isinstance(new.get("items"), Mapping):
        yield from _value(old["items"], new["items"], f"{path}[]")
    yield from _object(old, new, f"{path}.")


def _bounds(old: Schema, new: Schema, path: str) -> Iterator[str]:
    for key in _LEAST:
        if key in new and (key not in old or new[key] > old[key]):
            yield f"{path}: {key} was {old.get(key, 'none')} and is {new[key]}"
    for key in _MOST:
        if key in new and (key not in old or new[key] < old[key]):
            yield f"{path}: {key} was {old.get(key, 'none')} and is {new[key]}"


def _wider(kind: Any) -> Any:
    return "number" if kind == "integer" else kind
