"""`sailplan completion`: the script that teaches a shell our words."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from sailplan.cli.commands import COMPLETE, application, command

app = application()


class Shell(StrEnum):
    """Shells that we complete in."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@app.command(epilog="Bash: source <(sailplan completion bash). Fish: sailplan completion fish | source.")
def completion(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print the completion script for a shell.

    Names of models, capabilities, environments, applications and definitions complete from the catalog.
    """
    import os

    # Typer prints its script when it is called with this variable; it is the one that the script sets later, too.
    os.environ[COMPLETE] = f"source_{shell.value}"
    command().main([], prog_name="sailplan")
