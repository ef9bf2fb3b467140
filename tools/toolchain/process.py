"""The one door to other programs: argument lists, a log, signs of life, and no orphans after ^C."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .errors import BuildFailed

TICK_SECONDS = 10.0
"""How often a build says that it is alive when nobody watches a terminal."""

_POLL_SECONDS = 0.2
_GRACE_SECONDS = 5.0
_TAIL_LINES = 15


def ask(argv: Sequence[str | os.PathLike[str]], *, timeout: float = 60.0, env: Mapping[str, str] | None = None) -> str:
    """Return what a short command printed (stdout, then stderr), or "" when it cannot run, fails or hangs.

    Args:
        argv: the command and its arguments.
        timeout: seconds until the command is given up.
        env: the whole environment of the command; this process's own when None.
    """
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=timeout, env=env,
                              stdin=subprocess.DEVNULL, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr if done.returncode == 0 else ""


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    title: str,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    status: Callable[[Path], str] = lambda _: "",
) -> str:
    """Run a long command to its end; all it prints goes to `log`, a line about it to stderr now and then.

    The command gets a process group of its own, so that ^C (or SIGTERM, which the command line turns into
    KeyboardInterrupt) ends it with all its children before this function raises.

    Args:
        argv: the command and its arguments.
        title: what a person reads, for instance "cue v0.14.1: building".
        log: file that receives stdout and stderr; its folder must exist.
        env: the whole environment of the command; this process's own when None.
        cwd: working folder of the command.
        status: reads the log and returns a few words for the line of progress.

    Returns:
        All that the command printed.

    Raises:
        BuildFailed: the command does not exist or returned non-zero.
    """
    # One at a time: what a command printed is read back from the log, which others may share. The lock is not on `out`,
    # which the command's own children may keep open.
    with log.open("ab") as guard, log.open("ab") as out:
        fcntl.flock(guard, fcntl.LOCK_EX)
        out.write(f"$ {' '.join(map(str, argv))}\n".encode())
        out.flush()
        began = log.stat().st_size
        try:
            child = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                     env=env, cwd=cwd, process_group=0)  # fmt: skip
        except OSError as error:
            raise BuildFailed(f"{title}: cannot start {argv[0]}: {error.strerror}") from error
        try:
            _watch(child, title, lambda: status(log))
        finally:
            _end(child)
        with log.open("rb") as text:
            text.seek(began)
            said = text.read().decode(errors="replace")
    if child.returncode != 0:
        raise explain(title, list(map(str, argv)), child.returncode, said, log)
    return said


def _watch(child: subprocess.Popen[bytes], title: str, status: Callable[[], str]) -> None:
    """Wait for the child; say how it goes."""
    start = time.monotonic()
    live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    every = 1.0 if live else TICK_SECONDS
    due = start if live else start + every
    while True:
        try:
            child.wait(timeout=_POLL_SECONDS)
            break
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        if now >= due:
            due = now + every
            line = f"{title} {now - start:.0f} s{status()}"
            say(f"\r\033[K{line}" if live else line, end="" if live else "\n")
    if live:
        say("\r\033[K", end="")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Leave no process behind: ask the group to stop, then make it."""
    if child.poll() is not None:
        return
    for sign in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(child.pid, sign)
            child.wait(timeout=_GRACE_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        else:
            return


def say(text: str, end: str = "\n") -> None:
    """Print to stderr (stdout is data only)."""
    print(text, end=end, file=sys.stderr, flush=True)


# Word in the output of go or pip -> what it means and what helps. The first match wins.
_CAUSES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("no space left on device", "disk quota exceeded"),
        "no space left on the disk",
        "free some space, or move the cache with SAILPLAN_CACHE (Go's own: GOCACHE, GOMODCACHE, GOTMPDIR)",
    ),
    (
        ("running go 1.", "requires go >=", "note: module requires go"),
        "the Go found here is too old for this module",
        "unset SAILPLAN_GO, or point it at a newer Go",
    ),
    (
        ("disabled by goproxy=off",),
        "downloads are switched off (GOPROXY=off) and the module is not in Go's module cache",
        "unset GOPROXY or name a reachable Go module proxy",
    ),
    (
        ("checksum mismatch", "do not match the hashes", "security error"),
        "what was downloaded is not what is pinned (checksum mismatch)",
        "do not work around it: try another network, then report it",
    ),
    (
        ("x509:", "certificate_verify_failed", "tls: failed to verify"),
        "the server's certificate is not trusted",
        "behind an inspecting proxy set SSL_CERT_FILE (and PIP_CERT) to its CA bundle",
    ),
    (
        ("dial tcp", "no such host", "connection refused", "i/o timeout", "network is unreachable",
         "temporary failure in name resolution", "tls handshake timeout", "connection reset", "proxyconnect",
         "newconnectionerror", "max retries exceeded", "read timed out"),
        "no network, or the package registry cannot be reached",
        "check the connection and HTTPS_PROXY, GOPROXY, PIP_INDEX_URL; the next run goes on where this one stopped",
    ),
    (
        ("could not find a version", "no matching distribution"),
        "the pinned package is not served for this platform and Python",
        "check PIP_INDEX_URL, and that Python is 3.11 or newer",
    ),
    (
        ("404 not found", "410 gone", "unknown revision", "not found: module"),
        "the pinned version is not served by the module proxy",
        "check tools/toolchain/versions.toml and GOPROXY",
    ),
    (
        ("signal: killed", "cannot allocate memory", "out of memory"),
        "the machine ran out of memory",
        "close other programs, or set GOFLAGS=-p=1; the next run goes on where this one stopped",
    ),
    (
        ("permission denied", "read-only file system", "operation not permitted"),
        "a folder cannot be written",
        "check who owns the cache, or move it with SAILPLAN_CACHE",
    ),
)  # fmt: skip


def explain(title: str, argv: list[str], code: int, said: str, log: Path) -> BuildFailed:
    """Turn the output of a failed command into words, with its end kept for those who want to look."""
    lower = said.lower()
    cause, hint = next(
        ((why, help_) for words, why, help_ in _CAUSES if any(word in lower for word in words)),
        (f"`{Path(argv[0]).name} {' '.join(argv[1:3])}` ended with code {code}", ""),
    )
    tail = "\n".join(f"    {line}" for line in said.strip().splitlines()[-_TAIL_LINES:])
    return BuildFailed(f"{title}: {cause}\n{tail}\n    (all of it: {log})", hint)
