"""The API as vLLM speaks it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from simulators import Sim


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    """Chunks of a stream, which must end with [DONE]."""
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_models(sim: Sim) -> None:
    listed = sim.client.get("/v1/models").json()
    assert [(row["id"], row["parent"], row["root"]) for row in listed["data"]] == [
        ("base", None, "/models/x"),
        ("also", None, "/models/x"),
        ("first", "base", "/loras/1"),
        ("second", "base", "/l/2"),
    ]


def test_a_chat_says_who_answered_and_what_arrived(sim: Sim) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    ]
    answer = sim.post("/v1/chat/completions", model="first", messages=messages, temperature=0.3).json()
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "first"
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "sim first says: hi"}
    assert answer["choices"][0]["finish_reason"] == "stop"
    told = answer["sim"]
    assert (told["model"], told["served"], told["adapter"]) == ("first", "base", "first")
    assert (told["system"], told["temperature"]) == ("Be brief.", 0.3)
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_without_a_model_the_base_answers(sim: Sim) -> None:
    assert sim.chat("hi").json()["model"] == "base"


def test_max_tokens_cuts_and_ignore_eos_fills(sim: Sim) -> None:
    short = sim.post("/v1/completions", prompt="one two three", max_tokens=2).json()
    assert short["choices"][0]["finish_reason"] == "length"
    assert short["usage"]["completion_tokens"] == 2
    long = sim.post("/v1/completions", prompt="one", max_tokens=50, ignore_eos=True).json()
    assert long["usage"]["completion_tokens"] == 50
    several = sim.post("/v1/completions", prompt="one", n=3).json()
    assert len(several["choices"]) == 3


def test_streamed_chat(sim: Sim) -> None:
    found = events(sim.chat("stream me", model="base", stream=True, stream_options={"include_usage": True}))
    assert found[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(one["choices"][0]["delta"]["content"] for one in found[:-1]) == "sim base says: stream me"
    assert [one["choices"][0]["finish_reason"] for one in found[:-1]] == [None] * (len(found) - 2) + ["stop"]
    assert found[-1]["choices"] == []
    assert found[-1]["usage"]["completion_tokens"] == len(found) - 2
    assert len({one["id"] for one in found}) == 1


def test_streamed_completion_without_usage(sim: Sim) -> None:
    found = events(sim.post("/v1/completions", prompt="go", stream=True))
    assert "".join(one["choices"][0]["text"] for one in found) == "sim base says: go"
    assert not [one for one in found if "usage" in one]


def test_embeddings_are_the_same_for_the_same_text(sim: Sim) -> None:
    first, again = (sim.post("/v1/embeddings", model="base", input=["a", "b"]).json()["data"] for _ in range(2))
    assert first == again
    assert first[0]["embedding"] != first[1]["embedding"]
    packed = sim.post("/v1/embeddings", input="a", dimensions=8, encoding_format="base64").json()["data"][0]
    assert isinstance(packed["embedding"], str)


BAD: list[tuple[str, Any, int, str]] = [
    ("/v1/chat/completions", {"model": "other", "messages": [{"role": "user", "content": "x"}]}, 404, "NotFoundError"),
    ("/v1/chat/completions", {"model": 7, "messages": [{"role": "user", "content": "x"}]}, 400, "Bad Request"),
    ("/v1/chat/completions", {}, 400, "Bad Request"),
    ("/v1/chat/completions", {"messages": []}, 400, "Bad Request"),
    ("/v1/chat/completions", {"messages": ["x"]}, 400, "Bad Request"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": 5}]}, 400, "Bad Request"),
    ("/v1/completions", {"prompt": "x", "max_tokens": 0}, 400, "BadRequestError"),
    ("/v1/completions", {"prompt": "x", "max_tokens": "many"}, 400, "Bad Request"),
    ("/v1/completions", {"prompt": "x", "max_tokens": 2000}, 400, "BadRequestError"),
    ("/v1/completions", {"prompt": "x" * 5000}, 400, "BadRequestError"),
    ("/v1/completions", {"prompt": "x", "temperature": -1}, 400, "Bad Request"),
    ("/v1/completions", {"prompt": "x", "n": 1000}, 400, "BadRequestError"),
    ("/v1/completions", {"prompt": "x", "stream_options": {"include_usage": True}}, 400, "Bad Request"),
    ("/v1/completions", [1], 400, "Bad Request"),
    ("/v1/embeddings", {"input": 5}, 400, "Bad Request"),
    ("/v1/embeddings", {"input": "x", "dimensions": 0}, 200, ""),
    ("/v1/embeddings", {"input": "x", "dimensions": -2}, 400, "BadRequestError"),
    ("/v1/nothing", {}, 404, "Not Found"),
]


@pytest.mark.parametrize(("path", "body", "status", "kind"), BAD)
def test_bad_requests_get_errors_in_the_engines_shape(sim: Sim, path: str, body: Any, status: int, kind: str) -> None:
    answer = sim.client.post(path, json=body)
    assert answer.status_code == status
    if kind:
        error = answer.json()["error"]
        assert (error["type"], error["code"]) == (kind, status)
        assert error["message"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 200_000,
        b"null",
        b'"x"',
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": 1e999}',
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}',
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"messages": [{"role": "user", "content": "x"}], "model": "\\udfff"}',
    ],
)
def test_bad_json(sim: Sim, raw: bytes) -> None:
    answer = sim.client.post("/v1/chat/completions", content=raw)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "Bad Request"


def test_small_paths(sim: Sim) -> None:
    assert sim.client.get("/health").content == b""
    assert sim.client.get("/ping").status_code == 200
    assert sim.client.get("/version").json() == {"version": "0.25.0"}
    assert sim.post("/tokenize", prompt="x" * 40).json()["count"] == 10
    assert sim.client.get("/v1/completions").status_code == 405


def test_keys(start: Any) -> None:
    locked = start("m", "--api-key", "one", VLLM_API_KEY="two")
    assert locked.client.get("/health").status_code == 200
    assert locked.client.get("/metrics").status_code == 200
    assert locked.client.get("/v1/models").status_code == 401
    assert locked.client.get("/v1/models", headers={"Authorization": "Bearer three"}).status_code == 401
    for key in ("one", "two"):
        assert locked.client.get("/v1/models", headers={"Authorization": f"Bearer {key}"}).status_code == 200
