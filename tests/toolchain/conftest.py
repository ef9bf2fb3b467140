"""A machine in a folder: an empty cache, and a `go` that answers as Go does but compiles in no time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from toolchain import pins

TOOLS = Path(pins.__file__).parents[1]

# Records each call, waits as long as FAKE_SECONDS says, then "compiles": the tool is a script that tells its version.
FAKE_GO = r"""#!/bin/sh
[ "$1" = version ] && { echo "go version go${FAKE_GO_VERSION:-1.26.9} linux/amd64"; exit 0; }
here=$(dirname "$0")
echo "$*" >> "$here/calls"
env > "$here/env"
. "$here/settings"
for last in "$@"; do :; done
if [ "$1" = install ]; then
    mkdir -p "$GOBIN"; out="$GOBIN/cue"
    printf '#!/bin/sh\n' > "$out"       # half a binary lies there while the build goes on
    chmod +x "$out"
    echo "$$" > "$here/pid"
    echo "go: downloading example.org/one v1.0.0"
    sleep "${FAKE_SECONDS:-0}"
    [ -n "$FAKE_ERROR" ] && { echo "$FAKE_ERROR" >&2; exit 1; }
    echo "echo cue version ${FAKE_TOOL_VERSION:-${last##*@}}" >> "$out"
fi
"""


@dataclass
class Machine:
    """Paths and settings of the pretended machine."""

    home: Path

    @property
    def bin(self) -> Path:
        """The one folder on PATH, besides the system's."""
        return self.home / "bin"

    @property
    def cache(self) -> Path:
        return self.home / "the cache"

    def calls(self) -> list[str]:
        """Return what `go` was asked to do, without questions about its version."""
        file = self.bin / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def go(self, **settings: str) -> None:
        """Change how the pretended Go behaves from now on."""
        lines = [f"{key}='{value}'\n" for key, value in settings.items()]
        (self.bin / "settings").write_text("".join(lines), encoding="utf-8")

    def program(self, name: str, says: str) -> Path:
        """Put a script on PATH that prints a text."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start the command line in a process of its own."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "SAILPLAN_CACHE": str(self.cache),
               "PYTHONPATH": str(TOOLS)}  # fmt: skip
        return subprocess.Popen([sys.executable, "-m", "toolchain", *args], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip

    def run(self, *args: str) -> tuple[int, str, str]:
        """Run the command line to its end: (exit code, stdout, stderr)."""
        process = self.start(*args)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def leftovers(self) -> list[str]:
        """Return what lies in the cache's folder of tools besides whole ones."""
        return [path.name for path in (self.cache / "tools").glob("*") if path.name.endswith(".partial")]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A machine with a Go and nothing else; this process sees it too."""
    made = Machine(tmp_path)
    made.bin.mkdir()
    made.go()
    (made.bin / "go").write_text(FAKE_GO, encoding="utf-8")
    (made.bin / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{made.bin}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("SAILPLAN_CACHE", str(made.cache))
    for name in ("SAILPLAN_CUE", "SAILPLAN_VELA", "SAILPLAN_GO"):
        monkeypatch.delenv(name, raising=False)
    yield made


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function after whose call this process may start no program."""

    def forbid() -> None:
        def refuse(*args: object, **_: object) -> None:
            raise AssertionError(f"a program was started: {args}")

        monkeypatch.setattr(subprocess, "Popen", refuse)

    return forbid
