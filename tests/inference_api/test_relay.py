"""Requests and answers as they pass: whole, at once, and with the right headers."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from facade import PROMPT
from facade.edge import Edge, read_all
from facade.fake import Backend, Request, until


def test_chat_gets_what_it_lacks(edge: Edge, backend: Backend) -> None:
    answer = edge.chat("hi", extra={"unknown": [1, 2]})
    assert answer.status_code == 200
    assert json.loads(answer.json()["choices"][0]["message"]["content"]) == {
        "model": "llama3.2:1b",
        "temperature": 0.2,
        "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": "hi"}],
        "extra": {"unknown": [1, 2]},
    }


@pytest.mark.parametrize("kind", ["chat/completions", "completions", "embeddings"])
def test_every_path_reaches_its_own(edge: Edge, backend: Backend, kind: str) -> None:
    assert edge.client.post(f"/v1/{kind}", json={"model": "x", "messages": []}).status_code == 200
    assert backend.last().path == f"/v1/{kind}"


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/llama3.2:1b", "/v1/models/meta/Llama-3@main"])
def test_models(edge: Edge, backend: Backend, path: str) -> None:
    assert edge.client.get(path).json() == {"object": "list", "data": []}
    assert backend.requests[-1].path == path


@pytest.mark.parametrize(
    "path", ["..", "../admin", "a/../../admin", "a//b", "a%0d%0ab", "a%20b", "%2e%2e/x", "a" * 300]
)
def test_a_models_name_cannot_lead_elsewhere(edge: Edge, backend: Backend, path: str) -> None:
    answer = edge.raw(f"GET /v1/models/{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 404 ") and b'"type": "invalid_request_error"' in answer
    assert backend.requests == []


def test_a_stream_comes_piece_by_piece(edge: Edge, backend: Backend) -> None:
    """Each piece is sent only after the one before was seen by the client: nothing waits for more."""
    seen = [backend.event() for _ in range(5)]

    async def stream(request: Request) -> None:
        await request.begin()
        for number, event in enumerate(seen):
            await request.piece(f"data: {number}\n\n".encode())
            await event.wait()
        await request.piece(b"data: [DONE]\n\n")
        await request.end()

    backend.behaviour = stream
    with edge.client.stream("POST", "/v1/chat/completions", json={"messages": [], "stream": True}) as answer:
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["x-accel-buffering"] == "no"
        pieces = answer.iter_raw()
        for number, event in enumerate(seen):
            assert next(pieces) == f"data: {number}\n\n".encode()
            backend.fire(event)
        assert b"".join(pieces) == b"data: [DONE]\n\n"


def test_bytes_of_a_stream_pass_as_they_are(edge: Edge, backend: Backend) -> None:
    odd = [b"data: \xff\xfe\x00", b"\r\n\r", b"\n", b": ping\n\n", b"event: x\ndata: " + b"y" * 100_000 + b"\n\n"]

    async def stream(request: Request) -> None:
        await request.begin()
        for piece in odd:
            await request.piece(piece)
        await request.end()

    backend.behaviour = stream
    with edge.client.stream("POST", "/v1/completions", json={}) as answer:
        assert b"".join(answer.iter_raw()) == b"".join(odd)


def test_a_packed_answer_stays_packed(edge: Edge, backend: Backend) -> None:
    packed = gzip.compress(b'{"a": 1}')

    async def answer(request: Request) -> None:
        assert request.header("accept-encoding") == ["gzip"]
        await request.answer(packed, more="content-encoding: gzip\r\n")

    backend.behaviour = answer
    with edge.client.stream("GET", "/v1/models", headers={"accept-encoding": "gzip"}) as got:
        assert b"".join(got.iter_raw()) == packed
        assert got.headers["content-encoding"] == "gzip"


def test_who_asks_for_no_packing_gets_none(edge: Edge, backend: Backend) -> None:
    edge.raw(b"GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    assert backend.requests[-1].header("accept-encoding") == ["identity"]


def test_a_length_beside_chunks_counts_for_nothing(edge: Edge, backend: Backend) -> None:
    async def both(request: Request) -> None:
        head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\n"
        await request.write(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        await request.piece(b'{"long": "er"}')
        await request.end()

    backend.behaviour = both
    assert edge.chat().json() == {"long": "er"}
    assert edge.chat().status_code == 200


def test_an_answer_without_a_body(edge: Edge, backend: Backend) -> None:
    async def nothing(request: Request) -> None:
        await request.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async def empty(request: Request) -> None:
        await request.answer(b"")

    for behaviour, status in ((nothing, 204), (empty, 200)):
        backend.behaviour = behaviour
        answer = edge.chat()
        assert (answer.status_code, answer.content) == (status, b"")


def test_a_long_answer_passes_whole(edge: Edge, backend: Backend) -> None:
    long = json.dumps({"data": "x" * 3_000_000}).encode()

    async def answer(request: Request) -> None:
        await request.answer(long)

    backend.behaviour = answer
    assert edge.client.post("/v1/embeddings", json={}).content == long


def test_a_long_request_passes_whole(edge: Edge, backend: Backend) -> None:
    image = "a" * 3_000_000
    assert edge.chat(image).status_code == 200
    assert backend.last().json["messages"][1]["content"] == image


def test_a_request_in_chunks(edge: Edge, backend: Backend) -> None:
    def pieces() -> Any:
        yield b'{"messages": ['
        yield b'{"role": "user", "content": "x"}]}'

    answer = edge.client.post("/v1/chat/completions", content=pieces(), headers={"content-type": "application/json"})
    assert answer.status_code == 200
    assert backend.last().json["messages"][1]["content"] == "x"
    assert backend.last().header("transfer-encoding") == []


def test_a_client_that_waits_to_be_asked_for_its_body(edge: Edge, backend: Backend) -> None:
    body = b'{"messages":[]}'
    with edge.connect() as sock:
        head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\n"
        sock.sendall(f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode())
        assert sock.recv(1000).startswith(b"HTTP/1.1 100 ")
        sock.sendall(body)
        assert read_all(sock).startswith(b"HTTP/1.1 200 ")


def test_connections_are_kept_on_both_sides(edge: Edge, backend: Backend) -> None:
    edge.chat()
    before = backend.connections
    for _ in range(20):
        assert edge.chat().status_code == 200
    # One more where the machine was so slow that the kept one had been given up.
    assert backend.connections <= before + 2


def test_two_requests_at_once_on_one_connection(edge: Edge, backend: Backend) -> None:
    one = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    answers = edge.raw(one + one + last)
    assert answers.count(b"HTTP/1.1 200 ") == 3
    assert answers.endswith(b"ok")


def test_headers_that_pass_and_headers_that_do_not(start: Callable[..., Edge], backend: Backend) -> None:
    async def answer(request: Request) -> None:
        secret = "set-cookie: a=b\r\nserver: hidden\r\nconnection: x-mine\r\nx-mine: 1\r\nkeep-alive: timeout=5\r\n"
        await request.answer(b"{}", more=f"{secret}x-ratelimit: 7\r\nretry-after: 3\r\nx-request-id: theirs\r\n")

    backend.behaviour = answer
    edge = start(FORWARD_HEADERS="X-Session-Id, x-dropped")
    got = edge.chat(
        headers={
            "authorization": "Bearer sk-client",
            "cookie": "session=1",
            "x-session-id": "s1",
            "x-dropped": "1",
            "x-prefiller-host-port": "10.0.0.1:1",
            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "connection": "keep-alive, X-Dropped",
            "te": "trailers",
            "x-request-id": "mine-1",
            "host": "evil.example",
        },
        model="m",
    )
    assert {k: got.headers.get(k) for k in ("x-ratelimit", "retry-after", "x-request-id", "set-cookie", "x-mine")} == {
        "x-ratelimit": "7", "retry-after": "3", "x-request-id": "mine-1", "set-cookie": None, "x-mine": None,
    }  # fmt: skip
    assert "server" not in got.headers and "keep-alive" not in got.headers
    request = backend.last()
    names = {name.lower() for name, _ in request.headers}
    wanted = {"host", "accept", "accept-encoding", "user-agent", "traceparent", "x-session-id", "x-request-id"}
    assert names == wanted | {"content-type", "content-length"}
    assert request.header("host") == [backend.url.split("/")[2]]
    assert request.header("x-request-id") == ["mine-1"]


@pytest.mark.parametrize(
    "given", ["", "a b", "a" * 129, 'x", "admin": "', "\u00e4", "x\ty", "x;y", "$(id)", "<script>", "x%0d%0ay"]
)
def test_a_request_id_that_is_not_sane_is_replaced(edge: Edge, backend: Backend, given: str) -> None:
    answer = edge.chat(headers={"x-request-id": given.encode("latin-1")})  # type: ignore[dict-item]
    identifier = answer.headers["x-request-id"]
    assert identifier != given and len(identifier) == 32
    assert backend.last().header("x-request-id") == [identifier]
    assert edge.access(identifier)["status"] == 200


def test_a_client_that_leaves_is_gone_for_the_backend_too(edge: Edge, backend: Backend) -> None:
    async def stream(request: Request) -> None:
        await request.begin()
        await request.piece(b"data: 1\n\n")
        await asyncio.sleep(3600)

    backend.behaviour = stream
    headers = {"x-request-id": "left-in-stream"}
    with edge.client.stream("POST", "/v1/completions", json={"stream": True}, headers=headers) as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == b"data: 1\n\n"
        assert not backend.last().gone.is_set()
    assert backend.last().gone.wait(90)
    record = edge.access("left-in-stream")
    assert (record["status"], record["outcome"], record["stream"]) == (200, "client_gone", True)


def test_a_client_that_leaves_before_the_first_byte(edge: Edge, backend: Backend) -> None:
    async def think(request: Request) -> None:
        await asyncio.sleep(3600)

    backend.behaviour = think
    before = edge.metric("inference_api_requests_total", status="499")
    with edge.connect() as sock:
        send_chat(sock, "left-early")
        until("the backend has it", backend.posts)
    assert backend.last().gone.wait(90)
    assert (edge.access("left-early")["status"], edge.access("left-early")["outcome"]) == (499, "client_gone")
    assert edge.metric("inference_api_requests_total", status="499") == before + 1
    until("nothing is in flight", lambda: edge.metric("inference_api_in_flight_requests") == 0)


def test_a_client_that_leaves_while_it_sends(edge: Edge, backend: Backend) -> None:
    with edge.connect() as sock:
        sock.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            b'x-request-id: left-sending\r\ncontent-length: 100\r\n\r\n{"mess'
        )
    assert edge.access("left-sending")["outcome"] == "client_gone"
    assert backend.requests == []


def test_many_that_leave_take_nothing_with_them(edge: Edge, backend: Backend) -> None:
    async def think(request: Request) -> None:
        await asyncio.sleep(3600)

    backend.behaviour = think
    for number in range(30):
        with edge.connect() as sock:
            send_chat(sock, f"gone-{number}")
            until("the backend has it", lambda n=number: len(backend.posts()) > n)  # type: ignore[misc]
    until("the backend is rid of all", lambda: all(request.gone.is_set() for request in backend.posts()))
    from facade.fake import plain

    backend.behaviour = plain
    assert edge.chat().status_code == 200
    until("nothing is in flight", lambda: edge.metric("inference_api_in_flight_requests") == 0)


def send_chat(sock: socket.socket, identifier: str) -> None:
    body = b'{"messages":[]}'
    head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    sock.sendall(f"{head}x-request-id: {identifier}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
