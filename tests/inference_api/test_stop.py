"""Stopping: not ready first, then nothing new, then the end of what is under way; exit code 0."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable

import httpx

from facade.edge import Edge
from facade.fake import Backend, Request, until


def stream_of(backend: Backend) -> tuple[Callable[[], None], Callable[[Request], object]]:
    """A stream that begins, and ends when told to."""
    go = backend.event()

    async def stream(request: Request) -> None:
        await request.begin()
        await request.piece(b"data: 1\n\n")
        await go.wait()
        await request.piece(b"data: [DONE]\n\n")
        await request.end()

    return lambda: backend.fire(go), stream


class Asker(threading.Thread):
    """Asks for a stream and keeps what comes."""

    def __init__(self, edge: Edge) -> None:
        super().__init__(daemon=True)
        self.edge, self.begun, self.text = edge, threading.Event(), ""
        self.start()
        assert self.begun.wait(90)

    def run(self) -> None:
        with httpx.Client(base_url=self.edge.url, timeout=90, verify=False, trust_env=False) as client:
            body = {"messages": [], "stream": True}
            with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                for piece in answer.iter_text():
                    self.text += piece
                    self.begun.set()


def test_streams_end_in_order(start: Callable[..., Edge], backend: Backend) -> None:
    """Not ready at once; still served for a moment; then closed to all but the stream, which ends whole."""
    edge = start(MODEL="m", DRAIN_SECONDS="10", STOP_TIMEOUT_SECONDS="80")
    end, backend.behaviour = stream_of(backend)  # type: ignore[assignment]
    asker = Asker(edge)
    assert edge.client.get("/healthz").status_code == 200
    edge.signal()
    edge.logged("stopping")
    drained = edge.client.get("/readyz")
    assert (drained.status_code, drained.json()["error"]["code"]) == (503, "stopping")
    assert edge.client.get("/healthz").status_code == 200
    until("nothing new is taken", lambda: not connects(edge))
    assert edge.process.poll() is None
    end()
    asker.join(90)
    assert asker.text == "data: 1\n\ndata: [DONE]\n\n"
    assert edge.wait() == 0
    assert edge.records("stopped")


def connects(edge: Edge) -> bool:
    try:
        edge.connect().close()
    except ConnectionError:
        return False
    return True


def test_what_takes_too_long_is_told_and_ended(start: Callable[..., Edge], backend: Backend) -> None:
    edge = start(MODEL="m", STOP_TIMEOUT_SECONDS="0.5")
    _, backend.behaviour = stream_of(backend)  # type: ignore[assignment]
    asker = Asker(edge)
    edge.signal()
    assert edge.wait() == 0
    asker.join(90)
    assert asker.text.startswith("data: 1\n\ndata: {") and '"code": "stopping"' in asker.text
    assert backend.last().gone.wait(90)


def test_a_request_without_an_answer_yet_gets_one(start: Callable[..., Edge], backend: Backend) -> None:
    async def never(request: Request) -> None:
        await asyncio.sleep(3600)

    edge = start(MODEL="m", STOP_TIMEOUT_SECONDS="0.5")
    backend.behaviour = never
    answers: list[httpx.Response] = []
    asker = threading.Thread(target=lambda: answers.append(edge.chat()))
    asker.start()
    until("it is at the backend", backend.posts)
    edge.signal()
    asker.join(90)
    assert (answers[0].status_code, answers[0].json()["error"]["code"]) == (503, "stopping")
    assert edge.wait() == 0


def test_clients_that_do_not_read_do_not_hold_up_the_end(start: Callable[..., Edge], backend: Backend) -> None:
    async def flood(request: Request) -> None:
        await request.begin()
        while True:
            await request.piece(b"data: " + b"x" * 65_536 + b"\n\n")

    edge = start(MODEL="m", STOP_TIMEOUT_SECONDS="0.5")
    backend.behaviour = flood
    with edge.connect() as lazy, edge.connect() as silent:
        lazy.sendall(
            b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
        )
        silent.sendall(b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-le")
        until("one is at the backend", backend.posts)
        edge.signal()
        assert edge.wait() == 0


def test_a_second_signal_ends_it_at_once(start: Callable[..., Edge], backend: Backend) -> None:
    edge = start(MODEL="m", DRAIN_SECONDS="600", STOP_TIMEOUT_SECONDS="600")
    _, backend.behaviour = stream_of(backend)  # type: ignore[assignment]
    asker = Asker(edge)
    edge.signal()
    edge.logged("stopping")
    edge.process.send_signal(signal.SIGINT)
    assert edge.wait() == 0
    asker.join(90)
    assert '"code": "stopping"' in asker.text
