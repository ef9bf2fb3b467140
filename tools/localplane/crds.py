"""The CustomResourceDefinitions of a plane, from the Go modules that tools/toolchain/versions.toml pins."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolchain import cache, sources
from toolchain.pins import table

from . import documents
from .errors import PlaneError

_KUBEVELA = "kubevela"
_CHART = "charts/vela-core/crds"
"""Where KubeVela's own CRDs are in its module; all are wanted, on the hub only."""


def ensure(wanted: Iterable[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return KubeVela's own CRDs, and those of the wanted names; reads the modules once and keeps the result.

    Descriptions are left out: they are most of the bytes and none of the rules.

    Args:
        wanted: names such as "scaledobjects.keda.sh".

    Raises:
        PlaneError: no pinned source holds a wanted name.
        ToolchainError: a module cannot be fetched.
    """
    names = sorted(set(wanted))
    target = _file(names)
    if not target.is_file():
        cache.write(target, json.dumps(_collect(names)))
    found = json.loads(target.read_text(encoding="utf-8"))
    return found["hub"], found["all"]


def _file(names: list[str]) -> Path:
    key = hashlib.sha256(repr((names, table()["sources"])).encode()).hexdigest()[:16]
    return cache.folder("crds") / f"{key}.json"


def _collect(names: list[str]) -> dict[str, list[dict[str, Any]]]:
    files = sorted((sources.folder(_KUBEVELA) / _CHART).glob("*.yaml"))
    hub = [_bare(documents.read(file)) for file in files]
    rows = [name for name in table()["sources"] if name != _KUBEVELA]
    crds = [crd for name in rows for crd in sources.crds(name)]
    found = {crd["metadata"]["name"]: _bare(crd) for crd in crds if crd["metadata"]["name"] in names}
    missing = [name for name in names if name not in found]
    if missing:
        said = f"no pinned source holds {', '.join(missing)}"
        raise PlaneError(said, "see [sources] in tools/toolchain/versions.toml")
    return {"hub": hub, "all": [found[name] for name in names]}


def _bare(node: Any) -> Any:
    """Drop descriptions. A property that is called `description` is a mapping, and stays."""
    if isinstance(node, list):
        return [_bare(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: _bare(value) for key, value in node.items() if not (key == "description" and isinstance(value, str))}
