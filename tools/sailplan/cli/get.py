"""`sailplan get`: what a checkout holds."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application

if TYPE_CHECKING:
    from sailplan.listing import Item, Kind

app = application()


class Format(StrEnum):
    """How things are printed."""

    table = "table"
    wide = "wide"
    name = "name"
    json = "json"
    yaml = "yaml"


Type = Annotated[
    str, typer.Argument(metavar="TYPE", help=f"One of {', '.join(complete.KINDS)}.", autocompletion=complete.kinds)
]
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", autocompletion=complete.of_type)]
Selector = Annotated[
    list[str] | None, typer.Option("-l", "--selector", metavar="KEY=VALUE", help="Only with this label.")
]


@app.command()
def get(
    type: Type,
    names: Names = None,
    selector: Selector = None,
    output: Annotated[Format, typer.Option("-o", "--output", help="How to print them.")] = Format.table,
    catalog: options.Catalog = "",
) -> None:
    """List models, capabilities, environments, apps and more."""
    from sailplan import checks, listing
    from sailplan.catalog import load

    kind = listing.kind(type)
    sound, left_out = checks.usable(load(options.root(catalog)))
    # What cannot be read is said; what can be is still listed.
    options.warn(left_out)
    items = listing.pick(kind.items(sound), kind, names or (), selector or ())
    if not items and output in (Format.table, Format.wide):
        terminal.say(f"no {kind.plural} found")
        return
    terminal.out(_text(items, kind, output, single=len(names or ()) == 1))


def _text(items: list[Item], kind: Kind, output: Format, single: bool) -> str:
    from sailplan import writer

    if output is Format.name:
        return "".join(f"{item.kind}/{item.name}\n" for item in items)
    if output in (Format.json, Format.yaml):
        data = items[0].data if single and items else options.as_list([item.data for item in items])
        return writer.dump_json(data) if output is Format.json else writer.dump(data, blocks=True)
    wide = output is Format.wide
    header = kind.columns + (kind.wide if wide else ())
    return terminal.table(header, [item.cells + (item.wide if wide else ()) for item in items])
