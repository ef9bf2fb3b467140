"""The virtual environment of the checkout: made from the hashed lock, made again when what it depends on changes."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from . import cache
from .errors import BuildFailed, ToolchainError
from .process import run, say

CHECKOUT = Path(__file__).resolve().parents[2]
LOCK = Path("requirements/dev.lock")

_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
"""Settings of a person's shell that would make pip install elsewhere."""


def ensure(checkout: Path = CHECKOUT) -> Path:
    """Make `.venv` in the checkout unless it is there and up to date; return its Python.

    A stamp written as the last step says what the environment was made from, so one that was interrupted, or made
    from another lock or by another Python, is made again from nothing. pip runs with the hashes of the lock, and the
    package itself is installed as editable without build isolation: nothing unpinned is fetched.

    Raises:
        BuildFailed: pip or venv failed.
        ToolchainError: the lock file is missing.
    """
    place = checkout / ".venv"
    stamp = place / ".ready"
    python = place / "bin" / "python"
    if _read(stamp) == _wanted(checkout) and python.exists():
        return python
    guard = cache.folder("locks") / f"venv-{hashlib.sha256(bytes(place)).hexdigest()[:16]}.lock"
    with cache.locked(guard, lambda: say(".venv: another run is making it, waiting")):
        base, package = _wanted(checkout).split()
        made = _read(stamp).split()
        if made == [base, package] and python.exists():
            return python
        stamp.unlink(missing_ok=True)
        if made[:1] != [base] or not python.exists():
            _create(checkout, place, python)
        _pip(checkout, python, "sailplan itself", "--no-build-isolation", "--no-deps", "--editable", str(checkout))
        cache.write(stamp, f"{base} {package}")
    return python


def _create(checkout: Path, place: Path, python: Path) -> None:
    """Make the environment from nothing and fill it from the lock."""
    say(f".venv: making it with {sys.executable} (Python {sys.version.split()[0]})")
    log = _log()
    try:
        run([sys.executable, "-m", "venv", "--clear", place], title=".venv: creating", log=log)
    except BuildFailed as error:
        raise BuildFailed(error.message, "on Debian and Ubuntu: apt-get install python3-venv") from error
    _pip(checkout, python, "packages", "--require-hashes", "--requirement", str(checkout / LOCK))


def _pip(checkout: Path, python: Path, what: str, *args: str) -> None:
    """Run pip in the environment. `--no-input`: a prompt would hang unseen."""
    # Without bytecode in advance: a third of the time, and most of it is never imported.
    argv = [str(python), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-compile", *args]
    clean = {key: value for key, value in os.environ.items() if key not in _FOREIGN}
    run(argv, title=f".venv: installing {what}", log=_log(), env=clean, cwd=checkout)


def _log() -> Path:
    return cache.folder("logs") / "venv.log"


def _wanted(checkout: Path) -> str:
    """Return two digests: what the packages depend on, and what the package's own metadata depends on."""
    try:
        lock = (checkout / LOCK).read_bytes()
        own = (checkout / "pyproject.toml").read_bytes()
    except OSError as error:
        raise ToolchainError(f"cannot read {error.filename}: {error.strerror}", "is this a checkout?") from error
    home = f"{checkout}\n{sys.base_prefix}\n{sys.version}".encode()
    return f"{hashlib.sha256(lock + home).hexdigest()} {hashlib.sha256(own).hexdigest()}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
