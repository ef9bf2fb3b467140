"""What our definitions and checks believe about the engine's arguments; the real engine has to agree with each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MODEL = "MODEL"
"""Stands for the folder of the tiny model."""

GIB = 2**30


@dataclass(frozen=True)
class Fact:
    """A list of arguments and what the engine makes of it.

    Attributes:
        argv: what comes after `vllm serve`.
        stage: "accepted", or where it is refused: "parse", "validate", "config".
        says: part of the refusal.
        args: how the list is understood, some of it.
        made: what the configuration has, some of it; asking for it makes the engine go that far.
    """

    argv: tuple[str, ...]
    stage: str = "accepted"
    says: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> bool:
        """Whether the engine has to go as far as its configuration."""
        return bool(self.made) or self.stage == "config"


def serve(*rest: str, **expected: Any) -> Fact:
    """Return a fact about a list that starts with the model, as all of ours do."""
    return Fact((MODEL, *rest), **expected)


def refused(stage: str, says: str, *rest: str) -> Fact:
    """Return a fact about a list that is not accepted."""
    return serve(*rest, stage=stage, says=says)


LORA = ("--enable-lora", "--max-loras", "2")

FACTS: dict[str, Fact] = {
    # order
    "model first": serve("--served-model-name", "a", args={"served_model_name": ["a"], "model_tag": MODEL}),
    "a list swallows the model": Fact(("--served-model-name", "a", MODEL), "parse", "first positional argument"),
    "a list of adapters swallows the model": Fact((*LORA, "--lora-modules", "a=/x", MODEL), "parse", "Invalid"),
    # `vllm serve` moves the value of --model to the front, where a model already is.
    "a second model": refused("parse", "unrecognized arguments", "--model=other"),
    # spelling
    "underscores": serve("--max_num_seqs=9", args={"max_num_seqs": 9}),
    "beginning of a flag": serve("--max-model", "256", args={"max_model_len": 256}),
    "beginning with underscores": serve("--max_num_s=9", args={"max_num_seqs": 9}),
    "beginning of a negation": serve("--no-enable-pre", args={"enable_prefix_caching": False}),
    "ambiguous beginning": refused("parse", "ambiguous option", "--max-num", "1"),
    "exact name before longer ones": serve("--tokenizer=t", args={"tokenizer": "t", "tokenizer_mode": "auto"}),
    "key of a JSON flag": serve(
        "--model-loader-extra-config.concurrency=16", args={"model_loader_extra_config": {"concurrency": 16}}
    ),
    "unknown flag": refused("parse", "unrecognized arguments", "--no-such-flag=1"),
    # repetition
    "last value wins": serve("--max-num-seqs=1", "--max-num-seqs=2", args={"max_num_seqs": 2}),
    "last adapters win": serve(
        *LORA, "--lora-modules", "a=/x", "--lora-modules", "b=/y", args={"lora_modules": ["b=/y"]}
    ),
    "adapters in one list": serve(*LORA, "--lora-modules", "a=/x", "b=/y", args={"lora_modules": ["a=/x", "b=/y"]}),
    # precision
    "fp16 is no quantization": refused("config", "Unknown quantization method", "--quantization", "fp16"),
    "fp8 is one": serve("--quantization", "fp8", made={"quantization": "fp8"}),
    "fp16 is no dtype": refused("parse", "invalid choice: 'fp16'", "--dtype", "fp16"),
    "float16 is one": serve("--dtype", "float16", made={"dtype": "torch.float16", "quantization": None}),
    "fp16 is no type of KV cache": refused("parse", "invalid choice: 'fp16'", "--kv-cache-dtype", "fp16"),
    # sizes
    "1k is 1000": serve("--max-model-len", "1k", made={"max_model_len": 1000}),
    "1K is 1024": serve("--max-model-len", "1K", made={"max_model_len": 1024}),
    "longer than the model": refused("config", "max_model_len", "--max-model-len", "200000"),
    "no sequences": refused("config", "max_num_seqs", "--max-num-seqs", "0"),
    "more than all GPU memory": refused("config", "gpu_memory_utilization", "--gpu-memory-utilization", "1.5"),
    "no GPU memory": refused("config", "gpu_memory_utilization", "--gpu-memory-utilization", "0"),
    # caches
    "prefix cache is on by default": serve(made={"prefix_caching": True, "kv_connector": None}),
    "prefix cache off": serve("--no-enable-prefix-caching", made={"prefix_caching": False}),
    "KV offload": serve(
        "--kv-offloading-size",
        "16",
        made={"kv_connector": "OffloadingConnector", "kv_settings": {"cpu_bytes_to_use": 16.0 * GIB}},
    ),
    # The size is of all ranks together: nothing multiplies it here, and the worker divides it.
    "KV offload on two ranks": serve(
        "--kv-offloading-size",
        "16",
        "--tensor-parallel-size",
        "2",
        made={"ranks": 2, "kv_settings": {"cpu_bytes_to_use": 16.0 * GIB}},
    ),
    # A package of its own, and a server at localhost:5555 that is told the size instead.
    "KV offload by LMCache": refused(
        "config", "No module named 'lmcache'", "--kv-offloading-size=16", "--kv-offloading-backend=lmcache"
    ),
    "KV offload needs a number": refused("parse", "cannot be converted", "--kv-offloading-size", "16GiB"),
    "unknown KV offload": refused("parse", "invalid choice", "--kv-offloading-backend", "cpu"),
    "weights offload is something else": serve("--cpu-offload-gb", "4", made={"kv_connector": None}),
    # tools
    "tools without a parser": refused("validate", "requires --tool-call-parser", "--enable-auto-tool-choice"),
    "tool pair": serve(
        "--enable-auto-tool-choice", "--tool-call-parser", "hermes", args={"tool_call_parser": "hermes"}
    ),
    "names of tool parsers are looked up at boot only": serve(
        "--enable-auto-tool-choice", "--tool-call-parser", "nope"
    ),
    # adapters
    "rank 20": refused("parse", "invalid choice: 20", *LORA, "--max-lora-rank", "20"),
    "rank 4": refused("parse", "invalid choice: 4", *LORA, "--max-lora-rank", "4"),
    "two adapters at once": serve(*LORA, "--max-lora-rank", "64", made={"lora": [2, 2, 64]}),
    "fewer adapters in host memory": refused("config", "max_cpu_loras", *LORA, "--max-cpu-loras", "1"),
    # loading
    "streamer pair": serve(
        "--load-format",
        "runai_streamer",
        "--model-loader-extra-config",
        '{"concurrency":16}',
        args={"load_format": "runai_streamer", "model_loader_extra_config": {"concurrency": 16}},
    ),
    "names of load formats are looked up at boot only": serve("--load-format", "nope", args={"load_format": "nope"}),
    # stopping and logging
    "requests are cut off by default": serve(made={"shutdown_timeout": 0}),
    "time to finish": serve("--shutdown-timeout", "70", made={"shutdown_timeout": 70}),
    "less than no time": refused("config", "shutdown_timeout", "--shutdown-timeout=-1"),
    "requests are not logged by default": serve(args={"enable_log_requests": False}),
}

FACTS |= {f"rank {r}": serve(*LORA, "--max-lora-rank", str(r)) for r in (1, 8, 16, 32, 64, 128, 256, 320, 512)}
