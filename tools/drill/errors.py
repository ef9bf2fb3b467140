"""What can go wrong with a drill, apart from a figure that is not as promised.

SailplanError
|- DrillError     1  something of a scenario did not start, ended by itself, or did not come true in time
`- (ToolError     3  something that a scenario needs is not on this machine)
"""

from __future__ import annotations

from pathlib import Path

from sailplan.errors import SailplanError

_LINES = 15


class DrillError(SailplanError):
    """A scenario could not be carried out; `hint` says what helps."""

    exit_code = 1


def tail(log: Path, lines: int = _LINES) -> str:
    """Return the end of a log, indented, with the file's name; "" when there is none."""
    try:
        found = log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
    except OSError:
        return ""
    return "".join(f"\n    {line[:300]}" for line in [*found, f"({log})"])
