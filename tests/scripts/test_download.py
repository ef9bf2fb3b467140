"""The preload script with the real client of the hub and its library, against a hub on loopback that can misbehave."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from scripts import fakehub
from scripts.fakehub import Hub, large
from scripts.job import Preload, until
from scripts.rendered import ADAPTERS, REPOSITORY, REVISION, scripts

TOKEN = "hf_" + "s3cret" * 5

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"
FILES = {
    "config.json": b"{}",
    "tokenizer/vocab.json": b"[]",
    FIRST: random.Random(1).randbytes(200_000),
    INDEX: json.dumps({"weight_map": {"a": FIRST, "b": SECOND, "c": SECOND}}).encode(),
    SECOND: random.Random(2).randbytes(200_000),
}
UNWANTED = {"original/consolidated.00.pth": b"x" * 1000, "original/params.json": b"{}", "optimizer.pth": b"y" * 1000}


@pytest.fixture
def model(hub: Hub, preload: Preload) -> Preload:
    """The Job, and the model and its adapters on the hub."""
    hub.repos[f"{REPOSITORY}@{REVISION}"] = {**FILES, **UNWANTED}
    for name, (repository, revision) in ADAPTERS.items():
        weights = {"adapter_config.json": b"{}", "adapter_model.safetensors": name.encode()}
        hub.repos[f"{repository}@{revision}"] = weights
    preload.env["HF_ENDPOINT"] = hub.address
    return preload


def test_a_whole_download_from_the_hub_alone_and_then_no_network(hub: Hub, model: Preload) -> None:
    """Whatever goes elsewhere (the client likes to ask a package registry for updates) would come to the proxy."""
    hub.token = TOKEN
    model.env |= {"HF_TOKEN": TOKEN, "ADAPTERS": scripts().env["ADAPTERS"].split("\n")[0], "NO_PROXY": "127.0.0.1"}
    with fakehub.serve() as elsewhere:
        model.env |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), elsewhere.address)
        code, said = model.run()
        assert code == 0, said
        assert not elsewhere.log
    assert _content(model.folder) == FILES
    repository, revision = ADAPTERS["first"]
    folder = model.adapter("first", revision)
    assert _content(folder) == hub.repos[f"{repository}@{revision}"]
    assert (folder / ".preload-complete").read_text() == f"{repository}@{revision}"
    assert model.complete()
    _nothing_but_the_volume(model)
    _the_token_stays_secret(model, said)

    hub.log.clear()
    model.env |= {"HF_ENDPOINT": "http://127.0.0.1:1", "HF_TOKEN": ""}
    code, said = model.run(5)
    assert code == 0, said
    assert not hub.log


def test_without_the_token_nothing_is_taken_for_complete(hub: Hub, model: Preload) -> None:
    """With files in the folder the client calls a refusal a success; the verification does not."""
    hub.token = TOKEN
    model.folder.mkdir()
    (model.folder / "config.json").write_bytes(FILES["config.json"])
    code, said = model.run()
    assert code != 0, said
    assert not model.marker.exists()


def test_a_config_alone_is_not_trusted_and_a_part_outweighs_the_marker(hub: Hub, model: Preload) -> None:
    part = model.folder / ".cache/huggingface/download" / "abc.incomplete"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"half")
    (model.folder / "config.json").write_bytes(b"{old}")
    model.marker.write_text(f"{REPOSITORY}@{REVISION}")
    code, said = model.run()
    assert code == 0, said
    assert _content(model.folder) == FILES
    assert not part.exists()
    assert model.complete()


def test_a_file_that_did_not_come(hub: Hub, model: Preload) -> None:
    hub.unlisted = {SECOND}
    code, said = model.run()
    assert code != 0
    assert f"{SECOND}: missing" in said
    assert not model.marker.exists()
    hub.unlisted = set()
    code, said = model.run()
    assert code == 0, f"the next try believed the old listing: {said}"
    assert _content(model.folder) == FILES
    assert len(hub.fetched(FIRST)) == 1


def test_files_of_another_size_are_refused_and_fetched_again(hub: Hub, model: Preload) -> None:
    hub.sizes = {FIRST: len(FILES[FIRST]) + 1}
    code, said = model.run()
    assert code != 0
    assert f"{FIRST}: 200000 bytes instead of 200001" in said
    assert not model.marker.exists()

    hub.sizes = {}
    # The client would notice a newer date, but data that a server lost has none.
    shard = model.folder / SECOND
    before = shard.stat()
    os.truncate(shard, 1000)
    os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns))
    code, said = model.run()
    assert code != 0
    assert f"{SECOND}: 1000 bytes instead of 200000" in said
    assert not model.marker.exists()

    code, said = model.run()
    assert code == 0, said
    assert _content(model.folder) == FILES
    assert (len(hub.fetched(FIRST)), len(hub.fetched(SECOND))) == (2, 2)


def test_a_file_served_short(hub: Hub, model: Preload) -> None:
    hub.short = {FIRST}
    assert model.run()[0] != 0
    assert not model.marker.exists()


def test_a_shard_that_the_index_names_and_nobody_has(hub: Hub, model: Preload) -> None:
    del hub.repos[f"{REPOSITORY}@{REVISION}"][SECOND]
    code, said = model.run()
    assert code != 0
    assert f"{SECOND}: named by {INDEX}, missing" in said
    assert not model.marker.exists()


def test_an_excluded_shard_is_not_missed(hub: Hub, model: Preload) -> None:
    hub.sizes = {"optimizer.pth": 5}
    model.env["EXCLUDE"] = "*.pth original/* *-00002-of-*"
    code, said = model.run()
    assert code == 0, said
    assert set(_content(model.folder)) == set(FILES) - {SECOND}
    assert not hub.fetched(SECOND)


def test_a_connection_cut_in_the_middle_goes_on_from_there(hub: Hub, model: Preload) -> None:
    big = random.Random(3).randbytes(24 << 20)
    hub.repos[f"{REPOSITORY}@{REVISION}"] = {"model.safetensors": big}
    hub.breaks = {"model.safetensors": [22 << 20]}
    code, said = model.run()
    assert code == 0, said
    assert _content(model.folder) == {"model.safetensors": big}
    # The client writes in pieces of 10 MiB.
    assert [request.range for request in hub.fetched("model.safetensors")] == ["", f"bytes={20 << 20}-"]


def test_a_killed_download_goes_on(hub: Hub, model: Preload) -> None:
    hub.hold = {SECOND: 100_000}
    job = model.start()
    until(hub.held.is_set)
    job.kill()
    hub.release.set()
    assert list(model.folder.rglob("*.incomplete"))
    assert not model.marker.exists()
    [owner] = model.lock.iterdir()
    owner.unlink()  # as if two minutes had passed
    code, said = model.run()
    assert code == 0, said
    assert _content(model.folder) == FILES
    assert not list(model.folder.rglob("*.incomplete"))
    assert (len(hub.fetched(FIRST)), len(hub.fetched(SECOND))) == (1, 2), "what was whole was fetched again"


def test_a_signal_ends_a_real_download_at_once(hub: Hub, model: Preload) -> None:
    hub.hold = {FIRST: 100_000}
    job = model.start()
    until(hub.held.is_set)
    started = time.monotonic()
    job.signal(signal.SIGTERM)
    assert job.wait(30) == 143
    assert time.monotonic() - started < 30
    assert not model.lock.exists()
    assert not model.marker.exists()
    job.ends()


def test_two_jobs_at_once_fetch_once(hub: Hub, model: Preload) -> None:
    hub.hold = {FIRST: 100_000}
    first = model.start()
    until(hub.held.is_set)
    second = model.start()
    until(lambda: "waiting for another writer" in second.said())
    hub.release.set()
    assert (first.wait(), second.wait()) == (0, 0)
    assert _content(model.folder) == FILES
    assert {name: len(hub.fetched(name)) for name in FILES} == dict.fromkeys(FILES, 1)


def test_a_repository_that_is_not_there(hub: Hub, model: Preload) -> None:
    hub.repos.clear()
    assert model.run()[0] != 0
    assert not model.marker.exists()
    assert not model.lock.exists()


def _content(folder: Path) -> dict[str, bytes]:
    """What the engine would find: everything but hidden files and folders."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    named = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: path.read_bytes() for name, path in named.items() if not name.startswith(".")}


def _nothing_but_the_volume(job: Preload) -> None:
    """No locks and markers in the making are left, and nothing was written beside the folders that the engine reads."""
    assert {path.name for path in job.models.iterdir()} == {REVISION, "loras"}
    assert not [path for path in job.models.rglob("*") if path.name.endswith((".incomplete", ".new", ".lock.", "-1"))]


def _the_token_stays_secret(job: Preload, said: str) -> None:
    assert TOKEN not in said
    files = [path for folder in (job.models, job.tmp) for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if not large(path.name) and TOKEN.encode() in path.read_bytes()]
