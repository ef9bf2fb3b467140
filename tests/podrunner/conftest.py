"""A hub of its own for the tests that need a cluster, without the other clusters.

SAILPLAN_TEST_PLANE=NAME uses the plane of that name instead and leaves it running: for writing tests.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from localplane import Plane
from plane.support import ROOT, WORKER, Desk, left_over, state_of


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Somebody at a hub that knows `vllm-model`."""
    folder = tmp_path_factory.mktemp("hub")
    kept = os.environ.get("SAILPLAN_TEST_PLANE")
    before = os.environ.get("SAILPLAN_STATE")
    if not kept:
        os.environ["SAILPLAN_STATE"] = str(state_of(tmp_path_factory))
    plane = Plane(kept or f"pods{WORKER}", alone(folder))
    try:
        plane.up()
        desk = Desk(plane)
        desk.vela("def", "apply", str(ROOT / "definitions/component/vllm-model.cue"))
        yield desk
    finally:
        if not kept:
            plane.reset()
            left = left_over(plane.folder)
            os.environ.pop("SAILPLAN_STATE")
            if before is not None:
                os.environ["SAILPLAN_STATE"] = before
            assert left == []


def alone(folder: Path) -> Path:
    """A copy of the catalog with the environments that live on the hub only."""
    shutil.copytree(ROOT / "catalog", folder / "catalog")
    for file in (folder / "catalog/environments").glob("*.yaml"):
        if yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]["clusters"] != ["local"]:
            file.unlink()
    return folder
