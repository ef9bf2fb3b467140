"""`sailplan doctor`: whether a hub with its clusters is ready for the applications here."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application

app = application()


class Format(StrEnum):
    """How findings are printed."""

    text = "text"
    json = "json"


Environments = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME", help="Only this environment.", autocompletion=complete.environments),
]


@app.command()
def doctor(
    env: Environments = None,
    output: Annotated[Format, typer.Option("-o", "--output", help="How to print it.")] = Format.text,
    context: Annotated[str, typer.Option("--context", metavar="NAME", help="Context that is the hub.")] = "",
    catalog: options.Catalog = "",
) -> None:
    """Check the hub that KUBECONFIG names, and its clusters. Looks at versions, CRDs, namespaces, GPUs and more."""
    from sailplan import doctor as library
    from sailplan import report, writer
    from sailplan.catalog import load
    from sailplan.findings import errors, worst_first
    from sailplan.names import unknown
    from sailplan.toolbox.kube import hub

    everything = load(options.root(catalog))
    for name in env or ():
        if name not in everything.environments:
            raise unknown("environment", name, everything.environments)
    used = {name for one in everything.apps.values() for name in one.spec.get("environments", ())}
    diagnosis = library.examine(everything, hub(context), env or sorted(used & everything.environments.keys()))
    found = worst_first(diagnosis.findings)
    if output is Format.json:
        terminal.out(writer.dump_json({"there": diagnosis.said, "findings": report.plain(found)}))
    else:
        terminal.out("".join(f"{line}\n" for line in diagnosis.said))
        terminal.out(report.text(found, terminal.colour(sys.stdout)) or "no findings\n")
    if errors(found):
        raise typer.Exit(1)
