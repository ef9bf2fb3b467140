"""`differences(wanted, found)`: a short way to say what matters in a rendered object.

| wanted | found | holds when |
|---|---|---|
| mapping | mapping | every key of `wanted` does; other keys do not matter |
| null | anything | the key is absent |
| list | list | equally long, item by item |
| mapping | list | keys are the items' `name`, or their position |
| text | list of texts | these words follow each other somewhere in the list |
| else | else | equal |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ABSENT = object()


def differences(wanted: Any, found: Any, path: str = "") -> list[str]:
    """Where `found` is not what was wanted, one line each."""
    return list(_differences(wanted, found, path or "."))


def _differences(wanted: Any, found: Any, path: str) -> Iterator[str]:
    if wanted is None:
        if found is not ABSENT:
            yield f"{path}: should not be there, is {found!r}"
    elif isinstance(wanted, dict) and isinstance(found, dict | list):
        for key, value in wanted.items():
            yield from _differences(value, _entry(found, key), f"{path}/{key}")
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for position, value in enumerate(wanted):
            yield from _differences(value, found[position], f"{path}/{position}")
    elif not _same(wanted, found):
        yield f"{path}: wanted {wanted!r}, is {'missing' if found is ABSENT else repr(found)}"


def _same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, str) and isinstance(found, list):
        return f" {wanted} " in f" {' '.join(map(str, found))} "
    return bool(wanted == found) and type(wanted) is type(found)


def _entry(found: Any, key: Any) -> Any:
    if isinstance(found, dict):
        return found.get(key, ABSENT)
    if isinstance(key, int):
        return found[key] if key < len(found) else ABSENT
    named = [item for item in found if isinstance(item, dict) and item.get("name") == key]
    return named[0] if len(named) == 1 else ABSENT
