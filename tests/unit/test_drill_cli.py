"""What `sailplan drill` refuses before anything is started, and what it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from drill import run
from drill.context import Context
from drill.errors import DrillError
from drill.model import Figure, Need, Result, Scenario
from drill.scenarios import SCENARIOS
from sailplan.errors import ToolError

ROOT = Path(__file__).resolve().parents[2]
SAILPLAN = Path(sys.executable).with_name("sailplan")


def drill(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SAILPLAN, "drill", *args], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["canarry"], "did you mean canary"),
        (["routes", "--app", "inference-fleed"], "did you mean inference-fleet"),
        (["routes", "--component", "qwen-codr"], "did you mean qwen-coder"),
        (["routes", "--report", "no/such/folder/page.html"], "No such file or directory"),
        (["routes", "--report", "."], "Is a directory"),
        (["routes", "-o", "pdf"], "pdf"),
        (["routes", "--speed", "9"], "--speed"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(args: list[str], says: str) -> None:
    done = drill(*args)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_the_list_names_all_and_what_is_missing() -> None:
    done = drill("--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == list(SCENARIOS)


def test_the_list_for_machines() -> None:
    done = drill("--list", "-o", "json")
    assert done.returncode == 0
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows] == list(SCENARIOS)
    assert all(isinstance(row["missing"], list) and row["title"] for row in rows)


def test_the_command_line_does_not_import_drills_until_asked() -> None:
    code = (
        "import sys, sailplan.cli.commands as c; c.command();"
        "import sailplan.cli.drill;"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('drill', 'localplane', 'httpx')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_the_list_imports_no_scenario() -> None:
    heavy = ("drill.gateway", "drill.engine", "drill.scaling", "localplane")
    code = f"import sys, drill.scenarios; print(sorted(name for name in sys.modules if name.startswith({heavy})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def absent(name: str) -> Need:
    return Need(name, lambda: None, f"install {name}")


def broken(_: Context) -> Result:
    raise DrillError("the gateway did not come up", "look at its log")


def test_what_is_missing_is_named_with_the_way_to_get_it() -> None:
    there = Need("sh", lambda: Path("/bin/sh"))
    first = Scenario("first", "", (absent("engine"), there), broken)
    second = Scenario("second", "", (there,), broken)
    with pytest.raises(ToolError) as caught:
        run.ready([first, second])
    assert caught.value.exit_code == 3
    assert "needed by first:" in caught.value.message
    assert "install engine" in caught.value.message
    assert "sh" not in caught.value.message.split()
    run.ready([second])


def test_a_scenario_that_cannot_be_carried_out_fails_and_the_next_one_runs(tmp_path: Path) -> None:
    fine = Scenario("fine", "", (), lambda context: Result("fine", "", context.seconds, (Figure("x", 1),)))
    said: list[str] = []
    results = run.run([Scenario("broken", "t", (), broken), fine], tmp_path, "app", "", said.append)
    assert [result.ok for result in results] == [False, True]
    assert "did not come up" in str(results[0].figures[0].value)
    assert said == ["broken: t", "fine: "]


def test_what_was_found_is_kept_when_a_later_one_cannot_start(tmp_path: Path) -> None:
    def refuse(_: Context) -> Result:
        raise ToolError("vela is missing", "make setup")

    fine = Scenario("fine", "", (), lambda context: Result("fine", "", context.seconds, (Figure("x", 1),)))
    refused = Scenario("refused", "", (), refuse)
    last = replace(fine, name="last")
    results = run.run([fine, refused, last], tmp_path, "app", "", lambda _: None)
    assert [result.ok for result in results] == [True, False, True]
    assert results[1].figures[0].value == "vela is missing (make setup)"
    with pytest.raises(ToolError):
        run.run([refused, fine], tmp_path, "app", "", lambda _: None)


def test_scratch_space_is_gone_afterwards(tmp_path: Path) -> None:
    seen: list[Path] = []

    def look(context: Context) -> Result:
        seen.append(context.folder)
        assert context.folder.is_dir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.run([Scenario("look", "", (), look)], tmp_path, "app", "", lambda _: None)
    assert not seen[0].exists()


def test_a_variable_that_points_at_something_else_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAILPLAN_CUE", "/nowhere/cue")
    done = drill("routes")
    assert done.returncode == 3
    assert "SAILPLAN_CUE=/nowhere/cue" in done.stderr
