"""`sailplan check`: everything that can be found without a cluster."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sailplan.cli import options, terminal
from sailplan.cli.commands import application

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sailplan.asked import Asked
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
    asked, found = _sorted_out(root, paths or ())
    if render:
        # Whoever asks for it and has no vela hears that at once.
        proc.tool("vela")
    seen = checks.everything(root, asked.intents)
    found += filter(asked.wants, seen.findings)
    found += checks.concerning(asked) if asked.places else ()
    found = worst_first([*found, *(_refused(asked, seen) if render else ())])
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


def _sorted_out(root: Path, paths: Sequence[str]) -> tuple[Asked, list[Finding]]:
    """What was asked about, and what is wrong with intents from elsewhere, which are read here."""
    from pathlib import Path

    from sailplan.asked import Asked, checked, intent
    from sailplan.errors import FindingsError, UsageError

    inside: list[Path] = []
    intents: list[Document] = []
    wrong: list[Finding] = []
    for text in paths:
        path = Path(text)
        # A link is asked about under its own name, and what it leads to.
        named = Path(os.path.abspath(text))  # noqa: PTH100 (`resolve` would follow it, `absolute` would keep ..)
        here = {place for place in (named, path.resolve()) if place.is_relative_to(root)}
        if text != "-" and not path.exists() and not path.is_symlink():
            raise UsageError(f"{text}: no such file or folder")
        if text != "-" and any(checked(root, place) for place in here):
            inside += here
        elif text != "-" and here and not intent(path):
            terminal.say(f"{text} is not checked: it is in none of catalog/, definitions/ and applications/")
        elif text != "-" and path.is_dir():
            raise UsageError(f"{text} is outside the checkout {root}", "name files, or a checkout with --catalog DIR")
        else:
            try:
                intents += options.read(text)
            except FindingsError as error:
                wrong += error.findings
    return Asked(root, inside, intents, everything=not paths), wrong


def _refused(asked: Asked, seen: Seen) -> list[Finding]:
    """What vela says: all of it about the intents that were asked for, of others what stands in the places named."""
    from sailplan.refused import refused

    apps = [made for made in seen.compositions if asked.about(made.app)]
    # An environment or a capability may spoil any Application.
    far = any(not place.is_relative_to(asked.root / "applications") for place in asked.places)
    others = [made for made in seen.compositions if far and not asked.about(made.app)]
    terminal.progress(f"rendering {len(apps) + len(others)} applications ...")
    return [*refused(seen.catalog, apps), *filter(asked.wants, refused(seen.catalog, others))]
