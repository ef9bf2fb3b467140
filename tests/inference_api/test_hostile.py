"""Malformed and hostile requests: each gets an error in OpenAI's shape, at once, and the backend hears of none."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import pytest

from facade.bodies import REFUSED
from facade.edge import Edge
from facade.fake import Backend, until

JSON = "content-type: application/json\r\n"


def request(body: bytes = b"{}", head: str = JSON, line: str = "POST /v1/chat/completions HTTP/1.1") -> bytes:
    """A request with a right Content-Length, whatever else is wrong with it."""
    return f"{line}\r\nhost: x\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body


def chunked(*pieces: bytes, head: str = JSON) -> bytes:
    start = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{head}transfer-encoding: chunked\r\n\r\n"
    return start.encode() + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


CHUNKED = b"transfer-encoding: chunked\r\n\r\n"
UPGRADE = b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
GOOD = b'{"messages": []}'
BIG = b'{"messages":[],"a":"' + b"x" * 300_000 + b'"}'
SMUGGLED = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"

WRONG: dict[str, tuple[bytes, int]] = {
    # What is no HTTP.
    "garbage": (b"\x00\x01\x02\x03\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100 + b"\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404),
    "HTTP/0.9": (b"GET /v1/models\r\n\r\n", 400),
    "no version": (b"POST /v1/chat/completions\r\nhost: x\r\n\r\n", 400),
    "no host": (b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 0\r\n\r\n", 400),
    "two hosts": (b"GET /v1/models HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", 400),
    "a space in the target": (b"GET /v1/mo dels HTTP/1.1\r\nhost: x\r\n\r\n", 400),
    "a zero byte in a header": (b"GET /v1/models HTTP/1.1\r\nhost: x\r\nx-a: b\x00c\r\n\r\n", 400),
    "a header without a colon": (b"GET /v1/models HTTP/1.1\r\nhost: x\r\nnonsense\r\n\r\n", 400),
    "a space before the colon": (b"GET /v1/models HTTP/1.1\r\nhost: x\r\nx-a : b\r\n\r\n", 400),
    "headers without end": (b"GET /v1/models HTTP/1.1\r\nhost: x\r\nx-a: " + b"a" * 400_000, 431),
    # Framing that two readers may understand in two ways.
    "both lengths": (request(GOOD, JSON + "transfer-encoding: chunked\r\n"), 400),
    "both lengths and more": (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{JSON}content-length: 5\r\n".encode()
        + CHUNKED
        + b"0\r\n\r\n"
        + SMUGGLED,
        400,
    ),
    "two different lengths": (request(GOOD, JSON + "content-length: 3\r\n"), 400),
    "a length with a sign": (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{JSON}content-length: +2\r\n\r\n{{}}".encode(),
        400,
    ),
    "a negative length": (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{JSON}content-length: -1\r\n\r\n{{}}".encode(),
        400,
    ),
    "a length like a phone book": (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: " + b"9" * 4500 + b"\r\n\r\n{}",
        400,
    ),
    "an encoding nobody knows": (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        501,
    ),
    "a chunk of no size": (
        (f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{JSON}".encode() + CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n"),
        400,
    ),
    # Sizes.
    "too large by its own word": (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{JSON}content-length: 99999999\r\n\r\n".encode(),
        413,
    ),
    "too large": (request(BIG), 413),
    "too large in chunks": (chunked(*[b"x" * 10_000] * 30), 413),
    "no length": (f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{JSON}\r\n".encode(), 400),
    # Content that is not what it should be.
    "a form": (request(b"model=a", "content-type: application/x-www-form-urlencoded\r\n"), 415),
    "text": (request(GOOD, "content-type: text/plain\r\n"), 415),
    "no type": (request(GOOD, ""), 415),
    "two types": (request(GOOD, JSON + "content-type: text/plain\r\n"), 415),
    "another charset": (request(GOOD, "content-type: application/json; charset=utf-16\r\n"), 415),
    "packed": (request(GOOD, JSON + "content-encoding: gzip\r\n"), 415),
    "packed twice": (request(GOOD, JSON + "content-encoding: identity\r\ncontent-encoding: gzip\r\n"), 415),
    # Places and methods.
    "unknown path": (request(GOOD, line="POST /v1/nothing HTTP/1.1"), 404),
    "the root": (request(GOOD, line="POST / HTTP/1.1"), 404),
    "slash at the end": (request(GOOD, line="POST /v1/chat/completions/ HTTP/1.1"), 404),
    "a way up": (request(GOOD, line="POST /v1/../v1/chat/completions HTTP/1.1"), 404),
    "two slashes": (request(GOOD, line="POST //v1/chat/completions HTTP/1.1"), 404),
    "another server": (request(GOOD, line="POST http://evil.example/v1/chat/completions HTTP/1.1"), 404),
    "a proxy's method": (b"CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n", 404),
    "get": (b"GET /v1/chat/completions HTTP/1.1\r\nhost: x\r\n\r\n", 405),
    "delete": (b"DELETE /v1/models/a HTTP/1.1\r\nhost: x\r\n\r\n", 405),
    "trace": (b"TRACE /v1/chat/completions HTTP/1.1\r\nhost: x\r\n\r\n", 405),
    "a method of one's own": (b"BREW /v1/models HTTP/1.1\r\nhost: x\r\n\r\n", 405),
    "a body where none belongs": (request(GOOD, line="GET /v1/models HTTP/1.1"), 400),
    "a WebSocket": (
        b"GET /v1/chat/completions HTTP/1.1\r\nhost: x\r\n" + UPGRADE,
        405,
    ),
} | {f"body: {name}": (request(body), 0) for name, body in REFUSED.items() if len(body) < 200_000}


@pytest.fixture(scope="module")
def small(shared_backend: Backend) -> Edge:
    """A facade that takes bodies up to 200 kB."""
    return Edge(shared_backend.url, MODEL="m", MAX_BODY_BYTES="200000")


@pytest.fixture(scope="module", autouse=True)
def stop_small(small: Edge) -> object:
    yield
    small.stop()


@pytest.mark.parametrize("name", WRONG)
def test_wrong(small: Edge, backend: Backend, name: str) -> None:
    data, status = WRONG[name]
    with small.connect() as sock:
        # It may have answered, and not read the rest.
        with contextlib.suppress(ConnectionError):
            sock.sendall(data)
        answer = read_answer(sock)
    head, _, body = answer.partition(b"\r\n\r\n")
    got = int(head.split(b" ")[1])
    assert got == status if status else 400 <= got < 500, answer[:300]
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert backend.requests == []
    assert small.process.poll() is None


def read_answer(sock) -> bytes:  # type: ignore[no-untyped-def]
    """Read one answer with a Content-Length."""
    data = b""
    while True:
        head, gap, body = data.partition(b"\r\n\r\n")
        if gap:
            size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            if len(body) >= size:
                # What comes behind it answers what the client sent behind its request.
                return head + gap + body[:size]
        piece = sock.recv(65536)
        assert piece, data
        data += piece


def test_after_all_that_it_works_and_has_said_nothing_of_bugs(small: Edge, backend: Backend) -> None:
    assert small.chat().status_code == 200
    assert small.metric("inference_api_requests_total", status="500") == 0
    assert not [line for line in small.lines if '"bug"' in line or "Traceback" in line or "Exception" in line]
    assert small.metric("inference_api_in_flight_requests") == 0


def test_what_is_smuggled_is_not_served(small: Edge, backend: Backend) -> None:
    """After a request with two lengths the connection closes: what follows might be somebody else's."""
    answers = small.raw(WRONG["both lengths and more"][0])
    assert answers.count(b"HTTP/1.1") == 1
    assert backend.requests == []


def test_paths_and_statuses_make_few_series(small: Edge) -> None:
    for number in range(50):
        small.client.get(f"/v1/{number}")
        small.client.get(f"/v1/models/m-{number}")
    series = [line for line in small.client.get("/metrics").text.splitlines() if line.startswith("inference_api_")]
    assert len(series) < 400
    assert not [line for line in series if "m-1" in line or "/v1/1" in line]


def test_a_body_without_end_is_left(start: Callable[..., Edge]) -> None:
    """A client that goes on sending after its error is cut off, sooner or later."""
    edge = start(MODEL="m", MAX_BODY_BYTES="2000")
    sent = 0
    with edge.connect() as sock:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n" + JSON.encode())
        sock.sendall(b"transfer-encoding: chunked\r\n\r\n")
        with pytest.raises(ConnectionError):
            while sent < 1_000_000_000:
                sock.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                sent += 65536
    assert sent < 100_000_000


def test_a_head_that_never_ends_is_answered_and_closed(start: Callable[..., Edge]) -> None:
    edge = start(MODEL="m", CLIENT_TIMEOUT_SECONDS="2")
    assert edge.raw(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n").startswith(b"HTTP/1.1 408 ")
    assert edge.raw(b"") == b""
    answer = edge.raw(request(GOOD)[:-3])
    assert answer.startswith(b"HTTP/1.1 408 ") and b'"code": "request_timeout"' in answer


def test_too_many_sockets(start: Callable[..., Edge]) -> None:
    """Sockets that say nothing cannot take all there is."""
    edge = start(MODEL="m", MAX_CONNECTIONS="1")
    socks = [edge.connect() for _ in range(66)]
    try:
        refused = until("one is refused", lambda: edge.raw(b""))
        assert refused.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1" in refused
    finally:
        for sock in socks:
            sock.close()
    until(
        "there is room again",
        lambda: b"200 OK" in edge.raw(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    )
