"""The runner: brings processes, balancers and files to what the cluster says, again and again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import space, status
from .api import STRATEGIC, Client, Object
from .errors import Refused, RunnerError, Unreachable
from .images import Image
from .network import Network, write_whole
from .nodes import Nodes, mine
from .plan import Look
from .services import Services
from .space import Space
from .store import Store
from .worker import House, Worker

READY = "ready"
"""File in the state folder that is there once everything has been looked at for the first time."""

_JOB_SECONDS = 1.0
"""How long a Job's pod pretends to run."""

_LAST_GRACE = 5.0
"""Seconds that processes get when the runner itself ends."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a person chooses.

    Attributes:
        kubeconfig, context: of the cluster.
        namespaces: whose pods are run; empty for all.
        state: folder.
        images: local commands by pattern of image.
        adopt: nodes to take over from KWOK: names, "all" or "".
        most: pods at once.
        back_off: seconds before the second restart of a process.
    """

    kubeconfig: Path
    state: Path
    images: Mapping[str, Image]
    context: str = ""
    namespaces: tuple[str, ...] = ()
    adopt: str = ""
    most: int = 24
    back_off: float = 10.0


class Runner:
    """Runs the pods of one cluster's process nodes.

    Args:
        options: what a person chose.
        say: tells people.
    """

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self._options = options
        self._say = say
        self._client = Client(options.kubeconfig, options.context)
        self._network = Network(options.state.absolute())
        self._services = Services(self._network, options.state, say)
        self._changed = asyncio.Event()
        self._stores = {kind: Store(self._client, f"/api/v1/{kind}", self._changed.set) for kind in _KINDS}
        self._nodes = Nodes(self._client, say)
        self._workers: dict[str, Worker] = {}
        self._endings: dict[str, asyncio.Task[None]] = {}
        self._pretended: dict[str, asyncio.Task[None]] = {}
        self._done: set[str] = set()
        self._refused: set[str] = set()
        self._mounts = True
        self._house = House(options.images, options.back_off, self._report, self._look, say, self._changed.set)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set, then end every process.

        Raises:
            RunnerError: a node to adopt does not exist, or the cluster cannot be reached at the start.
        """
        await self._client.get("/version")
        await self._try_namespaces()
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(stop.wait())]
        try:
            await self._nodes.adopt(self._options.adopt)
            tasks += [asyncio.create_task(one.follow()) for one in self._stores.values()]
            tasks.append(asyncio.create_task(self._nodes.beat(self._ours)))
            tasks.append(asyncio.create_task(self._reconcile()))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._close()

    async def _try_namespaces(self) -> None:
        why = await space.works(self._options.state / "trial")
        self._mounts = not why
        if why:
            self._say("! THIS SYSTEM GIVES NO MOUNT NAMESPACE: names of Services do not resolve, files are not mounted")
            self._say(f"! {why}")

    def _ours(self) -> list[Object]:
        return [one for one in self._stores["nodes"].items.values() if mine(one)]

    async def _reconcile(self) -> None:
        """Look at everything whenever something has changed."""
        for one in self._stores.values():
            await one.filled.wait()
        while True:
            self._changed.clear()
            self._take_pods()
            await self._services.update(self._stores["services"].items.values(), self._workers.values())
            self._write()
            (self._options.state / READY).touch()
            await self._changed.wait()

    def _take_pods(self) -> None:
        ours = {one["metadata"]["name"] for one in self._ours()}
        wanted = self._options.namespaces
        pods = {
            uid: pod
            for uid, pod in self._stores["pods"].items.items()
            if pod["spec"].get("nodeName") in ours and (not wanted or pod["metadata"]["namespace"] in wanted)
        }
        for uid, pod in pods.items():
            self._take(uid, pod)
        for uid in [uid for uid in self._workers if uid not in pods]:
            self._end(uid, 0.0)

    def _take(self, uid: str, pod: Object) -> None:
        """Start, end or leave one pod."""
        if uid in self._done:
            return
        if uid in self._workers:
            self._workers[uid].agree(pod)
        if "deletionTimestamp" in pod["metadata"]:
            self._end(uid, float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))
        elif uid in self._workers or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return
        elif any(one["kind"] == "Job" for one in pod["metadata"].get("ownerReferences", [])):
            if uid not in self._pretended:
                self._pretended[uid] = asyncio.create_task(self._pretend(pod))
        elif any(one.name == _name(pod) for one in self._workers.values()):
            return  # its predecessor, deleted by force, still ends: the folder is one and the same
        elif len(self._workers) >= self._options.most:
            if uid not in self._refused:
                self._refused.add(uid)
                self._say(f"! {_name(pod)} waits: {self._options.most} pods run already (--most)")
        else:
            self._start(uid, pod)

    def _start(self, uid: str, pod: Object) -> None:
        meta = pod["metadata"]
        folder = self._options.state / "pods" / meta["namespace"] / meta["name"]
        hosts = str(self._services.hosts(meta["namespace"]).absolute()) if self._mounts else ""
        self._workers[uid] = Worker(pod, self._network.pod(), Space(folder.absolute(), hosts), self._house)

    def _end(self, uid: str, grace: float) -> None:
        """End a pod's process, in the background, once; then tell the API server that the pod is gone."""
        if uid not in self._endings:
            self._endings[uid] = asyncio.create_task(self._finish(uid, grace))

    async def _finish(self, uid: str, grace: float) -> None:
        worker, pod = self._workers.get(uid), self._stores["pods"].items.get(uid)
        if worker is not None:
            await worker.end(grace)
            self._say(f"- {worker.name} is gone")
            pod = worker.pod
        if pod is not None:
            await self._delete(pod)
        # Only now: until then the pod counts, for --most too, and is not started a second time.
        self._done.add(uid)
        self._workers.pop(uid, None)
        self._endings.pop(uid, None)
        self._changed.set()

    async def _delete(self, pod: Object) -> None:
        with contextlib.suppress(Refused, Unreachable):
            await self._client.delete(_path(pod), uid=pod["metadata"]["uid"], grace=0)

    async def _pretend(self, pod: Object) -> None:
        """Let a Job's pod succeed without doing anything, as KWOK does: there are no models to fetch here."""
        self._say(f"~ {_name(pod)} is of a Job and only pretended")
        facts = status.Facts("", status.now(), running_since=status.now(), phase="Running", started=True)
        await self._report(pod, status.patch(pod, facts))
        await asyncio.sleep(_JOB_SECONDS)
        facts.phase, facts.ended = "Succeeded", status.ended(0, facts.running_since)
        await self._report(pod, status.patch(pod, facts))

    async def _report(self, pod: Object, patch: Object) -> None:
        """Patch a pod's status; a pod that is gone needs none."""
        try:
            await self._client.patch(f"{_path(pod)}/status", _uid(pod, patch), STRATEGIC)
        except Refused as error:
            if error.status not in (404, 409):
                self._say(f"! {_name(pod)}: {error.message}")
        except Unreachable as error:
            self._say(f"! {_name(pod)}: {error.message}")

    def _look(self, namespace: str) -> Look:
        async def look(kind: str, name: str) -> Object:
            return await self._client.get(f"/api/v1/namespaces/{namespace}/{kind}/{name}")

        return look

    def _write(self) -> None:
        rows: dict[str, Any] = {
            worker.name: {
                "address": worker.address,
                "pid": worker.facts.pid,
                "ready": worker.facts.ready,
                "ending": worker.ending,
                "restarts": worker.facts.restarts,
                "log": str(worker.space.log),
            }
            for worker in self._workers.values()
        }
        write_whole(self._options.state / "pods.json", rows)

    async def _close(self) -> None:
        """End everything, in bounded time."""
        begun = time.monotonic()
        pending = [*self._endings.values(), *self._pretended.values()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        ending = [asyncio.create_task(self._last(worker)) for worker in self._workers.values()]
        await asyncio.gather(*ending, return_exceptions=True)
        self._services.close()
        await self._nodes.give_back()
        await self._client.close()
        self._network.close()
        self._workers.clear()
        self._write()
        if ending:
            self._say(f"{len(ending)} pods ended in {time.monotonic() - begun:.1f} s")

    async def _last(self, worker: Worker) -> None:
        """End a pod as a node does that is shut down: its owner makes another one elsewhere."""
        await worker.drop(_LAST_GRACE)
        await self._delete(worker.pod)


_KINDS = ("nodes", "pods", "services")


def _name(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _uid(pod: Object, patch: Object) -> Object:
    """Let the server refuse a patch for a pod that was replaced by one of the same name."""
    return {"metadata": {"uid": pod["metadata"]["uid"]}, **patch}


__all__ = ["Options", "Runner", "RunnerError"]
