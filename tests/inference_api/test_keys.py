"""API keys: who may enter, keys that change while the edge runs, and that no key is ever written down."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from facade.edge import Edge
from facade.fake import Backend, until

CANNOT = "cannot read keys, the last ones hold: ValueError"
GOOD, OTHER = "sk-good-0123456789abcdef", "sk-other-fedcba9876543210"


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder like a mounted Secret: a link to a folder that is exchanged as a whole."""
    place = tmp_path / "keys"
    place.mkdir()
    mount(place, {"team-a": GOOD + "\n"})
    return place


def mount(place: Path, files: dict[str, str]) -> None:
    """Do what a kubelet does when a Secret changes."""
    version = place / f"..version-{len(list(place.glob('..version-*')))}"
    version.mkdir()
    for name, text in files.items():
        (version / name).write_text(text, encoding="ascii")
    new = place / "..data_tmp"
    new.symlink_to(version.name)
    os.replace(new, place / "..data")  # noqa: PTH105 - the kubelet's own call
    for link in place.iterdir():
        if not link.name.startswith(".") and link.name not in files:
            link.unlink()
    for name in files:
        if not (place / name).is_symlink():
            (place / name).symlink_to(f"..data/{name}")


def test_who_may_enter(start: Callable[..., Edge], backend: Backend, keys: Path) -> None:
    edge = start(MODEL="m", API_KEYS_DIR=str(keys))
    answer = edge.chat(headers=bearer(GOOD))
    assert answer.status_code == 200
    assert edge.access(answer.headers["x-request-id"])["client"] == "team-a"
    assert edge.chat(headers={"authorization": f"bearer   {GOOD}"}).status_code == 200
    assert backend.last().header("authorization") == []
    came = len(backend.requests)
    for wrong in (
        "",
        "Bearer",
        GOOD,
        f"Basic {GOOD}",
        f"Bearer {GOOD}x",
        f"Bearer {GOOD[:-1]}",
        "Bearer \u00e4",
    ):
        refused = edge.chat(headers={"authorization": wrong.encode()} if wrong else None)  # type: ignore[dict-item]
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer"), wrong
        assert refused.json()["error"]["code"] == "invalid_api_key"
        assert GOOD not in refused.text
    assert edge.client.get("/v1/models").status_code == 401
    two = [("authorization", f"Bearer {GOOD}"), ("authorization", "Bearer x")]
    assert edge.client.get("/v1/models", headers=two).status_code == 401
    assert len(backend.requests) == came
    assert [edge.client.get(path).status_code for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3


def test_keys_change_while_it_runs(start: Callable[..., Edge], backend: Backend, keys: Path) -> None:
    edge = start(MODEL="m", API_KEYS_DIR=str(keys))
    assert edge.chat(headers=bearer(OTHER)).status_code == 401
    mount(keys, {"team-a": GOOD, "team-b": OTHER})
    until("the new key is known", lambda: edge.chat(headers=bearer(OTHER)).status_code == 200)
    assert edge.chat(headers=bearer(GOOD)).status_code == 200
    mount(keys, {"team-b": OTHER})
    until("the old key is forgotten", lambda: edge.chat(headers=bearer(GOOD)).status_code == 401)
    assert edge.chat(headers=bearer(OTHER)).status_code == 200
    mount(keys, {"team-b": ""})
    until("an empty file is noticed", lambda: edge.chat(headers=bearer(OTHER)) and edge.records(CANNOT))
    assert edge.chat(headers=bearer(OTHER)).status_code == 200
    mount(keys, {})
    until("no key is left, and nobody enters", lambda: edge.chat(headers=bearer(OTHER)).status_code == 401)


def test_a_file_with_a_key_a_line(start: Callable[..., Edge], tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# two teams\n{GOOD}  # a\n\n{OTHER}\n", encoding="ascii")
    edge = start(MODEL="m", API_KEYS_FILE=str(file))
    assert [edge.chat(headers=bearer(key)).status_code for key in (GOOD, OTHER, "#", "a")] == [200, 200, 401, 401]
    file.write_text(f"{OTHER}\n", encoding="ascii")
    until("the first is forgotten", lambda: edge.chat(headers=bearer(GOOD)).status_code == 401)


def test_the_backends_key(start: Callable[..., Edge], backend: Backend, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-backend-1\n", encoding="ascii")
    edge = start(MODEL="m", BACKEND_API_KEY_FILE=str(file))
    assert edge.chat(headers=bearer("sk-client")).status_code == 200
    assert backend.last().header("authorization") == ["Bearer sk-backend-1"]
    file.write_text("sk-backend-22\n", encoding="ascii")

    def changed() -> bool:
        edge.chat()
        return backend.last().header("authorization") == ["Bearer sk-backend-22"]

    until("the new key is sent", changed)


def test_the_clients_key_goes_on_when_asked_for(start: Callable[..., Edge], backend: Backend) -> None:
    edge = start(MODEL="m", FORWARD_AUTHORIZATION="true")
    assert edge.chat(headers=bearer("sk-client")).status_code == 200
    assert backend.last().header("authorization") == ["Bearer sk-client"]


def test_nothing_secret_is_written_down(
    start: Callable[..., Edge], backend: Backend, keys: Path, tmp_path: Path
) -> None:
    """Keys, prompts and answers are in no log line, at the most talkative level, whatever goes wrong."""
    own = tmp_path / "backend-key"
    own.write_text("sk-backend-secret", encoding="ascii")
    env = {"API_KEYS_DIR": str(keys), "BACKEND_API_KEY_FILE": str(own), "SYSTEM_PROMPT": "the secret prompt"}
    edge = start(MODEL="m", LOG_LEVEL="debug", **env)
    marks = (
        GOOD,
        OTHER,
        "sk-backend-secret",
        "the secret prompt",
        "my private question",
        "sk-in-query",
        "private-cookie",
    )
    headers = bearer(GOOD) | {"cookie": "private-cookie", "x-api-key": OTHER}
    assert edge.chat("my private question", headers=headers).status_code == 200
    assert "the secret prompt" in backend.last().json["messages"][0]["content"]
    edge.chat("my private question", headers=bearer(OTHER))
    edge.client.post("/v1/chat/completions?api_key=sk-in-query", content=b'{"my private question"', headers=headers)
    broken = {"content-type": "application/json"} | headers
    for body in (
        b'{"my private question',
        b'{"model": {"my private question": 1}}',
        b'{"a":"my private question", "a":1}',
    ):
        assert (
            edge.client.post("/v1/chat/completions?api_key=sk-in-query", content=body, headers=broken).status_code
            == 400
        )
    edge.raw(f"GET /v1/models?key=sk-in-query HTTP/1.1\r\nauthorization: Bearer {GOOD}\r\nnonsense\r\n\r\n".encode())
    backend.stop()
    try:
        assert edge.chat("my private question", headers=headers).status_code == 502
    finally:
        backend.start()
    edge.stop()
    log = "".join(edge.lines)
    assert log.count('"message": "request"') >= 6
    assert [mark for mark in marks if mark in log] == []
