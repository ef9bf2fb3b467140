"""`sailplan version`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from sailplan.cli import options, terminal
from sailplan.cli.commands import application

app = application()


class Format(StrEnum):
    """How versions are printed."""

    text = "text"
    json = "json"


@app.command()
def version(
    output: Annotated[Format, typer.Option("-o", "--output", help="How to print them.")] = Format.text,
    catalog: options.Catalog = "",
) -> None:
    """Print versions of sailplan, its tools and definitions."""
    from sailplan import __version__, writer

    programs = {"sailplan": __version__, "cue": _tool("cue"), "vela": _tool("vela")}
    definitions = _definitions(catalog)
    if output is Format.json:
        terminal.out(writer.dump_json({**programs, "definitions": definitions}))
        return
    rows = [*programs.items(), *((f"definition {name}", value) for name, value in definitions.items())]
    width = max(len(name) for name, _ in rows)
    terminal.out("".join(f"{name.ljust(width)}  {value}\n" for name, value in rows))


def _definitions(catalog: str) -> dict[str, str]:
    from sailplan.catalog import definitions
    from sailplan.errors import UsageError

    try:
        return definitions(options.root(catalog))
    except UsageError:
        if catalog:
            raise
        return {}  # Outside a checkout there are none to tell about.


def _tool(name: str) -> str:
    from toolchain import ToolchainError, find
    from toolchain.pins import tool

    try:
        find(name)
    except ToolchainError as error:
        return f"missing: {error.message}"
    return tool(name).version
