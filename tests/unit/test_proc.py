"""The one runner of other programs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sailplan.errors import ToolError
from sailplan.toolbox import proc


def test_text_in_and_out() -> None:
    done = proc.run(["sh", "-c", "cat; echo oops >&2; exit 3"], input="é")
    assert (done.code, done.stdout, done.stderr) == (3, "é", "oops\n")


def test_the_environment_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somebody/elses")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    said = proc.run(["env"], env={"EXTRA": "1"}).stdout
    assert "EXTRA=1" in said
    assert "KUBECONFIG" not in said
    assert "PROXY" not in said
    assert "LC_ALL=C.UTF-8" in said


def test_it_works_without_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    assert proc.run(["true"]).code == 0


def test_time_is_limited_and_children_go_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    started = time.monotonic()
    with pytest.raises(ToolError, match=r"longer than 3 s"):
        proc.run(["sh", "-c", f"sleep 60 & echo $! > '{note}'; wait"], timeout=3)
    assert time.monotonic() - started < 45
    assert _gone(int(note.read_text()))


def test_a_missing_program() -> None:
    with pytest.raises(ToolError, match="not found") as caught:
        proc.run(["no-such-program"])
    assert caught.value.exit_code == 3
    assert "make setup" in caught.value.hint


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        proc.run(["true"], cwd=tmp_path / "none")


def test_failed_says_command_code_and_the_end_of_stderr() -> None:
    done = proc.Completed(("tool", "a b"), 7, "", "\n".join(f"line {number}" for number in range(50)))
    error = proc.failed(done, "it went wrong")
    assert "tool 'a b'" in error.message
    assert "exit code: 7" in error.message
    assert "line 49" in error.message
    assert "line 3\n" not in error.message


def test_several_at_once_keep_their_order() -> None:
    assert proc.run_all(lambda n: proc.run(["sh", "-c", f"sleep 0.{n}; exit {n}"]).code, [3, 1, 2]) == [3, 1, 2]


def test_one_failure_stops_the_others() -> None:
    def work(seconds: str) -> proc.Completed:
        return proc.run(["sleep", seconds], timeout=0.3 if seconds == "50" else 60)

    started = time.monotonic()
    with pytest.raises(ToolError):
        proc.run_all(work, ["50", "60", "61", "62"])
    assert time.monotonic() - started < 45


def test_what_runs_inside_starts_nothing_once_all_was_stopped(tmp_path: Path) -> None:
    note = tmp_path / "started"

    def inner(_: int) -> proc.Completed:
        return proc.run(["sh", "-c", f"echo x >> '{note}'; sleep 60"])

    def outer(item: int) -> object:
        if item == 0:
            time.sleep(0.5)
            raise ToolError("the first one fails")
        try:
            return proc.run(["sleep", "60"])
        finally:  # as a failed dry run is looked into: by more runs
            for _ in range(2):
                with pytest.raises(ToolError, match="not started"):
                    proc.run_all(inner, [1, 2])

    with pytest.raises(ToolError, match="first one fails"):
        proc.run_all(outer, [0, 1])
    assert not note.exists()
    assert proc.run(["true"]).code == 0, "afterwards programs start again"


def test_control_c_leaves_nothing_behind(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "from sailplan.toolbox import proc\n"
        f"proc.run_all(lambda n: proc.run(['sh', '-c', 'echo $$ >> {note}; sleep 60']), [1, 2])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while (not note.exists() or len(note.read_text().split()) < 2) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(2)
        process.wait(60)
    assert all(_gone(int(pid)) for pid in note.read_text().split())


def _gone(pid: int) -> bool:
    """Whether a process has ended; one that waits to be reaped by init has."""
    for _ in range(600):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False
