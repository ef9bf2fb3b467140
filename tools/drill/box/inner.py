"""The first process inside the namespaces. Started by outside.py; needs the standard library only.

    python -m drill.box.inner CONFIG.json

CONFIG: `binds` ([file, place]: mounted over one another), `doors` ([Unix socket, address, port]: what connects to the
socket talks to the port inside), `processes` ({name, argv, env, log}). Orders come as lines of JSON on stdin,
{"start": PROCESS} or {"stop": NAME}; news go as lines of JSON to stdout: {"ready": true}, {"started": NAME, "pid": N},
{"ended": NAME, "code": N}. When stdin ends everything inside ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_MS_BIND = 4096
_CHUNK = 65536
_GRACE = 15.0


def main() -> None:
    """Run until stdin ends or SIGTERM comes."""
    config = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    loopback_up()
    for source, place in config["binds"]:
        if Path(place).exists():
            bind(source, place)
    asyncio.run(Inside(config).run())


def loopback_up() -> None:
    """Bring the one interface up: without it nothing reaches 127.0.0.1 (all of 127.0.0.0/8 comes with it)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        asked = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(door, _SIOCGIFFLAGS, asked))[1]
        fcntl.ioctl(door, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def bind(source: str, place: str) -> None:
    """Put a file in place of another, in this mount namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), place.encode(), None, _MS_BIND, None):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), place)


class Inside:
    """Processes and doors."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """See `main`."""
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        servers = [await self._door(*door) for door in self._config["doors"]]
        for process in self._config["processes"]:
            await self._start(process)
        tell({"ready": True})
        orders = asyncio.create_task(self._orders(stop))
        await stop.wait()
        orders.cancel()
        for server in servers:
            server.close()
        await self._end(list(self._running.values()))

    async def _orders(self, stop: asyncio.Event) -> None:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            order = json.loads(line)
            if "start" in order:
                await self._start(order["start"])
            elif order.get("stop") in self._running:
                await self._end([self._running[order["stop"]]])
        stop.set()

    async def _start(self, process: dict[str, Any]) -> None:
        with Path(process["log"]).open("ab") as log:
            made = await asyncio.create_subprocess_exec(
                *process["argv"], stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env=process["env"],
                start_new_session=True,
            )  # fmt: skip
        self._running[process["name"]] = made
        tell({"started": process["name"], "pid": made.pid})
        self._keep(self._watch(process["name"], made))

    async def _watch(self, name: str, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        if self._running.get(name) is process:
            del self._running[name]
        tell({"ended": name, "code": code})

    async def _end(self, processes: list[asyncio.subprocess.Process]) -> None:
        """Ask, wait, then make them."""
        for process in processes:
            _signal(process, signal.SIGTERM)
        waits = [asyncio.ensure_future(process.wait()) for process in processes]
        if waits:
            await asyncio.wait(waits, timeout=_GRACE)
        for process in processes:
            _signal(process, signal.SIGKILL)

    async def _door(self, path: str, address: str, port: int) -> asyncio.Server:
        async def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                inner_reader, inner_writer = await asyncio.open_connection(address, port)
            except OSError:
                writer.close()  # as a refused connection: nothing was answered
                return
            await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))

        return await asyncio.start_unix_server(through, path)

    def _keep(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hand on bytes as they come, until one side is done."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.close()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)


def tell(news: dict[str, Any]) -> None:
    """Say something to the program outside; when nobody listens any more, stdin has ended too."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(news) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
