"""Where is a tool: what the person named, else the cache, else PATH; always at the pinned version."""

from __future__ import annotations

import json
import os
from pathlib import Path

from . import cache
from .errors import Missing, WrongVersion

TYPE_CHECKING = False  # as in __init__
if TYPE_CHECKING:
    from typing import Any

    from .pins import Tool

_TABLE = Path(__file__).with_name("versions.toml")


def find(name: str) -> Path:
    """Return the path of a tool at its pinned version; see `toolchain.find`."""
    note = _note(name)
    known = _recall(note)
    if known is not None:
        return known
    from .pins import tool

    wanted = tool(name)
    path = named(wanted) or cached(wanted) or on_path(wanted)
    if path is None:
        hint = f"run `make setup` (builds it once), or point {wanted.env} at one" if wanted.env else "run `make setup`"
        raise Missing(f"{name} {wanted.version} is not on this machine yet", hint)
    _remember(note, wanted, path)
    return path


def named(tool: Tool) -> Path | None:
    """Return the copy that the tool's environment variable points at, None when the variable is not set.

    Raises:
        WrongVersion: nothing is there, it cannot run, or it is another version.
    """
    value = os.environ.get(tool.env) if tool.env else None
    if not value:
        return None
    import shutil

    path = Path(shutil.which(value) or value).absolute()
    what = f"{tool.env}={value}"
    unset = f"unset {tool.env} to use the pinned {tool.name} {tool.version}"
    if not path.is_file():
        raise WrongVersion(f"{what}: there is no such file", unset)
    if not os.access(path, os.X_OK):
        raise WrongVersion(f"{what}: the file is not executable", f"chmod +x it, or {unset}")
    said = says(tool, path)
    if tool.says and not matches(tool, said):
        first = next(iter(said.strip().splitlines()), "nothing (it does not run here)")
        raise WrongVersion(f"{what}: wants {tool.name} {tool.version}, this one says: {first}", unset)
    return path


def cached(tool: Tool) -> Path | None:
    """Return our own build when it is whole: its stamp was written last, and names size and time of the file."""
    path = binary(tool)
    stamp = _load(stamp_of(path))
    return path if stamp and stamp.get("file") == _shape(path) else None


def on_path(tool: Tool) -> Path | None:
    """Return the first program of that name on PATH that says it is the pinned version."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(folder or ".", tool.name).absolute()
        if tool.says and path.is_file() and os.access(path, os.X_OK) and matches(tool, says(tool, path)):
            return path
    return None


def binary(tool: Tool) -> Path:
    """Return where our own build of the tool belongs."""
    return cache.root() / "tools" / f"{tool.key}-{cache.machine()}" / tool.name


def stamp_of(path: Path) -> Path:
    """Return the file that is written after a build was verified."""
    return path.with_name(f"{path.name}.ok")


def stamp(path: Path) -> str:
    """Return the text of a stamp for a binary as it is now."""
    return json.dumps({"file": _shape(path)})


def says(tool: Tool, path: Path) -> str:
    """Return what the program prints about its version, "" when it does not run."""
    from .process import ask

    return ask([path, *tool.probe])


def matches(tool: Tool, said: str) -> bool:
    """Tell whether the output names the pinned version, as a whole word (v1.11.0 is not v1.11.0-beta.1)."""
    return any(f"{line} ".startswith(f"{tool.expected} ") for line in map(str.strip, said.splitlines()))


def _note(name: str) -> Path:
    return cache.root() / "found" / f"{name}.json"


def _recall(note: Path) -> Path | None:
    """Return the remembered path when nothing that the answer rested on has changed."""
    saved = _load(note)
    if not saved or saved.get("table") != [str(_TABLE), *(_shape(_TABLE) or ())]:
        return None
    if (os.environ.get(saved["env"]) or "") != saved["override"]:
        return None
    path = Path(saved["path"])
    return path if saved["file"] == _shape(path) else None


def _remember(note: Path, tool: Tool, path: Path) -> None:
    """Save the answer; a cache that cannot be written only costs time."""
    saved = {
        "table": [str(_TABLE), *(_shape(_TABLE) or ())],
        "env": tool.env,
        "override": (os.environ.get(tool.env) or "") if tool.env else "",
        "path": str(path),
        "file": _shape(path),
    }
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        cache.write(note, json.dumps(saved))
    except OSError:
        return


def _shape(path: Path) -> list[int] | None:
    """Return what changes when a file is replaced or cut: size, time of change (ns); None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def _load(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
