"""Notes on disk: private, whole, and one command at a time. Ports: free, apart, and the same next time."""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path

import pytest

from localplane import ports
from localplane.errors import PlaneError
from localplane.process import Process
from localplane.state import State, planes


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SAILPLAN_STATE", str(tmp_path / "with blanks"))
    return tmp_path


def made(name: str = "one") -> State:
    state = State(name)
    state.create()
    return state


def test_the_folder_is_for_its_owner_only() -> None:
    state = made()
    assert stat.S_IMODE(state.folder.stat().st_mode) == 0o700
    assert len(state.token) == 32


def test_notes_survive() -> None:
    state = made()
    state.remember("hub/kine", Process(7, "boot/1"))
    state.remember("hub/kwok", Process(8, "boot/2"))
    state.forget("hub/kine")
    assert State("one").processes == {"hub/kwok": Process(8, "boot/2")}
    assert State("one").token == state.token
    state.create()
    assert State("one").token == state.token, "a second `up` must not lock out what runs"


def test_nothing_is_there_before_the_first_start() -> None:
    state = State("never")
    assert not state.exists
    assert state.processes == {}
    assert state.ports == {}


def test_without_a_setting_the_state_is_where_xdg_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SAILPLAN_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert planes() == tmp_path / "sailplan" / "plane"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert planes() == tmp_path / ".local" / "state" / "sailplan" / "plane"


def test_two_commands_do_not_work_on_one_plane() -> None:
    state = made()
    with state.locked(), pytest.raises(PlaneError, match="another command"), State("one").locked():
        pass
    with state.locked(), State("two").locked():
        pass


@pytest.mark.parametrize("name", ["", "../etc", "A", "a b", "-a", "a-", "a" * 33])
def test_a_name_is_a_folder_of_its_own(name: str) -> None:
    with pytest.raises(PlaneError, match="no name for a plane"):
        State(name)


def test_broken_notes_say_what_helps() -> None:
    state = made()
    (state.folder / "state.json").write_text("{")
    with pytest.raises(PlaneError, match="plane-reset"):
        _ = state.ports


def test_ports_are_free_low_and_kept() -> None:
    chosen = ports.choose(made(), ["hub/kine", "hub/kube-apiserver"])
    assert all(ports.FIRST <= port <= ports.LAST for port in chosen.values())
    assert len(set(chosen.values())) == 2
    again = ports.choose(State("one"), ["hub/kine", "hub/kube-apiserver", "staging/kine"])
    assert again.items() >= chosen.items()
    assert again["staging/kine"] not in chosen.values()


def test_planes_side_by_side_share_no_port() -> None:
    one = ports.choose(made("one"), ["hub/kine"])
    two = ports.choose(made("two"), ["hub/kine"])
    assert not set(one.values()) & set(two.values())


def test_a_port_in_use_is_passed_over() -> None:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    assert not ports.free(taken.getsockname()[1])
    taken.close()


def test_a_port_of_all_addresses_is_in_use_on_loopback_too() -> None:
    taken = socket.socket()
    taken.bind(("0.0.0.0", 0))
    taken.listen()
    assert not ports.free(taken.getsockname()[1])
    taken.close()


def test_state_is_json_that_people_can_read() -> None:
    state = made()
    ports.choose(state, ["hub/kine"])
    assert json.loads((state.folder / "state.json").read_text())["ports"].keys() == {"hub/kine"}
