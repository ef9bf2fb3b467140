"""A request's JSON object, read so that it can be changed in places and passes otherwise byte by byte.

Writing a parsed document anew would change what a client sent: a number's digits, the order of keys, an escape. So the
document is parsed to be judged, each member with the place of its value in the text, and edits are cuts in the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import BadRequest

_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the object: its value (numbers by kind only, see `_number`), and where that stands in the text."""

    value: Any
    start: int
    end: int


@dataclass(slots=True)
class Document:
    """A JSON object as a client wrote it.

    Attributes:
        text: all of it.
        inside: where the first member begins.
        members: by key.
    """

    text: str
    inside: int
    members: dict[str, Member]
    _added: list[str] = field(default_factory=list)
    _edits: list[tuple[int, int, str]] = field(default_factory=list)

    def value(self, key: str) -> Any:
        """Return a member's value; None when it is missing or null."""
        member = self.members.get(key)
        return member.value if member else None

    def set(self, key: str, value: str | float) -> None:
        """Give a member that is missing or null a value."""
        written = json.dumps(value)
        if member := self.members.get(key):
            self._edits.append((member.start, member.end, written))
        else:
            self._added.append(f"{json.dumps(key)}: {written}")

    def prepend(self, key: str, item: object) -> None:
        """Put an item in front of a member that is a list."""
        member = self.members[key]
        place = member.start + 1
        self._edits.append((place, place, json.dumps(item) + (", " if member.value else "")))

    def encoded(self) -> bytes | None:
        """Return the changed text, or None when nothing was changed."""
        if not self._edits and not self._added:
            return None
        more = [""] if self.members and self._added else []
        pieces, at = [self.text[: self.inside], ", ".join(self._added + more)], self.inside
        for start, end, written in sorted(self._edits):
            pieces += [self.text[at:start], written]
            at = end
        return "".join([*pieces, self.text[at:]]).encode()


def parse(body: bytes) -> Document:
    """Read a body that must be one JSON object in UTF-8.

    Refused, because readers differ about what they mean: a key twice, NaN and Infinity, numbers beyond a double.

    Raises:
        BadRequest: it is not; says where, and nothing of what stands there.
    """
    if not body.strip(b" \t\r\n"):
        raise BadRequest("the body is empty; a JSON object is expected", code="invalid_json")
    try:
        return _object(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not UTF-8, from byte {error.start} on", code="invalid_json") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BadRequest(f"the body is not JSON: {error.msg} at {where}", code="invalid_json") from None
    except RecursionError:
        raise BadRequest("the body is nested too deeply", code="invalid_json") from None


def _object(text: str) -> Document:
    """Walk over the members of the outermost object; everything inside them is the decoder's work."""
    at = _skip(text, 0)
    if text[at] != "{":
        _DECODER.raw_decode(text, at)
        raise BadRequest("the body must be a JSON object", code="invalid_json")
    document = Document(text, at + 1, {})
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        _end(text, at + 1)
        return document
    while True:
        at = _member(document, at)
        if text[at : at + 1] == "}":
            _end(text, at + 1)
            return document
        at = _skip(text, _expect(text, at, ","))


def _member(document: Document, at: int) -> int:
    text = document.text
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
    key, at = _DECODER.raw_decode(text, at)
    start = _skip(text, _expect(text, _skip(text, at), ":"))
    value, end = _DECODER.raw_decode(text, start)
    if key in document.members:
        raise BadRequest("the body has a key twice", code="invalid_json", param=key[:100])
    document.members[key] = Member(value, start, end)
    return _skip(text, end)


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _expect(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise json.JSONDecodeError(f"Expecting {sign!r} delimiter", text, at)
    return at + 1


def _end(text: str, at: int) -> None:
    if _skip(text, at) != len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def _no_key_twice(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadRequest("the body has a key twice in one object", code="invalid_json")
    return found


def _number(written: str) -> float:
    """Judge a number and forget its value: nobody here computes with it, and long ones take long to read."""
    if len(written) > 300 and (len(written) > 4000 or math.isinf(float(written))):
        raise BadRequest("the body holds a number that is too long or too large", code="invalid_json")
    if ("e" in written or "E" in written) and math.isinf(float(written)):
        raise BadRequest("the body holds a number that is too large", code="invalid_json")
    return 0.0


def _constant(name: str) -> None:
    raise BadRequest(f"the body holds {name}, which is not JSON", code="invalid_json")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_no_key_twice, parse_float=_number, parse_int=_number, parse_constant=_constant
)
