"""Stands in for GPU libraries that torch links but never calls on a CPU: the right names, and one function that fails.

The loader refuses a library when one that it needs is missing, or lacks a version or symbol. So a stub carries the
wanted file name, version names and symbols; every symbol is a function that returns 1, which is an error in each of
these libraries. Writing the file takes no compiler.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from . import elf

REVISION = 1
"""Goes up when stubs are written differently, so that environments with old ones are made again."""

_REPLACED = re.compile(r"lib(cu|nv|nccl)\w*\.so\.\d+")
_DRIVER = "libcuda.so.1"  # loaded by hand, and only where there is a GPU

_PAGE = 0x1000
_RETURN_1 = bytes.fromhex("b801000000c3")  # mov eax, 1; ret

Symbols = Mapping[str, frozenset[str]]
"""Version name ("" is none) -> symbols."""


def install(site_packages: Path) -> list[str]:
    """Write a stub for each GPU library that torch needs and that is not installed.

    Args:
        site_packages: folder with torch.

    Returns:
        File names of the stubs, sorted.
    """
    folder = site_packages / "torch" / "lib"
    wants = [found for path in sorted(folder.glob("*.so*")) if (found := elf.read(path))]
    have = {path.name for top in (folder, site_packages / "nvidia") for path in top.rglob("*.so*")}
    needed = {name for want in wants for name in want.libraries if _REPLACED.fullmatch(name)}
    missing = sorted(needed - have - {_DRIVER})
    symbols = frozenset[tuple[str, elf.Version]]().union(*(want.symbols for want in wants))
    for name, mine in share(symbols, missing).items():
        (folder / name).write_bytes(library(name, mine))
    return missing


def share(symbols: frozenset[tuple[str, elf.Version]], libraries: list[str]) -> dict[str, Symbols]:
    """Say which symbols each library has to have.

    A symbol with a version names its library. One without belongs to the library whose name it starts with
    (`ncclSend`, `pncclSend` -> libnccl.so.2), the longest such name (`cusparseLtInit` -> libcusparseLt.so.0).
    """
    result: dict[str, defaultdict[str, set[str]]] = {name: defaultdict(set) for name in libraries}
    stems = {re.sub(r"^lib|(_host)?\.so.*$", "", name): name for name in libraries}
    for symbol, (library, version) in symbols:
        if library in result:
            result[library][version].add(symbol)
        elif not library:
            owners = [stem for stem in stems if symbol.startswith((stem, f"p{stem}"))]
            if owners:
                result[stems[max(owners, key=len)]][""].add(symbol)
    return {name: {v: frozenset(s) for v, s in mine.items()} for name, mine in result.items()}


def library(name: str, symbols: Symbols) -> bytes:
    """Return the bytes of a shared library for x86-64.

    Two segments: everything read-only and the code at address 0, the dynamic table (which the loader writes to) on
    the next page.

    Args:
        name: file name, for instance "libcublas.so.13"; becomes the SONAME.
        symbols: what it defines.
    """
    texts = _Texts()
    soname = texts.add(name)
    rows = [(texts.add(s), v) for v in sorted(symbols) for s in sorted(symbols[v])]
    versions = sorted(v for v in symbols if v)
    index = {"": 1} | {v: i for i, v in enumerate(versions, 2)}
    verdef = _verdef([name, *versions], texts)

    start = 64 + 4 * 56  # file header, four program headers
    code = start
    symtab = _align(code + len(_RETURN_1))
    table = b"\0" * 24 + b"".join(struct.pack("<IBBHQQ", at, 0x12, 0, 1, code, len(_RETURN_1)) for at, _ in rows)
    hashed = _hash_table([texts.text(at) for at, _ in rows])
    versym = struct.pack(f"<{len(rows) + 1}H", 0, *(index[v] for _, v in rows))
    parts = [table, hashed, versym, verdef, texts.data]
    places = [symtab]
    for part in parts[:-1]:
        places.append(_align(places[-1] + len(part)))
    end = places[-1] + len(texts.data)
    dynamic = _align(end, _PAGE)
    entries = [(14, soname), (4, places[1]), (6, places[0]), (5, places[4]), (10, len(texts.data)), (11, 24)]
    if versions:  # tables of versions are all or nothing
        entries += [(0x6FFFFFF0, places[2]), (0x6FFFFFFC, places[3]), (0x6FFFFFFD, len(versions) + 1)]
    tail = b"".join(struct.pack("<qQ", *entry) for entry in [*entries, (0, 0)])

    out = bytearray(dynamic + len(tail))
    out[:start] = _headers(end, dynamic, len(tail))
    out[code : code + len(_RETURN_1)] = _RETURN_1
    for place, part in zip(places, parts, strict=True):
        out[place : place + len(part)] = part
    out[dynamic:] = tail
    return bytes(out)


class _Texts:
    """A string table."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, text: str) -> int:
        self.data += text.encode() + b"\0"
        return len(self.data) - len(text.encode()) - 1

    def text(self, at: int) -> bytes:
        return self.data[at : self.data.index(b"\0", at)]


def _headers(end: int, dynamic: int, size: int) -> bytes:
    """Return the file header and the program headers: code, dynamic table twice (to load, to find), stack flags."""
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    out = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, 62, 1, 0, 64, 0, 0, 64, 56, 4, 0, 0, 0)
    for kind, flags, at, length, align in (
        (1, 5, 0, end, _PAGE),
        (1, 6, dynamic, size, _PAGE),
        (2, 6, dynamic, size, 8),
        (0x6474E551, 6, 0, 0, 16),  # without it the loader would want an executable stack
    ):
        out += struct.pack("<IIQQQQQQ", kind, flags, at, at, at, length, length, align)
    return out


def _verdef(names: list[str], texts: _Texts) -> bytes:
    """Return the version definitions; the first name is the library's own."""
    out = b""
    for i, name in enumerate(names, 1):
        following = 28 if i < len(names) else 0
        out += struct.pack("<HHHHIII", 1, 1 if i == 1 else 0, i, 1, _hash(name.encode()), 20, following)
        out += struct.pack("<II", texts.add(name), 0)
    return out


def _hash_table(names: list[bytes]) -> bytes:
    """Return a System V hash table; symbol 0 is the empty one."""
    buckets, chain = [0] * max(1, len(names)), [0] * (len(names) + 1)
    for i, name in enumerate(names, 1):
        slot = _hash(name) % len(buckets)
        chain[i], buckets[slot] = buckets[slot], i
    return struct.pack(f"<{2 + len(buckets) + len(chain)}I", len(buckets), len(chain), *buckets, *chain)


def _hash(name: bytes) -> int:
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ ((value & 0xF0000000) >> 24)) & 0x0FFFFFFF
    return value


def _align(value: int, size: int = 8) -> int:
    return -(-value // size) * size
