"""The published schemas of the APIs we render for: fetched as Go modules, turned into one index of JSON Schemas."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import build, cache, golang, structural
from .errors import BuildFailed, ToolchainError
from .modules import download, stand_in
from .pins import table
from .process import run, say

INDEX = "index.json"
"""File in the folder of schemas: apiVersion/kind -> {file, source}."""


def schemas() -> Path:
    """Return the folder with the index and one JSON Schema a kind; makes it when versions or converter changed.

    About a minute and a half and 130 MB of downloads from nothing on 2 cores, then a few milliseconds.

    Raises:
        BuildFailed: a module cannot be fetched, or holds none of the files that it is pinned for.
    """
    target = cache.folder("schemas") / _key()
    if (target / INDEX).is_file():
        return target
    with cache.locked(cache.folder("locks") / "schemas.lock", lambda: say("schemas: another run makes them, waiting")):
        if not (target / INDEX).is_file():
            start = time.monotonic()
            with cache.staging(target) as stage:
                count = _index(stage)
            say(f"schemas: {count} kinds ready after {time.monotonic() - start:.0f} s: {target}")
    return target


def folder(name: str) -> Path:
    """Return the source of a row [sources.NAME] in Go's module cache; fetches it when it is not there.

    Raises:
        ToolchainError: no such row.
        BuildFailed: it cannot be fetched.
    """
    rows = table()["sources"]
    if name not in rows:
        raise ToolchainError(f"no source {name!r} is pinned", f"one of: {', '.join(rows)}")
    return download(rows[name]["module"], rows[name]["version"], _log())


def crds(name: str) -> list[dict[str, Any]]:
    """Return the CustomResourceDefinitions of a row [sources.NAME] as they are published, [] when it names none.

    Raises:
        BuildFailed: the module cannot be fetched, or holds none of the files that it is pinned for.
    """
    row = table()["sources"][name]
    with tempfile.TemporaryDirectory() as scratch:
        where = _generate(row, Path(scratch)) if "generate" in row else folder(name)
        return [document for path in _files(where, row.get("crds", [])) for document in _documents(path)]


def _index(stage: Path) -> int:
    """Write all schemas into a folder, the index last; return how many kinds there are."""
    index: dict[str, dict[str, str]] = {}
    metadata: dict[str, Any] = {}
    for name, row in table()["sources"].items():
        source = f"{row['module']} {row['version']}"
        for api, kind, schema in _schemas(name, row, stage, metadata):
            if not api:
                metadata = metadata or schema
                continue
            file = f"{api}_{kind}.json".replace("/", "_")
            (stage / file).write_text(json.dumps(schema), encoding="utf-8")
            index[f"{api}/{kind}"] = {"file": file, "source": source}
    (stage / INDEX).write_text(json.dumps(index, indent=1, sort_keys=True), encoding="utf-8")
    return len(index)


def _schemas(name: str, row: dict[str, Any], stage: Path, metadata: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield what one source defines. The native API comes first in the table: CRDs borrow its ObjectMeta."""
    if not row.keys() & {"openapi", "crds"}:
        return
    say(f"schemas: {name} {row['version']}")
    where = folder(name)
    for path in _files(where, row.get("openapi", [])):
        yield from structural.from_openapi(json.loads(path.read_text(encoding="utf-8")))
    for document in crds(name):
        yield from structural.from_crd(document, metadata)


def _documents(path: Path) -> list[dict[str, Any]]:
    import yaml  # only here: everything else of this package works before PyYAML is installed

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """A safe loader that reads a plain `=` as the text it is; YAML 1.1 gives it a type that PyYAML cannot make."""

    Loader.yaml_implicit_resolvers = {key: found for key, found in Loader.yaml_implicit_resolvers.items() if key != "="}
    found = [item for item in yaml.load_all(path.read_text(encoding="utf-8"), Loader) if item]
    return [item for item in found if item.get("kind") == "CustomResourceDefinition"]


def _files(where: Path, globs: list[str]) -> Iterator[Path]:
    for pattern in globs:
        found = sorted(where.glob(pattern))
        if not found:
            raise BuildFailed(f"{where}: no file {pattern}", "check tools/toolchain/versions.toml")
        yield from found


def _generate(row: dict[str, Any], scratch: Path) -> Path:
    """Let controller-gen write CRDs from the Go types of a module that ships none; return their folder."""
    generator = build.ensure("controller-gen")
    stand_in(row["module"], row["version"], scratch, _log())
    go = golang.go()
    env = golang.environment(go) | {"GOFLAGS": "-mod=mod -buildvcs=false"}
    argv = [str(generator), "crd:allowDangerousTypes=true,ignoreUnexportedFields=true",
            f"paths={row['generate']}", "output:crd:dir=crds"]  # fmt: skip
    run(argv, title=f"schemas: {row['module']}: generating", log=_log(), env=env, cwd=scratch)
    return scratch / "crds"


def _log() -> Path:
    return cache.folder("logs") / "schemas.log"


def _key() -> str:
    """Name the folder after the pins and the converter's own text: a change of either makes a new one."""
    text = repr(table()["sources"]) + Path(structural.__file__).read_text(encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()[:16]
