"""What is printed, and where: data to stdout, everything else to stderr; colour and progress only for a person."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

PIPE_CLOSED = 141
"""Exit code when the reader of our output went away: what a shell shows for a program that SIGPIPE ended."""


def use_utf8() -> None:
    """Read and write UTF-8 whatever the locale says: YAML and JSON are UTF-8."""
    for stream, errors in ((sys.stdin, "strict"), (sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def stdin(limit: int) -> bytes:
    """What stdin holds, at most `limit` bytes of it."""
    buffer = getattr(sys.stdin, "buffer", None)
    return buffer.read(limit) if buffer else sys.stdin.read(limit).encode()


def out(text: str) -> None:
    """Write data to stdout. A reader that stopped reading (`| head`) ends the program without a word."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at exit, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(PIPE_CLOSED) from None


def say(text: str) -> None:
    """Write a message for people to stderr."""
    sys.stderr.write(text if text.endswith("\n") else f"{text}\n")


def hint(text: str) -> None:
    """Write to stderr what one could do next, when a person is there to read it."""
    if sys.stderr.isatty() and text:
        say(text)


def progress(text: str) -> None:
    """Write to stderr what is going on, when a person is there to read it."""
    hint(text)


def colour(stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def near(path: Path) -> str:
    """A path as one would type it here: relative when it is below the working directory."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns in kubectl's manner: upper-case header, three blanks between, the last column as long as it is."""
    lines = [[name.upper() for name in header], *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "".join(_row(line, widths) for line in lines)


def _row(line: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)]
    return "   ".join([*cells, line[-1]]).rstrip() + "\n"
