"""Stand-ins for `hf` and `python3`, where only the script's own steps matter. They write down every call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HF = """#!/bin/sh
echo "start $$ $(ls -A "$6" | tr '\\n' ' ')" >> "$STUBS/times"
for word; do printf '%s\\0' "$word"; done >> "$STUBS/calls-hf"
printf '\\n' >> "$STUBS/calls-hf"
sleep "$(cat "$STUBS/seconds")"
while [ -e "$STUBS/shut" ]; do sleep 0.05; done
code=$(cat "$STUBS/hf-code")
[ "$code" -ne 0 ] || echo content > "$6/model.safetensors"
echo "end $$" >> "$STUBS/times"
exit "$code"
"""

PYTHON = """#!/bin/sh
shift 2
printf '%s\\0' "$@" >> "$STUBS/calls-python"
printf '\\n' >> "$STUBS/calls-python"
exit "$(cat "$STUBS/python-code")"
"""


@dataclass(frozen=True)
class Stubs:
    """A folder that goes in front of PATH. Its `hf` takes `--local-dir` as its sixth word, as the script gives it."""

    folder: Path

    def set(self, *, hf: int = 0, verify: int = 0, seconds: float = 0) -> None:
        """Exit codes from now on, and how long a download takes."""
        for name, value in (("hf-code", hf), ("python-code", verify), ("seconds", seconds)):
            (self.folder / name).write_text(str(value))

    def shut(self) -> None:
        """From now on a download takes until `open`."""
        (self.folder / "shut").touch()

    def open(self) -> None:
        (self.folder / "shut").unlink()

    def calls(self, program: str) -> list[list[str]]:
        """Arguments of each call of `hf` or `python` (after `-c TEXT`)."""
        file = self.folder / f"calls-{program}"
        if not file.exists():
            return []
        return [record.split("\0") for record in file.read_text().split("\0\n") if record]

    def times(self) -> list[list[str]]:
        """`start PID FILES...` and `end PID`, in the order they happened."""
        file = self.folder / "times"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def make(folder: Path) -> Stubs:
    for name, text in (("hf", HF), ("python3", PYTHON)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    stubs = Stubs(folder)
    stubs.set()
    return stubs
