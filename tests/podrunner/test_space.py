"""Namespaces: what a process sees that nobody else does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from podrunner.errors import NotRunnable
from podrunner.network import write_in_place
from podrunner.plan import Folder
from podrunner.space import Space, works

LIMIT = 90.0


@pytest.fixture(autouse=True)
def namespaces(tmp_path: Path) -> None:
    why = asyncio.run(works(tmp_path / "trial"))
    if why:
        pytest.skip(f"this system gives no mount namespace: {why}")


@pytest.fixture
def space(tmp_path: Path) -> Space:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.44.0.9 chat.llm.svc chat\n")
    return Space(tmp_path / "pod", str(hosts))


def run(space: Space, *command: str, forward: dict[int, str] | None = None) -> subprocess.CompletedProcess[str]:
    argv = space.argv(command, {"OWN": "1"}, forward)
    return subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False)


def said(space: Space, *command: str) -> str:
    done = run(space, *command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_names_of_services_resolve(space: Space) -> None:
    script = "import socket; print(socket.gethostbyname('chat'), socket.gethostbyname('chat.llm.svc'))"
    assert said(space, sys.executable, "-c", script) == "127.44.0.9 127.44.0.9\n"
    assert "127.44.0.9" not in Path("/etc/hosts").read_text()


def test_the_hosts_file_changes_under_a_running_process(space: Space, tmp_path: Path) -> None:
    wait = "until grep -q 127.44.0.10 /etc/hosts; do sleep 0.05; done; echo seen"
    child = subprocess.Popen(space.argv(["sh", "-c", wait], {}), stdout=subprocess.PIPE, text=True)
    write_in_place(tmp_path / "hosts", "127.44.0.10 other\n")
    assert child.communicate(timeout=LIMIT)[0] == "seen\n"


def test_files_appear_where_nothing_was_and_nobody_else_sees_them(space: Space) -> None:
    places = ["/etc/inference/deep", "/quite-new/folder"]
    space.materialise([Folder(place, {"a": b"one", "b/c": b"two"}) for place in places])
    for place in places:
        assert said(space, "cat", f"{place}/a", f"{place}/b/c") == "onetwo"
        assert not Path(place).exists()
    assert Path(said(space, sys.executable, "-c", "import podrunner; print(podrunner.__file__)").strip()).exists()


def test_a_single_file_and_a_folder_that_is_there_already(space: Space) -> None:
    space.materialise(
        [
            Folder("/etc/only/this.conf", {"x": b"mine"}, one="x"),
            Folder("/tmp", None),
            Folder("/models", None),
            Folder("/usr/share", {"x": b"covered"}),
        ]
    )
    assert said(space, "cat", "/etc/only/this.conf") == "mine"
    assert said(space, "sh", "-c", "ls /usr/share; touch /models/y && ls /models") == "x\ny\n"


def test_what_this_python_needs_is_not_covered(space: Space) -> None:
    with pytest.raises(NotRunnable):
        space.materialise([Folder(sys.prefix, {"x": b""})])


def test_only_the_few_variables_that_are_meant(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "x")
    monkeypatch.setenv("VLLM_SIM_TOKEN_SECONDS", "3")
    env = said(space, "env")
    assert "OWN=1" in env
    assert "VLLM_SIM_TOKEN_SECONDS=3" in env
    assert "SECRET_OF_MINE" not in env


def test_exit_codes(space: Space) -> None:
    assert run(space, "sh", "-c", "exit 7").returncode == 7
    assert run(space, "no-such-program").returncode == 127


class Greeter(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b"ahoy")


@pytest.fixture
def outside() -> Iterator[int]:
    """A server on a loopback address of its own, as a pod's is."""
    server = socketserver.ThreadingTCPServer(("127.44.0.1", 0), Greeter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_a_hook_finds_its_own_pod_on_127_0_0_1(space: Space, outside: int) -> None:
    ask = f"import socket; print(socket.create_connection(('127.0.0.1', {outside})).recv(9).decode())"
    done = run(space, sys.executable, "-c", ask, forward={outside: "127.44.0.1"})
    assert done.stdout == "ahoy\n", done.stderr


def test_a_hook_whose_pod_is_gone_is_refused_sooner_or_later(space: Space) -> None:
    ask = (
        "import socket\n"
        "while True:\n"
        "    try:\n"
        "        with socket.create_connection(('127.0.0.1', 9)) as link:\n"
        "            link.recv(1)\n"
        "    except ConnectionRefusedError:\n"
        "        break\n"
        "    except OSError:\n"
        "        pass\n"
    )
    assert run(space, sys.executable, "-c", ask, forward={9: "127.44.0.3"}).returncode == 0


def test_it_dies_with_whoever_started_it(space: Space, tmp_path: Path) -> None:
    started = tmp_path / "pid"
    script = f"""
import subprocess, sys, time
from pathlib import Path
from podrunner.space import Space
space = Space(Path({str(tmp_path / "inner")!r}), {str(tmp_path / "hosts")!r})
child = subprocess.Popen(space.argv(["sleep", "600"], {{}}))
Path({str(started)!r}).write_text(str(child.pid))
time.sleep(600)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, "-c", script], env=env)
    try:
        until(lambda: started.exists() and started.read_text() and "sleep" in command(int(started.read_text())))
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until(lambda: "sleep" not in command(int(started.read_text())))


def command(pid: int) -> str:
    """What a process runs, "" when it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    return ""


def until(check: object) -> None:
    assert callable(check)
    deadline = time.monotonic() + LIMIT
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)
