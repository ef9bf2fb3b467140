"""`sailplan check`: everything that can be found without a cluster."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sailplan.cli import options, terminal
from sailplan.cli.commands import application

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sailplan.checks import Seen
    from sailplan.model import Document, Finding

app = application()


class Format(StrEnum):
    """How findings are printed."""

    text = "text"
    json = "json"
    github = "github"


Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="Only what is in these files or folders; intents anywhere; - is stdin."),
]


@app.command()
def check(
    paths: Paths = None,
    output: Annotated[Format, typer.Option("-o", "--output", help="How to print findings.")] = Format.text,
    render: Annotated[
        bool, typer.Option("--render", help="Render each Application too: what definitions refuse, only vela can say.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    list_rules: Annotated[bool, typer.Option("--list-rules", help="Show what is checked, and why.")] = False,
    catalog: options.Catalog = "",
) -> None:
    """Check the catalog, definitions, intents, and for drift.

    Drift is what is committed and not up to date: composed Applications, generated schemas. With --render, which a
    pipeline wants, the real vela says what definitions refuse in any environment; it takes some seconds more.
    """
    from sailplan import checks
    from sailplan.findings import errors, worst_first
    from sailplan.toolbox import proc

    if list_rules:
        _rules(output)
        return
    root = options.root(catalog)
    inside, intents = _sorted_out(root, paths or ())
    if render:
        # Whoever asks for it and has no vela hears that at once.
        proc.tool("vela")
    seen = checks.everything(root, intents)
    found = [finding for finding in seen.findings if _wanted(root, finding, inside, intents)]
    found += checks.concerning(root, inside) if inside else ()
    found = worst_first([*found, *(_refused(root, seen, inside, intents) if render else ())])
    _print(found, output)
    if errors(found) or (strict and any(finding.severity == "warning" for finding in found)):
        raise typer.Exit(1)


def _print(found: Sequence[Finding], output: Format) -> None:
    from sailplan import report, writer

    if output is Format.json:
        terminal.out(writer.dump_json(report.plain(found)))
    elif output is Format.github:
        terminal.out(report.github(found))
    else:
        terminal.out(report.text(found, terminal.colour(sys.stdout)) or "no findings\n")


def _rules(output: Format) -> None:
    from sailplan import writer
    from sailplan.rules import listed

    rules = listed()
    if output is Format.json:
        keys = ("id", "severity", "title", "reason")
        terminal.out(writer.dump_json([{key: getattr(rule, key) for key in keys} for rule in rules]))
        return
    terminal.out("".join(f"{rule.id} {rule.severity}: {rule.title}\n    {rule.reason}\n" for rule in rules))


def _sorted_out(root: Path, paths: Sequence[str]) -> tuple[list[Path], list[Document]]:
    """Paths inside the checkout, which only choose what to show, and intents from elsewhere, which are read."""
    from pathlib import Path

    from sailplan.errors import UsageError

    inside: list[Path] = []
    intents: list[Document] = []
    for text in paths:
        path = Path(text)
        if text == "-":
            intents += options.read(text)
        elif not path.exists():
            raise UsageError(f"{text}: no such file or folder")
        elif path.resolve().is_relative_to(root):
            inside.append(path.resolve())
        elif path.is_dir():
            raise UsageError(f"{text} is outside the checkout {root}", "name files, or a checkout with --catalog DIR")
        else:
            intents += options.read(text)
    return inside, intents


def _refused(root: Path, seen: Seen, inside: Sequence[Path], intents: Sequence[Document]) -> list[Finding]:
    """What vela says: all of it about the intents that were asked for, of others what stands in the files named."""
    from sailplan.refused import refused

    everywhere = not inside and not intents
    # An environment or a capability may spoil any Application.
    elsewhere = any(not path.is_relative_to(root / "applications") for path in inside)
    asked, others = [], []
    for made in seen.compositions:
        if everywhere or any(made.app is one for one in intents) or _below(root, made.app.file, inside):
            asked.append(made)
        elif elsewhere:
            others.append(made)
    terminal.progress(f"rendering {len(asked) + len(others)} applications ...")
    found = refused(seen.catalog, others)
    return [*refused(seen.catalog, asked), *(one for one in found if _below(root, one.position.file, inside))]


def _wanted(root: Path, finding: Finding, inside: Sequence[Path], intents: Sequence[Document]) -> bool:
    if not inside and not intents:
        return True
    file = finding.position.file
    return _below(root, file, inside) or any(file == app.file for app in intents)


def _below(root: Path, file: str, places: Sequence[Path]) -> bool:
    """Whether a file of the checkout is, or is in, one of some places; as it is named, or where a link leads."""
    named = root / file
    return any(one.is_relative_to(place) for one in (named, named.resolve()) for place in places)
