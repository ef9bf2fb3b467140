"""One pod's life without a cluster: what its process goes through, and what is reported of it."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from podrunner.errors import Refused, Unreachable
from podrunner.images import Image
from podrunner.plan import Look
from podrunner.process import Process
from podrunner.space import Space, works
from podrunner.worker import House, Worker

LIMIT = 90.0
IMAGES = {"sh:*": Image(("sh", "-c")), "sim:*": Image(("python", "-m", "vllm_sim"), {"VLLM_SIM_HOST": "{address}"})}
ADDRESS = "127.46.0.1"


class Desk:
    """What a worker tells of a pod."""

    def __init__(self, tmp_path: Path, look: Look | None = None) -> None:
        self.said: list[str] = []
        self.status: dict[str, Any] = {}
        self.reasons: list[str] = []
        self.house = House(IMAGES, 0.05, self._report, lambda _: look or _nothing, self.said.append, lambda: None)
        hosts = tmp_path / "hosts"
        hosts.write_text("127.0.0.1 localhost\n")
        self.space = Space(tmp_path / "pod", str(hosts))

    async def _report(self, _: dict[str, Any], patch: dict[str, Any]) -> None:
        self.status = patch["status"]
        waiting = self.container["state"].get("waiting", {}).get("reason", "")
        if waiting and waiting not in self.reasons:
            self.reasons.append(waiting)

    @property
    def container(self) -> dict[str, Any]:
        return dict(self.status["containerStatuses"][0])

    @property
    def ready(self) -> bool:
        return any(one["type"] == "Ready" and one["status"] == "True" for one in self.status.get("conditions", []))

    def start(self, container: dict[str, Any], **spec: Any) -> Worker:
        first = {"name": "c", "image": "sh:1", **container}
        meta = {"name": "p", "namespace": "n", "uid": "u"}
        return Worker({"metadata": meta, "spec": {"containers": [first], **spec}}, ADDRESS, self.space, self.house)


async def _nothing(kind: str, name: str) -> dict[str, Any]:
    raise Refused(f"{kind} {name}", 404)


async def until(what: str, check: Callable[[], Any]) -> None:
    async def wait() -> None:
        while not check():
            await asyncio.sleep(0.02)

    try:
        await asyncio.wait_for(wait(), LIMIT)
    except TimeoutError:
        pytest.fail(f"not within {LIMIT:.0f} s: {what}")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    why = asyncio.run(works(tmp_path / "trial"))
    if why:
        pytest.skip(f"this system gives no mount namespace: {why}")
    return Desk(tmp_path)


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def engine(port: int, seconds: int = 30) -> dict[str, Any]:
    health = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 1, "timeoutSeconds": seconds}
    return {
        "image": "sim:1",
        "args": ["m", "--port", str(port)],
        "ports": [{"name": "http", "containerPort": port}],
        "startupProbe": {**health, "failureThreshold": int(LIMIT)},
        "readinessProbe": {**health, "failureThreshold": 1},
        "livenessProbe": {**health, "failureThreshold": 3},
    }


def test_hook_then_sigterm(desk: Desk, tmp_path: Path) -> None:
    """The hook asks the pod's own port on 127.0.0.1, as in a container, while the engine still answers."""
    port, note = free_port(), tmp_path / "note"
    script = (
        "import http.client, pathlib\n"
        f"link = http.client.HTTPConnection('127.0.0.1', {port}, timeout={LIMIT})\n"
        "link.request('GET', '/version')\n"
        f"pathlib.Path({str(note)!r}).write_bytes(link.getresponse().read())\n"
    )
    container = {**engine(port), "lifecycle": {"preStop": {"exec": {"command": [sys.executable, "-c", script]}}}}

    async def test() -> None:
        worker = desk.start(container)
        await until("it is ready", lambda: desk.ready)
        assert worker.serving
        ending = asyncio.create_task(worker.end(LIMIT))
        await asyncio.sleep(0)
        assert not worker.serving
        await ending
        assert note.read_text() == '{"version":"0.25.0"}'
        assert not desk.ready
        assert desk.container["lastState"]["terminated"]["exitCode"] == 0
        assert not desk.space.folder.exists()

    run(test)


def test_a_process_that_hangs_is_not_ready_and_then_started_again(desk: Desk) -> None:
    async def test() -> None:
        worker = desk.start(engine(free_port(), seconds=2), terminationGracePeriodSeconds=1)
        await until("it is ready", lambda: desk.ready)
        os.kill(worker.facts.pid, signal.SIGSTOP)
        await until("it is not ready", lambda: not desk.ready)
        await until("it was started again", lambda: desk.container["restartCount"] >= 1)
        last = desk.container["lastState"]["terminated"]
        assert last["reason"] == "liveness probe failed"
        await until("it is ready again", lambda: desk.ready)
        await worker.drop(LIMIT)

    run(test)


def test_a_process_that_keeps_ending_waits_longer_and_longer(desk: Desk) -> None:
    async def test() -> None:
        worker = desk.start({"args": ["echo because; exit 3"]})
        await until("three restarts", lambda: desk.container["restartCount"] >= 3 if desk.status else False)
        assert "CrashLoopBackOff" in desk.reasons
        last = desk.container["lastState"]["terminated"]
        assert (last["exitCode"], last["reason"], last["message"]) == (3, "Error", "because")
        await worker.drop(LIMIT)

    run(test)


@pytest.mark.parametrize(
    ("policy", "script", "phase"),
    [("Never", "exit 0", "Succeeded"), ("Never", "exit 1", "Failed"), ("OnFailure", "exit 0", "Succeeded")],
)
def test_restart_policies(desk: Desk, policy: str, script: str, phase: str) -> None:
    async def test() -> None:
        worker = desk.start({"args": [script]}, restartPolicy=policy)
        await until(phase, lambda: desk.status.get("phase") == phase)
        assert desk.container["state"]["terminated"]["reason"] == ("Completed" if phase == "Succeeded" else "Error")
        assert not desk.ready
        await worker.drop(LIMIT)

    run(test)


def test_a_process_that_ignores_sigterm_is_killed(desk: Desk) -> None:
    async def test() -> None:
        worker = desk.start({"args": ["trap '' TERM; echo up; while :; do sleep 0.1; done"]})
        await until("it runs", lambda: desk.space.log.exists() and b"up" in desk.space.log.read_bytes())
        await worker.end(1)
        assert any("is killed" in one for one in desk.said)
        assert desk.container["lastState"]["terminated"]["exitCode"] == 137

    run(test)


def test_a_command_that_cannot_be_started_costs_no_process(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a probe nor a hook that this system refuses leaves a process behind, or a second one beside it."""
    tried: list[str] = []

    async def full(_: Process, command: list[str], limit: float) -> int:
        tried.append(command[0])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Process, "run", full)
    probe = {"exec": {"command": ["probe"]}, "periodSeconds": 1}
    hook = {"preStop": {"exec": {"command": ["hook"]}}}

    async def test() -> None:
        worker = desk.start({"command": ["sleep", "600"], "readinessProbe": probe, "lifecycle": hook})
        await until("it is probed more than once", lambda: tried.count("probe") > 1)
        pid = worker.facts.pid
        os.kill(pid, 0)
        await worker.end(LIMIT)
        assert not desk.space.folder.exists()
        assert any("preStop hook" in line and "No space" in line for line in desk.said)
        assert len([line for line in desk.said if "runs as process" in line]) == 1
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    run(test)


def test_without_probes_it_is_ready_at_once(desk: Desk) -> None:
    async def test() -> None:
        worker = desk.start({"args": ["while :; do sleep 0.1; done"]})
        await until("it is ready", lambda: desk.ready)
        assert desk.container["started"] is True
        # The node controller says otherwise: the worker says it again.
        desk.status = {}
        worker.agree({**worker.pod, "status": {"conditions": [{"type": "Ready", "status": "False"}]}})
        await until("it is reported again", lambda: desk.status and desk.ready)
        await worker.drop(LIMIT)

    run(test)


def test_a_cluster_that_is_away_is_asked_again(tmp_path: Path) -> None:
    asked: list[str] = []

    async def look(_: str, name: str) -> dict[str, Any]:
        asked.append(name)
        if len(asked) == 1:
            raise Unreachable("away")
        return {"metadata": {"name": name}, "data": {"A": "1"}}

    async def test() -> None:
        desk = Desk(tmp_path, look)
        why = await works(tmp_path / "trial")
        if why:
            pytest.skip(f"this system gives no mount namespace: {why}")
        source = [{"configMapRef": {"name": "x"}}]
        worker = desk.start({"args": ["echo $A; while :; do sleep 0.1; done"], "envFrom": source})
        await until("it runs", lambda: desk.space.log.exists() and desk.space.log.read_bytes() == b"1\n")
        await worker.drop(LIMIT)

    run(test)
