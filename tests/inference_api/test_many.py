"""Two hundred streams at once: each client gets its own, whole, in order."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable

from facade.edge import Edge
from facade.fake import LIMIT, Backend, Request

STREAMS, PIECES = 200, 20


async def echo(request: Request) -> None:
    """Stream the client's own token back, in pieces that come in no regular time."""
    token = request.json["messages"][-1]["content"]
    await request.begin()
    for number in range(PIECES):
        await request.piece(f"data: {token} {number}\n\n".encode())
        await asyncio.sleep(random.random() / 50)
    await request.piece(b"data: [DONE]\n\n")
    await request.end()


async def ask(port: int, token: str) -> str:
    """Ask for a stream over a connection of one's own; return the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"messages": [{"role": "user", "content": token}], "stream": True})
    head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
    answer = await reader.read(-1)
    writer.close()
    start, _, rest = answer.partition(b"\r\n\r\n")
    assert start.startswith(b"HTTP/1.1 200 ")
    return dechunked(rest).decode()


def dechunked(data: bytes) -> bytes:
    out = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            assert data == b"\r\n"
            return out
        out += data[:length]
        assert data[length : length + 2] == b"\r\n"
        data = data[length + 2 :]


def test_streams_are_not_mixed_up(start: Callable[..., Edge], backend: Backend) -> None:
    edge = start(MODEL="m", SYSTEM_PROMPT="be brief")
    backend.behaviour = echo

    async def all_at_once() -> list[str]:
        async with asyncio.timeout(LIMIT):
            return await asyncio.gather(*(ask(edge.port, f"token-{number}") for number in range(STREAMS)))

    answers = asyncio.run(all_at_once())
    for number, answer in enumerate(answers):
        pieces = [f"data: token-{number} {piece}\n\n" for piece in range(PIECES)]
        assert answer == "".join(pieces) + "data: [DONE]\n\n"
    assert len(backend.posts()) == STREAMS
    assert edge.metric("inference_api_requests_total", status="200", path="/v1/chat/completions") == STREAMS
    assert edge.metric("inference_api_in_flight_requests") == 0
