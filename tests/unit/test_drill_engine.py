"""What the engine on a processor is started with, and which metrics are looked for; nothing is started."""

from __future__ import annotations

from pathlib import Path

from drill.engine.arguments import fit, groups
from drill.engine.metrics import absent, exposed, queried
from drill.engine.scenario import enough, shown

ARGS = [
    *("/models/rev", "--served-model-name", "m", "--quantization", "fp8", "--kv-offloading-size", "16"),
    *("--max-num-seqs", "32", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
    *("--enable-lora", "--max-lora-rank", "64", "--lora-modules", "a=/models/loras/a/r", "b=/models/loras/b/r"),
    "--tensor-parallel-size=2",
]


def test_a_processor_gets_all_but_what_is_for_gpus() -> None:
    fitted = fit(ARGS, "/scratch")
    assert fitted.dropped == ("--quantization", "fp8", "--kv-offloading-size", "16", "--tensor-parallel-size", "2")
    assert fitted.args[:3] == ("/scratch/rev", "--served-model-name", "m")
    assert fitted.args[-3:] == ("--lora-modules", "a=/scratch/loras/a/r", "b=/scratch/loras/b/r")
    assert fitted.adapters == {"a": "/scratch/loras/a/r", "b": "/scratch/loras/b/r"}
    assert (fitted.served, fitted.rank, fitted.model) == ("m", 64, "/scratch/rev")


def test_weights_of_another_quantization_are_not_left_out_in_silence() -> None:
    assert "awq" in fit(["/models/x", "--quantization", "awq"], "/s").args


def test_groups_take_spellings_apart() -> None:
    assert list(groups(["--a=1", "--b", "--c", "2", "3"])) == [("--a", ["1"]), ("--b", []), ("--c", ["2", "3"])]


def test_as_many_boots_as_show_every_flag() -> None:
    small = ["/models/y", "--served-model-name", "n", "--max-num-seqs", "8"]
    other = [*small, "--dtype", "float16"]
    known = {"small": shown(small), "large": shown(ARGS), "other": shown(other)}
    assert enough(known) == ["large", "other"]


def test_names_of_metrics_are_found_in_objects_and_in_what_renders_them(tmp_path: Path) -> None:
    (tmp_path / "definitions" / "trait").mkdir(parents=True)
    (tmp_path / "definitions" / "trait" / "x.cue").write_text('query: "max(vllm:in_cue{a=\\"b\\"})"')
    assert queried(tmp_path, [{"query": "rate(vllm:in_object_bucket[5m])"}]) == {"vllm:in_cue", "vllm:in_object_bucket"}


def test_a_renamed_metric_is_missed() -> None:
    there = exposed(
        '# HELP vllm:a x\nvllm:a{engine="0",model_name="m"} 1.0\nvllm:h_bucket{le="1.0",model_name="m"} 2\n'
    )
    assert there["vllm:a"] == [{"engine": "0", "model_name": "m"}]
    assert absent({"vllm:a", "vllm:h", "vllm:h_bucket"}, there) == []
    assert absent({"vllm:a", "vllm:renamed"}, there) == ["vllm:renamed"]
