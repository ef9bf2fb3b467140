"""Any bytes, and any JSON: the edge refuses in its own words or passes on what was meant, and nothing else happens."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from inference_api.errors import BadRequest
from inference_api.policy import CHAT, COMPLETIONS, EMBEDDINGS, prepare
from inference_api.settings import Settings

FULL = Settings(backend_url="http://x/v1", model="m", system_prompt="p\n\u2028", temperature=0.5)

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
roles = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
messages = st.lists(st.fixed_dictionaries({"role": roles}, optional={"content": values}), max_size=4)
known = st.fixed_dictionaries(
    {"messages": messages},
    optional={
        "model": st.none() | st.just("") | st.text("abc:/.-", min_size=1),
        "temperature": st.none() | numbers,
        "stream": st.none() | st.booleans(),
    },
)
bodies = st.builds(lambda more, own: {**more, **own}, st.dictionaries(st.text(min_size=1), values, max_size=4), known)
steady = settings(deadline=None, derandomize=True, max_examples=300, database=None)


@steady
@given(st.binary() | st.text().map(str.encode) | values.map(lambda value: json.dumps(value).encode()))
@example(b'{"messages":[],' + b'"a":' * 3)
@example(b'{"a":1e5,"a":1E+400}')
@example(b'{"messages":[{"role":"user"}],"x":"\\')
def test_any_bytes(body: bytes) -> None:
    for kind in (CHAT, COMPLETIONS, EMBEDDINGS):
        try:
            prepared = prepare(kind, body, FULL)
        except BadRequest as error:
            assert json.loads(error.body())["error"]["message"]
        else:
            assert isinstance(json.loads(prepared.content), dict)


@steady
@given(bodies, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_any_conversation(body: dict[str, Any], indent: Any, ascii_only: bool) -> None:
    text = json.dumps(body, indent=indent, ensure_ascii=ascii_only)
    try:
        encoded = text.encode()
    except UnicodeEncodeError:  # Half a character by itself can only be written as an escape.
        encoded = json.dumps(body, indent=indent).encode()
    wanted = {**body, "model": body.get("model") or "m"}
    if body.get("temperature") is None:
        wanted["temperature"] = 0.5
    if not any(message["role"] in ("system", "developer") for message in body["messages"]):
        wanted["messages"] = [{"role": "system", "content": "p\n\u2028"}, *body["messages"]]
    prepared = prepare(CHAT, encoded, FULL)
    assert json.loads(prepared.content) == wanted
    assert prepared.model == wanted["model"]
    assert prepared.stream is bool(body.get("stream"))
