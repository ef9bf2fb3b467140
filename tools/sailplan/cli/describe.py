"""`sailplan describe`: one thing at length."""

from __future__ import annotations

from typing import Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application

app = application()

Type = Annotated[
    str, typer.Argument(metavar="TYPE", help=f"One of {', '.join(complete.KINDS)}.", autocompletion=complete.kinds)
]
Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=complete.of_type)]


@app.command()
def describe(type: Type, name: Name, catalog: options.Catalog = "") -> None:
    """Show one thing at length: fit, knobs, prerequisites."""
    from sailplan import listing, pipeline
    from sailplan.catalog import load
    from sailplan.describe import describe as text

    kind = listing.kind(type)
    everything = load(options.root(catalog))
    good, findings = pipeline.sound(everything)
    pipeline.stop_at(everything, kind.plural, name)
    listing.pick(kind.items(good), kind, [name])
    options.warn(findings)
    terminal.out(text(good, kind.plural, name))
