"""Namespaces of one's own: what is inside reaches nothing, is reached through its doors, and never outlives us."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drill.box.namespace import enter
from drill.box.outside import Box, Door, Program
from drill.errors import DrillError
from drill.gateway.client import FAILED, get
from plane.support import left_over

ENV = {"PATH": "/usr/bin:/bin"}


@pytest.fixture(autouse=True)
def here() -> None:
    if not enter():
        pytest.skip("namespaces cannot be made here: run as root, or allow user namespaces")


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    made = Box(tmp_path / "box", {"/etc/hosts": "127.9.8.7 model.llm.svc\n"}, [Door("web", "127.9.8.7", 8080)])
    yield made
    made.close()
    assert left_over(tmp_path) == []


def program(folder: Path, *argv: str) -> Program:
    return Program("it", argv, ENV, str(folder / "it.log"))


def eventually(check: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not check():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_doors_lead_to_addresses_inside_and_names_are_the_boxs_own(box: Box, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("ahoy")
    argv = (sys.executable, "-m", "http.server", "8080", "--bind", "model.llm.svc", "--directory", str(tmp_path))
    box.open([program(tmp_path, *argv)])
    eventually(lambda: get(box.door("web"), "/index.html") == (200, "ahoy"))
    box.end("it")
    assert get(box.door("web"), "/index.html")[0] == FAILED
    box.start(program(tmp_path, *argv))
    eventually(lambda: get(box.door("web"), "/index.html") == (200, "ahoy"))
    box.alive()


def test_there_is_no_network_inside(box: Box, tmp_path: Path) -> None:
    code = "import os; print(sorted(os.listdir('/sys/class/net')), os.getpid() < 10, flush=True)"
    box.open([program(tmp_path, "sh", "-c", f'cat /proc/net/dev; {sys.executable} -c "{code}"; sleep 1000')])
    eventually(lambda: "True" in (tmp_path / "it.log").read_text() if (tmp_path / "it.log").exists() else False)
    rows = [line.split(":")[0].strip() for line in (tmp_path / "it.log").read_text().splitlines() if ":" in line]
    assert rows == ["lo"]


def test_what_ends_by_itself_is_told_with_its_last_words(box: Box, tmp_path: Path) -> None:
    log = Program("it", ("sh", "-c", "echo no weights here; exit 3"), ENV, str(tmp_path / "box" / "it.log"))
    box.open([log])

    def ended() -> bool:
        try:
            box.alive()
        except DrillError as error:
            return "code 3" in error.message and "no weights here" in error.message
        return False

    eventually(ended)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_whoever_started_it(tmp_path: Path, number: int) -> None:
    code = (
        "import sys, time; from pathlib import Path; from drill.box.outside import Box, Program\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "box = Box(folder / 'box', {}, [])\n"
        "(folder / 'short').symlink_to(box.short)\n"
        f"box.open([Program('it', ('sh', '-c', 'echo up; sleep 1000', str(folder)), {ENV}, str(folder / 'log'))])\n"
        "time.sleep(1000)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code])
    try:
        eventually(lambda: (tmp_path / "log").exists() and "up" in (tmp_path / "log").read_text())
        assert left_over(tmp_path)
        child.send_signal(number)
        child.wait(60)
    finally:
        child.kill()
        child.wait()
    eventually(lambda: left_over(tmp_path) == [])
    shutil.rmtree((tmp_path / "short").resolve())  # nobody was left to do it
