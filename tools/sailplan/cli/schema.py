"""`sailplan schema`: JSON Schema of documents and definitions."""

from __future__ import annotations

from typing import Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application
from sailplan.errors import UsageError

app = application()

Type = Annotated[
    str,
    typer.Argument(
        metavar="TYPE", help="Kind of document (Model, App ...) or definition.", autocompletion=complete.schemas
    ),
]


@app.command()
def schema(
    type: Type = "",
    write: Annotated[bool, typer.Option("--write", help="Bring all generated files up to date instead.")] = False,
    catalog: options.Catalog = "",
) -> None:
    """Print the JSON Schema of a kind of document.

    It is made from the CUE schema, or from a definition's parameters, for editors and other tools.
    """
    from pathlib import Path

    from sailplan import generated, writer

    root = options.root(catalog)
    if write == bool(type):
        raise UsageError("name a kind of document or a definition, or give --write")
    if write:
        changed = generated.write(Path(root))
        terminal.say("".join(f"wrote {name}\n" for name in changed) or "all generated files are up to date")
        return
    terminal.out(writer.dump_json(generated.json_schema(type, root)))
