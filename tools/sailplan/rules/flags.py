"""The engine's own flags, as catalog/engine-flags lists them, and what a person's spelling of one means.

The engine's parser takes underscores for dashes, any unambiguous beginning of a flag, `--no-X` to switch X off, and
`--flag.key=value` for one key of a flag that takes JSON. All spellings are brought to the one in the list before
anything is compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sailplan.model import Catalog

_MANAGED = re.compile(r"_managed: \[(?P<names>[^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Engine:
    """The flags of one engine version.

    Attributes:
        flags: by name with dashes in front, aliases and `--no-` forms included.
        removed: flags that this version no longer has, and what to write instead.
    """

    flags: Mapping[str, Mapping[str, Any]]
    removed: Mapping[str, str]

    def find(self, spelling: str) -> list[str]:
        """Names that a spelling may stand for: one when it is clear, several when ambiguous, none when unknown."""
        name = normal(spelling)
        if name in self.flags:
            return [str(self.flags[name]["name"])]
        return sorted({str(flag["name"]) for other, flag in self.flags.items() if other.startswith(name)})


def normal(spelling: str) -> str:
    """A flag as the list writes it: without a value or a key, dashes for underscores."""
    return "--" + spelling.partition("=")[0].partition(".")[0].lstrip("-").replace("_", "-")


def engine(catalog: Catalog, name: str) -> Engine | None:
    """The flags of an engine of catalog/images.yaml; None when the file is not there or not such a list."""
    engines = catalog.images.spec["engines"] if catalog.images else {}
    if name not in engines:
        return None
    return _read(Path(catalog.root) / "catalog" / engines[name]["flags"])


def managed(catalog: Catalog) -> list[str]:
    """Flags that parameters and traits own. The definition refuses them too; its list is the one list."""
    path = Path(catalog.root) / "definitions" / "component" / "vllm-model.cue"
    try:
        found = _MANAGED.search(path.read_text(encoding="utf-8"))
    except OSError:
        return []
    return [f"--{name}" for name in re.findall(r'"([^"]+)"', found["names"])] if found else []


def stands_for(spelling: str, names: Iterable[str]) -> list[str]:
    """Which of `names` a spelling stands for by itself: the name, a beginning of it, or either with `no-` in front."""
    given = normal(spelling)
    positive = "--" + given.removeprefix("--no-") if given.startswith("--no-") else given
    return [name for name in names if name == positive or (len(positive) > 2 and name.startswith(positive))]


@lru_cache(maxsize=8)
def _read(path: Path) -> Engine | None:
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        flags = {
            name: flag
            for flag in listed["flags"]
            for name in (flag["name"], *flag.get("aliases", ()), *filter(None, [flag.get("negation")]))
        }
        return Engine(flags, dict(listed.get("removed", {})))
    except (OSError, ValueError, KeyError, TypeError):
        return None
