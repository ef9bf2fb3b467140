"""One pod's life: start, probes, restarts, the hook before its end, and the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from . import probes, status
from .api import Object
from .errors import NotRunnable, Refused, Unreachable
from .images import Image
from .plan import Look, Plan, plan
from .probes import Probe
from .process import Process
from .space import Space
from .status import Facts

LONGEST_BACK_OFF = 300.0
_FORGIVEN = 600.0
"""A process that ran that many seconds starts again without delay, as after its first end."""

_RETRY = 2.0


@dataclass(frozen=True, slots=True)
class House:
    """What all workers share.

    Attributes:
        images: local commands by pattern of image.
        back_off: seconds before the second restart; doubles with each further one.
        report: patches a pod's status; must not fail.
        look: finds ConfigMaps and Secrets of a namespace.
        say: tells people.
        changed: called when a pod became ready or stopped being so.
    """

    images: Mapping[str, Image]
    back_off: float
    report: Callable[[Object, Object], Awaitable[None]]
    look: Callable[[str], Look]
    say: Callable[[str], None]
    changed: Callable[[], None]


class Worker:
    """Runs the process of one pod.

    Args:
        pod: as the API server had it when it was bound.
        address: a loopback address of its own.
        space: folder and namespace.
        house: what all share.

    Attributes:
        facts: what is known of the process.
        ending: whether the pod is being deleted.
    """

    def __init__(self, pod: Object, address: str, space: Space, house: House) -> None:
        self.pod = pod
        self.address = address
        self.space = space
        self.facts = Facts(address, status.now())
        self.ending = False
        self._house = house
        self._process = Process(self.name, self.container, address, space, house.say)
        self._ended = 0
        self._saying: asyncio.Task[None] | None = None
        self._task = asyncio.create_task(self._live())

    @property
    def name(self) -> str:
        """Namespace and name of the pod."""
        return f"{self.pod['metadata']['namespace']}/{self.pod['metadata']['name']}"

    @property
    def container(self) -> Object:
        """The container that has a process."""
        first: Object = self.pod["spec"]["containers"][0]
        return first

    @property
    def serving(self) -> bool:
        """Whether Services send connections here."""
        return self.facts.ready and not self.ending

    def agree(self, pod: Object) -> None:
        """Take the pod as the API server has it now, and say again what it has wrong.

        The node controller marks pods as not ready when signs of life of their node come late.
        """
        self.pod = pod
        said = any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
        if said != self.facts.ready and not self.ending and (self._saying is None or self._saying.done()):
            self._saying = asyncio.create_task(self._report())

    async def end(self, grace: float) -> None:
        """Run the hook, ask the process to end, and end it when it does not.

        Args:
            grace: seconds for hook and process together.
        """
        self.ending = True
        self._house.changed()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._process.stop(grace)
        if self._process.there:
            self._note_end("")
        await self._report()
        self.space.remove()

    async def drop(self, grace: float) -> None:
        """End the process without the hook, because the runner itself ends."""
        self.ending = True
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._process.stop(grace, hook=False)
        self.space.remove()

    async def _live(self) -> None:
        """Start the process again and again, as the pod's restart policy says."""
        await self._report()
        made = await self._plan()
        for text in made.ignored:
            self._house.say(f"! {self.name}: {text}")
        while True:
            try:
                ran = await self._once(made)
            except OSError as error:
                self.facts.waiting = ("RunContainerError", str(error))
                self._house.say(f"! {self.name}: {error}")
                await self._report()
                await asyncio.sleep(_RETRY)
                continue
            if self._over():
                await self._report()
                return
            await self._wait_before_restart(ran)

    async def _plan(self) -> Plan:
        """What to start, as soon as everything is there that the pod refers to."""
        look = self._house.look(self.pod["metadata"]["namespace"])
        while True:
            try:
                made = await plan(self.pod, self.address, self._house.images, look)
                self.space.materialise(made.folders)
            except (Refused, Unreachable) as error:
                self._house.say(f"! {self.name}: {error.message}")
                await asyncio.sleep(_RETRY)
            except NotRunnable as error:
                if self.facts.waiting != (error.reason, error.message):
                    self.facts.waiting = (error.reason, error.message)
                    self._house.say(f"! {self.name}: {error.reason}: {error.message}")
                    await self._report()
                await asyncio.sleep(_RETRY)
            else:
                return made

    async def _once(self, made: Plan) -> float:
        """Run the process until it ends or fails its probes; return the seconds it ran."""
        begun = time.monotonic()
        pid = await self._process.start(made)
        facts = self.facts
        facts.phase, facts.running_since, facts.pid = "Running", status.now(), pid
        self._house.say(f"+ {self.name} runs as process {facts.pid} on {self.address}")
        await self._report()
        reason = await self._watch()
        if reason:
            self._house.say(f"! {self.name}: {reason}")
            await self._process.stop(float(self.pod["spec"].get("terminationGracePeriodSeconds", 30)))
        self._note_end(reason)
        return time.monotonic() - begun

    async def _watch(self) -> str:
        """Probe until the process ends by itself, "", or has to be ended, which is what is returned."""
        over = asyncio.create_task(self._process.wait())
        tests = asyncio.create_task(self._probe())
        try:
            await asyncio.wait({over, tests}, return_when=asyncio.FIRST_COMPLETED)
            return "" if over.done() else tests.result()
        finally:
            for task in (over, tests):
                task.cancel()
            await asyncio.gather(over, tests, return_exceptions=True)

    async def _probe(self) -> str:
        """Follow the probes; return why the process has to be ended."""
        first = self._read("startupProbe")
        if first is not None and not await first.succeed():
            return "start-up probe failed"
        self.facts.started = True
        readiness, liveness = self._read("readinessProbe"), self._read("livenessProbe")
        tasks = [asyncio.create_task(self._readiness(readiness))]
        if liveness is not None:
            tasks.append(asyncio.create_task(liveness.fail()))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
            return "liveness probe failed"
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _readiness(self, probe: Probe | None) -> None:
        """Follow the readiness probe; never ends."""
        while True:
            if probe is None or await probe.succeed():
                await self._set_ready(True)
            if probe is None:
                await asyncio.Event().wait()
            else:
                await probe.fail()
                await self._set_ready(False)

    async def _set_ready(self, ready: bool) -> None:
        if self.facts.ready != ready:
            self.facts.ready = ready
            self._house.say(f"{'=' if ready else '!'} {self.name} is {'' if ready else 'not '}ready")
            self._house.changed()
            await self._report()

    def _read(self, name: str) -> Probe | None:
        return probes.read(self.container, name, self.address, self._process.run)

    def _note_end(self, reason: str) -> None:
        facts, code = self.facts, self._process.forget()
        said = "" if code == 0 else self._process.tail()
        facts.ended = status.ended(code, facts.running_since, reason, said)
        facts.ready = facts.started = False
        facts.running_since, facts.pid = "", 0
        self._ended += 1
        why = f"signal {-code}" if code < 0 else f"exit code {code}"
        self._house.say(f"- {self.name} ended: {reason or why}{f': {said}' if said else ''}")
        self._house.changed()

    def _over(self) -> bool:
        """Whether the pod's policy leaves it ended."""
        policy, code = self.pod["spec"].get("restartPolicy", "Always"), self.facts.ended["exitCode"]
        if policy == "Always" or (policy == "OnFailure" and code != 0):
            return False
        self.facts.phase = "Succeeded" if code == 0 else "Failed"
        return True

    async def _wait_before_restart(self, ran: float) -> None:
        """Wait as a kubelet does: not at all the first time, then longer and longer."""
        if ran >= _FORGIVEN:
            self._ended = 1
        delay = 0.0 if self._ended <= 1 else min(LONGEST_BACK_OFF, self._house.back_off * 2 ** (self._ended - 2))
        if delay:
            self.facts.waiting = ("CrashLoopBackOff", f"back-off {delay:g}s restarting failed container")
        await self._report()
        await asyncio.sleep(delay)
        self.facts.restarts += 1

    async def _report(self) -> None:
        await self._house.report(self.pod, status.patch(self.pod, self.facts))
