"""README's blocks about drills are run, and print what README shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from transcripts.transcript import ROOT, Step, blocks, checkout, matches, run

STEPS = [step for where, made in blocks((ROOT / "README.md").read_text()) if where == "live" for step in made]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkout")


@pytest.mark.parametrize("step", [pytest.param(step, id=step.command) for step in STEPS])
def test_the_tour_of_drills(step: Step, place: Path) -> None:
    environment = checkout(place)
    # The tools are those of this checkout: `make` in a copy would make a second .venv.
    printed = run(step.command, ROOT if step.command.startswith("make ") else place, environment, seconds=1800)
    assert "[exit code" not in printed, printed
    assert matches(step.shown, printed), printed


def test_there_is_a_tour_of_drills() -> None:
    assert len(STEPS) > 2
