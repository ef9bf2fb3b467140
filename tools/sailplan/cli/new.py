"""`sailplan new`: the beginning of what a platform team owns."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from sailplan.cli import options, terminal
from sailplan.cli.commands import application
from sailplan.errors import UsageError

app = application()


class Type(StrEnum):
    """What can be begun."""

    definition = "definition"


class Component(StrEnum):
    """Components that traits go with."""

    engine = "vllm-model"
    edge = "inference-api"


@app.command()
def new(
    type: Annotated[Type, typer.Argument(metavar="TYPE", help="definition", show_default=False)],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new trait.", show_default=False)],
    component: Annotated[
        list[Component] | None,
        typer.Option("--for", help=f"Type of the components that it goes with, one; {Component.engine} without."),
    ] = None,
    catalog: options.Catalog = "",
) -> None:
    """Begin a definition: a trait with its example and the table of its tests, all of which pass.

    What is generated from definitions is brought up to date. Nothing is overwritten. Models, capabilities and
    environments begin as copies of their neighbours in catalog/.
    """
    from pathlib import Path

    from sailplan import generated, newtrait
    from sailplan.catalog import definition_files

    root = Path(options.root(catalog))
    given = component or [Component.engine]
    if len(given) > 1:
        raise UsageError(f"--for is given {len(given)} times", "a trait begins with one type of components")
    texts = newtrait.files(name, given[0].value)
    known = definition_files(root)
    for path in (*(known[one] for one in known if one == name), *(root / path for path in texts)):
        options.free(path)
    made = generated.added(root, texts)
    terminal.out("".join(f"{terminal.near(root / path)}\n" for path in made))
    terminal.hint(
        f"next: list {name} in TRAITS of tools/sailplan/rules/edges.py, then sailplan definitions check {name}"
    )
