"""The process of a pod, and commands beside it: started, asked to end, made to end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from asyncio.subprocess import DEVNULL, STDOUT
from collections.abc import Callable, Mapping

from . import probes
from .api import Object
from .plan import Plan
from .space import Space

_LEAST_GRACE = 2.0
"""Seconds that a process gets after SIGTERM even when the hook took all of the pod's."""


class Process:
    """What runs for the first container of a pod; nothing at first.

    Args:
        name: of the pod, for people.
        container: of the pod.
        address: the pod's.
        space: folder and namespace.
        say: tells people.
    """

    def __init__(self, name: str, container: Object, address: str, space: Space, say: Callable[[str], None]) -> None:
        self._name = name
        self._container = container
        self._address = address
        self._space = space
        self._say = say
        self._env: Mapping[str, str] = {}
        self._child: asyncio.subprocess.Process | None = None

    @property
    def there(self) -> bool:
        """Whether one was started, and has not been forgotten since."""
        return self._child is not None

    async def start(self, made: Plan) -> int:
        """Start it; return its id.

        Raises:
            OSError: this system does not start it.
        """
        self._env = made.env
        with self._space.log.open("ab") as log:
            self._child = await asyncio.create_subprocess_exec(
                *self._space.argv(made.argv, made.env), stdin=DEVNULL, stdout=log, stderr=STDOUT,
                start_new_session=True, cwd="/",
            )  # fmt: skip
        return self._child.pid

    async def wait(self) -> None:
        """Wait until it has ended."""
        if self._child is not None:
            await self._child.wait()

    def forget(self) -> int:
        """Forget one that has ended; return its exit code, or the negative number of the signal that ended it."""
        child, self._child = self._child, None
        return child.returncode if child is not None and child.returncode is not None else -signal.SIGKILL

    async def stop(self, grace: float, *, hook: bool = True) -> None:
        """End it, if there is one: hook, SIGTERM, SIGKILL.

        Args:
            grace: seconds for hook and process together.
            hook: whether the pod's preStop hook runs.
        """
        child = self._child
        if child is None:
            return
        deadline = time.monotonic() + grace
        if hook:
            try:
                await asyncio.wait_for(self._hook(grace), grace)
            except TimeoutError:
                pass
            except OSError as error:
                self._say(f"! {self._name}: the preStop hook: {error}")
        _signal(child, signal.SIGTERM)
        try:
            await asyncio.wait_for(child.wait(), max(_LEAST_GRACE if grace else 0.0, deadline - time.monotonic()))
        except TimeoutError:
            self._say(f"! {self._name} did not end within {grace:g} s and is killed")
            _signal(child, signal.SIGKILL)
            await child.wait()

    async def run(self, command: list[str], limit: float) -> int:
        """Run a command as in the pod: its files, its variables, and its own ports on 127.0.0.1.

        Returns:
            Its exit code, or 124 when it took longer than `limit` seconds.

        Raises:
            OSError: this system does not start it.
        """
        own = {int(row["containerPort"]): self._address for row in self._container.get("ports", [])}
        argv = self._space.argv(command, self._env, own)
        with self._space.log.open("ab") as log:
            child = await asyncio.create_subprocess_exec(
                *argv, stdin=DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
            )
        try:
            return await asyncio.wait_for(child.wait(), limit)
        except TimeoutError:
            return 124
        finally:
            if child.returncode is None:
                _signal(child, signal.SIGKILL)
                await child.wait()

    def tail(self) -> str:
        """The last line of what it said."""
        try:
            with self._space.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 2048))
                lines = log.read().decode(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1][:300] if lines else ""

    async def _hook(self, limit: float) -> None:
        """Run what the pod wants to happen before SIGTERM."""
        hook = self._container.get("lifecycle", {}).get("preStop", {})
        if "sleep" in hook:
            await asyncio.sleep(hook["sleep"]["seconds"])
        if "exec" in hook:
            code = await self.run(hook["exec"]["command"], limit)
            if code:
                self._say(f"! {self._name}: the preStop hook ended with {code}")
        if "httpGet" in hook:
            await probes.answers(self._container, hook["httpGet"], self._address, limit)


def _signal(child: asyncio.subprocess.Process, number: int) -> None:
    """Send a signal to the process and to those it started."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
