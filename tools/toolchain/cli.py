"""The command line of the toolchain: `python3 -m toolchain COMMAND`."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Sequence

from .errors import ToolchainError
from .process import say


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code (0, 2 usage, 3 a tool is missing or wrong, 130 interrupted)."""
    args = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a CI's stop cleans up as ^C does
    try:
        args.run(args)
    except ToolchainError as error:
        say(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("\ninterrupted; the next run goes on where this one stopped")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="toolchain", description="Pinned tools of sailplan.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name: str, help_: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help_, description=help_, allow_abbrev=False)
        command.set_defaults(run=globals()[f"_{name}"])
        return command

    add("venv", "make .venv from the lock unless it is up to date")
    add("list", "show each tool: pinned version, and where it is")
    add("ensure", "build what is missing").add_argument("name", nargs="+")
    add("path", "print where a tool is; builds nothing").add_argument("name", nargs="+")
    add("schemas", "print the folder of published API schemas; fetches and converts them when missing")
    add("go", "print where a Go is that is new enough; installs one when there is none")
    add("lock", "pin the Python packages anew").add_argument("--upgrade", action="store_true", help="newest versions")
    return parser


def _venv(_: argparse.Namespace) -> None:
    from . import venv

    venv.ensure()


def _ensure(args: argparse.Namespace) -> None:
    from .build import ensure

    for name in args.name:
        ensure(name)


def _path(args: argparse.Namespace) -> None:
    from .locate import find

    for name in args.name:
        print(find(name))


def _list(_: argparse.Namespace) -> None:
    from .locate import find
    from .pins import tools

    for name, tool in tools().items():
        try:
            place = str(find(name))
        except ToolchainError as error:
            place = f"- ({error.message})"
        print(f"{name:<16} {tool.version:<10} {place}")


def _go(_: argparse.Namespace) -> None:
    from .golang import go

    print(go())


def _schemas(_: argparse.Namespace) -> None:
    from .sources import schemas

    print(schemas())


def _lock(args: argparse.Namespace) -> None:
    from .lock import lock

    lock(upgrade=args.upgrade)
