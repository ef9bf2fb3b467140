"""README's blocks for a cluster are run: from `make plane` to `make plane-stop` here, the rest in the delivery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plane import test_4_delivery
from plane.person import TOUR, Person
from plane.support import left_over, state_of
from transcripts.transcript import matches

HERE = [
    "make plane",
    'eval "$(.venv/bin/python -m localplane env)"',
    "sailplan definitions publish",
    "sailplan doctor",
    "vela up -f applications/inference-fleet/application.yaml",
    "sailplan status inference-fleet",
    "make plane-stop",
]


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the planes of this run are."""
    return state_of(tmp_path_factory)


@pytest.fixture
def person(tmp_path: Path, state: Path) -> Iterator[Person]:
    """Somebody with a plane of their own, from nothing."""
    made = Person(tmp_path, {"SAILPLAN_STATE": str(state)})
    yield made
    made.run("make plane-reset")
    assert left_over(state / "plane/default") == []


def test_every_command_is_run_somewhere() -> None:
    assert {step.command for step in TOUR} == {*HERE, *test_4_delivery.COMMANDS}


def test_the_tour_works_with_no_program_of_the_system(person: Person, state: Path) -> None:
    for name in ("kubectl", "openssl", "docker", "podman", "apt-get", "curl"):
        assert "[exit code" in person.run(f"command -v {name}"), f"{name} is on the PATH of this test"
    wrong = []
    for command in HERE:
        printed = person.run(command)
        print(f"$ {command}\n{printed}")
        for step in TOUR:
            if step.command == command and step.shown and not matches(step.shown, printed):
                wrong.append(f"$ {command}\n--- shown\n" + "\n".join(step.shown) + f"\n--- printed\n{printed}")
        if "[exit code" in printed:
            wrong.append(f"$ {command}\n{printed}")
    assert not wrong, "\n\n".join(wrong)
    assert left_over(state / "plane/default") == [], "running after `make plane-stop`"
