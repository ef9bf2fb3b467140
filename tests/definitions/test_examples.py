"""definitions/examples: one Application a definition, which is its document, its quick start, and a test input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from definitions.engine import dry_run, vela
from definitions.files import COMPONENTS, DEFINITIONS, EXAMPLES, FILES, MODES
from sailplan.errors import ToolError
from sailplan.toolbox.vela import definition

every = pytest.mark.parametrize("definition", FILES)
STEPS = sorted(DEFINITIONS.glob("workflowstep/*.cue"))


def example(definition: str) -> dict[str, Any]:
    app: dict[str, Any] = yaml.load((EXAMPLES / f"{definition}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    app["spec"].setdefault("policies", [])
    return app


@every
@pytest.mark.parametrize("mode", MODES)
def test_renders(definition: str, mode: str) -> None:
    objects = dry_run(example(definition), MODES[mode])
    wanted = {"ResourceQuota"} if definition == "namespace-quota" else {"Deployment", "Service", "ServiceAccount"}
    assert wanted <= {found["kind"] for found in objects}


@every
def test_uses_its_definition_and_says_what_for(definition: str) -> None:
    (part,) = example(definition)["spec"]["components"]
    used = [part["type"]] if definition in COMPONENTS else [trait["type"] for trait in part["traits"]]
    assert definition in used
    lines = (EXAMPLES / f"{definition}.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ") and max(map(len, lines)) <= 120


@every
def test_strings_are_quoted(definition: str) -> None:
    """People copy these, and KubeVela's reader turns bare words such as 5e10, y or 012 into something else."""
    node = yaml.compose((EXAMPLES / f"{definition}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, yaml.MappingNode):
            stack += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            stack += node.value
        elif node.tag.endswith(":str"):
            assert node.style == '"', node.start_mark


@pytest.mark.parametrize("file", [*FILES.values(), *STEPS], ids=lambda file: file.stem)
def test_vela_finds_nothing_wrong(file: Path, tmp_path: Path) -> None:
    """`vela def vet` (syntax only: it passes what cannot render), and nothing that a newer CUE would want rewritten."""
    vet = vela(["def", "vet", str(file)], tmp_path)
    assert vet.code == 0 and "succeed" in vet.stdout, vet.stderr
    upgrade = vela(["def", "upgrade", "--validate", str(file)], tmp_path)
    assert upgrade.code == 0 and "is up to date" in upgrade.stdout, upgrade.stdout + upgrade.stderr


def test_what_vela_would_rewrite_is_said(tmp_path: Path) -> None:
    """Vela puts a warning in front of the object that it prints; that is not the object."""
    (step,) = [file for file in STEPS if file.stem == "wait-inference-ready"]
    old = step.read_text(encoding="utf-8").replace("_|_ && len(serving) > 0 {", "_|_ && len(asked) == 0 {")
    file = tmp_path / "wait-inference-ready.cue"
    file.write_text(old, encoding="utf-8")
    with pytest.raises(ToolError, match=r"vela would rewrite wait-inference-ready.cue: Compatibility Warning"):
        definition(file)
