"""The one runner of other programs: argument lists, a time limit, a clean environment, no survivors.

A program gets only what it needs of the caller's environment, so that a proxy, a KUBECONFIG or a CUE setting of the
person at the keyboard cannot change what is rendered. Each runs in its own process group, and the whole group is killed
when its time is up or when we are interrupted.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from sailplan.errors import ToolError

KEPT = ("PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "SSL_CERT_FILE")
"""What a program inherits; nothing else. `LC_ALL` is set, so that messages read the same everywhere."""

T = TypeVar("T")
R = TypeVar("R")

_running: set[subprocess.Popen[str]] = set()
_lock = threading.Lock()
_stopping = threading.Event()
_depth = 0


@dataclass(frozen=True, slots=True)
class Completed:
    """What a program said and how it ended. Text is UTF-8, broken bytes replaced."""

    command: tuple[str, ...]
    code: int
    stdout: str
    stderr: str


def run(
    args: Sequence[str],
    *,
    input: str | bytes | None = None,
    timeout: float = 60.0,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> Completed:
    """Run a program to its end and return what it said, whatever its exit code.

    Args:
        args: program and arguments, never a shell string.
        input: text for its stdin; stdin is empty without it.
        timeout: seconds before it is killed.
        env: variables on top of the clean environment (`KEPT`).
        cwd: working directory; ours without it.

    Raises:
        ToolError: the program is missing, cannot be started, or took longer than `timeout`.
    """
    text = input.decode("utf-8") if isinstance(input, bytes) else input
    process = _start(args, env, cwd)
    try:
        stdout, stderr = process.communicate(text or "", timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"{args[0]} took longer than {timeout:g} s and was stopped", command=args, stderr=tail(error.stderr or "")
        ) from error
    finally:
        _end(process)
    return Completed(tuple(args), process.returncode, stdout, stderr)


def run_all(work: Callable[[T], R], items: Sequence[T], at_once: int = 2) -> list[R]:
    """Call `work` on every item, a few at the same time, and return the results in the items' order.

    `work` may call `run` and `run_all`; when it raises, or the person presses ^C, everything still running is killed.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(max_workers=at_once)
    with _outermost():
        try:
            return list(pool.map(work, items))
        except BaseException:
            _stop_all()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _outermost() -> Iterator[None]:
    """Programs may start again when the outermost `run_all` has ended, and not before: an inner one is part of it."""
    global _depth  # noqa: PLW0603
    with _lock:
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth:
                _stopping.clear()


def _stop_all() -> None:
    """Kill every program of ours that is still running, with its children, and let no other start meanwhile."""
    with _lock:
        _stopping.set()
        for process in _running:
            _kill(process)


def failed(done: Completed, message: str, hint: str = "") -> ToolError:
    """The error for a program that ran and ended badly: command, exit code and the end of its stderr."""
    return ToolError(
        f"{message}\n  command: {shlex.join(done.command)}\n  exit code: {done.code}\n  {tail(done.stderr)}".rstrip(),
        hint,
        command=done.command,
        code=done.code,
        stderr=tail(done.stderr),
    )


def tail(text: str | bytes, lines: int = 12) -> str:
    """The last `lines` lines, which is where programs say what went wrong."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return "\n".join(text.strip().splitlines()[-lines:])


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables a program gets: `KEPT` of ours, a neutral locale, and `extra`."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", **kept, **(extra or {})}


def _start(
    args: Sequence[str], env: Mapping[str, str] | None, cwd: str | os.PathLike[str] | None
) -> subprocess.Popen[str]:
    try:
        with _lock:
            if _stopping.is_set():
                raise ToolError(f"{args[0]} was not started: an earlier program failed", command=args)
            process = subprocess.Popen(
                list(args),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=clean_environment(env),
                cwd=cwd,
                encoding="utf-8",
                errors="replace",
                process_group=0,
            )
            _running.add(process)
            return process
    except FileNotFoundError as error:
        if cwd is not None and not os.path.isdir(cwd):  # noqa: PTH112 (cwd may be a str)
            raise ToolError(f"{args[0]}: the folder {cwd} does not exist", command=args) from error
        raise ToolError(f"{args[0]} was not found", "`make setup` builds the tools that are missing", args) from error
    except OSError as error:
        raise ToolError(f"{args[0]} could not be started: {error.strerror}", command=args) from error


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        _kill(process)
        process.wait()
    with _lock:
        _running.discard(process)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with suppress(BrokenPipeError):
                stream.close()


def _kill(process: subprocess.Popen[str]) -> None:
    # The group has the id of its first process, which is not reaped yet, so the id cannot belong to anybody else.
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def tool(name: str) -> str:
    """Path of `cue` or `vela` at the version that this checkout is made for.

    Raises:
        ToolError: it is not on this machine, or what `SAILPLAN_CUE` or `SAILPLAN_VELA` names is another version.
    """
    from toolchain import ToolchainError, find

    try:
        return str(find(name))
    except ToolchainError as error:
        raise ToolError(error.message, error.hint) from error
