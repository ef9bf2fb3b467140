"""Backends that are down, slow or broken, and clients that are slow: who is told what, and who else notices."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from facade.edge import Edge
from facade.fake import LIMIT, Backend, Request, plain, until

NOTHING = "http://127.0.0.1:9/v1"
"""The discard port: nobody listens there."""


def error(answer: httpx.Response) -> dict[str, str]:
    found = answer.json()["error"]
    assert set(found) == {"message", "type", "param", "code"}
    return dict(found)


def test_a_backend_that_is_down(start: Callable[..., Edge]) -> None:
    edge = start(BACKEND_URL=NOTHING, MODEL="m")
    answer = edge.chat()
    assert (answer.status_code, error(answer)["code"]) == (502, "backend_unavailable")
    assert error(answer)["type"] == "server_error"
    assert "127.0.0.1" not in answer.text
    assert edge.metric("inference_api_upstream_errors_total", reason="connect") == 1
    assert "Connect" in edge.access(answer.headers["x-request-id"])["detail"]
    assert edge.client.get("/v1/models").status_code == 502
    assert edge.client.get("/readyz").status_code == 503
    assert edge.client.get("/healthz").text == "ok"


def test_a_backend_whose_name_nobody_knows(start: Callable[..., Edge]) -> None:
    edge = start(BACKEND_URL="http://nowhere.invalid:8000/v1", MODEL="m")
    # The second where nobody answers questions about names at all.
    assert edge.chat().status_code in (502, 504)


def test_a_backend_that_comes_back(start: Callable[..., Edge], backend: Backend) -> None:
    edge = start(MODEL="m", READY_CACHE_SECONDS="0")
    assert edge.client.get("/readyz").status_code == 200
    assert edge.chat().status_code == 200
    backend.stop()
    try:
        until("it is not ready", lambda: edge.client.get("/readyz").status_code == 503)
        assert edge.chat().status_code == 502
    finally:
        backend.start()
    until("it is ready again", lambda: edge.client.get("/readyz").status_code == 200)
    assert edge.chat().status_code == 200


def test_a_kept_connection_that_the_backend_has_closed(edge: Edge, backend: Backend) -> None:
    """The request goes out again over a new one: the client never learns of it."""

    async def close_after(request: Request) -> None:
        await plain(request)
        request.writer.close()

    backend.behaviour = close_after
    for _ in range(20):
        assert edge.chat().status_code == 200
    assert len(backend.posts()) == 20


def test_a_request_that_was_begun_is_not_sent_twice(start: Callable[..., Edge], backend: Backend) -> None:
    edge = start(MODEL="m")

    async def crash(request: Request) -> None:
        await asyncio.sleep(2.5)
        request.writer.transport.abort()

    assert edge.chat().status_code == 200  # Leaves a kept connection.
    backend.behaviour = crash
    answer = edge.chat()
    assert (answer.status_code, error(answer)["code"]) == (502, "backend_broken")
    assert len(backend.posts()) == 2


def test_readiness_asks_once_for_many(start: Callable[..., Edge], backend: Backend) -> None:
    async def slow(request: Request) -> None:
        await go.wait()
        await plain(request)

    go = backend.event()
    edge = start(MODEL="m", READY_CACHE_SECONDS="86400", READY_TIMEOUT_SECONDS="80")
    backend.behaviour = slow
    codes: list[int] = []
    askers = [threading.Thread(target=lambda: codes.append(edge.client.get("/readyz").status_code)) for _ in range(30)]
    for asker in askers:
        asker.start()
    until("the backend was asked", lambda: backend.requests)
    backend.fire(go)
    for asker in askers:
        asker.join(LIMIT)
    assert codes == [200] * 30
    assert [edge.client.get("/readyz").status_code for _ in range(20)] == [200] * 20
    assert len(backend.requests) == 1


def test_a_backend_that_hangs_is_not_ready(start: Callable[..., Edge], backend: Backend) -> None:
    async def hang(request: Request) -> None:
        await asyncio.sleep(3600)

    backend.behaviour = hang
    edge = start(READY_TIMEOUT_SECONDS="0.2")
    assert edge.client.get("/readyz").status_code == 503
    assert edge.client.get("/healthz").status_code == 200


async def never(request: Request) -> None:
    await asyncio.sleep(3600)


async def half_a_head(request: Request) -> None:
    await request.write(b"HTTP/1.1 200 OK\r\ncontent-ty")
    await asyncio.sleep(3600)


async def head_only(request: Request) -> None:
    await request.begin()
    await asyncio.sleep(3600)


@pytest.mark.parametrize("behaviour", [never, half_a_head, head_only])
def test_no_first_byte_in_time(
    start: Callable[..., Edge], backend: Backend, behaviour: Callable[[Request], object]
) -> None:
    edge = start(MODEL="m", FIRST_BYTE_TIMEOUT_SECONDS="0.5")
    backend.behaviour = behaviour  # type: ignore[assignment]
    answer = edge.chat()
    assert (answer.status_code, error(answer)["code"]) == (504, "backend_timeout")
    assert backend.last().gone.wait(LIMIT)
    assert edge.access(answer.headers["x-request-id"])["outcome"] == "first_byte_timeout"
    assert edge.metric("inference_api_upstream_errors_total", reason="first_byte_timeout") == 1


async def stops(request: Request) -> None:
    await request.begin()
    await request.piece(b"data: 1\n\ndata: ha")
    await asyncio.sleep(3600)


async def drips(request: Request) -> None:
    await request.begin()
    while True:
        await request.piece(b": ping\n\n")
        await asyncio.sleep(0.02)


async def breaks(request: Request) -> None:
    await request.begin()
    await request.piece(b"data: 1\n\n")
    request.writer.close()


@pytest.mark.parametrize(
    ("behaviour", "env", "outcome", "code"),
    [
        (stops, {"BETWEEN_BYTES_TIMEOUT_SECONDS": "0.5"}, "between_bytes_timeout", "backend_timeout"),
        (drips, {"REQUEST_TIMEOUT_SECONDS": "5"}, "request_timeout", "backend_timeout"),
        (breaks, {}, "backend_broken", "backend_broken"),
    ],
)
def test_a_stream_that_fails_says_so_in_its_last_event(
    start: Callable[..., Edge],
    backend: Backend,
    behaviour: Callable[[Request], object],
    env: dict[str, str],
    outcome: str,
    code: str,
) -> None:
    edge = start(MODEL="m", **env)
    backend.behaviour = behaviour  # type: ignore[assignment]
    answer = edge.chat(stream=True)
    assert answer.status_code == 200
    events = [event for event in answer.text.split("\n\n") if event]
    assert json.loads(events[-1].removeprefix("data: "))["error"]["code"] == code
    assert "[DONE]" not in answer.text
    assert edge.access(answer.headers["x-request-id"])["outcome"] == outcome
    assert backend.last().gone.wait(LIMIT) or behaviour is breaks


async def half_a_json(request: Request) -> None:
    await request.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"a": ')
    request.writer.close()


def test_half_an_answer_does_not_pass_for_a_whole(edge: Edge, backend: Backend) -> None:
    backend.behaviour = half_a_json
    with pytest.raises(httpx.RemoteProtocolError):
        edge.chat()


BROKEN = {
    "nothing": b"",
    "garbage": b"\x00\xff\r\n\r\n",
    "another protocol": b"220 mail.example ESMTP\r\n",
    "a bad status": b"HTTP/1.1 banana OK\r\n\r\n",
    "bad chunks": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "headers without end": b"HTTP/1.1 200 OK\r\nx-a: " + b"a" * 300_000,
    "a change of protocol": b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_backend_that_speaks_no_http(edge: Edge, backend: Backend, name: str) -> None:
    async def broken(request: Request) -> None:
        await request.write(BROKEN[name])
        request.writer.close()

    backend.behaviour = broken
    answer = edge.chat()
    assert (answer.status_code, error(answer)["code"]) == (502, "backend_broken")


def test_errors_of_the_backend(edge: Edge, backend: Backend) -> None:
    """Those in OpenAI's shape pass as they are; pages of some proxy are reworded; its opinion of us is our trouble."""
    own = b'{"error": {"message": "model does not exist", "type": "NotFoundError", "param": "model", "code": 404}}'

    async def answer(request: Request) -> None:
        status, kind, body, more = wanted
        await request.answer(body, status, kind, more)

    backend.behaviour = answer
    wanted = ("404 Not Found", "application/json", own, "")
    got = edge.chat()
    assert (got.status_code, got.content) == (404, own)
    wanted = ("429 Too Many Requests", "application/json", own, "retry-after: 7\r\n")
    got = edge.chat()
    assert (got.status_code, got.headers["retry-after"]) == (429, "7")
    for status, kind, code, told in (
        ("503 Service Unavailable", "text/html", "backend_error", 503),
        ("500 Internal Server Error", "text/plain", "backend_error", 500),
        ("413 Too Large", "text/html", "backend_refused", 413),
        ("401 Unauthorized", "application/json", "backend_auth", 502),
        ("403 Forbidden", "text/html", "backend_auth", 502),
        ("307 Temporary Redirect", "text/html", "backend_redirect", 502),
    ):
        wanted = (status, kind, b"<h1>secret-host.internal</h1>", "location: http://secret-host.internal/\r\n")
        got = edge.chat()
        assert (got.status_code, error(got)["code"]) == (told, code), status
        assert "secret-host" not in got.text + str(got.headers)
    assert edge.chat().headers.get("location") is None


def test_more_requests_than_there_is_room_for(start: Callable[..., Edge], backend: Backend) -> None:
    edge = start(MODEL="m", MAX_CONNECTIONS="3")
    go = backend.event()

    async def slow(request: Request) -> None:
        await go.wait()
        await plain(request)

    backend.behaviour = slow
    codes: list[int] = []
    body = {"messages": []}

    def ask() -> None:
        codes.append(edge.client.post("/v1/chat/completions", json=body).status_code)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    until("all are at the backend", lambda: len(backend.posts()) == 3)
    refused = edge.chat()
    assert (refused.status_code, refused.headers["retry-after"], error(refused)["code"]) == (503, "1", "overloaded")
    assert edge.client.get("/healthz").status_code == 200
    assert edge.metric("inference_api_in_flight_requests") == 3
    assert edge.metric("inference_api_overload_refusals_total") == 1
    backend.fire(go)
    for asker in askers:
        asker.join(LIMIT)
    assert codes == [200] * 3
    assert edge.chat().status_code == 200


def test_too_many_large_bodies_at_once(start: Callable[..., Edge], backend: Backend) -> None:
    edge = start(MODEL="m", MAX_BODY_BYTES="100000", MAX_BODIES_BYTES="150000")
    head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    with edge.connect() as sock:
        sock.sendall(f"{head}content-length: 99999\r\n\r\n".encode() + b"x" * 90_000)
        # The other's bytes may still be on their way here.
        refused = until("the next finds no room", lambda: (got := edge.chat("y" * 90_000)).status_code == 503 and got)
        assert error(refused)["code"] == "overloaded"
        assert edge.chat("small").status_code == 200
    until("there is room again", lambda: edge.chat("y" * 90_000).status_code == 200)


def test_a_stream_does_not_hold_its_request(start: Callable[..., Edge], backend: Backend) -> None:
    """A request is forgotten once the backend has begun to answer, however long that answer is."""
    edge = start(MODEL="m", MAX_BODY_BYTES="4000000", MAX_BODIES_BYTES="9000000")

    async def long(request: Request) -> None:
        request.body = b""
        await request.begin()
        await request.piece(b"data: 1\n\n")
        await asyncio.sleep(3600)

    edge.chat()
    before = rss(edge.process.pid)
    backend.behaviour = long
    body = json.dumps({"messages": [{"role": "user", "content": "x" * 3_000_000}]}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            sock = stack.enter_context(edge.connect())
            sock.sendall(f"{head}\r\n\r\n".encode() + body)
            assert sock.recv(1000).startswith(b"HTTP/1.1 200 ")
        assert rss(edge.process.pid) - before < 45_000_000


def test_slow_clients_and_a_dead_backend_hold_up_nobody(start: Callable[..., Edge], backend: Backend) -> None:
    """Clients that send nothing, send slowly, or do not read; models that never answer. Others are served."""
    edge = start(MODEL="m", MAX_CONNECTIONS="100")
    flood = b"data: " + b"x" * 65_536 + b"\n\n"

    async def mixed(request: Request) -> None:
        model = request.json["model"] if request.body else ""
        if model == "dead":
            await asyncio.sleep(3600)
        elif model == "flood":
            await request.begin()
            while True:
                await request.piece(flood)
        else:
            await plain(request)

    backend.behaviour = mixed
    with contextlib.ExitStack() as stack:
        for number in range(60):
            sock = stack.enter_context(edge.connect())
            model = ("dead", "flood")[number % 2]
            body = f'{{"model": "{model}", "messages": [], "stream": true}}'
            head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            whole = f"{head}content-length: {len(body)}\r\n\r\n{body}".encode()
            # A third sends all, a third all but a little, a third half a head.
            sock.sendall((whole, whole[:-1], whole[:30])[number // 2 % 3])
        until("twenty are at the backend", lambda: len(backend.posts()) == 20)
        for number in range(50):
            assert edge.chat(f"hello {number}").status_code == 200
        # What the slow ones do not take stays with the backend.
        assert rss(edge.process.pid) < 200_000_000


def rss(pid: int) -> int:
    """Bytes of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def test_a_client_that_does_not_read_is_given_up(start: Callable[..., Edge], backend: Backend) -> None:
    edge = start(MODEL="m", CLIENT_TIMEOUT_SECONDS="1")

    async def flood(request: Request) -> None:
        await request.begin()
        while True:
            await request.piece(b"data: " + b"x" * 65_536 + b"\n\n")

    backend.behaviour = flood
    with edge.connect() as sock:
        body = b'{"messages":[]}'
        head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        sock.sendall(f"{head}x-request-id: lazy\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        assert edge.access("lazy")["outcome"] == "client_slow"
        assert backend.last().gone.wait(LIMIT)
        until("its connection is closed", lambda: edge.metric("process_open_fds") < 20)
