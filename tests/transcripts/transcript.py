"""README's console blocks, run for real: `$ command` lines, and below each what it printed.

A block is fenced as ```console. A fence that says ```console cluster needs a hub, ```console live the parts of a drill:
these are not run here, the tests of the plane and the live tests do.
A line `...` in the expected output stands for any number of lines. `python tests/transcripts/transcript.py` writes what
the commands print now into README.md (`make docs`), keeping each `...` with the lines around it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```console(?P<where>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
ANY = "..."


@dataclass(frozen=True)
class Step:
    """One command of a block and the lines README shows below it."""

    command: str
    shown: tuple[str, ...]


def blocks(text: str) -> list[tuple[str, list[Step]]]:
    """Every console block of `text`: what its fence says after `console`, and its steps."""
    return [(found["where"].strip(), steps(found["body"])) for found in BLOCK.finditer(text)]


def steps(body: str) -> list[Step]:
    """The commands of one block; a line that ends in a backslash goes on in the next."""
    made: list[Step] = []
    command, shown, open_line = "", [], False
    for line in body.splitlines():
        if line.startswith("$ ") or open_line:
            if line.startswith("$ ") and not open_line:
                if command:
                    made.append(Step(command, tuple(shown)))
                command, shown = "", []
            command += line[2:] if line.startswith("$ ") and not command else "\n" + line
            open_line = line.endswith("\\")
        else:
            shown.append(line)
    if command:
        made.append(Step(command, tuple(shown)))
    return made


def checkout(place: Path) -> dict[str, str]:
    """A copy of the repository's files in `place`, and an environment in which `sailplan` is the one under test."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # No cluster may be reached by a command of the tour, and no colour may depend on who runs it.
    return {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120", "KUBECONFIG": os.devnull}


def run(command: str, place: Path, environment: dict[str, str], seconds: float = 300) -> str:
    """What a command prints on both streams, in order, and its exit code when it is not 0."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        check=False,
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    code = f"\n[exit code {done.returncode}]" if done.returncode else ""
    return (done.stdout.rstrip("\n") + code).lstrip("\n")


def matches(shown: tuple[str, ...], printed: str) -> bool:
    """Whether `printed` is what README shows, `...` lines standing for anything."""
    parts = [re.escape(line.rstrip()) if line.strip() != ANY else None for line in shown]
    pattern = "".join(r"(?:.*\n)*?" if part is None else part + r"\n" for part in parts)
    text = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, text) is not None


def refreshed(text: str, place: Path) -> str:
    """README with the present output below every command; lines around a `...` stay while they still match."""
    environment = checkout(place)

    def block(found: re.Match[str]) -> str:
        if found["where"].strip():
            return found[0]
        lines = []
        for step in steps(found["body"]):
            printed = run(step.command, place, environment)
            keep = (
                step.shown
                if ANY in (line.strip() for line in step.shown) and matches(step.shown, printed)
                else printed.splitlines()
            )
            lines += ["$ " + step.command, *(line.rstrip() for line in keep)]
        return "```console\n" + "\n".join(lines) + "\n```"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    import tempfile

    readme = ROOT / "README.md"
    with tempfile.TemporaryDirectory() as folder:
        readme.write_text(refreshed(readme.read_text(), Path(folder)))
