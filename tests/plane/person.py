"""Somebody at a terminal who does what README shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from plane.support import ROOT
from toolchain import find
from transcripts.transcript import Step, blocks

TOUR = [step for where, made in blocks((ROOT / "README.md").read_text()) if where == "cluster" for step in made]
"""README's commands for a cluster, with what they print."""

_UNIX = ("awk", "cat", "date", "dirname", "env", "grep", "head", "mkdir", "nice", "rm", "sed", "sh", "tail", "tr")
_ASKED = ("git", "make", "go")
"""What README asks of a system, besides Python; a Go that is there need not be fetched."""

_CACHES = ("CI", "HOME", "SAILPLAN_CACHE", "XDG_CACHE_HOME")


class Person:
    """A terminal: what one command exports the next ones see.

    On its PATH are this checkout's own programs, the tools that it builds, and little of the system: no kubectl, no
    openssl, no container engine, no package manager.
    """

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._exports = folder / "exports"
        self._exports.write_text("", encoding="utf-8")
        programs = folder / "bin"
        programs.mkdir()
        for name in (*_UNIX, *_ASKED):
            if found := shutil.which(name):
                (programs / name).symlink_to(found)
        (programs / "python3").symlink_to(sys.executable)
        (programs / "vela").symlink_to(find("vela"))
        path = f"{Path(sys.executable).parent}{os.pathsep}{programs}"
        kept = {key: os.environ[key] for key in _CACHES if key in os.environ}
        self._env = {**kept, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120", **env}

    def run(self, command: str) -> str:
        """What a command prints, and its exit code when it is not 0."""
        script = f'. "{self._exports}"\n{command}\ncode=$?\nexport -p > "{self._exports}"\nexit $code\n'
        done = subprocess.run(
            ["/bin/sh", "-c", script],
            cwd=ROOT,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
            check=False,
        )
        code = f"\n[exit code {done.returncode}]" if done.returncode else ""
        return done.stdout.strip("\n") + code


def shown(command: str) -> Step:
    """The step of README with this command; a test that runs something else fails."""
    (step,) = [step for step in TOUR if step.command == command][:1] or [None]
    assert step, f"README shows no `{command}`"
    return step
