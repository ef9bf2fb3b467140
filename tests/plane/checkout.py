"""A checkout of one's own, to change definitions in and to run `sailplan` in against the plane's hub."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from plane.support import Desk


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err


def copied(source: Path, folder: Path) -> Path:
    """Copy what a checkout is to `sailplan`: definitions, catalog, applications."""
    for name in ("definitions", "catalog", "applications"):
        shutil.copytree(source / name, folder / name)
    return folder


class Checkout:
    """A copy of a checkout, and the hub of a desk."""

    def __init__(self, folder: Path, desk: Desk) -> None:
        self.folder = folder
        self._desk = desk

    def sailplan(self, *args: str, timeout: float = 300.0, kubeconfig: str = "") -> Ran:
        program = Path(sys.executable).with_name("sailplan")
        env = {**os.environ, "KUBECONFIG": kubeconfig or str(self._desk.plane.kubeconfig)}
        done = subprocess.run(
            [program, *args], cwd=self.folder, env=env, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert "Traceback" not in done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    def edit(self, name: str, old: str = "", new: str = "", version: str = "") -> None:
        """Change a definition's text, and give it another version."""
        (file,) = self.folder.glob(f"definitions/*/{name}.cue")
        text = file.read_text(encoding="utf-8")
        assert old in text
        text = text.replace(old, new) if old else text
        if version:
            text = re.sub(r'(?m)^(\s*version:\s*)"[^"]+"', rf'\g<1>"{version}"', text, count=1)
        file.write_text(text, encoding="utf-8")
