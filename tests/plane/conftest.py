"""One plane for all tests of this folder that run in one process, started from nothing and gone afterwards.

`make test-plane` runs two such processes (pytest-xdist), since most of a delivery is waiting. The tests of a file stay
together and in order.

SAILPLAN_TEST_PLANE=NAME uses the plane of that name instead, running or not, and leaves it running: for writing tests.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localplane import Plane
from plane.support import ROOT, STATE, WORKER, Desk, left_over, state_of
from plane.sweep import swept

ORDER = (
    "test_1_plane", "test_2_definitions", "test_6_faults", "test_4_delivery", "test_8_status_diff_doctor",
    "test_9_render", "test_family", "test_7_publish", "test_plane", "test_5_replicas", "test_9_tour",
    "test_3_admission",
)  # fmt: skip
"""Files by what they take, the long ones first; but the addon (2) needs a hub that never had anything of ours."""


def pytest_configure() -> None:
    if not WORKER:  # workers are told by the process that started them
        os.environ[STATE] = tempfile.mkdtemp(prefix="sailplan-planes-")


def pytest_unconfigure() -> None:
    if not WORKER and (left := swept(Path(os.environ.pop(STATE)))):
        print(f"\n{left} processes were left by the tests of the plane, and ended now")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.plane)
    items.sort(key=lambda item: ORDER.index(item.path.stem) if item.path.stem in ORDER else -1)


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    kept = os.environ.get("SAILPLAN_TEST_PLANE")
    if kept:
        made = Plane(kept, ROOT)
        made.up()
        yield made
        return
    folder = state_of(tmp_path_factory)
    os.environ["SAILPLAN_STATE"] = str(folder)
    made = Plane(f"tests{WORKER}", ROOT)
    with (folder / "starting").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # one after the other is sooner for the first, and not later for the second
        made.started_in = made.up()  # type: ignore[attr-defined]
    yield made
    began = time.monotonic()
    stubborn = made.stop()
    left = left_over(made.folder)
    print(f"\nstopped after {time.monotonic() - began:.1f} s; did not end when asked and was killed: {stubborn}")
    made.reset()
    assert left == [], f"still running after stop: {left}"


@pytest.fixture(scope="session")
def desk(plane: Plane) -> Desk:
    """What a person at the keyboard does: sailplan and vela, against the hub."""
    return Desk(plane)


@pytest.fixture(scope="session")
def published(desk: Desk) -> Desk:
    """The desk, with all definitions of this checkout on the hub."""
    for file in desk.definitions():
        desk.vela("def", "apply", str(file))
    return desk


@pytest.fixture(autouse=True)
def quiet_simulation(plane: Plane) -> Iterator[None]:
    """After each test the pretence is what it was before."""
    yield
    for cluster in plane.clusters.values():
        if cluster.client.ready():
            cluster.simulation.ready_after(1.0)
            cluster.simulation.preload(fail=())
