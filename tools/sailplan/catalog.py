"""Reads the catalog and the intents of a checkout, all at once, into documents that know their lines.

A document is found by where its file lies, `catalog/models/NAME.yaml`, and says the same about itself. Everything that
is wrong with files and their YAML is collected as findings; what a document may say is the business of `schema`.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sailplan.errors import FindingsError, UsageError
from sailplan.files import FOLDERS, SINGLES, Files, document, read_all, unreadable
from sailplan.findings import nearest, worst_first
from sailplan.model import EDGE, ENGINE, Catalog, Document, Finding
from sailplan.yamltext import Positions, parse

__all__ = [
    "definition_files",
    "definition_texts",
    "definitions",
    "find_root",
    "load",
    "nearest",
    "read",
    "read_intents",
    "worst_first",
]

DEFINITION_FOLDERS = ("component", "trait", "workflowstep", "policy")
"""Folders of `definitions/` that hold X-definitions; examples and tests lie beside them."""

PARAMETERS = "catalog/schema/json/definitions"
"""Where the parameters of definitions are, as JSON Schema; made by `sailplan schema --write`."""

_VERSION = re.compile(r'^\s*version:\s*"([^"\n]*)"', re.MULTILINE)


def find_root(start: Path | None) -> Path:
    """The checkout around `start`: the nearest folder, from it upwards, with `catalog/` and `definitions/`.

    Args:
        start: where to look first; the working directory without it.

    Raises:
        UsageError: there is none.
    """
    here = Path(start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "catalog").is_dir() and (folder / "definitions").is_dir():
            return folder
    raise UsageError(
        f"{here}: neither here nor above is a folder with catalog/ and definitions/",
        "run sailplan inside a checkout, or name one with --catalog DIR",
    )


def load(root: Path, only_apps: Iterable[str] | None = None) -> Catalog:
    """Read all documents below `root`.

    Args:
        root: the checkout, see `find_root`.
        only_apps: names of the intents to read; all of them without it.

    Raises:
        FindingsError: a file cannot be read or is not the YAML we take; all such problems at once.
        UsageError: one of `only_apps` does not exist.
    """
    catalog, findings = read(root, only_apps)
    if findings:
        raise FindingsError(findings)
    return catalog


def read(root: Path, only_apps: Iterable[str] | None = None) -> tuple[Catalog, list[Finding]]:
    """As `load`, but returns what could be read together with the findings, worst first."""
    files = Files(root)
    with _quiet_collector():
        documents = {kind: files.folder(root / "catalog" / name, kind) for name, kind in FOLDERS.items()}
        singles = {kind: files.single(root / "catalog" / name, kind) for name, kind in SINGLES.items()}
        apps = files.apps(root / "applications", only_apps)
    definitions, unread = definition_texts(root)
    catalog = Catalog(
        root=str(root),
        models=_of_kind(documents["Model"], "Model"),
        edges=_of_kind(documents["Model"], "Edge"),
        parameters=parameters(root, (ENGINE, EDGE)),
        capabilities=documents["Capability"],
        environments=documents["Environment"],
        apps=apps,
        gpus=singles["GPUClasses"],
        images=singles["Images"],
        apis=singles["APIs"],
        definitions=_versions(definitions),
        duplicates=tuple(files.duplicates),
    )
    return catalog, worst_first([*files.findings, *unread])


def read_intents(text: str, file: str) -> list[Document]:
    """Read the intents in a text: one YAML document each.

    Args:
        text: YAML.
        file: name for messages, `-` for stdin.

    Raises:
        FindingsError: the text is not YAML that we take, holds no document, or one of another kind.
    """
    parsed, findings = parse(text, file)
    intents: list[Document] = []
    for index, one in enumerate(parsed):
        made, wrong = document(one.data, file, Positions(text, index), "App")
        findings += wrong
        if made and any(made.name == other.name for other in intents):
            message = f"another App is named {made.name} too"
            at = made.at("metadata", "name")
            findings.append(
                Finding("SP012", "error", at, "metadata.name", message, made.name, fix="rename one of them")
            )
        intents += [made] if made else []
    if not parsed and not findings:
        findings.append(unreadable(file, "there is no document in it", "`sailplan init` writes an intent"))
    if findings:
        raise FindingsError(worst_first(findings))
    return intents


def definition_files(root: Path) -> dict[str, Path]:
    """File of every X-definition below `root`, by name, components first; without those that are no files."""
    return {path.stem: path for path in _definition_paths(root) if path.is_file()}


def _definition_paths(root: Path) -> list[Path]:
    folders = [root / "definitions" / name for name in DEFINITION_FOLDERS]
    return [path for folder in folders for path in sorted(folder.glob("*.cue"))]


def definition_texts(root: Path) -> tuple[dict[str, str], list[Finding]]:
    """Text of every X-definition below `root`, by name, components first, and findings about files that are none."""
    found, wrong = read_all(root, _definition_paths(root))
    return {path.stem: text for path, text in found.items()}, wrong


def definitions(root: Path) -> dict[str, str]:
    """Version of every X-definition below `root` that can be read, by name; "" for one that says none."""
    return _versions(definition_texts(root)[0])


def parameters(root: Path, names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """JSON Schema of the parameters of definitions below `root`, by name, as committed."""
    found: dict[str, Mapping[str, Any]] = {}
    for name in names:
        try:
            found[name] = json.loads((root / PARAMETERS / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # the rule about drift says so
    return found


def _versions(definitions: Mapping[str, str]) -> dict[str, str]:
    said = {name: _VERSION.search(text.partition("\ntemplate:")[0]) for name, text in definitions.items()}
    return {name: version.group(1) if version else "" for name, version in said.items()}


def _of_kind(documents: Mapping[str, Document], kind: str) -> dict[str, Document]:
    return {name: document for name, document in documents.items() if document.kind == kind}


@contextmanager
def _quiet_collector() -> Iterator[None]:
    """Hold the cycle collector back while many small objects are made: it finds nothing and costs a third more."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
