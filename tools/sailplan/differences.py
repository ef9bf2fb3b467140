"""What is different between two lists of Kubernetes objects: made, gone, renamed, changed. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sailplan import writer

Object = Mapping[str, Any]
Sort = Literal["added", "removed", "renamed", "changed"]

_SIGNS: dict[Sort, str] = {"added": "+", "removed": "-", "renamed": ">", "changed": "~"}
_OWNER = "app.oam.dev/component"
_PART = "app.kubernetes.io/component"


@dataclass(frozen=True, slots=True)
class Difference:
    """One object that is not the same on both sides.

    Attributes:
        sort: added, removed, renamed (one of its kind and component went, another came) or changed.
        name: `kind/name`, as in `deployment.apps/xplane-qwen-coder`; the old one of a renamed object.
        to: new name of a renamed object.
        before, after: the objects; None where there is none.
    """

    sort: Sort
    name: str
    to: str = ""
    before: Object | None = None
    after: Object | None = None

    @property
    def title(self) -> str:
        """One line: a sign, what happened, to what."""
        return f"{_SIGNS[self.sort]} {self.sort} {self.name}" + (f" -> {self.to}" if self.to else "")

    @property
    def lines(self) -> list[str]:
        """The changed lines, as a unified diff without its head; nothing for what only one side has."""
        if self.before is None or self.after is None:
            return []
        return unified(text(self.before), text(self.after))


def compare(before: Iterable[Object], after: Iterable[Object]) -> list[Difference]:
    """The differences between two lists of objects, those of one list in its order.

    Objects are the same when kind, namespace and name are.
    """
    old, new = ({_key(item): item for item in side} for side in (before, after))
    gone = [item for key, item in old.items() if key not in new]
    come = [item for key, item in new.items() if key not in old]
    renamed = _renamed(gone, come)
    was = {id(one) for one, _ in renamed}
    becomes = {id(other) for _, other in renamed}
    return [
        *(Difference("removed", title(item), before=item) for item in gone if id(item) not in was),
        *(Difference("renamed", title(one), title(other), one, other) for one, other in renamed),
        *(Difference("added", title(item), after=item) for item in come if id(item) not in becomes),
        *(
            Difference("changed", title(item), before=item, after=new[key])
            for key, item in old.items()
            if key in new and item != new[key]
        ),
    ]


def title(item: Object) -> str:
    """`kind.group/name`, as kubectl writes it."""
    group, slash, _ = str(item["apiVersion"]).partition("/")
    kind = str(item["kind"]).lower()
    return f"{kind}.{group}/{item['metadata']['name']}" if slash else f"{kind}/{item['metadata']['name']}"


def text(item: Object) -> str:
    """An object as YAML with its keys in order, so that only content makes a difference."""
    return writer.dump(_sorted(item), blocks=True)


def unified(before: str, after: str) -> list[str]:
    """A unified diff without its head."""
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[2:]


def report(found: Sequence[Difference], indent: str = "  ") -> str:
    """A title a difference, with its changed lines below it."""
    lines = [line for one in found for line in (one.title, *(f"{indent}{line}" for line in one.lines))]
    return "".join(f"{line}\n" for line in lines)


def _renamed(gone: Iterable[Object], come: Iterable[Object]) -> list[tuple[Object, Object]]:
    """Pairs that are alone on their side with their kind, component and part."""
    one, other = (_by_owner(side) for side in (gone, come))
    return [(one[key][0], other[key][0]) for key in one if key in other and len(one[key]) == 1 and len(other[key]) == 1]


def _by_owner(items: Iterable[Object]) -> dict[tuple[str, ...], list[Object]]:
    found: dict[tuple[str, ...], list[Object]] = {}
    for item in items:
        labels = item["metadata"].get("labels") or {}
        if labels.get(_OWNER):
            key = (*_key(item)[:-1], labels[_OWNER], labels.get(_PART, ""))
            found.setdefault(key, []).append(item)
    return found


def _key(item: Object) -> tuple[str, str, str, str]:
    metadata = item["metadata"]
    group = str(item["apiVersion"]).rpartition("/")[0]
    return group, item["kind"], metadata.get("namespace", ""), metadata["name"]


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
