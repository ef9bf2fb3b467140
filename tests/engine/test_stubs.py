"""Libraries written byte by byte have to satisfy the real loader."""

from __future__ import annotations

import ctypes
import platform
import sys
from pathlib import Path

import pytest

from toolchain.engine import elf, stubs

NATIVE = (sys.platform, platform.machine()) == ("linux", "x86_64")
pytestmark = pytest.mark.skipif(not NATIVE, reason="the stubs are for Linux on x86-64")


def test_functions_load_and_fail(tmp_path: Path) -> None:
    path = tmp_path / "libthing.so.1"
    path.write_bytes(stubs.library(path.name, {"V2": frozenset({"one", "two"}), "": frozenset({"three"})}))
    loaded = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    assert [loaded.one(), loaded.two(), loaded.three()] == [1, 1, 1]


def test_versions_are_found_by_the_loader(tmp_path: Path) -> None:
    path = tmp_path / "libthing.so.1"
    path.write_bytes(stubs.library(path.name, {"V1": frozenset({"old"}), "V2": frozenset({"new"})}))
    loaded = ctypes.CDLL(str(path))
    dlvsym = ctypes.CDLL(None).dlvsym
    dlvsym.restype, dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    assert dlvsym(loaded._handle, b"old", b"V1")
    assert dlvsym(loaded._handle, b"new", b"V2")
    assert not dlvsym(loaded._handle, b"new", b"V1")


def test_a_library_without_symbols_loads(tmp_path: Path) -> None:
    path = tmp_path / "libempty.so.1"
    path.write_bytes(stubs.library(path.name, {}))
    ctypes.CDLL(str(path))


def test_many_symbols_are_all_found(tmp_path: Path) -> None:
    path = tmp_path / "libmany.so.1"
    names = [f"function_{i}" for i in range(2000)]
    path.write_bytes(stubs.library(path.name, {"V": frozenset(names)}))
    loaded = ctypes.CDLL(str(path))
    assert {getattr(loaded, name)() for name in names} == {1}


def test_what_python_itself_wants_is_read() -> None:
    module = next(Path(sys.modules["_ctypes"].__file__ or "").parent.glob("_ctypes*.so"))
    found = elf.read(module)
    assert found
    assert any(name.startswith("libc.so") for name in found.libraries)
    assert any(version[0].startswith("libc.so") for _, version in found.symbols)


@pytest.mark.parametrize("content", [b"", b"GROUP ( libc.so.6 )\n" * 8, b"\x7fELF\x01\x01" + bytes(80)])
def test_what_is_no_library_is_passed_over(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "libscript.so"
    path.write_bytes(content)
    assert elf.read(path) is None


def test_symbols_go_where_they_belong() -> None:
    none = ("", "")
    symbols = frozenset(
        {
            ("cublasCreate", ("libcublas.so.13", "libcublas.so.13")),
            ("ncclSend", none),
            ("pncclSend", none),
            ("cusparseLtInit", none),
            ("cusparseCreate", none),
            ("nvshmem_init", none),
            ("malloc", none),
            ("memcpy", ("libc.so.6", "GLIBC_2.14")),
        }
    )
    wanted = ["libcublas.so.13", "libcusparse.so.12", "libcusparseLt.so.0", "libnccl.so.2", "libnvshmem_host.so.3"]
    assert stubs.share(symbols, wanted) == {
        "libcublas.so.13": {"libcublas.so.13": {"cublasCreate"}},
        "libcusparse.so.12": {"": {"cusparseCreate"}},
        "libcusparseLt.so.0": {"": {"cusparseLtInit"}},
        "libnccl.so.2": {"": {"ncclSend", "pncclSend"}},
        "libnvshmem_host.so.3": {"": {"nvshmem_init"}},
    }
