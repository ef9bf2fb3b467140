"""Starts, watches and ends processes that outlive the command that started them.

A process is known by its id and the moment of its birth. A process id alone is not enough: once the process is gone the
system may give its number to somebody else's, and that one must never be killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import PlaneError

_children: dict[int, subprocess.Popen[bytes]] = {}
"""Processes that this Python started: they stay in the process table until asked for their exit code."""

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """One process: its id, and its birth in a form that is only good for comparing."""

    pid: int
    birth: str


def start(argv: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path) -> Process:
    """Start a process in a session of its own: ^C in this terminal does not reach it.

    Args:
        argv: program and arguments.
        log: file that receives stdout and stderr; it is emptied first.
        env: the whole environment.
        cwd: working folder, for programs that drop files where they are.

    Raises:
        PlaneError: it cannot be started.
    """
    with log.open("wb") as out:
        try:
            child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env, cwd=cwd,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise PlaneError(f"cannot start {argv[0]}: {error.strerror}") from error
    _children[child.pid] = child
    return Process(child.pid, birth(child.pid) or "gone at once")


def alive(process: Process) -> bool:
    """Tell whether this very process still runs."""
    child = _children.get(process.pid)
    if child is not None and child.poll() is not None:
        return False
    return birth(process.pid) == process.birth


def exit_code(process: Process) -> int | None:
    """Return the exit code (negative: the signal that killed it); None when it runs or somebody else started it."""
    child = _children.get(process.pid)
    return child.poll() if child is not None else None


def stop(processes: Sequence[Process], grace: float = 15.0, again: float = 3.0) -> list[Process]:
    """Ask processes to end, then make them; return those that had to be made.

    They are asked twice: Kubernetes' programs take the second time as "never mind what you are waiting for" (KubeVela's
    controller waits half a minute otherwise).

    Args:
        processes: all are asked at once.
        grace: seconds until they are killed.
        again: seconds until they are asked again.
    """
    asked = [one for one in processes if _signal(one, signal.SIGTERM)]
    _wait(asked, min(again, grace))
    for one in asked:
        _signal(one, signal.SIGTERM)
    _wait(asked, grace - again)
    stubborn = [one for one in asked if _signal(one, signal.SIGKILL)]
    _wait(stubborn, grace)
    return stubborn


def _wait(processes: Sequence[Process], seconds: float) -> None:
    """Wait until processes are gone, but not longer."""
    deadline = time.monotonic() + seconds
    while any(alive(one) for one in processes) and time.monotonic() < deadline:
        time.sleep(0.05)


def kill(process: Process) -> None:
    """End a process as a crash would, and wait until it is gone."""
    _signal(process, signal.SIGKILL)
    while alive(process):
        time.sleep(0.02)


def memory(process: Process) -> int:
    """Return this process's share of memory in bytes: a page that n processes share counts 1/n. 0 when unknown."""
    try:
        text = (_PROC / str(process.pid) / "smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return _resident(process.pid)
    sizes = [int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")]
    return sizes[0] * 1024 if sizes else 0


def birth(pid: int) -> str | None:
    """Return when a process was born, as text that no later process of the same id can have; None when it is not there.

    A process that has ended and only waits to be asked for its exit code counts as not there.
    """
    if not _PROC.is_dir():
        return _ask_ps(pid, "lstart=") if "Z" not in (_ask_ps(pid, "state=") or "Z") else None
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the program's name in brackets, and may hold anything, brackets and blanks too.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else f"{_boot()}/{fields[19]}"


def _boot() -> str:
    """Return this boot of the machine: ticks since boot are only comparable within one."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _signal(process: Process, number: int) -> bool:
    """Send a signal to this very process; tell whether it was there."""
    if not alive(process):
        return False
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def _resident(pid: int) -> int:
    said = _ask_ps(pid, "rss=")
    return int(said) * 1024 if said else 0


def _ask_ps(pid: int, field: str) -> str | None:
    """Ask ps, for systems without /proc."""
    try:
        done = subprocess.run(["ps", "-o", field, "-p", str(pid)], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None
