"""The checkout that a scenario edits: everything of ours but other environments, and one application."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from drill.checkout import Checkout
from drill.context import Context, until
from drill.desk import used_definitions
from drill.errors import DrillError
from drill.gateway.canary import STEPS, chosen
from drill.gateway.objects import rules
from drill.gateway.source import rendered
from sailplan.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


def checkout(folder: Path, app: str = "inference-fleet", component: str = "") -> Checkout:
    return Checkout(Context(ROOT, folder, app, component))


def test_one_environment_and_one_application_are_left(tmp_path: Path) -> None:
    made = checkout(tmp_path)
    assert [file.stem for file in (made.folder / "catalog" / "environments").glob("*.yaml")] == ["drill"]
    assert [file.parent.name for file in (made.folder / "applications").glob("*/app.yaml")] == ["inference-fleet"]
    assert made.intent["spec"]["environments"] == ["drill"]
    assert made.environment["namespace"] == "llm-drill"
    committed = yaml.safe_load((ROOT / "applications/inference-fleet/app.yaml").read_text())
    assert made.intent["spec"]["components"] == committed["spec"]["components"]


@pytest.mark.parametrize("name", ["qwen3-8b", "xplane-qwen3-8b"])
def test_a_component_is_known_by_its_name_and_its_presets(tmp_path: Path, name: str) -> None:
    made = checkout(tmp_path, component=name)
    assert [part["model"] for part in made.intent["spec"]["components"]] == ["qwen3-8b"]


def test_unknown_names_are_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        checkout(tmp_path / "a", app="inference-fleat")
    assert "inference-fleet" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        checkout(tmp_path / "b", component="xplane-qwen3-8c")
    assert "xplane-qwen3-8b" in caught.value.hint


def test_the_steps_of_a_canary_are_edits_that_routes_follow(tmp_path: Path) -> None:
    made = checkout(tmp_path)
    model = chosen(made)
    made.only(model)
    found = []
    for step in STEPS:
        made.set(model, canary__weightPercent=step.percent)
        split = next(rule for rule in rules(rendered(made).config) if len(rule.shares) > 1)
        found.append(next(share for name, share in split.shares.items() if name != split.asked))
    assert found == [50.0, 25.0, 10.0]


def test_an_application_without_a_canary_says_what_it_lacks(tmp_path: Path) -> None:
    made = checkout(tmp_path, component="qwen3-8b")
    with pytest.raises(DrillError) as caught:
        chosen(made)
    assert "sql-canary" in caught.value.hint


def test_definitions_that_an_application_uses_are_known_without_pins() -> None:
    application = {
        "spec": {
            "components": [{"type": "vllm-model@v1.0.0", "traits": [{"type": "gpu"}]}],
            "policies": [{"type": "override"}],
            "workflow": {"steps": [{"type": "deploy"}]},
        }
    }
    assert used_definitions(application) == {"vllm-model", "gpu", "override", "deploy"}


def test_waiting_ends(tmp_path: Path) -> None:
    until("it is so", lambda: True, 0)
    with pytest.raises(DrillError, match="not within 0 s: it is so"):
        until("it is so", lambda: False, 0)
