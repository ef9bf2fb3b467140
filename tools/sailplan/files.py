"""Opens the files below a checkout; every way in which a file can be wrong becomes a finding."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sailplan.errors import UsageError
from sailplan.findings import nearest, shortened
from sailplan.model import Document, Finding, Position
from sailplan.yamltext import Positions, parse

FOLDERS = {"models": "Model", "capabilities": "Capability", "environments": "Environment"}
"""Folders of `catalog/`, and the kind of document that each holds."""

SINGLES = {"gpus.yaml": "GPUClasses", "images.yaml": "Images", "apis.yaml": "APIs"}
"""Files of `catalog/` that exist once, and their kinds."""

BESIDE = {"Edge": "Model"}
"""Kinds that share a folder, and so their names, with another one."""

KINDS = (*FOLDERS.values(), *BESIDE, *SINGLES.values(), "App")

MAX_BYTES = 1 << 20
"""Largest file that is read. Ours have two kilobytes; more than this is not a document but an accident."""


class Files:
    """The files below a checkout, read one after the other.

    Attributes:
        findings: what is wrong with those read so far.
        duplicates: documents whose name another one had already.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.findings: list[Finding] = []
        self.duplicates: list[Document] = []

    def folder(self, folder: Path, kind: str) -> dict[str, Document]:
        """All documents in a folder, by name."""
        found: dict[str, Document] = {}
        for path in self._presets(folder):
            self._keep(found, self._one(path, kind, path.stem))
        return found

    def single(self, path: Path, kind: str) -> Document | None:
        """The document in a file that exists once; None without the file."""
        return self._one(path, kind, path.stem) if path.exists() or path.is_symlink() else None

    def apps(self, folder: Path, only: Iterable[str] | None) -> dict[str, Document]:
        """The intents in the folders below `folder`, by name; only those named in `only`, when given.

        Raises:
            UsageError: one of `only` does not exist.
        """
        names = [path.name for path in _listed(folder) if path.is_dir() and not path.name.startswith((".", "_"))]
        wanted = names if only is None else list(dict.fromkeys(only))
        for name in wanted:
            if name not in names:
                near = nearest(name, names)
                hint = f"did you mean {near}?" if near else f"there are: {', '.join(names) or 'none'}"
                raise UsageError(f"no application {name} in {self._name(folder)}", hint)
        found: dict[str, Document] = {}
        for name in wanted:
            self._keep(found, self._app(folder / name))
        return found

    def _keep(self, found: dict[str, Document], document: Document | None) -> None:
        if document and document.name in found:
            self.duplicates.append(document)
        elif document:
            found[document.name] = document

    def _app(self, folder: Path) -> Document | None:
        path = folder / "app.yaml"
        if path.is_file() or path.is_symlink():
            return self._one(path, "App", folder.name)
        self._wrong(self._name(folder), "the folder holds no app.yaml", "name the intent app.yaml")
        return None

    def _presets(self, folder: Path) -> Iterator[Path]:
        for path in _listed(folder):
            if path.name.startswith(".") or path.name == "README.md" or path.suffix == ".partial":
                continue
            if path.suffix == ".yaml" and not path.is_dir():
                yield path
            else:
                fix = f"name it {path.stem}.yaml" if path.suffix in (".yml", ".json") else "move it elsewhere"
                self._wrong(self._name(path), "this is no preset: those are files NAME.yaml", fix)

    def _one(self, path: Path, kind: str, name: str) -> Document | None:
        file = self._name(path)
        text = self.text(path)
        if text is None:
            return None
        parsed, findings = parse(text, file)
        self.findings += findings
        if len(parsed) > 1:
            second = Position(file, parsed[1].line, parsed[1].column)
            message = f"the file holds {len(parsed)} documents; one a file"
            self.findings.append(Finding("SP010", "error", second, "", message, fix="give each a file of its own"))
        if not parsed:
            if not findings:
                self._wrong(file, "the file is empty", f"write a document of kind {kind}, or delete the file")
            return None
        data = parsed[0].data
        said = data.get("kind") if isinstance(data, Mapping) else None
        # Only text can be a kind; anything else is for `document` to refuse.
        kind = said if isinstance(said, str) and BESIDE.get(said) == kind else kind
        made, wrong = document(data, file, Positions(text, 0), kind, name)
        self.findings += wrong
        return made

    def text(self, path: Path) -> str | None:
        """Text of a file; None, and a finding, when it cannot be read."""
        file = self._name(path)
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):
                self._wrong(file, "this is no ordinary file")
                return None
            if found.st_size > MAX_BYTES:
                self._wrong(file, f"the file has {found.st_size} bytes; at most {MAX_BYTES} are read")
                return None
            return path.read_bytes().decode("utf-8")
        except OSError as error:
            self._wrong(file, f"the file cannot be read: {os.strerror(error.errno or 0)}")
        except UnicodeDecodeError as error:
            self.findings.append(not_utf8(error, file))
        return None

    def _wrong(self, file: str, message: str, fix: str = "") -> None:
        self.findings.append(unreadable(file, message, fix))

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)


def document(
    data: Any, file: str, positions: Positions, kind: str, name: str = ""
) -> tuple[Document | None, list[Finding]]:
    """The document in `data`, when it is a map and of the kind that its place asks for.

    Args:
        data: what the YAML said.
        file: where it stands, for messages.
        positions: places of its values.
        kind: what belongs there.
        name: the name that the file or folder has; without it any name will do.
    """
    if not isinstance(data, Mapping):
        article = "an" if kind[0] in "AE" else "a"
        message = f"{article} {kind} is a map that starts with apiVersion and kind; this is none"
        return None, [Finding("SP010", "error", Position(file, 1, 1), "", message, shortened(data))]
    metadata = data.get("metadata")
    said = metadata.get("name") if isinstance(metadata, Mapping) else None
    own = said if isinstance(said, str) else ""
    made = Document(kind, own or name, file, data, positions)
    wrong = _of_kind(made, data.get("kind"), kind)
    if wrong:
        return None, [wrong]
    return made, [_misnamed(made, own, name, kind)] if own and name and own != name else []


def unreadable(file: str, message: str, fix: str = "") -> Finding:
    """The finding for a file as a whole."""
    return Finding("SP009", "error", Position(file), "", message, fix=fix)


def not_utf8(error: UnicodeDecodeError, file: str) -> Finding:
    """The finding for bytes that are no text."""
    before = error.object[: error.start]
    place = Position(file, before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1)
    message = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
    return Finding("SP009", "error", place, "", message, fix="save the file as UTF-8")


def read_all(root: Path, paths: Iterable[Path]) -> tuple[dict[Path, str], list[Finding]]:
    """Texts of files below `root` that can be read, and findings about those that cannot."""
    files = Files(root)
    read = {path: files.text(path) for path in paths}
    return {path: text for path, text in read.items() if text is not None}, files.findings


def _of_kind(document: Document, given: Any, kind: str) -> Finding | None:
    if given == kind:
        return None
    at = document.at("kind")
    if given is None:
        return Finding("SP004", "error", at, "kind", "kind is missing", "", kind, fix=f"write kind: {kind}")
    said = shortened(given)
    message = f"a document of kind {said} does not belong here" if given in KINDS else f"unknown kind {said}"
    kinds = [kind, *(other for other, place in BESIDE.items() if place == kind)]
    near = nearest(said, kinds)
    return Finding("SP010", "error", at, "kind", message, said, ", ".join(kinds), near, f"write kind: {near or kind}")


def _misnamed(document: Document, said: str, name: str, kind: str) -> Finding:
    what = "folder" if kind == "App" else "file"
    message = f"metadata.name is {said}, but the {what} is named {name}"
    at = document.at("metadata", "name")
    return Finding(
        "SP010", "error", at, "metadata.name", message, said, name, fix=f"write {name}, or rename the {what}"
    )


def _listed(folder: Path) -> Sequence[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return ()
