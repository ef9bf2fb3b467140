"""Options that several commands share, and what they mean."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sailplan.cli import complete, terminal
from sailplan.errors import FindingsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sailplan.model import Catalog as CatalogView
    from sailplan.model import Document, Finding

Catalog = Annotated[
    str,
    typer.Option("--catalog", metavar="DIR", help="Use the catalog of the checkout at DIR.", show_default=False),
]
Apps = Annotated[
    list[str] | None,
    typer.Argument(metavar="APP", help="Applications; - reads intents from stdin.", autocompletion=complete.apps),
]
Files = Annotated[
    list[str] | None,
    typer.Option("-f", "--filename", metavar="FILE", help="Read intents from FILE, or from stdin with -."),
]


@dataclass
class _Before:
    """What was said before the command's name."""

    catalog: str = ""


before_command = _Before()


@dataclass(frozen=True)
class Chosen:
    """The catalog, the intents that a command is about, and the files that intents were read from (none for stdin)."""

    catalog: CatalogView
    apps: tuple[Document, ...]
    files: dict[str, Path]


def root(catalog: str) -> Path:
    """The checkout that a command works on."""
    from sailplan.catalog import find_root

    named = catalog or before_command.catalog
    if named and not Path(named).is_dir():
        raise UsageError(f"--catalog {named}: no such folder")
    return find_root(Path(named) if named else None)


def choose(catalog: str, names: Sequence[str] | None, files: Sequence[str] | None, committed: bool = False) -> Chosen:
    """Read the catalog and the intents that were named; with `committed` only those of the checkout.

    Raises:
        UsageError: nothing was named, or a name is unknown.
        FindingsError: a file is not the YAML that we take.
    """
    from sailplan.catalog import load
    from sailplan.names import unknown

    everything = load(root(catalog))
    wanted = [name for name in names or () if name != "-"]
    sources = [*(files or ()), *("-" for name in names or () if name == "-")]
    if not wanted and not sources:
        known = ", ".join(sorted(everything.apps)) or "none yet; `sailplan init` writes one"
        asked = "name an application" if committed else "name an application, or a file with -f FILE"
        raise UsageError(asked, f"applications here: {known}")
    if committed and sources:
        raise UsageError("an intent from stdin has no committed Application", "name an application of the checkout")
    for name in wanted:
        if name not in everything.apps:
            raise unknown("application", name, everything.apps)
    apps = [everything.apps[name] for name in wanted]
    origin = {name: Path(everything.root, everything.apps[name].file) for name in wanted}
    for source in sources:
        for document in read(source):
            apps.append(document)
            if source != "-":
                origin[document.name] = Path(source)
    # An intent that is read from elsewhere stands for the application of its name, so it is not counted twice.
    known_apps = {**everything.apps, **{app.name: app for app in apps}}
    return Chosen(replace(everything, apps=known_apps), tuple(apps), origin)


def free(path: Path) -> None:
    """Refuse to write where something is already, a link to nothing included, or where no folder can be.

    Raises:
        UsageError: says which.
    """
    if os.path.lexists(path):
        raise UsageError(f"{terminal.near(path)} exists already", "choose another name, or change that file")
    nearest = next(folder for folder in path.parents if os.path.lexists(folder))
    if not nearest.is_dir():
        raise UsageError(f"{terminal.near(nearest)} is no folder, and {path.name} belongs below it", "move it away")


def warn(findings: Iterable[Finding]) -> None:
    """Say on stderr what did not stop the command."""
    from sailplan import report
    from sailplan.findings import worst_first

    found = [finding for finding in worst_first(findings) if finding.severity != "note"]
    if found:
        terminal.say(report.text(found, terminal.colour(sys.stderr)))


def as_list(items: Sequence[Any]) -> dict[str, Any]:
    """Several objects as one: kubectl's `v1` List."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def read(source: str) -> list[Document]:
    """The intents in a file, or in stdin (`-`).

    Raises:
        UsageError: there is no such file.
        FindingsError: it cannot be read, or holds something else.
    """
    from sailplan.catalog import read_intents

    if source != "-" and not (Path(source).exists() or Path(source).is_symlink()):
        raise UsageError(f"{source}: no such file")
    if source != "-" and Path(source).is_dir():
        raise UsageError(f"{source}: is a folder", "name the file that holds the intent")
    return read_intents(_text(source), source)


def _text(source: str) -> str:
    """Text of a file, which may be a pipe, or of stdin; no more is read than an intent may have."""
    import os

    from sailplan.files import MAX_BYTES, not_utf8, unreadable

    try:
        if source == "-":
            raw = terminal.stdin(MAX_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                raw = file.read(MAX_BYTES + 1)
        if len(raw) <= MAX_BYTES:
            return raw.decode("utf-8")
        wrong = unreadable(source, f"it has more than {MAX_BYTES} bytes, which is as much as is read")
    except OSError as error:
        wrong = unreadable(source, f"the file cannot be read: {os.strerror(error.errno or 0)}")
    except UnicodeDecodeError as error:
        wrong = not_utf8(error, source)
    raise FindingsError([wrong])
