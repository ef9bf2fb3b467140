"""`sailplan drill` as a person types it: reports, ^C, what is left behind, and how long all of it takes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.live.conftest import ROOT, Drilled

from drill.run import ready
from drill.scenarios import SCENARIOS
from plane.support import left_over
from sailplan.errors import ToolError

SAILPLAN = Path(sys.executable).with_name("sailplan")
MINUTES = 10


def needed(scenario: str) -> None:
    """Skip where something is missing."""
    try:
        ready([SCENARIOS[scenario]])
    except ToolError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def here() -> None:
    needed("routes")


def drill(*args: str, seconds: float = 400) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SAILPLAN, "drill", *args], cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
    )


@pytest.mark.usefixtures("here")
def test_a_drill_prints_json_and_writes_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = drill("routes", "--component", "qwen-coder", "-o", "json", "--report", str(page))
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads(done.stdout)
    assert data["ok"] is True
    assert [one["scenario"] for one in data["scenarios"]] == ["routes"]
    assert "Traceback" not in done.stderr
    assert "share of xplane-qwen-coder" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("scenario", "moment"), [("routes", "gateway and"), ("traffic", "requests in flight")], ids=["routes", "traffic"]
)
def test_interrupting_stops_everything(tmp_path: Path, scenario: str, moment: str) -> None:
    """^C while the gateway runs, or pods under load: exit code 130, and no process, plane or folder of it is left."""
    needed(scenario)
    child = subprocess.Popen(
        [SAILPLAN, "drill", scenario, "--component", "qwen-coder"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "SAILPLAN_STATE": str(tmp_path / "state")},
    )  # fmt: skip
    try:
        assert child.stderr is not None
        said = []
        for line in child.stderr:
            said.append(line)
            if moment in line:
                break
        else:
            pytest.fail(f"{scenario} did not come up:\n" + "".join(said))
        os.killpg(child.pid, signal.SIGINT)
        assert child.wait(timeout=120) == 130
    finally:
        child.kill()
        child.communicate()
    deadline = time.monotonic() + 60
    while (left := left_over(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == []
    assert [path.name for path in tmp_path.iterdir() if path.name != "state"] == []


def test_the_list_says_what_each_scenario_shows() -> None:
    done = drill("--list", seconds=60)
    assert done.returncode == 0
    assert all(name in done.stdout for name in SCENARIOS)


def test_the_whole_drill_of_the_fleet_is_quick_and_leaves_nothing(drilled: Drilled, state: Path) -> None:
    results = {name: drilled(name) for name in SCENARIOS}
    took = {name: round(result.seconds) for name, result in results.items()}
    print(f"\n  seconds: {took}, together {sum(took.values())}")
    assert {name: result.ok for name, result in results.items()} == dict.fromkeys(SCENARIOS, True)
    assert left_over(state.parent) == []
    # Two cores of our own are promised; on a machine with much other work it takes as much longer.
    crowd = max(1.0, os.getloadavg()[2] / (2 * (os.cpu_count() or 1)))
    assert sum(took.values()) < MINUTES * 60 * crowd
