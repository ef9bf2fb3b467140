"""Merging values layer by layer, remembering who wrote each; and the difference that KubeVela merges back.

Both follow KubeVela's own rules for override policies (measured on 1.11.0): maps merge deeply, lists and scalars are
replaced whole, and a key cannot be taken away. Pure: no files, no processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

from sailplan.errors import SailplanError
from sailplan.model import Origin, Path

At = Callable[[Path], Origin]
"""Tells where the value at a path (relative to what is being merged) was written."""


class Stack:
    """Values merged so far and, for every map and leaf among them, the layer and line that it came from.

    A map remembers who first wrote it (who attached a trait), a leaf who wrote it last (whose value holds).
    """

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        self.origins: dict[Path, Origin] = {}

    def copy(self) -> Stack:
        """An independent stack with the same values."""
        twin = Stack()
        twin.data = deepcopy(self.data)
        twin.origins = dict(self.origins)
        return twin

    def merge(self, value: Mapping[str, Any], at: At, path: Path = ()) -> None:
        """Put `value` on top, at `path` (the top level without it).

        Args:
            value: a map; its own maps merge deeply, its lists and scalars replace what was there.
            at: origin of each value, by its path inside `value`.
            path: where it goes.
        """
        target = self.data
        for end, key in enumerate(path, start=1):
            self.origins.setdefault(path[:end], at(()))
            target = target.setdefault(str(key), {})
        self._merge(target, value, at, path, ())

    def put(self, path: Path, value: Any, origin: Origin) -> None:
        """Set one value; missing maps on the way are made."""
        nested: Any = value
        for key in reversed(path):
            nested = {str(key): nested}
        self.merge(nested, lambda _: origin)

    def _merge(self, target: dict[str, Any], value: Mapping[str, Any], at: At, base: Path, inner: Path) -> None:
        for key, item in value.items():
            here = (*inner, key)
            if isinstance(item, Mapping):
                if not isinstance(target.get(key), dict):
                    target[key] = {}
                self.origins.setdefault(base + here, at(here))
                self._merge(target[key], item, at, base, here)
            else:
                target[key] = deepcopy(item) if isinstance(item, list) else item
                self.origins[base + here] = at(here)


def value_at(value: Any, path: Iterable[str | int]) -> Any:
    """The value at a path of maps; None where there is none."""
    for key in path:
        value = value.get(str(key)) if isinstance(value, Mapping) else None
    return value


def difference(base: Mapping[str, Any], full: Mapping[str, Any]) -> dict[str, Any]:
    """What must be merged onto `base` by KubeVela's rules to make `full`; empty when they are the same.

    Raises:
        SailplanError: `full` lacks a key of `base`. No override can say that, so nothing may ask for it.
    """
    missing = base.keys() - full.keys()
    if missing:
        raise SailplanError(f"an override cannot remove {', '.join(sorted(missing))}: this is a bug in a layer")
    changed: dict[str, Any] = {}
    for key, value in full.items():
        if key not in base:
            changed[key] = deepcopy(value)
        elif isinstance(value, Mapping) and isinstance(base[key], Mapping):
            inner = difference(base[key], value)
            if inner:
                changed[key] = inner
        elif not same(base[key], value):
            changed[key] = deepcopy(value)
    return changed


def same(one: Any, other: Any) -> bool:
    """Whether two plain values are the same to CUE and JSON: unlike in Python, 1 is neither 1.0 nor true."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)
