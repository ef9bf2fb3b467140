"""Many requests at once over plain sockets: a client that costs little beside what it measures."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field


@dataclass
class Client:
    """One kept connection. `ask` returns what the model said, whole, from a stream or a plain answer."""

    host: str
    port: int
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None

    async def ask(self, text: str, *, stream: bool = False) -> str:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self.host, self.port)
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], "stream": stream})
        head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        self._writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        content = await self._read()
        if not stream:
            return str(json.loads(content)["choices"][0]["message"]["content"])
        events = content.decode().split("\n\n")
        assert events[-2:] == ["data: [DONE]", ""], events[-2:]
        chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
        return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])

    async def _read(self) -> bytes:
        assert self._reader is not None
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200 "), head
        if b"transfer-encoding: chunked" not in head:
            return await self._reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
        pieces = []
        while size := int(await self._reader.readline(), 16):
            pieces.append((await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readexactly(2)
        return b"".join(pieces)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


@dataclass
class Load:
    """What was seen of some requests: seconds of each, and of all."""

    seconds: float = 0.0
    each: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.each) / self.seconds

    def percentile(self, part: float) -> float:
        return sorted(self.each)[min(len(self.each) - 1, int(len(self.each) * part))]

    def __add__(self, other: Load) -> Load:
        return Load(self.seconds + other.seconds, self.each + other.each)


async def load(host: str, port: int, *, clients: int, requests: int, stream: bool = False, mark: str = "t") -> Load:
    """Send requests, each with a token of its own, and check that its answer, and no other, came back."""
    found, numbers = Load(), iter(range(requests))

    async def work() -> None:
        client = Client(host, port)
        for number in numbers:
            token, began = f"{mark}-{number}", time.perf_counter()
            answer = await client.ask(f"{token} {'and so on ' * 4}end-of-{token}", stream=stream)
            found.each.append(time.perf_counter() - began)
            assert answer == f"sim m says: {token} {'and so on ' * 4}end-of-{token}", answer
        client.close()

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(work())
    found.seconds = time.perf_counter() - began
    assert len(found.each) == requests
    return found
