"""What was found out before, kept in the user's cache folder. It only ever saves time: it may be deleted or broken.

A file belongs to everything its content rests on (its key), so nothing has to be invalidated. Files are written whole
or not at all, a broken one counts as absent, and a folder that cannot be written is no problem.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

_DIGEST = 16
"""Bytes that stand for one text. Nobody gains from a collision here: it would only skip a check of one's own file."""

_LIMIT = 100_000
"""Texts that one file remembers."""

_KEPT = 20
"""Files kept of one sort; the oldest go."""


class Remembered:
    """A set of texts that outlives the process, for instance of documents that were valid.

    Args:
        sort: name for the files.
        key: everything that the membership rests on.
    """

    def __init__(self, sort: str, key: Sequence[str]) -> None:
        self._path = _path(sort, key)
        raw = _load(self._path)
        self._known = {raw[start : start + _DIGEST] for start in range(0, len(raw), _DIGEST)}

    def __contains__(self, text: str) -> bool:
        return _digest(text) in self._known

    def add(self, texts: Iterable[str]) -> None:
        """Remember these texts too."""
        new = {_digest(text) for text in texts} - self._known
        if new:
            self._known = new if len(self._known) + len(new) > _LIMIT else self._known | new
            _save(self._path, b"".join(sorted(self._known)))


def recall(sort: str, key: Sequence[str], make: Callable[[], dict[str, str]]) -> dict[str, str]:
    """What `make` returned for this key before, or returns now."""
    path = _path(sort, key)
    with suppress(ValueError):
        known = json.loads(_load(path) or b"null")
        if isinstance(known, dict):
            return known
    made = make()
    _save(path, json.dumps(made).encode())
    return made


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGEST]


def _path(sort: str, key: Sequence[str]) -> Path | None:
    """Where the file is; None without a home folder."""
    from toolchain import ToolchainError
    from toolchain.cache import root

    name = hashlib.sha256(json.dumps(list(key)).encode()).hexdigest()[:32]
    try:
        return root() / "known" / f"{sort}-{name}"
    except ToolchainError:
        return None


def _load(path: Path | None) -> bytes:
    """The content of a file that ends with its own checksum, without it; empty when it does not."""
    if path is None:
        return b""
    try:
        raw = path.read_bytes()
    except OSError:
        return b""
    body, checksum = raw[:-32], raw[-32:]
    return body if hashlib.sha256(body).digest() == checksum else b""


def _save(path: Path | None, body: bytes) -> None:
    if path is None:
        return
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name[:5]}-", suffix=".partial")
        with os.fdopen(handle, "wb") as file:
            file.write(body + hashlib.sha256(body).digest())
        Path(name).replace(path)
        _sweep(path)


def _sweep(path: Path) -> None:
    """Delete the oldest files of the same sort, so that the folder does not grow for ever."""
    sort = path.name.rpartition("-")[0]
    files = sorted(path.parent.glob(f"{sort}-*"), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in files[_KEPT:]:
        old.unlink(missing_ok=True)
