"""`sailplan status`: what the hub and its clusters say about an application."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sailplan.status import Place, Status

app = application()

_SECONDS = 2.0
"""Between two looks with --watch."""


class Format(StrEnum):
    """How the status is printed."""

    table = "table"
    json = "json"


App = Annotated[str, typer.Argument(metavar="APP", help="The application.", autocompletion=complete.apps)]
Environments = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME", help="Only this environment.", autocompletion=complete.environments),
]


@app.command()
def status(
    name: App,
    env: Environments = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look again until all is healthy, or has failed (exit code 1).")
    ] = False,
    output: Annotated[Format, typer.Option("-o", "--output", help="How to print it.")] = Format.table,
    namespace: Annotated[str, typer.Option("-n", "--namespace", metavar="NAME", help="Of the Application.")] = "",
    context: Annotated[str, typer.Option("--context", metavar="NAME", help="Context that is the hub.")] = "",
    catalog: options.Catalog = "",
) -> None:
    """Show environments, health and GPUs of an application.

    Says why something is not healthy, and which approval is waited for.
    """
    from sailplan import status as library
    from sailplan.catalog import load
    from sailplan.toolbox.kube import hub

    everything = load(options.root(catalog))
    cluster = hub(context)
    before = ""
    while True:
        found = _only(library.read(everything, cluster, name, namespace or "default"), env)
        text = _text(found, output)
        if text != before:
            terminal.out(("\033[H\033[2J" if watch and sys.stdout.isatty() else "") + text)
            before = text
        if not watch or found.healthy:
            return
        if found.failed:
            raise typer.Exit(1)
        time.sleep(_SECONDS)


def _only(found: Status, names: Sequence[str] | None) -> Status:
    from dataclasses import replace

    from sailplan.names import unknown

    known = [place.name for place in found.environments]
    for name in names or ():
        if name not in known:
            raise unknown(f"environment of {found.app}:", name, known)
    return replace(found, environments=tuple(one for one in found.environments if not names or one.name in names))


def _text(found: Status, output: Format) -> str:
    from sailplan import writer

    if output is Format.json:
        return writer.dump_json(found.plain())
    head = f"{found.app}: {found.phase or 'not begun'}" + (f", {found.message}" if found.message else "") + "\n"
    if found.approval:
        head += f"{found.approval} waits for an approval: vela workflow resume {found.app}\n"
    return head + "".join(f"\n{_place(place)}" for place in found.environments)


def _place(place: Place) -> str:
    gpus = "; ".join(
        f"{one.asked} GPUs asked"
        + (f" of a budget of {one.budget}" if one.budget else "")
        + f", {one.free} of {one.total} free in {one.cluster}"
        for one in place.gpus
    )
    lines = [f"{place.name} (namespace {place.namespace}): {place.state}" + (f"; {gpus}" if gpus else "")]
    lines += [place.message] if place.message and place.state != "live" else []
    lines += [f"warning: {one}" for one in place.unreachable]
    rows = []
    for part in place.parts:
        said = [part.message] if part.message else []
        first, *rest = [*said, *part.reasons] or [""]
        rows.append([part.name, part.cluster, part.health, str(part.gpus), first])
        rows += [["", "", "", "", one] for one in rest]
    table = terminal.table(["component", "cluster", "health", "gpus", "message"], rows)
    return "".join(f"{line}\n" for line in lines) + table
