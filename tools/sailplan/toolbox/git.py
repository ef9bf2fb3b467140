"""The only door to git: what a checkout held before."""

from __future__ import annotations

from pathlib import Path

from sailplan.errors import UsageError
from sailplan.toolbox import proc

_TIMEOUT = 60.0


def show(root: Path, reference: str, file: str) -> str | None:
    """Text of a file in a commit; None when the commit does not have it.

    Args:
        root: the checkout; it may be a folder of a larger repository.
        reference: commit, branch, tag.
        file: below `root`.

    Raises:
        UsageError: there is no such commit, or `root` is in no repository.
        ToolError: git is missing.
    """
    known = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
    if known.code:
        raise UsageError(f"{reference} is neither committed, live, nor a commit that git knows in {root}")
    done = _git(root, "show", "--end-of-options", f"{known.stdout.strip()}:./{file}")
    return None if done.code else done.stdout


def history(root: Path, file: str) -> list[str]:
    """Commits that changed a file, newest first; none outside a repository."""
    done = _git(root, "log", "--format=%H", "--", file)
    return [] if done.code else done.stdout.split()


def _git(root: Path, *args: str) -> proc.Completed:
    return proc.run(["git", "-C", str(root), *args], timeout=_TIMEOUT)
