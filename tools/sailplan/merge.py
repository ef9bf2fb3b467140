"""Three-way comparison of one object: what was applied last, what would be applied now, what is there. Pure.

KubeVela applies as `kubectl apply` does: what was in the last applied manifest and is not in the new one is removed. A
server-side dry run does not know that (KubeVela is not the field manager of an earlier apply), so it is found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

Path = tuple[str | int, ...]

_KEYS = ("name", "containerPort", "mountPath", "key", "type")
"""Fields that tell the items of a list apart, where Kubernetes merges such a list by item."""


def removed(last: Any, wanted: Any, path: Path = ()) -> Iterator[Path]:
    """Paths that `last` has and `wanted` does not, outermost only. Items of lists are found by name, not by place.

    Lists without names are replaced whole, so nothing in them counts as removed.
    """
    if isinstance(last, Mapping) and isinstance(wanted, Mapping):
        for key, value in last.items():
            if key not in wanted:
                yield (*path, key)
            else:
                yield from removed(value, wanted[key], (*path, key))
    elif isinstance(last, list) and isinstance(wanted, list):
        key = merge_key(last) if merge_key(last) == merge_key(wanted) else ""
        if key:
            known = {item[key]: item for item in wanted}
            for item in last:
                step = f"{key}={item[key]}"
                if item[key] not in known:
                    yield (*path, step)
                else:
                    yield from removed(item, known[item[key]], (*path, step))


def without(item: Any, path: Path) -> Any:
    """A copy of `item` without what is at a path of `removed`; as it is when nothing is there."""
    made = deepcopy(item)
    inner = made
    for step in path[:-1]:
        inner = _step(inner, step)
        if inner is None:
            return made
    last = path[-1]
    if isinstance(inner, dict):
        inner.pop(last, None)
    elif isinstance(inner, list) and (found := _step(inner, last)) is not None:
        inner.remove(found)
    return made


def at(item: Any, path: Path) -> Any:
    """The value at a path; None when nothing is there."""
    for step in path:
        item = _step(item, step)
    return item


def merge_key(items: list[Any]) -> str:
    """The field that tells the items of a list apart; "" when none does."""
    maps = [item for item in items if isinstance(item, Mapping)]
    if not items or len(maps) != len(items):
        return ""
    return next((key for key in _KEYS if len({str(item.get(key)) for item in maps if key in item}) == len(items)), "")


def _step(item: Any, step: str | int) -> Any:
    if isinstance(item, Mapping):
        return item.get(step)
    if isinstance(item, list):
        key, _, name = str(step).partition("=")
        return next((one for one in item if isinstance(one, Mapping) and str(one.get(key)) == name), None)
    return None
