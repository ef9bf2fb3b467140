"""In front of the engine's simulator, which speaks as vLLM does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator

import pytest

from facade.edge import Edge
from facade.edge import edge as running_edge
from facade.fake import until
from facade.load import load
from simulators import Sim, launch, ready

PROMPT = "You are a simulator-backed assistant."


@pytest.fixture(scope="module")
def sim() -> Iterator[Sim]:
    args = ("base", "--served-model-name", "m", "--enable-lora", "--lora-modules", "tuned=/loras/tuned")
    made = ready(launch(*args, VLLM_SIM_FIRST_TOKEN_SECONDS="0", VLLM_SIM_TOKEN_SECONDS="0"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def front(sim: Sim) -> Iterator[Edge]:
    with running_edge(f"{sim.url}/v1", MODEL="m", SYSTEM_PROMPT=PROMPT, TEMPERATURE="0.2") as made:
        yield made


def test_it_gets_model_prompt_and_temperature(front: Edge) -> None:
    told = front.chat("routing check").json()["sim"]
    assert (told["model"], told["system"], told["temperature"]) == ("m", PROMPT, 0.2)
    told = front.chat("hi", model="tuned", temperature=1).json()["sim"]
    assert (told["model"], told["adapter"], told["temperature"]) == ("tuned", "tuned", 1)


def test_streams_completions_embeddings_and_models(front: Edge) -> None:
    events = front.chat("hello there", stream=True).text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
    assert "".join(c["delta"].get("content") or "" for chunk in chunks for c in chunk["choices"]).endswith(
        "hello there"
    )
    assert front.client.post("/v1/completions", json={"prompt": "x"}).json()["object"] == "text_completion"
    assert [row["id"] for row in front.client.get("/v1/models").json()["data"]] == ["m", "tuned"]
    assert front.client.get("/readyz").status_code == 200


def test_its_errors_pass(front: Edge, sim: Sim) -> None:
    direct, through = sim.chat("x", model="nobody"), front.chat("x", model="nobody")
    assert (through.status_code, through.json()["error"]) == (direct.status_code, direct.json()["error"])
    assert through.status_code == 404


@pytest.mark.parametrize(("fault", "status"), [("error", 500), ("disconnect", 502)])
def test_its_faults_are_told(front: Edge, sim: Sim, fault: str, status: int) -> None:
    sim.state(fault=fault)
    try:
        answer = front.chat("x")
    finally:
        sim.state(fault=None)
    assert answer.status_code == status and set(answer.json()["error"]) >= {"message", "type", "code"}
    assert front.chat("x").status_code == 200


def test_who_leaves_frees_its_place(front: Edge, sim: Sim) -> None:
    sim.state(fault="hang")
    try:
        with front.connect() as sock:
            sock.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                b'content-length: 15\r\n\r\n{"messages":[]}'
            )
            until("it runs", lambda: busy(sim) == 1)
        until("its place is free", lambda: busy(sim) == 0)
    finally:
        sim.state(fault=None)


def busy(sim: Sim) -> int:
    return int(sim.client.get("/sim/state").json()["busy"])


def test_another_backend_is_another_address(start: Callable[..., Edge], sim: Sim) -> None:
    """What clients send stays as it is; the answer says who gave it."""
    other = ready(launch("other", "--served-model-name", "other", VLLM_SIM_TOKEN_SECONDS="0"))
    try:
        edges = [
            start(BACKEND_URL=f"{backend.url}/v1", MODEL=model) for backend, model in ((sim, "m"), (other, "other"))
        ]
        told = [edge.chat("x").json()["sim"] for edge in edges]
        assert [row["served"] for row in told] == ["m", "other"]
        assert told[0]["instance"] != told[1]["instance"]
    finally:
        other.stop()


def test_crowds_are_served_whole(front: Edge) -> None:
    found = asyncio.run(crowd(front))
    assert len(found.each) == 60


async def crowd(edge: Edge):  # type: ignore[no-untyped-def]
    async with asyncio.timeout(90):
        return await load("127.0.0.1", edge.port, clients=30, requests=60, stream=True)
