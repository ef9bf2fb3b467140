"""Reads variables of the environment one by one and keeps what is wrong until all were looked at."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from .headers import HOP_BY_HOP

_TOKEN = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_RESERVED = HOP_BY_HOP | {"host", "content-length", "content-type", "content-encoding", "authorization", "x-request-id"}


class SettingsError(Exception):
    """The environment cannot be used; `problems` has a line for each variable that is wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Reader:
    """One look at an environment. Methods return a usable value in any case; `finish` raises what was wrong."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._problems: list[str] = []

    def finish(self) -> None:
        """Raise SettingsError when anything was wrong."""
        if self._problems:
            raise SettingsError(self._problems)

    def _get(self, name: str) -> str:
        return self._environ.get(name, "")

    def _wrong(self, name: str, allowed: str, *, given: str | None = None) -> None:
        shown = f"given {self._get(name)!r:.200}" if given is None else given
        self._problems.append(f"{name}: {shown}, allowed: {allowed}")

    def url(self, name: str) -> str:
        """Return an address of HTTP without a slash at the end; it must be there."""
        allowed = "an http:// or https:// address like http://model.llm.svc:8000/v1, without user, query and fragment"
        text = self._get(name)
        try:
            parts = urlsplit(text)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not text:
            self._wrong(name, allowed, given="not given")
        elif not good or not text.isascii() or re.search(r"[\s?#\\]", text):
            # Whatever is in front of an @ may be a password.
            self._wrong(name, allowed, given="given an address with a user in it" if "@" in text else None)
        elif "@" in parts.netloc:
            self._wrong(name, allowed + " (a key goes into BACKEND_API_KEY_FILE)", given="given with a user in it")
        return text.rstrip("/")

    def text(self, name: str, *, longest: int) -> str | None:
        """Return a line of text, or None."""
        text = self._get(name)
        if len(text) > longest or not text.isprintable():
            self._wrong(name, f"up to {longest} printable characters")
        return text or None

    def text_or_file(self, name: str) -> str | None:
        """Return the text, or that of the file that NAME_FILE names, or None."""
        if not (file := self._get(f"{name}_FILE")):
            return self._get(name) or None
        try:
            return Path(file).read_text(encoding="utf-8") or None
        except (OSError, ValueError) as error:
            self._wrong(f"{name}_FILE", f"a file of UTF-8 text that can be read ({_reason(error)})")
            return None

    def path(self, name: str, *, folder: bool) -> Path | None:
        """Return the path of something that is there, or None."""
        if not (text := self._get(name)):
            return None
        path = Path(text)
        if not (path.is_dir() if folder else path.is_file()):
            self._wrong(name, "a folder that is there" if folder else "a file that is there")
        return path

    def number(self, name: str, default: float | None, low: float, high: float) -> float | None:
        """Return a number within bounds."""
        if not (text := self._get(name)):
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if low <= value <= high:
            return value
        self._wrong(name, f"a number from {low:g} to {high:g}")
        return default

    def seconds(self, name: str, default: float) -> float:
        """Return a time in seconds, up to a day: above zero, but for the two that may be none at all."""
        low = 0 if name in ("DRAIN_SECONDS", "READY_CACHE_SECONDS") else 0.001
        return self.number(name, default, low, 86_400) or 0.0

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """Return a whole number within bounds."""
        text = self._get(name)
        if re.fullmatch(r"[0-9]{1,15}", text) and low <= int(text) <= high:
            return int(text)
        if text:
            self._wrong(name, f"a whole number from {low} to {high}")
        return default

    def flag(self, name: str) -> bool:
        """Return whether it is "true"."""
        return self.one_of(name, "false", ("true", "false")) == "true"

    def one_of(self, name: str, default: str, words: Sequence[str]) -> str:
        """Return one of the words, in lower case."""
        text = self._get(name).lower()
        if text and text not in words:
            self._wrong(name, ", ".join(words))
        return text if text in words else default

    def header_names(self, name: str) -> tuple[str, ...]:
        """Return names of headers, in lower case, from a list with commas."""
        names = tuple(part.strip().lower() for part in self._get(name).split(",") if part.strip())
        if any(not _TOKEN.fullmatch(part) or part in _RESERVED for part in names):
            self._wrong(name, "names of headers, with commas; none that the edge or the connection itself sets")
        return names

    def exclusive(self, one: str, other: str) -> None:
        """Only one of the two may be set ("false" counts as not set)."""
        if self._get(one) not in ("", "false") and self._get(other):
            self._wrong(one, f"only one of {one} and {other}", given="given together with the other")

    def not_above(self, one: str, value: int, other: str, limit: int) -> None:
        """The first may not be above the second."""
        if value > limit:
            self._wrong(one, f"at most {other}, which is {limit}", given=f"{value} holds")


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or "cannot be read") if isinstance(error, OSError) else "not UTF-8"
