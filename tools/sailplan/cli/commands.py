"""The table of commands, and a group that imports a command's module only when it is called."""

from __future__ import annotations

import importlib
import os
from typing import Any

import typer
from typer.core import TyperGroup

from sailplan.cli import options
from sailplan.names import unknown

COMMANDS = (
    "get",
    "describe",
    "explain",
    "init",
    "new",
    "compose",
    "render",
    "check",
    "diff",
    "status",
    "upgrade",
    "doctor",
    "drill",
    "definitions",
    "schema",
    "version",
    "completion",
)
"""In the order in which help lists them; each is a module of this package with an `app`."""


COMPLETE = "_SAILPLAN_COMPLETE"
"""Variable that a shell sets when it asks what could come next."""


class _Lazy(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            raise unknown("command", cmd_name, COMMANDS)
        made = typer.main.get_command(importlib.import_module(f"sailplan.cli.{cmd_name}").app)
        made.name = cmd_name
        return made


def application() -> typer.Typer:
    """A typer application of one command, as every module of this package makes one."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def command() -> Any:
    """The whole command line."""
    completing = COMPLETE in os.environ
    app = typer.Typer(
        cls=_Lazy,
        # Typer learns the shells only with its own two options, which `completion` replaces; so they go again below.
        add_completion=completing,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        epilog="Exit codes: 0 ok, 1 errors or differences, 2 usage, 3 no tool, 4 no cluster, 70 a bug, 130 ^C.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    made = typer.main.get_command(app)
    made.params = [param for param in made.params if param.name not in ("install_completion", "show_completion")]
    return made


def _root(catalog: options.Catalog = "") -> None:
    """Compose catalog presets into KubeVela Applications for LLM inference."""
    options.before_command.catalog = catalog
