"""The guard: who ends a piece of work, and what that is called."""

from __future__ import annotations

import asyncio

import pytest

from facade.fake import LIMIT
from inference_api.guard import Guard, Interrupted, Why


def reason(**phases: float) -> Why:
    """Work that never ends, with these phases."""

    async def work() -> None:
        async with Guard(phases.pop("TOTAL", LIMIT)) as guard:
            for name, seconds in phases.items():
                guard.allow(seconds, Why[name])
            await asyncio.sleep(LIMIT)

    with pytest.raises(Interrupted) as caught:
        asyncio.run(work())
    return caught.value.why


def test_the_last_phase_counts() -> None:
    assert reason(FIRST_BYTE=0.01) is Why.FIRST_BYTE
    assert reason(FIRST_BYTE=LIMIT, BETWEEN_BYTES=0.01) is Why.BETWEEN_BYTES
    assert reason(FIRST_BYTE=0.01, BETWEEN_BYTES=0.03) is Why.BETWEEN_BYTES


def test_the_total_holds_in_every_phase() -> None:
    assert reason(TOTAL=0.01) is Why.TOTAL
    assert reason(TOTAL=0.01, FIRST_BYTE=LIMIT) is Why.TOTAL


def test_phases_that_end_in_time_interrupt_nothing() -> None:
    async def work() -> None:
        async with Guard(LIMIT) as guard:
            for _ in range(1000):
                guard.allow(LIMIT, Why.BETWEEN_BYTES)
                await asyncio.sleep(0)
        guard.interrupt(Why.STOPPED)
        await asyncio.sleep(0.01)

    asyncio.run(work())


def test_only_the_first_reason_counts() -> None:
    async def work() -> None:
        async with Guard(LIMIT) as guard:
            asyncio.get_running_loop().call_soon(guard.interrupt, Why.CLIENT_GONE)
            asyncio.get_running_loop().call_soon(guard.interrupt, Why.STOPPED)
            await asyncio.sleep(LIMIT)

    with pytest.raises(Interrupted) as caught:
        asyncio.run(work())
    assert caught.value.why is Why.CLIENT_GONE


def test_a_cancellation_of_somebody_else_stays_one() -> None:
    async def work() -> None:
        async with Guard(LIMIT):
            await asyncio.sleep(LIMIT)

    async def outside() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(outside())


def test_a_failure_of_the_work_stays_one() -> None:
    async def work() -> None:
        async with Guard(LIMIT):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(work())
