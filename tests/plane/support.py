"""Hands and eyes of the plane's tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from localplane import NotReady, Plane, PlaneError, wait
from localplane.components import HUB
from localplane.hub import SYSTEM

ROOT = Path(__file__).resolve().parents[2]
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""Name of this process among those that run tests; empty when it is the only one."""
STATE = "SAILPLAN_TEST_STATE"
"""Variable that names the folder of a run's planes to all its processes."""
APP_API = "core.oam.dev/v1beta1"
ROUTE = ("aigateway.envoyproxy.io/v1beta1", "AIGatewayRoute")
DEPLOYMENT = ("apps/v1", "Deployment")
JOB = ("batch/v1", "Job")
_BUSY = (
    "the object has been modified",
    "deadline exceeded",
    "no end after",
    "connection refused",
    "i/o timeout",
    "EOF",
)
"""What vela says when it is worth trying again."""


class Desk:
    """Runs `sailplan` and `vela` as a person would, and reads what the clusters hold."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane

    def definitions(self) -> list[Path]:
        return sorted((ROOT / "definitions").glob("*/*.cue"))

    def sailplan(self, *args: str, timeout: float = 240.0, code: int = 0) -> str:
        """What `sailplan` prints; it must end with `code`."""
        env = {**os.environ, "KUBECONFIG": str(self.plane.kubeconfig)}
        program = Path(sys.executable).with_name("sailplan")
        done = subprocess.run(
            [program, *args], cwd=ROOT, env=env, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert done.returncode == code, f"sailplan {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def vela(self, *args: str, timeout: float = 90.0) -> str:
        return self.plane.hub.vela(*args, timeout=timeout)

    def up(self, application: str | dict[str, Any]) -> None:
        """`vela up -f FILE`; the text of an Application, or one as data. (vela does not read JSON.)"""
        text = application if isinstance(application, str) else yaml.safe_dump(application)
        file = self.plane.folder / "application.yaml"
        file.write_text(text, encoding="utf-8")
        self.until("vela up", lambda: self._try("up", "-f", str(file)))
        name = yaml.safe_load(text)["metadata"]["name"]
        self.until(f"{name} was taken up", lambda: self.taken_up(name), app=name)

    def taken_up(self, name: str) -> bool:
        """Tell whether the controller works on what was applied last, and no longer on what was there before."""
        item = self.app(name)
        status = item.get("status", {})
        latest = (status.get("latestRevision") or {}).get("name", "-")
        current = status.get("observedGeneration", 0) >= item["metadata"]["generation"]
        return current and (status.get("workflow") or {}).get("appRevision") == latest

    def compose(self, app: str) -> dict[str, Any]:
        return dict(yaml.safe_load(self.sailplan("compose", app)))

    def cluster(self, environment: str) -> tuple[Any, str]:
        """Return the client of an environment's cluster, and its namespace there."""
        spec = yaml.safe_load((ROOT / f"catalog/environments/{environment}.yaml").read_text())["spec"]
        name = HUB if spec["clusters"] == ["local"] else spec["clusters"][0]
        return self.plane.clusters[name].client, spec["namespace"]

    def simulation(self, environment: str) -> Any:
        client, _ = self.cluster(environment)
        return next(one.simulation for one in self.plane.clusters.values() if one.client is client)

    def app(self, name: str) -> dict[str, Any]:
        return dict(self.plane.clusters[HUB].client.get(APP_API, "Application", name, "default"))

    def phase(self, name: str) -> str:
        return str(self.app(name).get("status", {}).get("status", ""))

    def steps(self, name: str) -> dict[str, str]:
        workflow = self.app(name).get("status", {}).get("workflow") or {}
        return {step["name"]: step.get("phase", "") for step in workflow.get("steps") or []}

    def why(self, name: str) -> str:
        """Everything the hub says about an Application, for a failed test."""
        status = self.app(name).get("status", {})
        workflow = status.get("workflow") or {}
        lines = [f"{name}: {status.get('status')} {workflow.get('message', '')}"]
        lines += [f"  step {s['name']}: {s.get('phase')} {s.get('message', '')}" for s in workflow.get("steps") or []]
        for service in status.get("services") or []:
            place = f"{service.get('cluster') or 'local'}/{service.get('namespace')}/{service['name']}"
            lines.append(f"  {place}: healthy={service.get('healthy')} {service.get('message', '')}")
            lines += [
                f"    {t['type']}: healthy={t.get('healthy')} {t.get('message', '')}"
                for t in service.get("traits") or []
            ]
        for condition in status.get("conditions") or []:
            if condition.get("status") != "True":
                lines.append(f"  {condition.get('type')}: {condition.get('reason')} {condition.get('message', '')}")
        return "\n".join(lines)

    def until(self, what: str, check: Callable[[], Any], seconds: float = 240, app: str = "") -> Any:
        """Wait; a failure tells what the hub says about `app`. The limit is for a machine with much else to do."""
        started = time.monotonic()
        try:
            found = wait(what, check, seconds, every=0.3)
        except NotReady as error:
            raise AssertionError(f"{error}\n{self.why(app)}" if app else str(error)) from None
        print(f"  {what}: {time.monotonic() - started:.1f} s")
        return found

    def until_phase(self, name: str, phase: str, seconds: float = 240) -> None:
        self.until(f"{name} is {phase}", lambda: self.phase(name) == phase, seconds, app=name)

    def until_step(self, name: str, step: str, phase: str, seconds: float = 240) -> None:
        check = lambda: self.steps(name).get(step) == phase  # noqa: E731
        self.until(f"step {step} of {name}: {phase}", check, seconds, app=name)

    def approve(self, name: str, environment: str) -> None:
        """Wait for the approval step of an environment, and approve: `vela workflow resume`.

        The controller still writes when the step begins, and vela does not try again on a conflict.
        """
        step = f"approve-{environment}"
        self.until_step(name, step, "suspending")
        self.until_phase(name, "workflowSuspending")

        def resumed() -> bool:
            if self.steps(name).get(step) != "succeeded":
                self._try("workflow", "resume", name)
            return True

        self.until(f"{environment} of {name} is approved", resumed, app=name)

    def told(self, command: str) -> None:
        """Run a vela command exactly as README shows it, from the root of the checkout."""
        from plane.person import shown

        program, *args = shown(command).command.split()
        assert program == "vela"
        files = {str(file.relative_to(ROOT)): str(file) for file in (ROOT / "applications").glob("*/application.yaml")}
        self.until(command, lambda: self._try(*(files.get(one, one) for one in args)))

    def _try(self, *args: str) -> bool:
        """Run vela where trying again helps: somebody else was writing, or the machine was busy. True when it worked.

        Raises:
            NotReady: it should be tried again.
            PlaneError: it should not.
        """
        try:
            self.vela(*args)
        except PlaneError as error:
            if any(one in error.message for one in _BUSY):
                raise NotReady(error.message) from error
            raise
        return True

    def remove(self, name: str) -> None:
        """`vela delete`, and wait until the Application is gone."""
        client = self.plane.clusters[HUB].client
        if client.find(APP_API, "Application", name, "default") is None:
            return
        self.vela("delete", name, "--namespace", "default", "--yes", "--wait", timeout=240)
        self.until(f"{name} is gone", lambda: client.find(APP_API, "Application", name, "default") is None)

    def revisions(self, definition: str) -> list[str]:
        found = self.plane.clusters[HUB].client.list(APP_API, "DefinitionRevision", SYSTEM)
        return sorted(one["metadata"]["name"] for one in found if one["metadata"]["name"].startswith(f"{definition}-v"))

    def refused(self, *args: str) -> str:
        """Run vela, expect a refusal, and return its words."""
        try:
            said = self.vela(*args)
        except PlaneError as error:
            return str(error)
        raise AssertionError(f"vela {' '.join(args)} was not refused: {said}")


def names(client: Any, kind: tuple[str, str], namespace: str) -> set[str]:
    """Names of the objects of a kind in a namespace."""
    return {one["metadata"]["name"] for one in client.list(*kind, namespace)}


def left_over(folder: Path) -> list[str]:
    """Command lines of processes that name a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if int(place.parent.name) != os.getpid() and any(str(folder) in word for word in words):
            found.append(" ".join(words)[:200])
    return found


def state_of(folders: pytest.TempPathFactory) -> Path:
    """The folder of all planes of this run: they choose their ports one after the other, whoever starts them."""
    shared = os.environ.get(STATE)
    return Path(shared) if shared else folders.mktemp("planes")
