"""Reads what a shared library asks of others: names of libraries, and symbols with their versions (64-bit ELF).

Source of the layouts: the System V ABI and the LSB chapter on symbol versioning.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_DYNAMIC = struct.Struct("<qQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_VERNEED = struct.Struct("<HHIII")
_VERNAUX = struct.Struct("<IHHII")

_DT_NEEDED = 1
_SHN_UNDEF = 0
_HIDDEN = 0x8000

Version = tuple[str, str]
"""A library and one of its version names, for instance ("libcublas.so.13", "libcublas.so.13"); ("", "") is none."""


@dataclass(frozen=True)
class Wants:
    """What one library needs from others.

    Attributes:
        libraries: file names (DT_NEEDED).
        symbols: undefined symbols, each with the library and version it was linked against.
    """

    libraries: frozenset[str]
    symbols: frozenset[tuple[str, Version]]


def read(path: Path) -> Wants | None:
    """Read a file; None when it is no 64-bit little-endian shared library (a linker script, for instance)."""
    if path.stat().st_size < _HEADER.size:
        return None
    with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:6] != b"\x7fELF\x02\x01":
            return None
        return _wants(data, _sections(data))


def _sections(data: mmap.mmap) -> dict[str, bytes]:
    """Return the sections that matter by name."""
    header = _HEADER.unpack_from(data)
    at, size, count, names = header[6], header[11], header[12], header[13]
    rows = [_SECTION.unpack_from(data, at + size * i) for i in range(count)]
    if not rows:
        return {}
    texts = data[rows[names][4] : rows[names][4] + rows[names][5]]
    wanted = {".dynamic", ".dynstr", ".dynsym", ".gnu.version", ".gnu.version_r"}
    return {
        name: data[row[4] : row[4] + row[5]] for row in rows if (name := _text(texts, row[0])) in wanted
    }  # fmt: skip


def _wants(data: mmap.mmap, sections: dict[str, bytes]) -> Wants:
    texts = sections.get(".dynstr", b"")
    entries = _DYNAMIC.iter_unpack(sections.get(".dynamic", b""))
    libraries = frozenset(_text(texts, value) for tag, value in entries if tag == _DT_NEEDED)
    versions = dict(_versions(sections.get(".gnu.version_r", b""), texts))
    indexes = [row[0] & ~_HIDDEN for row in struct.iter_unpack("<H", sections.get(".gnu.version", b""))]
    symbols = set()
    for i, (name, _, _, section, _, _) in enumerate(_SYMBOL.iter_unpack(sections.get(".dynsym", b""))):
        if name and section == _SHN_UNDEF:
            symbols.add((_text(texts, name), versions.get(indexes[i] if indexes else 0, ("", ""))))
    return Wants(libraries, frozenset(symbols))


def _versions(table: bytes, texts: bytes) -> Iterator[tuple[int, Version]]:
    """Walk the linked lists of needed versions: index used by symbols -> library and version."""
    at = 0
    while table:
        _, _, library, first, following = _VERNEED.unpack_from(table, at)
        inner = at + first
        while True:
            _, _, index, name, more = _VERNAUX.unpack_from(table, inner)
            yield index, (_text(texts, library), _text(texts, name))
            if not more:
                break
            inner += more
        if not following:
            return
        at += following


def _text(texts: bytes, at: int) -> str:
    return texts[at : texts.index(b"\0", at)].decode()
