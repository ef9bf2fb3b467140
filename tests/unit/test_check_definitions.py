"""Definitions that cannot be read, or that are no CUE: findings at the file, for every command and in every format."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unit.test_cli import ROOT, sailplan

FILE = "definitions/trait/brk.cue"
HEAD = 'brk: {\n\ttype: "trait"\n\tattributes: version: "1.0.0"\n}\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("catalog", "definitions", "applications"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def text(content: str | bytes) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize(
    ("make", "rule", "line", "words"),
    [
        (text(b"brk: {\n\xff}\n"), "SP009", 2, "byte 0xff is not UTF-8"),
        (lambda path: path.mkdir(), "SP009", 0, "this is no ordinary file"),
        (lambda path: path.symlink_to("/nowhere/at.all"), "SP009", 0, "No such file"),
        (lambda path: path.symlink_to("/dev/zero"), "SP009", 0, "this is no ordinary file"),
        (text('"brk": {\n'), "SP607", 1, "expected '}', found 'EOF'"),
        (text(f"{HEAD}template: parameter: close({{a: nope}})\n"), "SP607", 5, 'reference "nope" not found'),
        (text(""), "SP607", 0, "cue cannot read it: "),
        (text(f"{HEAD}template: parameter: close({{a: 1 & 2}})\n"), "SP607", 5, "conflicting values"),
        (text(f"{HEAD}template: parameter: close({{a: string & =~1}})\n"), "SP607", None, "cue cannot read it: "),
    ],
)
def test_a_definition_that_cannot_be_read(
    checkout: Path, make: Callable[[Path], Any], rule: str, line: int | None, words: str
) -> None:
    make(checkout / FILE)
    ran = sailplan("check", "-o", "json", cwd=checkout)
    assert ran.code == 1
    found = [one for one in json.loads(ran.out) if one["id"] == rule]
    [said] = found
    assert said["file"] == FILE
    assert words in said["message"]
    assert line is None or said["line"] == line
    assert "SP901" not in ran.out, "what is generated cannot be compared"
    assert f"::error file={FILE}" in sailplan("check", "-o", "github", cwd=checkout).out
    assert FILE in sailplan("check", FILE, cwd=checkout).out
    for args in (("schema", "App"), ("schema", "--write"), ("get", "definitions")):
        ran = sailplan(*args, cwd=checkout)
        assert (ran.code, ran.out) == (1, ""), args
    assert rule in sailplan("schema", "App", cwd=checkout).err
    new = sailplan("new", "definition", "other", cwd=checkout)
    assert new.code == 1
    assert rule in new.err
    assert not (checkout / "definitions/trait/other.cue").exists()


def test_a_schema_that_cannot_be_read(checkout: Path) -> None:
    (checkout / "catalog/schema/app.cue").write_bytes(b"\xff")
    ran = sailplan("check", cwd=checkout)
    assert ran.code == 1
    assert "catalog/schema/app.cue:1:1: error SP009" in ran.out + ran.err


EXAMPLE = "definitions/examples/gpu.yaml"


@pytest.mark.parametrize(
    ("make", "line", "field", "words"),
    [
        (lambda path: path.unlink(), 0, "", "has no example"),
        (text(""), 0, "", "0 documents"),
        (text("a: [\n"), 2, "", "not YAML"),
        (text(b"\xff"), 1, "", "not UTF-8"),
        (text("kind: Deployment\nspec: {}\n"), 1, "", "no Application"),
        (lambda path: path.write_bytes(path.read_bytes() + b"---\n" + path.read_bytes()), 0, "", "2 documents"),
    ],
)
def test_an_example_that_is_none(
    checkout: Path, make: Callable[[Path], Any], line: int, field: str, words: str
) -> None:
    make(checkout / EXAMPLE)
    for named in ((), ("definitions",)):
        ran = sailplan("check", *named, "-o", "json", cwd=checkout)
        assert ran.code == 1
        [found] = [one for one in json.loads(ran.out) if one["severity"] == "error"]
        assert (found["id"], found["file"], found["field"]) == ("SP708", EXAMPLE, field)
        assert found["line"] == line
        assert words in found["message"]


def test_what_definitions_do_not_take_in_examples(checkout: Path) -> None:
    """All of it, at its line, though a mistake of one sort hides those of another from CUE."""
    changes = {
        "gpu": [("pipelineParallel: 2", "pipelinParallel: 2"), ("count: 4", "count: 0")],
        "namespace-quota": [("gpus: 0", "gpus: -1")],
        "wait-model-ready": [('cluster: "local"\n', "cluster: 7\n")],
        "prefix-cache": [('type: "prefix-cache"', 'type: "prefix-cash"')],
    }
    for name, pairs in changes.items():
        path = checkout / f"definitions/examples/{name}.yaml"
        content = path.read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in content
            content = content.replace(old, new)
        path.write_text(content, encoding="utf-8")
    ran = sailplan("check", "-o", "json", cwd=checkout)
    found = {one["field"]: one for one in json.loads(ran.out) if one["severity"] == "error"}
    gpu = "spec.components[0].traits[0].properties"
    step = "spec.workflow.steps[0].subSteps[1].properties.cluster"
    assert set(found) == {f"{gpu}.pipelinParallel", f"{gpu}.count", "spec.components[0].properties.gpus", step, "spec"}
    assert {one["id"] for one in found.values()} == {"SP708"}
    assert found[f"{gpu}.pipelinParallel"]["nearest"] == "pipelineParallel"
    assert found[step]["given"] == "7" and found[step]["line"] > 30
    assert found["spec"]["message"] == "nothing in it is a prefix-cache"
    assert sailplan("check", cwd=ROOT).code == 0


def test_an_example_that_was_right_is_asked_about_once(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again when it, or a definition, is another."""
    assert sailplan("check", cwd=checkout).code == 0
    monkeypatch.setattr("sailplan.toolbox.cue.vet", lambda *_: pytest.fail("cue was asked again"))
    assert sailplan("check", cwd=checkout).code == 0
