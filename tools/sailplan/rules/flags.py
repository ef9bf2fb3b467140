"""Which flags an engine of the catalog has, and which of them parameters and traits own."""

from __future__ import annotations

import re
from pathlib import Path

from sailplan.engineflags import Engine, normal, read, stands_for
from sailplan.model import Catalog

__all__ = ["Engine", "engine", "managed", "normal", "stands_for"]

_MANAGED = re.compile(r"_managed: \[(?P<names>[^\]]*)\]")


def engine(catalog: Catalog, name: str) -> Engine | None:
    """The flags of an engine of catalog/images.yaml; None when the file is not there or not such a list."""
    engines = catalog.images.spec["engines"] if catalog.images else {}
    if name not in engines:
        return None
    return read(Path(catalog.root) / "catalog" / engines[name]["flags"])


def managed(catalog: Catalog) -> list[str]:
    """Flags that parameters and traits own. The definition refuses them too; its list is the one list."""
    path = Path(catalog.root) / "definitions" / "component" / "vllm-model.cue"
    try:
        found = _MANAGED.search(path.read_text(encoding="utf-8"))
    except OSError:
        return []
    return [f"--{name}" for name in re.findall(r'"([^"]+)"', found["names"])] if found else []
