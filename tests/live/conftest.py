"""Drills with the real parts: each scenario runs once, from nothing, and its tests read what it found.

What a scenario starts is gone when it ends; the state of its planes goes to a folder of the session's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drill.context import Context
from drill.model import Result
from drill.report import said
from drill.run import one, ready
from drill.scenarios import SCENARIOS
from sailplan.errors import ToolError

ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder of all planes of this session."""
    folder = tmp_path_factory.mktemp("state")
    before = os.environ.get("SAILPLAN_STATE")
    os.environ["SAILPLAN_STATE"] = str(folder)
    yield folder
    del os.environ["SAILPLAN_STATE"]
    if before is not None:
        os.environ["SAILPLAN_STATE"] = before


Drilled = Callable[..., Result]


@pytest.fixture(scope="session")
def drilled(state: Path, tmp_path_factory: pytest.TempPathFactory) -> Drilled:
    """Return a function that runs a scenario once a session: name, and application and component to put under load."""
    found: dict[tuple[str, ...], Result] = {}

    def run(name: str, app: str = "inference-fleet", component: str = "") -> Result:
        scenario = SCENARIOS[name]
        try:
            ready([scenario])
        except ToolError as error:
            pytest.skip(str(error))
        key = (name, app, component)
        if key not in found:
            folder = tmp_path_factory.mktemp(name)
            context = Context(ROOT, folder, app, component, say=lambda text: print(f"  {name}: {text}", flush=True))
            found[key] = one(scenario, context)
        return found[key]

    return run


def show(result: Result, *beginnings: str) -> None:
    """Print the figures whose names begin so, and demand that there are some and that all are as promised."""
    figures = [one for one in result.figures if one.name.startswith(beginnings)]
    lines = [f"{'ok  ' if one.ok else 'FAIL'} {one.name}: {said(one)} ({one.expected})" for one in figures]
    print("", *lines, sep="\n  ")
    assert figures, f"no figure begins with {beginnings}: {[one.name for one in result.figures]}"
    assert all(one.ok for one in figures), "\n".join(["", *lines])
