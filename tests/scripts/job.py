"""Runs the preload script as a process, the way its pod would, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from scripts.rendered import REPOSITORY, REVISION, scripts

SHELLS = {"dash": ("dash",), "bash": ("bash", "--posix"), "busybox": ("busybox", "sh")}
"""dash is what Debian and Ubuntu images have as /bin/sh; the others show that nothing depends on it."""

HERE = [name for name, command in SHELLS.items() if name == "dash" or shutil.which(command[0])]

TOOLS = os.environ.get("SAILPLAN_TEST_HUB_CLIENT", str(Path(sys.executable).parent))
"""Folder with `hf` and `python3`. The variable names another one, to try another version of huggingface_hub."""


@dataclass
class Running:
    """A script that was started, in a process group of its own."""

    process: subprocess.Popen[bytes]
    output: Path

    def wait(self, timeout: float = 60.0) -> int:
        """Its exit code; negative for a signal."""
        return self.process.wait(timeout)

    def said(self) -> str:
        """All that it wrote, stdout and stderr."""
        return self.output.read_text(errors="replace")

    def signal(self, number: int) -> None:
        """To the shell alone, as the kubelet does."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """To all of its processes at once: what the end of a container is."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def strays(self) -> list[str]:
        """Command lines of processes of its group that still run."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                state, _, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
                if int(group) == self.process.pid and state != "Z":
                    found.append((folder / "cmdline").read_text().replace("\0", " ")[:200])
        return found

    def ends(self, seconds: float = 30.0) -> None:
        """Nothing of its group is left, or not for long: a lock's heartbeat may be in the middle of its short sleep."""
        until(lambda: not self.strays(), seconds)


@dataclass
class Preload:
    """The Job of one component on one volume. `tmp` stands for the pod's /tmp."""

    models: Path
    tmp: Path
    tools: str = TOOLS
    shell: str = "dash"
    env: dict[str, str] = field(default_factory=dict)
    prefix: Sequence[str] = ()
    """A command that the script's own is appended to."""
    running: list[Running] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.models / REVISION

    @property
    def marker(self) -> Path:
        return self.folder / ".preload-complete"

    @property
    def lock(self) -> Path:
        return self.models / f"{REVISION}.lock"

    def adapter(self, name: str, revision: str) -> Path:
        return self.models / "loras" / name / revision

    def environment(self) -> dict[str, str]:
        """The rendered variables with /tmp moved, quick locks, and what a test asks for. Nothing of ours leaks in."""
        moved = {
            k: str(self.tmp) + v.removeprefix("/tmp") if v.startswith("/tmp") else v for k, v in scripts().env.items()
        }
        return moved | {
            "PATH": f"{self.tools}{os.pathsep}{os.defpath}",
            "MODELS_ROOT": str(self.models),
            "LOCK_WAIT": "0.1",
            "LOCK_BEAT": "0.2",
            # Rendered without adapters it would be empty; tests that want some say so.
            "ADAPTERS": "",
            **self.env,
        }

    def start(self) -> Running:
        program, *arguments = scripts().command
        assert program == "/bin/sh"
        output = self.tmp / f"output-{len(self.running)}"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [*self.prefix, *SHELLS[self.shell], *arguments],
                env=self.environment(),
                cwd=self.tmp,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running.append(Running(process, output))
        return self.running[-1]

    def run(self, timeout: float = 60.0) -> tuple[int, str]:
        """Exit code and all that it said."""
        started = self.start()
        return started.wait(timeout), started.said()

    def stop(self) -> None:
        for item in self.running:
            item.kill()

    def complete(self) -> bool:
        return self.marker.exists() and self.marker.read_text() == f"{REPOSITORY}@{REVISION}"


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is so; fail when it does not become so in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
