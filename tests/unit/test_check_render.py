"""`sailplan check --render`: what only definitions refuse is said of every environment, at the value that is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sailplan.catalog import load
from sailplan.compose import compose
from sailplan.refused import refused
from unit.test_cli import INTENT, ROOT, sailplan

SANDBOX = "catalog/environments/sandbox.yaml"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the checkout with two of its applications, which is soon rendered."""
    for name in ("catalog", "definitions", "applications/guardrail", "applications/catalog-sre"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def override(checkout: Path, line: str) -> int:
    """Add an override of traits to the sandbox; the number of its line."""
    path = checkout / SANDBOX
    text = f"{path.read_text(encoding='utf-8')}  overrides:\n    traits:\n      {line}\n"
    path.write_text(text, encoding="utf-8")
    sailplan("compose", "guardrail", "--write", cwd=checkout)
    return text.count("\n")


def errors(checkout: Path, *args: str, stdin: str = "") -> list[dict[str, Any]]:
    ran = sailplan("check", *args, "-o", "json", cwd=checkout, stdin=stdin)
    found = [one for one in json.loads(ran.out) if one["severity"] == "error"]
    assert ran.code == bool(found)
    return found


def test_a_value_of_an_environment_that_a_definition_refuses(checkout: Path) -> None:
    line = override(checkout, "observability: {scrapeTimeoutSeconds: 60}")
    assert errors(checkout) == [], "without vela nobody knows"
    [found] = errors(checkout, "--render")
    assert (found["id"], found["file"], found["line"]) == ("SP302", SANDBOX, line)
    assert found["field"] == "guardrail.traits.observability.scrapeTimeoutSeconds"
    assert (found["given"], found["allowed"]) == ("60", "at most 30")
    assert "sandbox" in found["message"]


def test_only_what_was_asked_for_is_rendered_or_shown(checkout: Path) -> None:
    override(checkout, "keda-saturation-scaling: {scaleDownStabilizationSeconds: 30}")
    assert errors(checkout, "--render", "applications/catalog-sre") == []
    [app] = errors(checkout, "--render", "applications/guardrail")
    [environment] = errors(checkout, "--render", SANDBOX)
    assert app == environment
    assert errors(checkout, "--render", "catalog/environments/dev.yaml") == []


def test_an_intent_from_elsewhere_with_a_capability_that_is_wrong(checkout: Path) -> None:
    path = checkout / "catalog/capabilities/observability.yaml"
    text = path.read_text(encoding="utf-8")
    assert "intervalSeconds: 30" in text
    path.write_text(text.replace("intervalSeconds: 30", "intervalSeconds: 30, scrapeTimeoutSeconds: 40"), "utf-8")
    [found] = errors(checkout, "--render", "-", stdin=INTENT.replace("[gateway]", "[gateway, observability]"))
    line = next(number for number, said in enumerate(text.splitlines(), 1) if "intervalSeconds: 30" in said)
    assert (found["file"], found["line"]) == ("catalog/capabilities/observability.yaml", line)
    assert found["field"] == "tryout.traits.observability.scrapeTimeoutSeconds"


def test_a_definition_that_is_broken_is_said_once(checkout: Path) -> None:
    """Every Application that uses it would only repeat it; the others are rendered all the same."""
    definition = checkout / "definitions/trait/observability.cue"
    definition.write_text(definition.read_text(encoding="utf-8") + "}\n", encoding="utf-8")
    [found] = errors(checkout, "--render")
    assert (found["id"], found["file"]) == ("SP607", "definitions/trait/observability.cue")


def test_without_vela_it_says_so(checkout: Path) -> None:
    ran = sailplan("check", "--render", cwd=checkout, env={"SAILPLAN_VELA": "/nowhere/vela"})
    assert ran.code == 3
    assert ran.out == ""
    assert "vela" in ran.err
    assert sailplan("check", cwd=checkout, env={"SAILPLAN_VELA": "/nowhere/vela"}).code == 0


def test_what_cannot_be_rendered_at_all_is_a_finding(checkout: Path) -> None:
    catalog = load(checkout)
    app = catalog.apps["guardrail"]
    [pinned] = refused(catalog, [compose(catalog, app, {"vllm-model": "0.9.0"})])
    assert pinned.id == "SP606"
    definition = checkout / "definitions/trait/observability.cue"
    definition.write_text(definition.read_text(encoding="utf-8").replace("template: {", "template: {{", 1))
    [broken] = refused(catalog, [compose(catalog, app)])
    assert (broken.id, broken.position.file) == ("SP302", "applications/guardrail/app.yaml")
    assert "vela could not render it in sandbox" in broken.message
