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
