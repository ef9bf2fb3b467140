"""`python -m toolchain.engine ensure|flags [--check]|path|lock`."""

from __future__ import annotations

import argparse
import signal
import sys

from toolchain.errors import ToolchainError
from toolchain.process import say

from . import NAME


def main() -> int:
    """Run one command; return its exit code (0, 1 drift, 2 usage, 3 the environment is missing, 130 interrupted)."""
    args = _parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a CI's stop cleans up as ^C does
    try:
        code: int = args.run(args)
    except ToolchainError as error:
        say(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("\ninterrupted; the next run fetches nothing twice")
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    about = f"The environment of {NAME} on a CPU, and what its argument parser knows."
    parser = argparse.ArgumentParser(prog="toolchain.engine", description=about, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help_ in (
        ("ensure", "build the environment unless it is there (1 GB to fetch, 3 GB on disk)"),
        ("path", "print the environment's Python; builds nothing"),
        ("flags", f"write catalog/engine-flags/{NAME}.json"),
        ("lock", "resolve the environment's packages anew, as of the engine's release"),
    ):
        command = commands.add_parser(name, help=help_, description=help_, allow_abbrev=False)
        command.set_defaults(run=globals()[f"_{name}"])
        if name == "flags":
            command.add_argument("--check", action="store_true", help="write nothing, exit 1 when it would differ")
    return parser


def _ensure(_: argparse.Namespace) -> int:
    from .environment import ensure

    ensure()
    return 0


def _path(_: argparse.Namespace) -> int:
    from .environment import find

    print(find())
    return 0


def _flags(args: argparse.Namespace) -> int:
    from .flags import check, write

    if not args.check:
        say(f"wrote {write()}")
        return 0
    for line in (drift := check()):
        say(line)
    return 1 if drift else 0


def _lock(_: argparse.Namespace) -> int:
    from .relock import lock

    lock()
    return 0


if __name__ == "__main__":
    sys.exit(main())
