"""`sailplan new definition`: what it begins passes the tests of definitions as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from definitions.engine import vela
from definitions.files import ROOT
from sailplan.errors import UsageError
from sailplan.newtrait import files

TESTED = ("cases", "coverage", "examples", "typos", "commute", "pitfalls_kubevela")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("catalog", "definitions", "tests/definitions"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(place: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *args],
        cwd=place,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def tree(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("name", "component"), [("pod-note", "vllm-model"), ("edge-note", "inference-api")])
def test_what_is_begun_passes(name: str, component: str, checkout: Path) -> None:
    made = run(checkout, "sailplan", "new", "definition", name, "--for", component)
    assert made.returncode == 0, made.stderr
    assert set(files(name, component)) < set(made.stdout.split())
    vet = vela(["def", "vet", str(checkout / f"definitions/trait/{name}.cue")], checkout)
    assert vet.code == 0 and "succeed" in vet.stdout
    assert run(checkout, "sailplan", "check").stdout == "no findings\n"
    assert run(checkout, "sailplan", "definitions", "check", name).returncode == 0
    # Its own tests, and those that hold for all together.
    chosen = f"{name} or R22 or all_traits or nothing_belongs"
    tests = [f"tests/definitions/test_{file}.py" for file in TESTED]
    done = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *tests)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " skipped" not in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["definition", "gpu"], "definitions/trait/gpu.cue exists already"),
        (["definition", "vllm-model"], "definitions/component/vllm-model.cue exists already"),
        (["definition", "taken"], "tests/definitions/cases/taken.yaml exists already"),
        (["definition", "Pod_Note"], "no name for a definition"),
        (["definition", "../note"], "no name for a definition"),
        (["definition", "n" * 41], "no name for a definition"),
        *(
            (["definition", name], "no name for a definition")
            for name in ("true", "null", "on", "yes", "no", "off", "y", "model", "gpuclasses")
        ),
        (["definition", "linked"], "definitions/trait/linked.cue exists already\nhint: "),
        (["definition", "note", "--for", "vllm"], "vllm-model"),
        (["definition", "note", "--for", "inference-api", "--for", "vllm-model"], "--for is given 2 times"),
        (["modle", "note"], "definition"),
    ],
)
def test_bad_input_writes_nothing(args: list[str], said: str, checkout: Path) -> None:
    (checkout / "tests/definitions/cases/taken.yaml").write_text("mine\n")
    (checkout / "definitions/trait/linked.cue").symlink_to("nowhere")
    before = tree(checkout)
    done = run(checkout, "sailplan", "new", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert tree(checkout) == before


def test_a_file_where_a_folder_belongs_is_named(checkout: Path) -> None:
    shutil.rmtree(checkout / "definitions/examples")
    (checkout / "definitions/examples").touch()
    before = tree(checkout)
    done = run(checkout, "sailplan", "new", "definition", "note")
    assert (done.returncode, done.stdout) == (2, "")
    assert "definitions/examples is no folder, and note.yaml belongs below it\nhint: " in done.stderr
    assert tree(checkout) == before


def test_nothing_is_left_when_what_is_generated_cannot_be(checkout: Path) -> None:
    broken = checkout / "definitions/trait/gpu.cue"
    broken.write_text(broken.read_text() + "\n}\n")
    before = tree(checkout)
    done = run(checkout, "sailplan", "new", "definition", "note")
    assert done.returncode == 1
    assert "definitions/trait/gpu.cue:" in done.stderr and "SP607" in done.stderr
    assert tree(checkout) == before


def test_a_component_without_traits_is_refused() -> None:
    with pytest.raises(UsageError, match="namespace-quota"):
        files("note", "namespace-quota")
