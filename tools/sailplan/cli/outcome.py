"""The one place that turns errors into text and exit codes. A person never sees a traceback unless they ask for one."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from sailplan import __version__
from sailplan.cli import terminal
from sailplan.errors import FindingsError, SailplanError

DEBUG = "SAILPLAN_DEBUG"
INTERRUPTED = 130
TERMINATED = 143
HUNG_UP = 129
BUG = 70


class Outcome:
    """Around a whole run: ends the program with the exit code that the error stands for, after saying what it was."""

    def __enter__(self) -> Outcome:
        """Also ends on SIGTERM, and when the terminal is closed, as on any error: programs we started are ended too."""
        import signal

        terminal.use_utf8()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # nohup keeps its word
            signal.signal(signal.SIGHUP, lambda *_: sys.exit(HUNG_UP))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say what went wrong, and leave."""
        if error is None or isinstance(error, SystemExit):
            return
        if os.environ.get(DEBUG):
            sys.__excepthook__(type(error), error, trace)
        raise SystemExit(explain(error)) from None


def explain(error: BaseException) -> int:
    """Say on stderr what an error means, and return its exit code."""
    from sailplan.findings import masked, worst_first

    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, FindingsError):
        from sailplan import report

        terminal.say(report.text(worst_first(error.findings), terminal.colour(sys.stderr)))
    elif isinstance(error, SailplanError):
        terminal.say(f"error: {masked(error.message)}")
    elif isinstance(error, BrokenPipeError):
        return terminal.PIPE_CLOSED
    elif isinstance(error, OSError):
        # A full disk says so when writing, without the file's name.
        where = f"{error.filename}: " if error.filename else ""
        terminal.say(f"error: {where}{error.strerror or error}")
        return 1
    else:
        said = str(error).splitlines()
        terminal.say(
            f"error: this is a bug in sailplan {__version__}: {type(error).__name__}: {said[0] if said else ''}\n"
            f"hint: {DEBUG}=1 shows where; please report it with the command and the output"
        )
        return BUG
    if error.hint:
        terminal.say(f"hint: {masked(error.hint)}")
    return error.exit_code
