"""Addresses on loopback, and what is written for others: hosts files, and targets for Prometheus."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .api import Object
from .errors import RunnerError
from .probes import port

_GUARD = 30999
"""A port of the network's last address: whoever listens there has the network."""

_FIRST, _LAST = 16, 119


class Network:
    """127.X.0.0/16, of which no other runner gives addresses out.

    Args:
        state: folder of the runner; the same one gets the same network when it can.

    Raises:
        RunnerError: all are taken.
    """

    def __init__(self, state: Path) -> None:
        start = zlib.crc32(str(state).encode())
        span = _LAST - _FIRST + 1
        for step in range(span):
            self.number = _FIRST + (start + step) % span
            guard = socket.socket()
            try:
                guard.bind((f"127.{self.number}.255.254", _GUARD))
                guard.listen(1)
            except OSError:
                guard.close()
                continue
            self._guard = guard
            self._given = {"pods": 0, "services": 0}
            return
        raise RunnerError(f"no network 127.{_FIRST}-{_LAST}.0.0/16 is free", "end other runners")

    def pod(self) -> str:
        """The next address of a pod; one is given again only after 40,000 others."""
        self._given["pods"] += 1
        return f"127.{self.number}.{self._given['pods'] // 250 % 160}.{self._given['pods'] % 250 + 1}"

    def service(self) -> str:
        """The next address of a Service."""
        self._given["services"] += 1
        return f"127.{self.number}.{self._given['services'] // 250 % 50 + 200}.{self._given['services'] % 250 + 1}"

    def close(self) -> None:
        """Give it back."""
        self._guard.close()


def hosts(services: Mapping[tuple[str, str], str], namespace: str = "") -> str:
    """The hosts file that a pod of a namespace sees.

    Args:
        services: addresses by namespace and name.
        namespace: whose Services answer to their short names; "" for those whose names are the only ones.
    """
    names = [name for _, name in services]
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for (space, name), address in services.items():
        long = [f"{name}.{space}.svc.cluster.local", f"{name}.{space}.svc", f"{name}.{space}"]
        short = space == namespace if namespace else names.count(name) == 1
        lines.append(" ".join([address, *long, *([name] if short else [])]))
    return "\n".join(lines) + "\n"


def write_in_place(file: Path, text: str) -> None:
    """Change a file that is mounted elsewhere: the same file, its new beginning before its old end goes."""
    data = text.encode()
    with contextlib.suppress(FileNotFoundError):
        if file.read_bytes() == data:
            return
    handle = os.open(file, os.O_CREAT | os.O_WRONLY, 0o644)
    try:
        os.pwrite(handle, data, 0)
        os.ftruncate(handle, len(data))
    finally:
        os.close(handle)


def write_whole(file: Path, data: Any) -> None:
    """Write JSON so that nobody ever reads half of it."""
    text = json.dumps(data, indent=1)
    with contextlib.suppress(FileNotFoundError):
        if file.read_text(encoding="utf-8") == text:
            return
    part = file.with_suffix(".partial")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def selects(service: Object, pod: Object) -> bool:
    """Tell whether a Service means a pod."""
    selector = service["spec"].get("selector") or {}
    labels = pod["metadata"].get("labels") or {}
    same = service["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return bool(selector) and same and all(labels.get(name) == value for name, value in selector.items())


def tcp(service: Object) -> list[Object]:
    """A Service's ports for TCP; there is nothing else here."""
    return [row for row in service["spec"].get("ports", []) if row.get("protocol", "TCP") == "TCP"]


def backend_port(row: Object, pod: Object) -> int:
    """Where a Service's port leads to in a pod."""
    return port(pod["spec"]["containers"][0], row.get("targetPort") or row["port"])


def targets(pods: Iterable[tuple[Object, str]], services: Iterable[Object]) -> list[dict[str, Any]]:
    """What Prometheus' file_sd reads: each port of a Service at each of its pods, labelled as its operators label them.

    Args:
        pods: those that run, with their addresses.
        services: all Services.
    """
    wanted = list(services)
    found = []
    for pod, address in pods:
        meta = pod["metadata"]
        for service in [one for one in wanted if selects(one, pod)]:
            name = service["metadata"]["name"]
            for row in tcp(service):
                labels = {
                    "job": name,
                    "service": name,
                    "namespace": meta["namespace"],
                    "pod": meta["name"],
                    "container": pod["spec"]["containers"][0]["name"],
                    "endpoint": row.get("name", str(row["port"])),
                }
                found.append({"targets": [f"{address}:{backend_port(row, pod)}"], "labels": labels})
    return sorted(found, key=lambda one: (one["labels"]["namespace"], one["labels"]["pod"], one["targets"]))
