"""The command `sailplan` (also `kubectl sailplan`): declares options and prints; the logic is in the library.

Commands are modules of this package and are imported only when they are called, so that start-up costs little more than
typer itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and end the program with the exit code it calls for."""
    from sailplan.cli.outcome import Outcome

    with Outcome():
        from sailplan.cli.commands import command

        command().main(list(sys.argv[1:] if argv is None else argv), prog_name=_program())


def _program() -> str:
    # As a kubectl plugin the program is called by its file name; people type it as a word of kubectl.
    return "kubectl sailplan" if sys.argv and sys.argv[0].endswith("kubectl-sailplan") else "sailplan"
