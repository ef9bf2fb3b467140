"""Where a tool is found, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.toolchain.conftest import TOOLS, Machine

from toolchain import Missing, ToolchainError, WrongVersion, cache, ensure, find, locate, pins

CUE = pins.tool("cue")


def test_nothing_is_here(machine: Machine) -> None:
    with pytest.raises(Missing, match="is not on this machine yet") as error:
        find("cue")
    assert "make setup" in error.value.hint
    assert machine.calls() == []


def test_an_unknown_name_lists_the_known_ones(machine: Machine) -> None:
    with pytest.raises(ToolchainError, match="no tool 'cui' is pinned") as error:
        find("cui")
    assert "cue" in error.value.hint


def test_the_second_time_no_program_is_started(machine: Machine, no_programs: Callable[[], None]) -> None:
    built = ensure("cue")
    assert find("cue") == built
    no_programs()
    assert find("cue") == built


def test_one_on_path_is_asked_once(machine: Machine, no_programs: Callable[[], None]) -> None:
    path = machine.program("cue", "cue version v0.14.1")
    assert find("cue") == path
    no_programs()
    assert find("cue") == path


@pytest.mark.parametrize("says", ["cue version v0.14.2", "cue version v0.14.1-rc.1", "", "vcue version v0.14.1"])
def test_another_version_on_path_is_passed_over(machine: Machine, says: str) -> None:
    machine.program("cue", says)
    with pytest.raises(Missing):
        find("cue")
    assert ensure("cue") == locate.binary(CUE)


def test_one_on_path_that_is_replaced_is_asked_again(machine: Machine) -> None:
    machine.program("cue", "cue version v0.14.1")
    find("cue")
    machine.program("cue", "cue version v0.15.0")
    with pytest.raises(Missing):
        find("cue")


def test_the_variable_comes_first(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ensure("cue")
    mine = machine.program("mine", "cue version v0.14.1")
    monkeypatch.setenv("SAILPLAN_CUE", str(mine))
    assert find("cue") == ensure("cue") == mine
    monkeypatch.delenv("SAILPLAN_CUE")
    assert find("cue") == locate.binary(CUE)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, "there is no such file"),
        (lambda path: path.mkdir(), "there is no such file"),
        (lambda path: path.write_text("x"), "not executable"),
        (lambda path: script(path, "exit 1"), "this one says: nothing"),
        (lambda path: script(path, "echo cue version v0.13.0"), "this one says: cue version v0.13.0"),
        (lambda path: (path.write_bytes(b"\x7fELF"), path.chmod(0o755)), "this one says: nothing"),
    ],
)
@pytest.mark.parametrize("call", [find, ensure])
def test_a_variable_that_points_elsewhere_is_an_error(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], None],
    problem: str,
    call: Callable[[str], Path],
) -> None:
    """Not a reason to take another one silently: the person asked for this one."""
    path = machine.home / "own cue"
    make(path)
    monkeypatch.setenv("SAILPLAN_CUE", str(path))
    with pytest.raises(WrongVersion, match="SAILPLAN_CUE=") as error:
        call("cue")
    assert problem in str(error.value)
    assert "unset SAILPLAN_CUE" in error.value.hint
    assert machine.calls() == []


@pytest.mark.parametrize("damage", [b"", b"#!/bin/sh\necho cue version v0.14.1 # longer"])
def test_a_damaged_binary_is_never_used_and_built_again(machine: Machine, damage: bytes) -> None:
    built = ensure("cue")
    find("cue")
    built.write_bytes(damage)
    with pytest.raises(Missing):
        find("cue")
    assert ensure("cue") == built
    assert find("cue") == built
    assert len(machine.calls()) == 2


def test_a_binary_without_its_stamp_is_never_used(machine: Machine) -> None:
    built = ensure("cue")
    locate.stamp_of(built).unlink()
    with pytest.raises(Missing):
        find("cue")


def test_a_damaged_note_costs_time_only(machine: Machine) -> None:
    built = ensure("cue")
    find("cue")
    note = machine.cache / "found" / "cue.json"
    for text in ("", "[]", "{}", note.read_text(encoding="utf-8")[:-9]):
        note.write_text(text, encoding="utf-8")
        assert find("cue") == built


def test_a_cache_that_cannot_be_made_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.home / "file").write_text("")
    monkeypatch.setenv("SAILPLAN_CACHE", str(machine.home / "file" / "cache"))
    with pytest.raises(ToolchainError, match="cannot make") as error:
        ensure("cue")
    assert "SAILPLAN_CACHE" in error.value.hint


@pytest.mark.parametrize(
    ("env", "place"),
    [
        ({"SAILPLAN_CACHE": "/a", "XDG_CACHE_HOME": "/x"}, "/a"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/sailplan"),
        ({"HOME": "/h"}, "/h/.cache/sailplan"),
    ],
)
def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], place: str) -> None:
    for name in ("SAILPLAN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert str(cache.root()) == place


def test_importing_it_costs_nothing() -> None:
    """The tool's every command imports it; what takes milliseconds to import waits until it is needed."""
    code = "import sys; before = set(sys.modules); import toolchain; print(*sorted(set(sys.modules) - before))"
    env = {"PYTHONPATH": str(TOOLS), "PATH": os.environ["PATH"]}
    out = subprocess.run([sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True, check=True)
    assert set(out.stdout.split()) == {"__future__", "toolchain", "toolchain.errors"}


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
