"""Processes are known by id and birth; nothing else is ever signalled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from localplane import process
from localplane.errors import PlaneError
from localplane.process import Process

SLEEP = [sys.executable, "-c", "import time; print('hello', flush=True); time.sleep(60)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)",
]


def begin(argv: list[str], folder: Path) -> Process:
    made = process.start(argv, folder / "log", {"PATH": os.defpath}, folder)
    deadline = time.monotonic() + 60
    while not (folder / "log").read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    return made


def test_a_process_is_alive_until_it_is_stopped(tmp_path: Path) -> None:
    made = begin(SLEEP, tmp_path)
    assert process.alive(made)
    assert process.memory(made) > 0
    assert process.stop([made]) == []
    assert not process.alive(made)
    assert process.exit_code(made) == -signal.SIGTERM
    assert (tmp_path / "log").read_text() == "hello\n"


def test_one_that_does_not_listen_is_killed_and_named(tmp_path: Path) -> None:
    made = begin(DEAF, tmp_path)
    assert process.stop([made], grace=0.3) == [made]
    assert not process.alive(made)


def test_a_recycled_id_is_not_ours(tmp_path: Path) -> None:
    made = begin(SLEEP, tmp_path)
    stranger = Process(made.pid, "another boot/1")
    assert not process.alive(stranger)
    assert process.stop([stranger]) == []
    process.kill(stranger)
    assert process.memory(stranger) >= 0
    assert process.alive(made), "a process of the same id and another birth was signalled"
    process.kill(made)
    assert not process.alive(made)


def test_one_that_ended_and_was_not_waited_for_is_gone(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    deadline = time.monotonic() + 60
    while process.birth(child.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.birth(child.pid) is None
    child.wait()


def test_it_has_a_session_of_its_own(tmp_path: Path) -> None:
    made = begin(SLEEP, tmp_path)
    assert os.getsid(made.pid) == made.pid
    process.kill(made)


def test_what_cannot_start_says_so(tmp_path: Path) -> None:
    with pytest.raises(PlaneError, match=r"cannot start .*nowhere: No such file"):
        process.start([str(tmp_path / "nowhere")], tmp_path / "log", {}, tmp_path)


def test_there_is_no_process_without_one() -> None:
    assert process.birth(2**22 + 1) is None
