"""A hub of one's own with the definitions of this checkout on it, and delivery to it as a pipeline does it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from drill.checkout import Checkout, Object
from drill.context import Context
from drill.errors import DrillError
from localplane import NotReady, Plane, PlaneError, wait
from localplane.components import HUB
from localplane.kube import Client
from localplane.state import planes
from podrunner.errors import RunnerError
from sailplan import writer

_APP = ("core.oam.dev/v1beta1", "Application")
_PREFIX = "drill-"
_VELA_SECONDS = 180
"""Admission judges the whole fleet; on a busy machine that takes its time."""


class Desk:
    """One plane (a hub and nothing else), one checkout, one application.

    Use `opened`, which stops and forgets the plane at the end.
    """

    def __init__(self, context: Context, plane: Plane, checkout: Checkout) -> None:
        self.context = context
        self.plane = plane
        self.checkout = checkout
        self.namespace: str = checkout.environment["namespace"]

    @property
    def client(self) -> Client:
        """The hub's API server."""
        return self.plane.clusters[HUB].client

    def publish(self) -> None:
        """Put the definitions that the application uses on the hub: `vela def apply`."""
        used = used_definitions(self.checkout.composed().application)
        files = sorted((self.checkout.folder / "definitions").glob("*/*.cue"))
        chosen = [file for file in files if file.stem in used]
        components = [file for file in chosen if file.parent.name == "component"]
        # One by one: the hub makes a WorkloadDefinition for the first of a kind, and refuses two that are the first.
        for file in components:
            self._publish(file)
        with ThreadPoolExecutor(2) as pool:  # vela itself takes most of the time
            list(pool.map(self._publish, [file for file in chosen if file not in components]))

    def _publish(self, file: Path) -> None:
        self.plane.hub.vela("def", "apply", str(file), timeout=_VELA_SECONDS)

    def deliver(self, seconds: float = 420) -> float:
        """Compose the intent as it is now, `vela up` it, wait until its workflow has ended well; seconds it took.

        Raises:
            FindingsError: the intent is wrong.
            DrillError: the hub refuses it, or it does not come to its end.
        """
        start = time.monotonic()
        file = self.context.folder / "application.yaml"
        file.write_text(writer.dump(self.checkout.composed().application), encoding="utf-8")
        with translated():
            self.plane.hub.vela("up", "-f", str(file), timeout=_VELA_SECONDS)
            try:
                wait(f"{self.checkout.app} is delivered", self._delivered, seconds)
            except NotReady as error:
                raise DrillError(f"{error.message}\n{self.why()}") from error
        return time.monotonic() - start

    def _delivered(self) -> bool:
        """Tell whether the controller has worked off what was applied last."""
        item = self.client.get(*_APP, self.checkout.app, "default")
        status = item.get("status", {})
        latest = (status.get("latestRevision") or {}).get("name", "-")
        current = status.get("observedGeneration", 0) >= item["metadata"]["generation"]
        workflow = status.get("workflow") or {}
        if current and workflow.get("appRevision") == latest and workflow.get("status") == "failed":
            raise DrillError(f"{self.checkout.app} was not delivered\n{self.why()}")
        return bool(current and workflow.get("appRevision") == latest and status.get("status") == "running")

    def why(self) -> str:
        """What the hub says about the application."""
        status = self.client.get(*_APP, self.checkout.app, "default").get("status", {})
        steps = (status.get("workflow") or {}).get("steps") or []
        lines = [f"{self.checkout.app}: {status.get('status')}"]
        lines += [f"  step {one['name']}: {one.get('phase')} {one.get('message', '')}" for one in steps]
        for service in status.get("services") or []:
            lines.append(f"  {service['name']}: healthy={service.get('healthy')} {service.get('message', '')}")
        return "\n".join(lines)

    def objects(self, api: str, kind: str, namespace: str | None = None) -> list[Object]:
        """Objects of a kind as the hub holds them; of the environment's namespace where none is given."""
        return self.client.list(api, kind, self.namespace if namespace is None else namespace)


def used_definitions(application: Mapping[str, Any]) -> set[str]:
    """Names of all types in an Application, ours and KubeVela's."""
    spec = application["spec"]
    parts = [*spec["components"], *(trait for part in spec["components"] for trait in part.get("traits", ()))]
    steps = spec.get("workflow", {}).get("steps", ())
    names = {one["type"] for one in (*parts, *spec.get("policies", ()), *steps)}
    return {str(name).partition("@")[0] for name in names}


@contextlib.contextmanager
def opened(context: Context, prepare: Callable[[Checkout], Any] | None = None) -> Iterator[Desk]:
    """Start a hub with the definitions on it; stop and forget it afterwards.

    Args:
        context: whose root is the checkout to copy.
        prepare: changes the copy before anything is started.

    Raises:
        DrillError: it does not come up.
    """
    checkout = Checkout(context)
    if prepare:
        prepare(checkout)
    checkout.composed()
    with translated():
        forget_strays()
        plane = Plane(f"{_PREFIX}{os.getpid()}", checkout.folder, context.say)
        try:
            took = plane.up()
            context.say(f"a hub of its own is up after {took:.0f} s")
            desk = Desk(context, plane, checkout)
            desk.publish()
            yield desk
        finally:
            plane.reset()


def forget_strays() -> None:
    """Stop and forget planes of drills that were killed before they could do so."""
    for file in planes().glob(f"{_PREFIX}*/state.json"):
        pid = file.parent.name.removeprefix(_PREFIX)
        if pid.isdigit() and not _runs(int(pid)):
            Plane(file.parent.name, file.parent).reset()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Let errors of the plane and of what runs its pods be errors of the drill: the command line knows those."""
    try:
        yield
    except (PlaneError, RunnerError) as error:
        raise DrillError(error.message, error.hint) from error
