"""Finds the pinned tools, and builds them from the Go module proxy where they are missing.

Only the standard library is used: this package runs before any virtual environment exists
(`PYTHONPATH=tools python3 -m toolchain ...`). Imports happen inside functions, so that `import toolchain` costs
nothing to commands that only want a path.
"""

from __future__ import annotations

from .errors import BuildFailed, Missing, ToolchainError, WrongVersion

TYPE_CHECKING = False  # as typing has it, without the milliseconds that importing typing takes
if TYPE_CHECKING:
    from pathlib import Path


def find(name: str) -> Path:
    """Return the path of a tool at its pinned version; never builds or downloads.

    A tool that was found before costs one small file and one stat, no subprocess.

    Args:
        name: a row of tools/toolchain/versions.toml, for instance "cue".

    Raises:
        WrongVersion: the tool's environment variable (SAILPLAN_CUE ...) points at something else.
        Missing: it is neither in the cache nor on PATH.
    """
    from .locate import find as search

    return search(name)


def ensure(name: str) -> Path:
    """Return the path of a tool at its pinned version; builds it first when it is missing.

    Raises:
        WrongVersion: the tool's environment variable points at something else.
        BuildFailed: it cannot be fetched or built.
    """
    from .build import ensure as make

    return make(name)


__all__ = ["BuildFailed", "Missing", "ToolchainError", "WrongVersion", "ensure", "find"]
