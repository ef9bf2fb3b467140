"""What can go wrong, and with which exit code.

    SailplanError                 70  a bug, when nothing better fits
    |- UsageError                  2  wrong words on the command line, unknown names
    |- FindingsError               1  the input is wrong: carries the list of findings
    |- ToolError                   3  cue or vela is missing, of a wrong version, or failed
    `- ClusterError                4  a cluster is unreachable or refused

Every error carries a hint: what to do next, in words. `sailplan.cli.main` is the one place that turns them into text
and exit codes; the library never prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sailplan.model import Finding


class SailplanError(Exception):
    """Root of all errors that sailplan raises on purpose."""

    exit_code = 70

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SailplanError):
    """The command was called with words that mean nothing here: an unknown app, model, format."""

    exit_code = 2


class FindingsError(SailplanError):
    """The catalog, a definition or an intent is wrong; `findings` says where and what, worst first."""

    exit_code = 1

    def __init__(self, findings: Sequence[Finding], message: str = "", hint: str = "") -> None:
        super().__init__(message or f"{len(findings)} problem(s) found", hint)
        self.findings = tuple(findings)


class ToolError(SailplanError):
    """A tool is missing, of a wrong version, or ended badly. Holds the command, its exit code and the end of stderr."""

    exit_code = 3

    def __init__(
        self, message: str, hint: str = "", command: Sequence[str] = (), code: int = 0, stderr: str = ""
    ) -> None:
        super().__init__(message, hint)
        self.command = tuple(command)
        self.code = code
        self.stderr = stderr


class ClusterError(SailplanError):
    """A cluster could not be reached, or refused what was asked."""

    exit_code = 4
