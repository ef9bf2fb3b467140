"""Kept connections: one is used again, old and idle ones are closed, and a cancelled request leaves nothing."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

import httpx
import pytest

from facade.fake import LIMIT, Backend, Request, until
from inference_api import pool


def run(backend: Backend, work: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    async def inside() -> None:
        async with asyncio.timeout(LIMIT):
            transport = pool.Pool(httpx.URL(backend.url), ssl.create_default_context())
            async with httpx.AsyncClient(transport=transport, base_url=backend.url, timeout=LIMIT) as client:
                await work(client)

    asyncio.run(inside())


@pytest.fixture
def connections(backend: Backend) -> Callable[[], int]:
    before = backend.connections
    return lambda: backend.connections - before


def test_one_connection_serves_many(
    backend: Backend, connections: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "KEEP_SECONDS", LIMIT)
    monkeypatch.setattr(pool, "OLDEST_SECONDS", LIMIT)

    async def work(client: httpx.AsyncClient) -> None:
        for _ in range(20):
            assert (await client.get("/models")).status_code == 200

    run(backend, work)
    assert connections() == 1


def test_a_crowd_gets_a_connection_each_and_leaves_them_to_others(
    backend: Backend, connections: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "KEEP_SECONDS", LIMIT)
    monkeypatch.setattr(pool, "OLDEST_SECONDS", LIMIT)

    async def work(client: httpx.AsyncClient) -> None:
        for _ in range(2):
            answers = await asyncio.gather(*(client.get("/models") for _ in range(30)))
            assert [answer.status_code for answer in answers] == [200] * 30

    run(backend, work)
    assert connections() <= 30


def test_an_old_connection_is_not_used_again(
    backend: Backend, connections: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "OLDEST_SECONDS", -1.0)

    async def work(client: httpx.AsyncClient) -> None:
        for _ in range(5):
            await client.get("/models")

    run(backend, work)
    assert connections() == 5


def test_an_idle_connection_is_closed(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "KEEP_SECONDS", 0.2)

    async def work(client: httpx.AsyncClient) -> None:
        await asyncio.gather(*(client.get("/models") for _ in range(10)))
        while backend.open:
            await asyncio.sleep(0.02)

    run(backend, work)


def test_a_cancelled_request_closes_its_connection(backend: Backend) -> None:
    async def never(request: Request) -> None:
        await asyncio.sleep(3600)

    backend.behaviour = never

    async def work(client: httpx.AsyncClient) -> None:
        task = asyncio.create_task(client.get("/models"))
        while not backend.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not backend.requests[0].gone.is_set():
            await asyncio.sleep(0.01)

    run(backend, work)
    until("nothing is open", lambda: backend.open == 0)
