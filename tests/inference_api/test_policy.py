"""What the edge adds to a request, and that it touches nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from facade.bodies import REFUSED
from inference_api.document import parse
from inference_api.errors import BadRequest
from inference_api.policy import CHAT, COMPLETIONS, EMBEDDINGS, prepare
from inference_api.settings import Settings

BARE = Settings(backend_url="http://x/v1")
FULL = Settings(backend_url="http://x/v1", model="m", system_prompt='be "nice"\nü', temperature=0.25)
SYSTEM = {"role": "system", "content": 'be "nice"\nü'}
USER = {"role": "user", "content": "hi"}


def sent(kind: str, body: str | dict[str, Any], settings: Settings = FULL) -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    return json.loads(prepare(kind, text.encode(), settings).content)


@pytest.mark.parametrize("given", ['{"messages":[]}', '{"model":null,"messages":[]}', '{"model": "" ,"messages":[]}'])
def test_a_missing_model_is_filled_in(given: str) -> None:
    assert sent(CHAT, given)["model"] == "m"
    assert prepare(CHAT, given.encode(), FULL).model == "m"


def test_a_model_that_is_named_stays() -> None:
    prepared = prepare(CHAT, b'{"messages":[],"model":"other"}', FULL)
    assert (prepared.model, json.loads(prepared.content)["model"]) == ("other", "other")


def test_without_a_default_a_model_must_be_named() -> None:
    with pytest.raises(BadRequest) as caught:
        prepare(CHAT, b'{"messages":[]}', BARE)
    assert (caught.value.param, caught.value.code) == ("model", "missing_model")


@pytest.mark.parametrize("others", [[], [USER], [USER, {"role": "assistant", "content": "x"}]])
def test_the_system_prompt_comes_first(others: list[Any]) -> None:
    assert sent(CHAT, {"messages": others})["messages"] == [SYSTEM, *others]


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_conversation_with_a_prompt_of_its_own_keeps_it(role: str, place: int) -> None:
    messages = [USER]
    messages.insert(place, {"role": role, "content": "mine"})
    assert sent(CHAT, {"messages": messages})["messages"] == messages


def test_only_conversations_get_the_prompt() -> None:
    for kind, field in ((COMPLETIONS, "prompt"), (EMBEDDINGS, "input")):
        assert sent(kind, {field: "x", "messages": []})["messages"] == []


def test_temperature() -> None:
    assert sent(COMPLETIONS, "{}") == {"model": "m", "temperature": 0.25}
    assert sent(CHAT, '{"messages":[],"temperature": null}')["temperature"] == 0.25
    assert sent(CHAT, '{"messages":[],"temperature": 0}')["temperature"] == 0
    assert sent(COMPLETIONS, '{"temperature": 1.5}')["temperature"] == 1.5
    assert sent(EMBEDDINGS, "{}") == {"model": "m"}


def test_what_needs_nothing_passes_as_the_very_bytes() -> None:
    body = b'\n{"model" :"x","messages":[{"role":"system","content":"\\u00e9\xc3\xa9"}], "temperature":1.50, "n":1e2 } '
    assert prepare(CHAT, body, FULL).content is body
    assert prepare(CHAT, body, BARE).content is body


ODD = """{ "big": 9007199254740993000000000000000000001, "float": 0.10000000000000000555, "exp": 1E+2 ,"neg":-0,
  "esc": "\\u0041\\ud83d\\ude00\\/", "raw": "\u00e9\U0001f600\u2028", "deep": [[[{"a": [ ]}]]], "nul": null,
  "messages": [ {"role":"user", "content":"}{][\\"," } ], "empty": "", "lone": "\\ud800" }"""


def test_everything_else_passes_byte_by_byte() -> None:
    """Cut out what was added and the client's own text is back."""
    out = prepare(CHAT, ODD.encode(), FULL).content.decode()
    added = ['"model": "m", "temperature": 0.25, ', json.dumps(SYSTEM) + ", "]
    for piece in added:
        assert out.count(piece) == 1
        out = out.replace(piece, "")
    assert out == ODD
    assert sent(CHAT, ODD)["big"] == 9007199254740993000000000000000000001


def test_parse_agrees_with_json() -> None:
    for text in (ODD, "{}", " { } ", '{"a":{"b":[1,2.5,-3e7,true,null]}}', '{"\\u0061":1,"b":"\\"}"}'):
        assert set(parse(text.encode()).members) == set(json.loads(text))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(BadRequest) as caught:
        prepare(CHAT, REFUSED[name], FULL)
    error = caught.value
    assert 400 <= error.status < 500
    shape = json.loads(error.body())["error"]
    assert set(shape) == {"message", "type", "param", "code"} and shape["type"] == "invalid_request_error"
    assert len(error.message) < 200
