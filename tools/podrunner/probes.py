"""Probes, as a kubelet does them, only that it looks more often while it waits for the first success."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .api import Object

HURRY = 0.5
"""Seconds between two looks while a probe has not succeeded yet. Failures count as often as the pod's period says."""

Run = Callable[[list[str], float], Awaitable[int]]
"""Runs a command of the pod's with a time limit; returns its exit code."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe of a container.

    Attributes:
        check: tells whether it succeeds now.
        delay, period: seconds.
        failures: that many in a row are a failure.
    """

    check: Callable[[], Awaitable[bool]]
    delay: float
    period: float
    failures: int

    async def succeed(self) -> bool:
        """Wait for the first success; False when it failed too often before."""
        await asyncio.sleep(self.delay)
        begun = time.monotonic()
        while not await self.check():
            if time.monotonic() - begun >= self.period * self.failures:
                return False
            await asyncio.sleep(min(self.period, HURRY))
        return True

    async def fail(self) -> None:
        """Wait until it has failed too often in a row."""
        await asyncio.sleep(self.delay)
        failed = 0
        while failed < self.failures:
            await asyncio.sleep(self.period)
            failed = 0 if await self.check() else failed + 1


def read(container: Object, name: str, address: str, run: Run) -> Probe | None:
    """A container's probe; None when it has none of this name.

    Args:
        container: of a pod.
        name: "startupProbe", "readinessProbe" or "livenessProbe".
        address: the pod's.
        run: for probes that are commands.
    """
    row = container.get(name)
    if row is None:
        return None
    limit = float(row.get("timeoutSeconds") or 1)
    check = _check(container, row, address, limit, run)
    delay, period = float(row.get("initialDelaySeconds") or 0), float(row.get("periodSeconds") or 10)
    return Probe(check, delay, period, int(row.get("failureThreshold") or 3))


def _check(container: Object, row: Object, address: str, limit: float, run: Run) -> Callable[[], Awaitable[bool]]:
    async def command() -> bool:
        try:
            return await run(row["exec"]["command"], limit) == 0
        except OSError:  # it could not be started: no sign of life, and no end of the process that is asked
            return False

    async def connect() -> bool:
        return await connects(address, port(container, row["tcpSocket"]["port"]), limit)

    async def ask() -> bool:
        return await answers(container, row["httpGet"], address, limit)

    async def always() -> bool:
        return True

    return command if "exec" in row else connect if "tcpSocket" in row else ask if "httpGet" in row else always


async def connects(address: str, number: int, limit: float) -> bool:
    """Tell whether somebody listens."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(address, number), limit)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def answers(container: Object, get: Object, address: str, limit: float) -> bool:
    """Tell whether a request is answered with 200 to 399 in time."""
    host, number = get.get("host") or address, port(container, get["port"])
    headers = {"Host": f"{host}:{number}", "User-Agent": "kube-probe/podrunner", "Connection": "close"}
    headers |= {row["name"]: row["value"] for row in get.get("httpHeaders", [])}
    lines = [f"GET {get.get('path') or '/'} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    secure = get.get("scheme") == "HTTPS"
    try:
        return 200 <= await asyncio.wait_for(_status(host, number, secure, "\r\n".join(lines)), limit) < 400
    except (OSError, TimeoutError, ValueError, EOFError):
        return False


async def _status(host: str, number: int, secure: bool, head: str) -> int:
    """The status of an answer; probes are many, so no more of it is read."""
    context = ssl._create_unverified_context() if secure else None
    reader, writer = await asyncio.open_connection(host, number, ssl=context)
    try:
        writer.write(f"{head}\r\n\r\n".encode())
        line = await reader.readuntil(b"\n")
        return int(line.split()[1])
    except (asyncio.LimitOverrunError, IndexError) as error:
        raise ValueError("no HTTP") from error
    finally:
        writer.close()


def port(container: Object, wanted: Any) -> int:
    """A port by number or by the name that the container gives it; 0 when there is no such name."""
    if isinstance(wanted, int) or str(wanted).isdecimal():
        return int(wanted)
    found = [row["containerPort"] for row in container.get("ports", []) if row.get("name") == wanted]
    return int(found[0]) if found else 0
