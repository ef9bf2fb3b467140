"""What the preload script does and in which order: stand-ins for the hub's client, every shell that is here."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from scripts.job import HERE, SHELLS, Preload
from scripts.rendered import ADAPTERS, REPOSITORY, REVISION, scripts
from scripts.stubs import Stubs

LINES = scripts().env["ADAPTERS"]


def test_every_shell_is_here() -> None:
    missing = sorted(set(SHELLS) - set(HERE))
    if missing:
        warnings.warn(f"the preload script was NOT tried under {', '.join(missing)}: not installed here", stacklevel=1)
    assert "dash" in HERE


def test_the_rendered_adapters_are_lines_of_three() -> None:
    assert LINES.split("\n") == [f"{name} {repository} {revision}" for name, (repository, revision) in ADAPTERS.items()]


def test_an_empty_folder_is_downloaded_verified_and_marked(flow: Preload, stubbed: Stubs) -> None:
    code, said = flow.run()
    assert code == 0, said
    assert stubbed.calls("hf") == [[
        "download", REPOSITORY, "--revision", REVISION, "--local-dir", str(flow.folder), "--max-workers", "1",
        "--exclude=*.pth", "--exclude=original/*",
    ]]  # fmt: skip
    assert stubbed.calls("python") == [[REPOSITORY, REVISION, str(flow.folder)]]
    assert flow.complete()
    assert not flow.lock.exists()
    flow.running[-1].ends()


def test_a_marker_is_enough(flow: Preload, stubbed: Stubs) -> None:
    flow.folder.mkdir()
    flow.marker.write_text(f"{REPOSITORY}@{REVISION}")
    before = sorted((path, path.stat().st_mtime_ns) for path in flow.models.rglob("*"))
    code, said = flow.run()
    assert code == 0, said
    assert not stubbed.calls("hf")
    assert not stubbed.calls("python")
    assert sorted((path, path.stat().st_mtime_ns) for path in flow.models.rglob("*")) == before


@pytest.mark.parametrize("marker", ["", REPOSITORY, f"{REPOSITORY}@main", f"other/model@{REVISION}"])
def test_the_marker_of_something_else_is_not(flow: Preload, stubbed: Stubs, marker: str) -> None:
    flow.folder.mkdir()
    flow.marker.write_text(marker)
    assert flow.run()[0] == 0
    assert len(stubbed.calls("hf")) == 1
    assert flow.complete()


def test_a_config_alone_is_not_trusted(flow: Preload, stubbed: Stubs) -> None:
    flow.folder.mkdir()
    (flow.folder / "config.json").write_text("{}")
    assert flow.run()[0] == 0
    assert len(stubbed.calls("hf")) == 1


@pytest.mark.parametrize("place", ["", ".cache/huggingface/download"])
def test_a_part_outweighs_the_marker(flow: Preload, stubbed: Stubs, place: str) -> None:
    part = flow.folder / place / "model.safetensors.incomplete"
    part.parent.mkdir(parents=True)
    part.write_text("half")
    flow.marker.write_text(f"{REPOSITORY}@{REVISION}")
    assert flow.run()[0] == 0
    [start, _] = stubbed.times()
    assert ".preload-complete" not in start, "the marker was still there while files were written"
    assert not part.exists()
    assert flow.complete()


def test_the_clients_record_of_whole_files_survives_and_its_other_state_does_not(flow: Preload) -> None:
    state = flow.folder / ".cache/huggingface"
    kept = state / "download/model.safetensors.metadata"
    gone = [state / "download/model.safetensors.lock", state / f"trees/{REVISION}.json"]
    for file in (kept, *gone, flow.folder / "uv.lock"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert flow.run()[0] == 0
    assert kept.exists()
    assert (flow.folder / "uv.lock").exists()
    assert not [file for file in gone if file.exists()]


@pytest.mark.parametrize(("hf", "verify"), [(7, 0), (0, 9)])
def test_a_failure_ends_the_job_without_a_marker(flow: Preload, stubbed: Stubs, hf: int, verify: int) -> None:
    stubbed.set(hf=hf, verify=verify)
    flow.env["ADAPTERS"] = LINES
    assert flow.run()[0] == hf + verify
    assert len(stubbed.calls("hf")) == 1, "went on to the adapters"
    assert not list(flow.models.rglob(".preload-complete*"))
    assert not flow.lock.exists()
    flow.running[-1].ends()


@pytest.mark.parametrize("text", [LINES, LINES + "\n", "\n" + LINES.replace("\n", "\n\n") + "\n\n"])
def test_each_adapter_has_its_folder_and_marker(flow: Preload, stubbed: Stubs, text: str) -> None:
    flow.env["ADAPTERS"] = text
    assert flow.run()[0] == 0
    assert [call[1] for call in stubbed.calls("hf")] == [REPOSITORY, *(r for r, _ in ADAPTERS.values())]
    for name, (repository, revision) in ADAPTERS.items():
        assert (flow.adapter(name, revision) / ".preload-complete").read_text() == f"{repository}@{revision}"
    assert not list(flow.models.rglob("*.lock*"))


def test_a_complete_adapter_is_skipped(flow: Preload, stubbed: Stubs) -> None:
    flow.env["ADAPTERS"] = LINES
    (repository, revision) = ADAPTERS["first"]
    flow.adapter("first", revision).mkdir(parents=True)
    (flow.adapter("first", revision) / ".preload-complete").write_text(f"{repository}@{revision}")
    assert flow.run()[0] == 0
    assert [call[1] for call in stubbed.calls("hf")] == [REPOSITORY, ADAPTERS["second"][0]]


HOSTILE = ["x/y; touch pwn", "$(touch pwn)", "`touch pwn`", "x/y\ntouch pwn", "x/y && touch pwn", "*", "x/\\y", "x y",
           "--help", "-c", "", "x/y'\"", "${PATH}", "%s%n"]  # fmt: skip


@pytest.mark.parametrize("where", ["MODEL_REPOSITORY", "MODEL_REVISION", "name", "repository", "revision"])
def test_hostile_values_go_nowhere(flow: Preload, stubbed: Stubs, where: str) -> None:
    """The schema refuses them earlier. The script hands on only what cannot be anything but a name."""
    flow.marker.parent.mkdir()
    flow.marker.write_text(f"{REPOSITORY}@{REVISION}")
    (flow.tmp / "match").touch()
    parts = {"name": "good", "repository": "owner/good", "revision": "3" * 40}
    for value in HOSTILE:
        text = " ".join({**parts, where: value}.values())
        flow.env |= {"ADAPTERS": text} if where in parts else {where: value}
        code, said = flow.run()
        assert code != 0, f"{value!r}: {said}"
        assert not stubbed.calls("hf"), value
        assert _files(flow.models) == {REVISION, f"{REVISION}/.preload-complete"}, value
    assert _files(flow.tmp) == {"match", *(f"output-{i}" for i in range(len(HOSTILE)))}


@pytest.mark.parametrize("name", ["..", ".", ".hidden", "a/../../b", "/etc"])
def test_an_adapter_stays_in_its_folder(flow: Preload, stubbed: Stubs, name: str) -> None:
    flow.env["ADAPTERS"] = f"{name} owner/good {'3' * 40}"
    assert flow.run()[0] != 0
    assert len(stubbed.calls("hf")) == 1, "the base model's alone"


def test_patterns_are_handed_on_as_they_are(flow: Preload, stubbed: Stubs) -> None:
    (flow.tmp / "match").touch()
    patterns = ["*", "m?tch", "$(touch", "pwn)", "`id`", "back\\slash\\*", "-x", "--help", "'\"", "$HOME", ";"]
    flow.env["EXCLUDE"] = " ".join(patterns)
    assert flow.run()[0] == 0
    assert stubbed.calls("hf")[0][8:] == [f"--exclude={pattern}" for pattern in patterns]
    assert _files(flow.tmp) == {"match", "output-0"}


def test_no_patterns(flow: Preload, stubbed: Stubs) -> None:
    flow.env["EXCLUDE"] = ""
    assert flow.run()[0] == 0
    assert len(stubbed.calls("hf")[0]) == 8


def test_a_root_with_blanks(flow: Preload, tmp_path: Path) -> None:
    flow.models = tmp_path / "a folder * with $names"
    flow.models.mkdir()
    flow.env["ADAPTERS"] = LINES
    assert flow.run()[0] == 0
    assert flow.complete()
    assert len(list(flow.models.rglob(".preload-complete"))) == 3


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
