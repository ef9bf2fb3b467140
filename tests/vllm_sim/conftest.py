"""Fixtures for tests of the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from simulators import Sim, launch, ready


@pytest.fixture
def start() -> Iterator[Callable[..., Sim]]:
    """Starts simulators, and ends them with the test."""
    running: list[Sim] = []

    def run(*args: str, **env: str) -> Sim:
        running.append(launch(*args, **env))
        return ready(running[-1])

    yield run
    for sim in running:
        sim.process.kill()
        sim.process.wait()
        sim.client.close()


@pytest.fixture(scope="module")
def sim() -> Iterator[Sim]:
    """One with two adapters, for tests that leave nothing behind."""
    made = launch(
        *("/models/x", "--served-model-name", "base", "also", "--max-model-len", "1k", "--max-num-seqs", "4"),
        *(
            "--enable-lora",
            "--max-loras",
            "2",
            "--lora-modules",
            "first=/loras/1",
            '{"name": "second", "path": "/l/2"}',
        ),
        VLLM_SIM_FIRST_TOKEN_SECONDS="0",
        VLLM_SIM_TOKEN_SECONDS="0",
    )
    yield ready(made)
    assert made.stop() == 0
