"""Objects of one kind as they change: no change is missed, however busy the machine is."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

Object = dict[str, Any]
Seen = Callable[[Object, bool], None]
"""Gets an object that is there or has changed (True), or one that is gone (False)."""


class Watch:
    """A thread that follows all objects of a kind.

    Args:
        server: address of the API server, "https://...".
        authority: file with the certificate that signed the server's.
        token: bearer token.
        path: of the kind, for instance "/apis/apps/v1/deployments".
        seen: called in the thread, once an object at first and then once a change.
    """

    def __init__(self, server: str, authority: Path, token: str, path: str, seen: Seen) -> None:
        self._host = urlsplit(server).netloc
        self._tls = ssl.create_default_context(cafile=str(authority))
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._path = path
        self._seen = seen
        self._there: dict[str, Object] = {}
        self._ended = threading.Event()
        self._connection: http.client.HTTPSConnection | None = None
        self._thread = threading.Thread(target=self._run, name=f"watch {path}", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        held = self._connection
        if held is not None and held.sock is not None:
            with contextlib.suppress(OSError):  # gone already
                held.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        """Read everything, then its changes; from the start again whenever that breaks off."""
        while not self._ended.is_set():
            # Nothing at all for so long: the server may be gone without a word, so ask anew.
            self._connection = http.client.HTTPSConnection(self._host, timeout=20, context=self._tls)
            try:
                self._follow(self._connection, self._read(self._connection))
            except (OSError, http.client.HTTPException, ValueError, KeyError):
                self._ended.wait(0.3)
            finally:
                self._connection.close()

    def _read(self, connection: http.client.HTTPSConnection) -> str:
        connection.request("GET", self._path, headers=self._headers)
        found = json.loads(connection.getresponse().read())
        items = {item["metadata"]["uid"]: item for item in found["items"]}
        for uid in self._there.keys() - items.keys():
            self._seen(self._there[uid], False)
        for item in items.values():
            self._seen(item, True)
        self._there = items
        return str(found["metadata"]["resourceVersion"])

    def _follow(self, connection: http.client.HTTPSConnection, version: str) -> None:
        query = urlencode({"watch": "true", "resourceVersion": version})
        connection.request("GET", f"{self._path}?{query}", headers=self._headers)
        answer = connection.getresponse()
        pending = b""
        while not self._ended.is_set():
            some = answer.read1(1 << 16)
            if not some:
                return
            *lines, pending = (pending + some).split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def _take(self, event: Object) -> None:
        """Pass a change on; an error (the version is too old) breaks off."""
        if event["type"] == "ERROR":
            raise ValueError(event["object"].get("message"))
        item = event["object"]
        there = event["type"] != "DELETED"
        if there:
            self._there[item["metadata"]["uid"]] = item
        else:
            self._there.pop(item["metadata"]["uid"], None)
        self._seen(item, there)
