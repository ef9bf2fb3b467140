"""The virtual environment is made when it must be, whole, and not more often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolchain import BuildFailed, ToolchainError, venv


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SAILPLAN_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "check out"
    (place / "requirements").mkdir(parents=True)
    (place / "requirements" / "dev.lock").write_text("one==1\n")
    (place / "pyproject.toml").write_text("[project]\n")
    return place


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record what would run; creating the environment leaves a Python."""
    said: list[str] = []

    def run(argv: list[Any], *, title: str, **_: Any) -> str:
        said.append(title.partition(": ")[2])
        if "venv" in argv:
            python = Path(argv[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
        else:
            assert "--require-hashes" in argv or {"--no-build-isolation", "--no-deps"} <= set(argv)
        return ""

    monkeypatch.setattr(venv, "run", run)
    return said


ALL = ["creating", "installing packages", "installing sailplan itself"]


def test_it_is_made_once(checkout: Path, steps: list[str]) -> None:
    python = venv.ensure(checkout)
    assert python == checkout / ".venv" / "bin" / "python"
    assert steps == ALL
    assert venv.ensure(checkout) == python
    assert steps == ALL


def test_another_lock_makes_it_anew(checkout: Path, steps: list[str]) -> None:
    venv.ensure(checkout)
    (checkout / "requirements" / "dev.lock").write_text("one==2\n")
    venv.ensure(checkout)
    assert steps == ALL * 2


def test_another_pyproject_installs_the_package_only(checkout: Path, steps: list[str]) -> None:
    venv.ensure(checkout)
    (checkout / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    venv.ensure(checkout)
    venv.ensure(checkout)
    assert steps == [*ALL, ALL[-1]]


def test_a_moved_checkout_makes_it_anew(checkout: Path, steps: list[str]) -> None:
    """Scripts in an environment hold its path."""
    venv.ensure(checkout)
    venv.ensure(checkout.rename(checkout.with_name("elsewhere")))
    assert steps == ALL * 2


def test_a_python_that_is_gone_makes_it_anew(checkout: Path, steps: list[str]) -> None:
    venv.ensure(checkout).unlink()
    venv.ensure(checkout)
    assert steps == ALL * 2


@pytest.mark.parametrize("broken", range(3))
def test_an_interrupted_one_is_made_anew(
    checkout: Path, steps: list[str], monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    whole = venv.run

    def interrupted(*args: Any, **more: Any) -> str:
        if len(steps) == broken:
            raise KeyboardInterrupt
        return whole(*args, **more)

    monkeypatch.setattr(venv, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        venv.ensure(checkout)
    steps.clear()
    monkeypatch.setattr(venv, "run", whole)
    venv.ensure(checkout)
    assert steps == ALL


def test_a_python_without_venv_says_what_to_install(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any, **__: Any) -> str:
        raise BuildFailed("ensurepip is not available")

    monkeypatch.setattr(venv, "run", run)
    with pytest.raises(BuildFailed, match="ensurepip is not available") as error:
        venv.ensure(checkout)
    assert "python3-venv" in error.value.hint


def test_a_folder_without_a_lock_is_no_checkout(checkout: Path) -> None:
    (checkout / "requirements" / "dev.lock").unlink()
    with pytest.raises(ToolchainError, match=r"dev\.lock"):
        venv.ensure(checkout)
