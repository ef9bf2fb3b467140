"""API keys of clients, from a mounted Secret, and the key that the backend wants. Both may change while we run."""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from .errors import ApiError
from .headers import Headers, values

T = TypeVar("T")
Stamp = tuple[tuple[str, int, int, int], ...]

LOG = logging.getLogger("inference_api.keys")
LOOK_AGAIN = 1.0
"""Seconds between two looks at the files. A kubelet takes about a minute to bring a changed Secret."""


class Unauthorized(ApiError):
    """No key, or one that nobody here knows."""

    status = 401
    kind = "invalid_request_error"
    code = "invalid_api_key"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"www-authenticate": "Bearer"})


class KeysError(Exception):
    """A file or folder of keys cannot be read at the start."""

    def __init__(self, path: Path, error: Exception) -> None:
        # The error's own words may quote what it read.
        super().__init__(f"{path}: keys cannot be read: {type(error).__name__}")


class Watched(Generic[T]):
    """What is read from a file or a folder, read again when that changes.

    A Secret's volume changes by a link that is exchanged as a whole, so what is behind the link is compared. While
    the files cannot be read the last good content holds, and a line in the log says so.
    """

    def __init__(self, path: Path, read: Callable[[Path], T]) -> None:
        """Read for the first time.

        Raises:
            KeysError: it cannot be read.
        """
        self._path, self._read = path, read
        try:
            self._stamp = _stamp(path)
            self._content = read(path)
        except (OSError, ValueError) as error:
            raise KeysError(path, error) from None
        self._next_look = time.monotonic() + LOOK_AGAIN

    def get(self) -> T:
        """Return the content as of at most LOOK_AGAIN seconds ago."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_AGAIN
            self._look()
        return self._content

    def _look(self) -> None:
        try:
            stamp = _stamp(self._path)
            if stamp != self._stamp:
                self._content, self._stamp = self._read(self._path), stamp
                LOG.info("read keys anew", extra={"file": str(self._path)})
        except (OSError, ValueError) as error:
            LOG.warning("cannot read keys, the last ones hold: %s", type(error).__name__)


class ClientKeys:
    """The keys that clients may show. Held as digests; every one is compared, in a time that tells nothing."""

    def __init__(self, path: Path) -> None:
        """Read them.

        Args:
            path: a file with a key a line (`#` begins a comment), or a folder with a key a file, the file's name being
                the client's.

        Raises:
            KeysError: they cannot be read.
        """
        self._keys = Watched(path, _read_folder if path.is_dir() else _read_lines)

    def client(self, headers: Headers) -> str:
        """Return the name of the client whose key the headers show; empty when keys have no names.

        Raises:
            Unauthorized: there is no key, or a wrong one.
        """
        shown = hashlib.sha256(_bearer(headers)).digest()
        found = None
        for digest, name in self._keys.get():
            if hmac.compare_digest(digest, shown):
                found = name
        if found is None:
            raise Unauthorized("the API key is not known here")
        return found


def _bearer(headers: Headers) -> bytes:
    given = values(headers, b"authorization")
    if not given:
        raise Unauthorized("an API key is needed: Authorization: Bearer KEY")
    scheme, _, key = given[0].partition(b" ")
    if len(given) > 1 or scheme.lower() != b"bearer" or not key.strip():
        raise Unauthorized("Authorization must be given once, as: Bearer KEY")
    return key.strip()


def read_key(path: Path) -> str:
    """Return the key that a file holds.

    Raises:
        OSError: it cannot be read.
        ValueError: it is empty, or no key that a header can bear.
    """
    key = path.read_text(encoding="ascii").strip()
    if not key or not key.isprintable():
        raise ValueError("not a key")
    return key


def _read_lines(path: Path) -> list[tuple[bytes, str]]:
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return _not_empty([(_digest(line), "") for line in lines if line])


def _read_folder(path: Path) -> list[tuple[bytes, str]]:
    return _not_empty([(_digest(read_key(file)), file.name) for file in _files(path)])


def _not_empty(keys: list[tuple[bytes, str]]) -> list[tuple[bytes, str]]:
    if not keys:
        LOG.warning("there is no key: nobody may enter")
    return keys


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _files(path: Path) -> list[Path]:
    """Return the files of a mounted Secret; names with a dot in front are the kubelet's own."""
    return sorted(file for file in path.iterdir() if not file.name.startswith(".") and file.is_file())


def _stamp(path: Path) -> Stamp:
    files = _files(path) if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files]
    return tuple((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats)
