"""README is a tour that works: every command in it is run, and prints what README shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from transcripts.transcript import ROOT, blocks, checkout, matches, run, steps

README = (ROOT / "README.md").read_text()
HERE = [made for where, made in blocks(README) if not where]
CLUSTER = [made for where, made in blocks(README) if where]


def test_readme_shows_what_its_commands_print(tmp_path: Path) -> None:
    environment = checkout(tmp_path)
    wrong = []
    for step in (step for block in HERE for step in block):
        printed = run(step.command, tmp_path, environment)
        if not matches(step.shown, printed):
            wrong.append(f"$ {step.command}\n--- shown\n" + "\n".join(step.shown) + f"\n--- printed\n{printed}")
    assert not wrong, "\n\n".join(wrong) + "\n\n`make docs` writes what is printed now"


def test_every_block_says_where_it_runs() -> None:
    assert HERE, "README shows no command"
    assert {where for where, _ in blocks(README)} <= {"", "cluster", "live"}


OURS = sorted({step.command for block in CLUSTER for step in block if step.command.startswith("sailplan ")})


@pytest.mark.parametrize("command", OURS)
def test_commands_for_a_cluster_exist(command: str) -> None:
    """What needs a hub is not run here, but its sailplan commands and options must exist."""
    words = command.split("|", maxsplit=1)[0].split()[1:]
    program = Path(sys.executable).with_name("sailplan")
    done = subprocess.run([program, words[0], "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for word in words:
        if word.startswith("--"):
            assert word.split("=")[0] in done.stdout


def test_a_block_that_is_wrong_is_seen() -> None:
    """The comparison itself can fail: other text, missing lines and more lines do not match."""
    assert matches(("a", "...", "c"), "a\nb\nb\nc")
    assert not matches(("a", "c"), "a\nb\nc")
    assert not matches(("a",), "a\nb")
    assert not matches(("a", "b"), "a")
    assert [s.command for s in steps("$ x \\\n  y\nout\n$ z\n")] == ["x \\\n  y", "z"]
