"""Where built tools live: one folder a tool, version and platform, outside the checkout so `make clean` spares it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from .errors import ToolchainError


def root() -> Path:
    """Return the cache folder: $SAILPLAN_CACHE, else $XDG_CACHE_HOME/sailplan, else ~/.cache/sailplan."""
    own = os.environ.get("SAILPLAN_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base).absolute() / "sailplan" if base else Path.home() / ".cache" / "sailplan"
    except RuntimeError as error:  # no HOME and no entry in the password file
        raise ToolchainError("there is no home folder to keep built tools in", "set SAILPLAN_CACHE") from error


def folder(name: str) -> Path:
    """Return (and make) a folder of the cache.

    Raises:
        ToolchainError: it cannot be made.
    """
    path = root() / name
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolchainError(f"cannot make {path}: {error.strerror}", "set SAILPLAN_CACHE to a folder") from error
    return path


def machine() -> str:
    """Return the platform part of a cache key, for instance `linux-x86_64`."""
    import platform

    return f"{platform.system()}-{platform.machine()}".lower()


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold an exclusive lock on a file for the length of a `with` block.

    The lock belongs to the open file, so a killed holder lets go of it and no stale lock is left.

    Args:
        path: the lock file; made when missing, never removed (removing it would let two holders in).
        waiting: called once when somebody else holds the lock.
    """
    import fcntl

    with path.open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def staging(target: Path) -> Iterator[Path]:
    """Give a fresh folder next to `target`; when the block ends well it becomes `target` in one rename.

    Folders that an interrupted run left are removed first, so call it with the target's lock held.
    """
    import tempfile

    for old in target.parent.glob(f"{target.name}.*.partial"):
        _remove(old)
    with tempfile.TemporaryDirectory(prefix=f"{target.name}.", suffix=".partial", dir=target.parent,
                                     ignore_cleanup_errors=True) as name:  # fmt: skip
        inner = Path(name) / "new"
        inner.mkdir()
        yield inner
        _remove(target)
        inner.rename(target)


def write(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old text or the new text, never half of it."""
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _remove(path: Path) -> None:
    """Remove a folder tree, read-only parts included (Go makes its modules read-only)."""
    import shutil

    def unlock(function: Callable[[str], object], name: str, _: object) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(name), 0o755)  # noqa: PTH101, PTH120
            os.chmod(name, 0o755)  # noqa: PTH101
            function(name)

    shutil.rmtree(path, onerror=unlock)
