"""The definitions that an Application is rendered with: those of the checkout, of a commit, or those that a hub has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sailplan.catalog import definition_files
from sailplan.errors import FindingsError
from sailplan.model import Catalog, Composition, Finding, Position
from sailplan.toolbox import git
from sailplan.toolbox.kube import Cluster
from sailplan.writer import dump_line
from sailplan.written import pinned

_VERSION = re.compile(r'^\s*version:\s*"([^"\n]*)"', re.MULTILINE)


def used(made: Composition) -> Iterator[str]:
    """Names of the definitions of an Application: those of its components first."""
    yield from pinned(made.application)
    yield from sorted({name for component in made.components for name in component.traits})


def checkout(catalog: Catalog, made: Composition, folder: Path) -> list[Path]:
    """Files of the checkout; components at their pinned versions, from the history of the checkout if need be.

    Args:
        catalog: of the checkout.
        made: the Application.
        folder: an empty folder for what must be written anew.

    Raises:
        FindingsError: no commit holds the pinned version.
    """
    files = definition_files(Path(catalog.root))
    for name, pin in pinned(made.application).items():
        if pin and pin != catalog.definitions.get(name):
            files = {**files, name: _written(folder, name, _before(catalog, made, name, pin))}
    return [files[one] for one in used(made)]


def commit(catalog: Catalog, made: Composition, reference: str, folder: Path) -> list[Path]:
    """Files of a commit, as `git.show` has them; those that the commit does not have are left out."""
    found = []
    for name in used(made):
        for file in definition_files(Path(catalog.root)).values():
            if file.stem == name:
                text = git.show(Path(catalog.root), reference, file.relative_to(catalog.root).as_posix())
                found += [_written(folder, name, text)] if text is not None else []
    return found


def hub(catalog: Catalog, made: Composition, cluster: Cluster, folder: Path) -> list[Path]:
    """What a hub has in force for an Application; the checkout's for what was never published.

    Raises:
        ClusterError: the hub does not answer.
    """
    from sailplan import published
    from sailplan.proof import in_force
    from sailplan.publish import wanted

    names = list(used(made))
    here = {name: definition for name, (_, definition) in wanted(catalog, names).items()}
    held = {name: published.read(cluster, one["kind"], name) for name, one in here.items()}
    return list(as_files(in_force(made, here, held), folder).values())


def as_files(definitions: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, Path]:
    """Files that vela reads, from definitions as a hub holds them."""
    found: dict[str, Path] = {}
    for name, definition in definitions.items():
        metadata = {key: definition["metadata"].get(key) for key in ("name", "namespace", "annotations", "labels")}
        kept: dict[str, Any] = {key: definition[key] for key in ("apiVersion", "kind", "spec")}
        kept["metadata"] = {key: value for key, value in metadata.items() if value}
        found[name] = _written(folder, name, dump_line(kept), "yaml")
    return found


def _before(catalog: Catalog, made: Composition, name: str, version: str) -> str:
    """Text of a component definition at an earlier version: as it was when that version was last committed."""
    root = Path(catalog.root)
    file = f"definitions/component/{name}.cue"
    for one in git.history(root, file):
        text = git.show(root, one, file) or ""
        said = _VERSION.search(text.partition("\ntemplate:")[0])
        if said and said.group(1) == version:
            return text
    message = f"{made.app.name} pins {name} to v{version}, which no commit of this checkout holds"
    fix = "fetch the whole history (git fetch --unshallow)"
    raise FindingsError([Finding("SP606", "error", Position(file), "", message, fix=fix)])


def _written(folder: Path, name: str, text: str, kind: str = "cue") -> Path:
    path = folder / f"{name}.{kind}"
    path.write_text(text, encoding="utf-8")
    return path
