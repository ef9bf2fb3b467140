"""One facade with usual settings for all tests that leave nothing behind; others start their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from facade import PROMPT
from facade.edge import Edge
from facade.edge import edge as running_edge
from facade.fake import Backend, plain
from facade.fake import backend as running_backend


@pytest.fixture(scope="module")
def shared_backend() -> Iterator[Backend]:
    with running_backend() as made:
        yield made


@pytest.fixture(scope="module")
def shared_edge(shared_backend: Backend) -> Iterator[Edge]:
    with running_edge(shared_backend.url, MODEL="llama3.2:1b", SYSTEM_PROMPT=PROMPT, TEMPERATURE="0.2") as made:
        yield made


@pytest.fixture
def backend(shared_backend: Backend) -> Iterator[Backend]:
    """The fake, with nothing in it of an earlier test."""
    shared_backend.requests.clear()
    shared_backend.behaviour = plain
    yield shared_backend
    shared_backend.behaviour = plain


@pytest.fixture
def edge(shared_edge: Edge, backend: Backend) -> Edge:
    """The facade with a model, a prompt and a temperature, in front of `backend`."""
    return shared_edge


@pytest.fixture
def start(backend: Backend) -> Iterator[Callable[..., Edge]]:
    """Starts facades with settings of a test's own in front of `backend`."""
    running: list[Edge] = []

    def run(**env: str) -> Edge:
        running.append(Edge(env.pop("BACKEND_URL", backend.url), **env))
        return running[-1]

    yield run
    for made in running:
        made.stop()
