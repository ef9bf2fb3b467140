"""`sailplan explain`: the parameters of a definition."""

from __future__ import annotations

from typing import Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application

app = application()

Definition = Annotated[
    str, typer.Argument(metavar="DEFINITION[.FIELD]", autocompletion=complete.definitions, show_default=False)
]


@app.command()
def explain(definition: Definition, catalog: options.Catalog = "") -> None:
    """Show the parameters of a definition.

    Each with its usage, type, default and bounds; DEFINITION.FIELD shows what is inside a field.
    """
    from sailplan.catalog import load
    from sailplan.explain import explain as text

    terminal.out(text(load(options.root(catalog), only_apps=()), definition))
