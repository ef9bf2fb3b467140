"""What can go wrong while tools are found, fetched and built.

ToolchainError            words for a person, a hint what to do, exit code 3
  WrongVersion            a tool that was named (SAILPLAN_CUE=...) is not the pinned version
  Missing                 a tool is not here and `find` does not build
  BuildFailed             a download, build or install ended badly; the log is named
"""


class ToolchainError(Exception):
    """Anything that a person can mend. `hint` says how; `exit_code` is what the command line returns."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class WrongVersion(ToolchainError):
    """The tool that an environment variable points at is missing, does not run, or has another version."""


class Missing(ToolchainError):
    """The tool is neither in the cache nor on PATH at the pinned version."""


class BuildFailed(ToolchainError):
    """A step of fetching or building failed; the message names the cause when it is a known one."""
