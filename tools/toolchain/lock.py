"""Writes requirements/dev.lock anew: exact versions and hashes, for every platform, naming no registry."""

from __future__ import annotations

import sys
from pathlib import Path

from . import cache
from .process import run, say
from .venv import CHECKOUT, LOCK

_FLAGS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-header",
          "--no-annotate", "--group", "dev")  # fmt: skip


def lock(*, upgrade: bool, checkout: Path = CHECKOUT) -> None:
    """Resolve pyproject.toml with uv (a tool for this alone, kept in the cache) into the lock file.

    Args:
        upgrade: take the newest versions; otherwise what is locked stays where it still fits.
        checkout: folder with pyproject.toml.

    Raises:
        BuildFailed: uv cannot be installed or finds no solution.
    """
    log = cache.folder("logs") / "lock.log"
    place = cache.folder("uv")
    uv = place / "bin" / "uv"
    if not uv.exists():
        run([sys.executable, "-m", "venv", "--clear", place], title="uv: creating its place", log=log)
        run([place / "bin" / "python", "-m", "pip", "install", "--quiet", "uv"], title="uv: installing", log=log)
    argv = [str(uv), "pip", "compile", "--quiet", *_FLAGS, *(["--upgrade"] if upgrade else []),
            "pyproject.toml", "--output-file", str(LOCK)]  # fmt: skip
    run(argv, title="lock: resolving", log=log, cwd=checkout)
    say(f"wrote {LOCK}; `make setup` installs it")
