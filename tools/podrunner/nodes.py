"""Nodes whose kubelet this is: adopting them, keeping them ready, giving them back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable

from .api import STRATEGIC, Client, Object
from .errors import Refused, RunnerError, Unreachable
from .status import now

LABEL = "sailplan.dev/runs"
PROCESSES = "processes"
"""Value of the label of nodes that KWOK leaves alone, and whose pods get processes."""

BEAT = 4.0
"""Seconds between two signs of life; the plane's node controller gives up after 20."""


class Nodes:
    """The nodes of one cluster that are ours.

    Args:
        client: of the cluster.
        say: tells people.
    """

    def __init__(self, client: Client, say: Callable[[str], None]) -> None:
        self._client = client
        self._say = say
        self._adopted: list[str] = []

    async def adopt(self, wish: str) -> None:
        """Take nodes over from KWOK.

        Args:
            wish: names with commas between them, "all", or "" for none.

        Raises:
            RunnerError: there is no such node.
        """
        if not wish:
            return
        there = {one["metadata"]["name"]: one for one in (await self._client.get("/api/v1/nodes"))["items"]}
        names = list(there) if wish == "all" else wish.split(",")
        for name in names:
            if name not in there:
                raise RunnerError(f"there is no node {name!r}", f"one of: {', '.join(sorted(there))}")
            if not mine(there[name]):
                await self._client.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {LABEL: PROCESSES}}})
                self._adopted.append(name)

    async def give_back(self) -> None:
        """Leave the adopted nodes to KWOK again."""
        for name in self._adopted:
            with contextlib.suppress(Refused, Unreachable):
                await self._client.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {LABEL: None}}})

    async def beat(self, nodes: Callable[[], Iterable[Object]]) -> None:
        """Say that our nodes live, again and again."""
        while True:
            for node in list(nodes()):
                with contextlib.suppress(Refused, Unreachable):
                    await self._client.patch(
                        f"/api/v1/nodes/{node['metadata']['name']}/status", _alive(node), STRATEGIC
                    )
            await asyncio.sleep(BEAT)


def mine(node: Object) -> bool:
    """Tell whether a node's pods get processes."""
    return (node["metadata"].get("labels") or {}).get(LABEL) == PROCESSES


def _alive(node: Object) -> Object:
    had = {one["type"]: one for one in node.get("status", {}).get("conditions") or []}
    since = had.get("Ready", {}).get("lastTransitionTime") if had.get("Ready", {}).get("status") == "True" else None
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "PodRunner",
        "message": "podrunner is posting ready status",
        "lastHeartbeatTime": now(),
        "lastTransitionTime": since or now(),
    }
    rest = [
        {
            "type": name,
            "status": "False",
            "reason": "PodRunner",
            "lastHeartbeatTime": now(),
            "lastTransitionTime": now(),
        }
        for name in ("MemoryPressure", "DiskPressure", "PIDPressure")
        if had.get(name, {}).get("status") != "False"
    ]
    return {"status": {"conditions": [ready, *rest]}}
