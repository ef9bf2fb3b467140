from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import fakehub, stubs
from scripts.job import HERE, Preload


@pytest.fixture
def hub() -> Iterator[fakehub.Hub]:
    with fakehub.serve() as served:
        yield served


@pytest.fixture
def preload(tmp_path: Path) -> Iterator[Preload]:
    """The Job on an empty volume, with the real client of the hub."""
    made = Preload(_folder(tmp_path / "models"), _folder(tmp_path / "tmp"))
    yield made
    made.stop()


@pytest.fixture
def stubbed(tmp_path: Path) -> stubs.Stubs:
    return stubs.make(_folder(tmp_path / "stubs"))


@pytest.fixture(params=HERE)
def flow(request: pytest.FixtureRequest, preload: Preload, stubbed: stubs.Stubs) -> Preload:
    """The Job on an empty volume with stand-ins, once for each shell that is here."""
    preload.shell, preload.tools = request.param, str(stubbed.folder)
    preload.env["STUBS"] = str(stubbed.folder)
    return preload


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
