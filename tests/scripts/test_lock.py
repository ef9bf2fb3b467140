"""One writer a folder: two Jobs at once, locks left behind, locks lost, and how a Job ends when it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from scripts.job import Preload, until
from scripts.stubs import Stubs

LONG_AGO = 130.0
"""Seconds; a lock is left behind when nobody touched it for two minutes."""


def test_the_second_job_waits_and_then_finds_it_complete(flow: Preload, stubbed: Stubs) -> None:
    stubbed.shut()
    first = flow.start()
    until(lambda: bool(stubbed.calls("hf")))
    second = flow.start()
    until(lambda: "waiting for another writer" in second.said())
    stubbed.open()
    assert (first.wait(), second.wait()) == (0, 0)
    assert len(stubbed.calls("hf")) == 1
    assert flow.complete()
    assert _left(flow) == set()


def test_a_lock_that_is_given_back_at_once_is_not_lost(flow: Preload, stubbed: Stubs) -> None:
    """All but the first find everything complete as soon as they have the lock: what watches it has hardly begun."""
    stubbed.shut()
    first = flow.start()
    until(lambda: bool(stubbed.calls("hf")))
    others = [flow.start() for _ in range(10)]
    until(lambda: all("waiting for another writer" in one.said() for one in others))
    stubbed.open()
    assert [one.wait() for one in (first, *others)] == [0] * 11
    assert not any("lost" in one.said() for one in others)
    assert _left(flow) == set()


@pytest.mark.parametrize("stale", [False, True])
def test_never_two_writers(flow: Preload, stubbed: Stubs, stale: bool) -> None:
    """Verification fails, so each Job writes in its turn. With a lock left behind they all want to take it over."""
    stubbed.set(verify=1, seconds=0.1)
    if stale:
        _leave(flow, LONG_AGO)
    jobs = [flow.start() for _ in range(5)]
    assert [job.wait() for job in jobs] == [1] * len(jobs)
    times = [line[:2] for line in stubbed.times()]
    assert len(times) == 2 * len(jobs)
    for start, end in zip(times[::2], times[1::2], strict=True):
        assert (start[0], end[0]) == ("start", "end")
        assert start[1] == end[1], f"two at once: {times}"
    assert _left(flow) == set()


def test_a_lock_left_behind_is_taken_over(flow: Preload) -> None:
    _leave(flow, LONG_AGO)
    code, said = flow.run()
    assert code == 0, said
    assert "taking over a lock left behind" in said
    assert flow.complete()
    assert _left(flow) == set()


def test_an_empty_lock_is_nobodys(flow: Preload) -> None:
    flow.lock.mkdir()
    assert flow.run()[0] == 0
    assert _left(flow) == set()


def test_a_fresh_lock_is_respected(flow: Preload, stubbed: Stubs) -> None:
    owner = _leave(flow, 60)
    job = flow.start()
    until(lambda: job.said().count("waiting") > 2)
    assert not stubbed.calls("hf")
    owner.unlink()
    assert job.wait() == 0


def test_an_owner_that_works_on_keeps_its_lock(flow: Preload, stubbed: Stubs) -> None:
    stubbed.shut()
    job = flow.start()
    until(lambda: bool(stubbed.calls("hf")))
    [owner] = flow.lock.iterdir()
    _age(owner, LONG_AGO)
    until(lambda: time.time() - owner.stat().st_mtime < LONG_AGO / 2)
    stubbed.open()
    assert job.wait() == 0


def test_a_job_that_lost_its_lock_stops(flow: Preload, stubbed: Stubs) -> None:
    stubbed.shut()
    job = flow.start()
    until(lambda: bool(stubbed.calls("hf")))
    [owner] = flow.lock.iterdir()
    owner.rename(owner.with_name("somebody-else"))
    assert job.wait(30) == 143
    assert "lost" in job.said()
    assert not flow.marker.exists()
    assert [path.name for path in flow.lock.iterdir()] == ["somebody-else"]
    job.ends()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_at_once(flow: Preload, stubbed: Stubs, number: int) -> None:
    stubbed.shut()
    job = flow.start()
    until(lambda: bool(stubbed.calls("hf")))
    started = time.monotonic()
    job.signal(number)
    assert job.wait(30) == 143
    assert time.monotonic() - started < 30
    assert _left(flow) == set()
    assert not flow.marker.exists()
    assert not stubbed.calls("python")
    job.ends()


def test_a_signal_ends_a_job_that_waits(flow: Preload) -> None:
    owner = _leave(flow, 0)
    flow.env["LOCK_WAIT"] = "20"
    job = flow.start()
    until(lambda: "waiting" in job.said())
    job.signal(signal.SIGTERM)
    assert job.wait(30) == 143
    assert _left(flow) == {flow.lock.name}
    assert owner.exists(), "it took the other's lock with it"
    job.ends()


def test_nothing_touches_the_lock_of_a_killed_shell(flow: Preload, stubbed: Stubs) -> None:
    stubbed.shut()
    job = flow.start()
    until(lambda: bool(stubbed.calls("hf")))
    job.signal(signal.SIGKILL)
    job.wait()
    stubbed.open()
    job.ends()
    assert _left(flow) == {flow.lock.name}


def test_a_container_that_starts_again_needs_not_wait_for_itself(flow: Preload, stubbed: Stubs) -> None:
    """Process 1 of a pod that was killed (out of memory, say) comes back with its pod's name and number."""
    flow.prefix = ["unshare", *_rootless(), "--pid", "--fork", "--kill-child"]
    if subprocess.run([*flow.prefix, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no process namespaces here: the restart of a container was NOT tried")
    stubbed.shut()
    killed = flow.start()
    until(lambda: bool(stubbed.calls("hf")))
    killed.kill()
    killed.ends()
    assert _left(flow) == {flow.lock.name}
    stubbed.open()
    code, said = flow.run()
    assert code == 0, said
    assert "waiting" not in said
    assert flow.complete()


def test_process_1_hears_the_signal(flow: Preload, stubbed: Stubs) -> None:
    """The kernel drops signals to process 1 that it has no handler for."""
    flow.prefix = ["unshare", *_rootless(), "--pid", "--fork", "--kill-child"]
    if subprocess.run([*flow.prefix, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no process namespaces here: signals to process 1 were NOT tried")
    stubbed.shut()
    job = flow.start()
    until(lambda: bool(stubbed.calls("hf")))
    children = Path(f"/proc/{job.process.pid}/task/{job.process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGTERM)
    assert job.wait(30) == 143
    assert _left(flow) == set()


def test_a_volume_that_takes_no_lock_is_an_error(flow: Preload) -> None:
    """A plain file where the model's folder should be: waiting would not help."""
    flow.folder.write_text("")
    assert flow.run()[0] != 0
    assert flow.folder.is_file()


def _leave(job: Preload, age: float) -> Path:
    """The lock of a Job that is gone; the age is in seconds."""
    job.lock.mkdir()
    owner = job.lock / "another-pod-1"
    owner.touch()
    _age(owner, age)
    return owner


def _age(file: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(file, (then, then))


def _left(job: Preload) -> set[str]:
    """What lies beside the model's folder."""
    return {path.name for path in job.models.iterdir()} - {job.folder.name}


def _rootless() -> list[str]:
    return [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
