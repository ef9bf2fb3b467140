"""What `sailplan check` is asked about: whatever a path names, its findings come in the format that was asked for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unit.test_cli import INTENT, ROOT, sailplan


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    for name in ("catalog", "definitions", "applications"):
        shutil.copytree(ROOT / name, root / name)
    return root


def errors(*args: str, cwd: Path, stdin: str = "") -> list[dict[str, Any]]:
    ran = sailplan("check", *args, "-o", "json", cwd=cwd, stdin=stdin)
    found = [one for one in json.loads(ran.out) if one["severity"] == "error"]
    assert ran.code == bool(found), ran.err
    return found


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "SP009"),
        (INTENT.replace("owner: me", 'owner: "a\\r\\n"'), "SP005"),
        ("kind: Model\n", "SP010"),
        ("{", "SP005"),
        ("# " + "x" * (1 << 20), "SP009"),
    ],
)
@pytest.mark.parametrize("named", ["-", "../elsewhere.yaml"])
def test_an_intent_from_elsewhere_that_is_none(checkout: Path, text: str, rule: str, named: str) -> None:
    (checkout.parent / "elsewhere.yaml").write_text(text, encoding="utf-8")
    [found] = errors(named, cwd=checkout, stdin=text)
    assert (found["id"], found["file"]) == (rule, named)
    assert f"::error file={named}" in sailplan("check", named, "-o", "github", cwd=checkout, stdin=text).out


def test_bytes_that_are_no_text(checkout: Path) -> None:
    (checkout.parent / "elsewhere.yaml").write_bytes(b"kind: App\n# \xff")
    [found] = errors("../elsewhere.yaml", cwd=checkout)
    assert (found["id"], found["line"], found["column"]) == ("SP009", 2, 3)
    done = subprocess.run(
        [sys.executable, "-m", "sailplan", "check", "-", "-o", "json"],
        cwd=checkout,
        input=b"kind: App\n# \xff",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    [found] = [one for one in json.loads(done.stdout) if one["severity"] == "error"]
    assert (found["id"], found["file"], found["line"], found["column"]) == ("SP009", "-", 2, 3)


@pytest.mark.parametrize("target", ["/dev/zero", "/nowhere/at.all"])
@pytest.mark.parametrize("named", ["applications/linked", "applications/linked/app.yaml", "applications"])
def test_a_link_in_place_of_an_intent(checkout: Path, target: str, named: str) -> None:
    (checkout / "applications/linked").mkdir()
    (checkout / "applications/linked/app.yaml").symlink_to(target)
    [found] = errors(named, cwd=checkout)
    assert (found["id"], found["file"]) == ("SP009", "applications/linked/app.yaml")


def test_a_link_to_an_application_elsewhere(checkout: Path) -> None:
    shutil.move(checkout / "applications/guardrail", checkout.parent / "guardrail")
    (checkout / "applications/guardrail").symlink_to(checkout.parent / "guardrail")
    app = checkout / "applications/guardrail/app.yaml"
    app.write_text(app.read_text(encoding="utf-8").replace("gateway,", "gatewy,"), encoding="utf-8")
    [found] = errors("applications/guardrail", cwd=checkout)
    assert (found["id"], found["file"]) == ("SP102", "applications/guardrail/app.yaml")


def test_files_that_are_not_checked_are_named(checkout: Path) -> None:
    (checkout / "README.md").write_text("kind: App\n", encoding="utf-8")
    (checkout / "ci.yaml").write_text("kind: Application\n", encoding="utf-8")
    (checkout / "docs").mkdir()
    ran = sailplan("check", "README.md", "ci.yaml", "docs", cwd=checkout)
    assert (ran.code, ran.out) == (0, "no findings\n")
    assert [f"{name} is not checked" in ran.err for name in ("README.md", "ci.yaml", "docs")] == [True] * 3
    (checkout / "mine.yaml").write_text(INTENT.replace("[gateway]", "[gatewy]"), encoding="utf-8")
    [found] = errors("mine.yaml", cwd=checkout)
    assert (found["id"], found["file"]) == ("SP102", "mine.yaml")
    ran = sailplan("check", ".", cwd=checkout)
    assert (ran.code, ran.err) == (0, "")


def test_a_number_without_end_gets_one_advice(checkout: Path) -> None:
    path = checkout / "catalog/environments/sandbox.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("budget: 6", f"budget: {'9' * 26}"), encoding="utf-8")
    [found] = errors("catalog/environments/sandbox.yaml", cwd=checkout)
    assert (found["id"], found["field"]) == ("SP007", "spec.gpu.budget")


@pytest.mark.parametrize("name", ["gpus", "images", "apis"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text("a: [\n", encoding="utf-8"),
        lambda path: path.write_bytes(b"\xff"),
        lambda path: path.write_text("kind: Nope\n", encoding="utf-8"),
    ],
)
def test_a_file_that_all_depends_on_does_not_bury_its_cause(
    checkout: Path, name: str, damage: Callable[[Path], Any]
) -> None:
    """Nothing can be composed, so nothing can be compared: no drift is said, whose remedy would not work."""
    damage(checkout / f"catalog/{name}.yaml")
    assert {one["file"] for one in errors(cwd=checkout)} == {f"catalog/{name}.yaml"}
    assert {one["file"] for one in errors("applications/guardrail", cwd=checkout)} == {f"catalog/{name}.yaml"}
