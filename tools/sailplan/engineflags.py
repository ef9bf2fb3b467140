"""The engine's own flags, as catalog/engine-flags lists them, and what a person's spelling of one means.

The engine's parser takes underscores for dashes, any unambiguous beginning of a flag, `--no-X` to switch X off, and
`--flag.key=value` for one key of a flag that takes JSON. All spellings are brought to the one in the list before
anything is compared. The rules of `check` and the simulator (tools/vllm_sim) read flags here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from sailplan.findings import nearest, shortened


@dataclass(frozen=True, slots=True)
class Engine:
    """The flags of one engine version.

    Attributes:
        flags: by name with dashes in front, aliases and `--no-` forms included.
        removed: flags that this version no longer has, and what to write instead.
        values: texts that the parser takes unseen and the engine looks up when it starts, by flag.
    """

    flags: Mapping[str, Mapping[str, Any]]
    removed: Mapping[str, str]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def find(self, spelling: str) -> list[str]:
        """Names that a spelling may stand for: one when it is clear, several when ambiguous, none when unknown."""
        name = normal(spelling)
        if name in self.flags:
            return [str(self.flags[name]["name"])]
        return sorted({str(flag["name"]) for other, flag in self.flags.items() if other.startswith(name)})

    def wrong(self, argument: str) -> tuple[str, str, str]:
        """What is wrong with one argument of the form `--flag=value`.

        Returns:
            Message, nearest right flag or value, and fix; all empty when nothing is wrong.
        """
        name = argument.partition("=")[0]
        found = self.find(argument)
        gone = next((text for flag, text in self.removed.items() if normal(flag) == normal(argument)), None)
        if gone is not None:
            return f"this engine no longer has {name}", "", gone
        if not found:
            near = nearest(normal(argument), self.flags)
            return f"this engine does not know {name}", near, f"did you mean {near}?" if near else ""
        if len(found) > 1:
            return f"{name} may be any of {shortened(', '.join(found))}", "", "write the whole name"
        return _value(self.flags[found[0]], argument)


def normal(spelling: str) -> str:
    """A flag as the list writes it: without a value or a key, dashes for underscores."""
    return "--" + spelling.partition("=")[0].partition(".")[0].lstrip("-").replace("_", "-")


def stands_for(spelling: str, names: Iterable[str]) -> list[str]:
    """Which of `names` a spelling stands for by itself: the name, a beginning of it, or either with `no-` in front."""
    given = normal(spelling)
    positive = "--" + given.removeprefix("--no-") if given.startswith("--no-") else given
    return [name for name in names if name == positive or (len(positive) > 2 and name.startswith(positive))]


@lru_cache(maxsize=8)
def read(path: Path) -> Engine | None:
    """The flags that a file lists; None when it is not there or not such a list."""
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        flags = {
            name: flag
            for flag in listed["flags"]
            for name in (flag["name"], *flag.get("aliases", ()), *filter(None, [flag.get("negation")]))
        }
        values = {flag: tuple(map(str, names)) for flag, names in listed.get("values", {}).items()}
        return Engine(flags, dict(listed.get("removed", {})), values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _value(flag: Mapping[str, Any], argument: str) -> tuple[str, str, str]:
    """What is wrong with the value that a known flag gets."""
    name, equals, value = argument.partition("=")
    switched_off = normal(argument).startswith("--no-")
    if (flag.get("takes") == "none" or switched_off) and equals:
        return f"{name} takes no value", "", f"write {name}"
    if flag.get("takes") in ("value", "values") and not equals and not switched_off:
        return f"{name} needs a value", "", f"write {name}=VALUE"
    choices = [str(choice) for choice in flag.get("choices") or ()]
    if equals and choices and value not in choices:
        near = nearest(value, choices)
        message = f"{name} does not take {shortened(value)}, only {', '.join(choices)}"
        return message, near, f"write {name}={near or 'VALUE'}"
    return "", "", ""
