"""Arguments: those that our definitions render, and those that the engine's parser refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulators import LIMIT, ROOT, Sim, command, environment
from vllm_sim.arguments import size
from vllm_sim.errors import Unusable
from vllm_sim.settings import settings


def rendered(app: str, environment: str) -> list[dict[str, Any]]:
    """Engine containers of an application."""
    program = Path(sys.executable).with_name("sailplan")
    done = subprocess.run(
        [program, "render", app, "--env", environment, "-o", "json"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=LIMIT * 2,
    )  # fmt: skip
    objects = json.loads(done.stdout)
    items = objects["items"] if isinstance(objects, dict) else objects
    pods = [one["spec"]["template"]["spec"] for one in items if one["kind"] == "Deployment"]
    return [pod["containers"][0] for pod in pods if pod["containers"][0]["name"] == "vllm"]


def test_what_the_catalog_renders_starts(start: Callable[..., Sim]) -> None:
    """The container's own arguments, unchanged; the served name and the adapters are on offer."""
    containers = rendered("inference-fleet", "production")
    assert len(containers) == 4
    for container in containers:
        made = settings(container["args"], {})
        assert made.port == container["ports"][0]["containerPort"]
    canary = next(one["args"] for one in containers if "--lora-modules" in one["args"])
    made = settings(canary, {})
    served = {row["id"]: row["parent"] for row in start(*canary).client.get("/v1/models").json()["data"]}
    assert served == {made.name: None, **dict.fromkeys(made.adapters, made.name)}
    assert len(made.adapters) == 2


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        (["--max_num_seqs", "7"], "max_num_seqs", 7),
        (["--max-num-seqs=7"], "max_num_seqs", 7),
        (["--max-num-s", "7"], "max_num_seqs", 7),
        (["--max-num-seqs", "3", "--max-num-seqs", "7"], "max_num_seqs", 7),
        (["--no-enable-prefix-caching"], "prefix_caching", False),
        (["--enable-prefix-caching"], "prefix_caching", True),
        (["--max-model-len", "2K"], "max_model_len", 2048),
        (["--max-model-len", "1.5k"], "max_model_len", 1500),
        (["--served-model-name", "a", "b"], "names", ("a", "b")),
        ([], "names", ("m",)),
        (["--host", "127.3.2.1"], "host", "127.3.2.1"),
        (["--host", "0.0.0.0"], "host", "127.5.5.5"),
        (["--shutdown-timeout", "30"], "shutdown_timeout", 30),
        (["-tp", "2", "--port", "81"], "port", 81),
        (["--enable-lora", "--lora-modules", "x=/a", "--lora-modules", "y=/b"], "adapters", {"y": "/b"}),
        (["--model-loader-extra-config.concurrency", "16", "--port", "81"], "port", 81),
    ],
)
def test_spellings_that_the_parser_takes(given: list[str], field: str, value: object) -> None:
    for front in ([], ["serve"]):
        assert getattr(settings([*front, "m", *given], {"VLLM_SIM_HOST": "127.5.5.5"}), field) == value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["m", "--max-num-seq-s", "3"], "unrecognized arguments: --max-num-seq-s"),
        (["m", "--disable-log-requests"], "no longer has"),
        (["m", "--max", "3"], "may be any of"),
        (["m", "--dtype", "fp16"], "invalid choice: 'fp16'"),
        (["m", "--dtype"], "expected one argument"),
        (["m", "--lora-modules"], "expected at least one"),
        (["m", "--enable-prefix-caching=yes"], "ignored explicit argument"),
        (["m", "--max-num-seqs", "many"], "invalid int value"),
        (["m", "--max-model-len", "1.5K"], "invalid size or auto value"),
        (["m", "n"], "unrecognized arguments: n"),
        (["--served-model-name", "a", "m"], "no model"),
        (["m", "--port.x", "3"], "takes no keys"),
        (["m", "-zz"], "unrecognized arguments: -zz"),
        (["m", "--enable-auto-tool-choice"], "requires --tool-call-parser"),
        (["m", "--quantization", "fp16"], "unknown value 'fp16'"),
        (["m", "--max-num-seqs", "0"], "below 1"),
        (["m", "--gpu-memory-utilization", "1.5"], "at most 1"),
        (["m", "--lora-modules", "x=/a"], "needs --enable-lora"),
        (["m", "--enable-lora", "--lora-modules", "x"], "neither name=path nor JSON"),
        (["m", "--port", "70000"], "no port"),
    ],
)
def test_what_the_engine_refuses(given: list[str], said: str) -> None:
    with pytest.raises(Unusable) as refusal:
        settings(given, {})
    assert said in refusal.value.message
    assert refusal.value.code in (1, 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [("VLLM_SIM_TOKEN_SECONDS", "soon"), ("VLLM_SIM_KV_TOKENS", "0"), ("VLLM_SIM_SEED", "-1"), ("VLLM_SIM_FLAGS", "x")],
)
def test_variables_that_make_no_sense(name: str, value: str) -> None:
    with pytest.raises(Unusable):
        settings(["m"], {name: value})


def test_sizes() -> None:
    assert [size(text) for text in ("7", "1k", "1K", "25.6k", "2M")] == [7, 1000, 1024, 25600, 2097152]


def test_a_wrong_argument_ends_it_with_one_line() -> None:
    done = subprocess.run(
        command("m", "--nope"), env=environment(), capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("vllm_sim: error: unrecognized arguments: --nope")
    assert len(done.stderr.splitlines()) == 1
