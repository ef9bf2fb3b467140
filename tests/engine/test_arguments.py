"""The engine's own parser: the committed list of its flags, all that we render, and all that we believe."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
import yaml

from engine.conftest import Engine
from engine.lists import ROOT
from engine.table import FACTS, MODEL
from sailplan.catalog import load
from sailplan.rules import flags as rules
from toolchain.engine import NAME, VERSION, flags

pytestmark = pytest.mark.engine


def test_committed_flags_are_the_engines(engine: Engine) -> None:
    drift = flags.check(engine.facts)
    assert not drift, "run `python -m toolchain.engine flags`:\n" + "\n".join(drift)


def test_catalog_pins_the_version_that_was_asked() -> None:
    images = yaml.safe_load((ROOT / "catalog" / "images.yaml").read_text(encoding="utf-8"))
    pinned = images["spec"]["engines"][NAME]
    assert pinned["version"] == VERSION
    assert (ROOT / "catalog" / pinned["flags"]) == flags.FILE


def test_presets_name_parsers_and_quantizations_that_the_engine_has() -> None:
    values = json.loads(flags.FILE.read_text(encoding="utf-8"))["values"]
    for path in sorted((ROOT / "catalog" / "models").glob("*.yaml")):
        model = yaml.safe_load(path.read_text(encoding="utf-8"))["spec"].get("properties", {}).get("model", {})
        if "toolCallParser" in model:
            assert model["toolCallParser"] in values["--tool-call-parser"], path.name
        if model.get("quantization", "fp16") != "fp16":
            assert model["quantization"] in values["--quantization"], path.name


@pytest.mark.parametrize("name", ["fp8", "awq", "gptq", "bitsandbytes"])
def test_quantizations_of_the_definition_exist(engine: Engine, name: str) -> None:
    assert name in engine.facts["values"]["--quantization"]


@pytest.mark.parametrize("flag", sorted(flags.REMOVED))
def test_removed_flags_are_refused(engine: Engine, flag: str) -> None:
    answer = engine.removed[flag]
    assert (answer.stage, "unrecognized arguments" in answer.error) == ("parse", True), answer


def test_check_reads_spellings_as_the_engine_does(engine: Engine) -> None:
    """What `sailplan check` says a spelling stands for: one flag, several, or none."""
    listed = rules.engine(load(ROOT), NAME)
    assert listed
    for spelling, answer in engine.spellings.items():
        wrong = {"ambiguous option": "several", "unrecognized arguments": "none"}
        said = next((kind for words, kind in wrong.items() if words in answer.error), "one")
        found = len(listed.find(spelling))
        assert ("none", "one", "several")[min(found, 2)] == said, f"{spelling}: {listed.find(spelling)}, {answer.error}"


def test_every_rendered_list_is_accepted(engine: Engine) -> None:
    assert len(engine.rendered) >= 8
    wrong = [f"{label}: {answer.error}\n    {argv}" for label, (argv, answer) in engine.rendered.items()
             if answer.stage != "accepted"]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_every_rendered_list_makes_a_configuration(engine: Engine) -> None:
    assert engine.configured
    wrong = [f"{label}: {answer.error}\n    {argv}" for label, (argv, answer) in engine.configured.items()
             if answer.stage != "accepted"]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_rendered_values_arrive(engine: Engine) -> None:
    """The engine understands a list as it was meant: what stands behind a flag is what its setting has."""
    for label, (argv, answer) in engine.configured.items():
        given = dict(itertools.pairwise(argv))
        assert answer.made["max_model_len"] == int(given["--max-model-len"]), label
        assert answer.made["quantization"] == given.get("--quantization"), label
        assert answer.made["ranks"] == int(given.get("--tensor-parallel-size", 1)), label
        assert answer.made["prefix_caching"] is ("--no-enable-prefix-caching" not in argv), label
        offloaded = (answer.made["kv_settings"] or {}).get("cpu_bytes_to_use", 0) / 2**30
        assert offloaded == float(given.get("--kv-offloading-size", 0)), label
        assert answer.args["served_model_name"] == [given["--served-model-name"]], label
        adapters = [word for word in argv if word.partition("=")[2].startswith("/models/loras/")]
        assert answer.args["lora_modules"] == adapters, label


@pytest.mark.parametrize("name", list(FACTS))
def test_what_we_believe(engine: Engine, name: str) -> None:
    fact, answer = FACTS[name], engine.table[name]
    assert answer.stage == fact.stage, answer.error
    assert fact.says in answer.error
    got = {key: answer.args[key] for key in fact.args}
    assert got == {key: answer.args["model_tag"] if value == MODEL else value for key, value in fact.args.items()}
    made: dict[str, Any] = {key: answer.made[key] for key in fact.made}
    assert made == fact.made
