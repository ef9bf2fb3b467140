"""What a cluster holds of one kind, kept up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .api import Client, Object
from .errors import Refused, Unreachable

_AGAIN = 0.5


class Store:
    """All objects of a path by uid.

    Args:
        client: of the cluster.
        path: for instance "/api/v1/pods".
        changed: called after each change.

    Attributes:
        items: what is there.
        filled: set once the first list has come.
    """

    def __init__(self, client: Client, path: str, changed: Callable[[], None]) -> None:
        self.items: dict[str, Object] = {}
        self.filled = asyncio.Event()
        self._client = client
        self._path = path
        self._changed = changed

    async def follow(self) -> None:
        """Keep it up to date until cancelled; a server that is away is asked again."""
        while True:
            try:
                async for event in self._client.watch(self._path):
                    self._take(event)
                    self._changed()
            except (Unreachable, Refused):
                await asyncio.sleep(_AGAIN)

    def _take(self, event: list[Object] | tuple[str, Object]) -> None:
        if isinstance(event, list):
            self.items = {one["metadata"]["uid"]: one for one in event}
            self.filled.set()
            return
        kind, item = event
        if kind == "DELETED":
            self.items.pop(item["metadata"]["uid"], None)
        elif kind in ("ADDED", "MODIFIED"):
            self.items[item["metadata"]["uid"]] = item
