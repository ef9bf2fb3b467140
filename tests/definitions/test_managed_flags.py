"""extraArgs: a managed flag is refused however it is spelt, everything else that the engine knows is taken as it is."""

from __future__ import annotations

import json
import re

import pytest

from definitions.engine import args_of, one, refusal
from definitions.files import MODES, ROOT, text

FLAGS = json.loads((ROOT / "catalog/engine-flags/vllm-0.25.0.json").read_text(encoding="utf-8"))["flags"]
MANAGED = re.findall(r'"([a-z0-9-]+)"', text("vllm-model").split("_managed: [")[1].split("]")[0])
FREE = [flag["name"] for flag in FLAGS if flag["name"].removeprefix("--") not in MANAGED]

REQUIRED = {  # the reference platform's list, and what its review found missing
    "model", "served-model-name", "max-model-len", "max-num-seqs", "gpu-memory-utilization", "quantization", "dtype",
    "enable-prefix-caching", "cpu-offload-gb", "enable-auto-tool-choice", "tool-call-parser", "enable-lora",
    "max-loras", "max-lora-rank", "lora-modules", "port", "host", "load-format", "model-loader-extra-config",
    "tensor-parallel-size", "pipeline-parallel-size", "trust-remote-code", "api-key", "config", "kv-offloading-size",
}  # fmt: skip


def spellings(flag: str) -> list[str]:
    """A flag with and without a value, with underscores (all, or one), switched off, cut short as argparse allows."""
    under = flag.replace("-", "_")
    bare = {flag, under, flag.replace("-", "_", 1), f"no-{flag}", f"no_{under}"}
    cut = {flag[:length] for length in range(1, len(flag))} | {under[:length] for length in range(1, len(under))}
    cut |= {f"no-{flag[:length]}" for length in range(1, len(flag))}
    found = sorted({name.rstrip("-_") for name in bare | cut})
    return [f"--{name}{value}" for name in found for value in ("", "=9")]


def test_list_is_complete() -> None:
    assert set(MANAGED) >= REQUIRED
    known = {flag["name"].removeprefix("--") for flag in FLAGS}
    assert set(MANAGED) - known <= {"model-tag"}, "not a flag of this engine"
    for flag in FLAGS:
        if flag["name"].removeprefix("--") in MANAGED:
            # Short forms (-q, -tp) are refused by the pattern: a token starts with two dashes.
            assert not [
                alias for alias in flag.get("aliases", []) if alias.startswith("--") and alias[2:] not in MANAGED
            ]


@pytest.mark.parametrize("mode", MODES)
def test_every_spelling_of_every_managed_flag_is_refused(mode: str) -> None:
    """One render for all of them: each refused token has a line of its own."""
    tokens = sorted({token for flag in MANAGED for token in spellings(flag)} - {f"--{char}" for char in "0123456789"})
    said = refusal(properties={"extraArgs": tokens}, env=MODES[mode])
    passed = [token for token in tokens if f'extraArgs "{token}" is managed' not in said]
    assert len(tokens) > 1000
    assert not passed


@pytest.mark.parametrize("mode", MODES)
def test_every_other_flag_of_the_engine_is_taken(mode: str) -> None:
    tokens = [f"{flag}=1" for flag in FREE]
    assert {"--tokenizer=1", "--model-impl=1", "--seed=1", "--kv-cache-dtype=1", "--tool-parser-plugin=1"} <= set(
        tokens
    )
    assert args_of(one(properties={"extraArgs": tokens}, env=MODES[mode]))[-len(tokens) :] == tokens


def test_no_free_flag_is_the_beginning_of_a_managed_one() -> None:
    """Abbreviations are refused by their beginning, which would take a flag of that very name along."""
    assert not [(name, other) for name in FREE for other in MANAGED if other.startswith(name.removeprefix("--"))]


@pytest.mark.parametrize(
    "tokens", [["--port", "9"], ["-q=fp8"], ["-tp=2"], ["--model.x=1"], ["foo"], [""], ["--"], ["--hf-overrides.a=1"]]
)
def test_other_forms_are_refused_by_the_pattern(tokens: list[str]) -> None:
    """A separate value, a short flag, a dotted key (--flag.key=value sets one key of a JSON flag), a bare word."""
    assert "parameter.extraArgs" in refusal(properties={"extraArgs": tokens})


@pytest.mark.parametrize(
    "token", ["--chat-template={% if a=='b' %} {{ c }}", '--hf-overrides={"a": "b c"}', "--seed=", "--x=--port=9"]
)
def test_values_are_left_alone(token: str) -> None:
    assert args_of(one(properties={"extraArgs": [token]}))[-1] == token
