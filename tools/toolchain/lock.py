"""Writes requirements/*.lock anew: exact versions and hashes, for every platform, naming no registry."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from . import cache
from .errors import ToolchainError
from .process import run, say
from .venv import CHECKOUT, LOCK

SERVE_LOCK = Path("requirements/serve.lock")
"""What the facade's image installs: the extra `serve` alone, at the versions of the other lock."""

_FLAGS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-header",
          "--no-annotate")  # fmt: skip


def lock(*, upgrade: bool, checkout: Path = CHECKOUT) -> None:
    """Resolve pyproject.toml with uv (a tool for this alone, kept in the cache) into the lock files.

    Args:
        upgrade: take the newest versions; otherwise what is locked stays where it still fits.
        checkout: folder with pyproject.toml.

    Raises:
        BuildFailed: uv cannot be installed or finds no solution.
        ToolchainError: pyproject.toml has no extra `serve`.
    """
    log = cache.folder("logs") / "lock.log"
    uv = _uv(log)
    more = ["--upgrade"] if upgrade else []
    argv = [uv, "pip", "compile", "--quiet", *_FLAGS, *more, "--group", "dev", "--extra", "serve",
            "pyproject.toml", "--output-file", str(LOCK)]  # fmt: skip
    run(argv, title="lock: resolving", log=log, cwd=checkout)
    wanted = cache.folder("uv") / "serve.in"
    wanted.write_text("\n".join(serve_requirements(checkout)) + "\n", encoding="utf-8")
    argv = [uv, "pip", "compile", "--quiet", *_FLAGS, "--upgrade", "--constraint", str(LOCK), str(wanted),
            "--output-file", str(SERVE_LOCK)]  # fmt: skip
    run(argv, title="lock: resolving what servers need", log=log, cwd=checkout)
    say(f"wrote {LOCK} and {SERVE_LOCK}; `make setup` installs the first")


def serve_requirements(checkout: Path = CHECKOUT) -> list[str]:
    """Return the requirements of the extra `serve`.

    Raises:
        ToolchainError: there is none.
    """
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    try:
        return [str(line) for line in project["project"]["optional-dependencies"]["serve"]]
    except KeyError as error:
        raise ToolchainError("pyproject.toml has no extra `serve`", "see [project.optional-dependencies]") from error


def _uv(log: Path) -> str:
    place = cache.folder("uv")
    uv = place / "bin" / "uv"
    if not uv.exists():
        run([sys.executable, "-m", "venv", "--clear", place], title="uv: creating its place", log=log)
        run([place / "bin" / "python", "-m", "pip", "install", "--quiet", "uv"], title="uv: installing", log=log)
    return str(uv)
