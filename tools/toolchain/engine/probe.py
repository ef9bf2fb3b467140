"""Runs inside the engine's environment: asks its real argument parser. Import costs seconds, so one run answers all.

    PYTHON probe.py ANSWER.json < REQUEST.json

The engine writes its log to stdout, so the answer goes to a file. The request is `{"facts": true, "cases": [{"argv":
[...], "config": true}]}`, the answer `{"facts": ..., "answers": [...]}`; see `Case` and `Answer` in `ask.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

# Imported by name: the checkout's own type checker does not have the engine.
_serve = importlib.import_module("vllm.entrypoints.cli.serve")
_argparse = importlib.import_module("vllm.utils.argparse_utils")

_TYPES = {
    "human_readable_int": "size",
    "human_readable_int_or_auto": "size or auto",
    "loads": "json",
    "union_dict_and_str": "json",
    "parse_dataclass": "json",
    "dict": "json",
    "int": "int",
    "float": "float",
}
_TAKES = {None: "value", 0: "none", "?": "optional", "+": "values", "*": "values"}


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    command = _serve.ServeSubcommand()
    parser = _argparse.FlexibleArgumentParser()  # as the program `vllm` makes it
    serve = command.subparser_init(parser.add_subparsers(dest="subparser"))
    answer = {
        "facts": _facts(serve) if request["facts"] else {},
        "answers": [_try(parser, command, case) for case in request["cases"]],
    }
    Path(sys.argv[1]).write_text(json.dumps(answer), encoding="utf-8")


def _facts(parser: Any) -> dict[str, Any]:
    """Return everything that the catalog's list holds."""
    actions = [action for action in parser._actions if action.dest != "help"]
    return {
        "version": importlib.import_module("vllm").__version__,
        "positional": [_flag(action) for action in actions if not action.option_strings],
        "flags": sorted((_flag(action) for action in actions if action.option_strings), key=lambda row: row["name"]),
        "values": _values(),
    }


def _flag(action: argparse.Action) -> dict[str, Any]:
    """Describe one argument; what says nothing is left out."""
    long = [text for text in action.option_strings if text.startswith("--")]
    negation = next((text for text in long[1:] if text.startswith("--no-")), None)
    row = {
        "name": long[0] if long else action.dest,
        "aliases": sorted(text for text in action.option_strings if text not in (*long[:1], negation)),
        "negation": negation,
        "takes": _TAKES.get(action.nargs, "values"),
        "type": _type(action.type) if action.nargs != 0 else None,
        "choices": _choices(action),
        "default": _default(action.default),
        "repeats": isinstance(action, argparse._AppendAction),
        "deprecated": getattr(action, "deprecated", action in _argparse.FlexibleArgumentParser._deprecated),
    }
    # An empty list and false say nothing; a default does, whatever it is.
    return {key: value for key, value in row.items() if value is not None and (key == "default" or value)}


def _type(convert: Any) -> str:
    """Name the type of a value. The engine wraps a type in functions that keep it in a variable `return_type`."""
    while inner := _kept(convert):
        convert = inner
    return _TYPES.get(getattr(convert, "__name__", ""), "str")


def _kept(function: Any) -> Any:
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or not cells or "return_type" not in code.co_freevars:
        return None
    return cells[code.co_freevars.index("return_type")].cell_contents


def _choices(action: argparse.Action) -> list[Any]:
    """Return the allowed values; the word None that the engine adds for "unset" is none."""
    values = [_default(value) for value in action.choices or () if str(value) != "None"]
    return sorted(values, key=lambda value: (not isinstance(value, int), value))


def _default(value: Any) -> Any:
    """Return a default that JSON can hold; whole configuration objects are left out."""
    if isinstance(value, Enum):
        value = value.value
    return value if isinstance(value, str | int | float | bool) and value != argparse.SUPPRESS else None


def _values() -> dict[str, list[str]]:
    """Return names that the parser takes as any text and that only the running engine looks up."""
    tools = importlib.import_module("vllm.tool_parsers").ToolParserManager
    reasoning = importlib.import_module("vllm.reasoning").ReasoningParserManager
    quantization = importlib.import_module("vllm.model_executor.layers.quantization")
    loaders = importlib.import_module("vllm.model_executor.model_loader")
    return {
        "--load-format": sorted(loaders._LOAD_FORMAT_TO_MODEL_LOADER),
        "--quantization": sorted(quantization.QUANTIZATION_METHODS),
        "--reasoning-parser": sorted(reasoning.list_registered()),
        "--tool-call-parser": sorted(tools.list_registered()),
    }


def _try(parser: Any, command: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Take one list as far as asked: parse, validate, and (config) make the engine's configuration from it."""
    stage, said, made = "parse", io.StringIO(), {}
    try:
        with contextlib.redirect_stderr(said):
            args = parser.parse_args(["serve", *case["argv"]])
        stage = "validate"
        command.validate(args)
        stage = "config"
        if case["config"]:
            made = _configure(args)
    except SystemExit:
        return {"stage": stage, "error": _last(said.getvalue())}
    except Exception as error:  # noqa: BLE001  (whatever the engine says no with is the answer)
        return {"stage": stage, "error": f"{type(error).__name__}: {error}"}
    return {"stage": "accepted", "error": "", "args": dict(_plain(args)), "made": made}


def _configure(args: argparse.Namespace) -> dict[str, Any]:
    """Make the engine's configuration as `vllm serve` does; return the parts that our definitions rely on."""
    if args.model_tag is not None:
        args.model = args.model_tag
    made = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs.from_cli_args(args).create_engine_config()
    transfer, lora = made.kv_transfer_config, made.lora_config
    return {
        "dtype": str(made.model_config.dtype),
        "quantization": made.model_config.quantization,
        "max_model_len": made.model_config.max_model_len,
        "prefix_caching": made.cache_config.enable_prefix_caching,
        "shutdown_timeout": made.shutdown_timeout,
        "kv_connector": transfer and transfer.kv_connector,
        "kv_settings": transfer and transfer.kv_connector_extra_config,
        "lora": lora and [lora.max_loras, lora.max_cpu_loras, lora.max_lora_rank],
        "ranks": made.parallel_config.world_size,
    }


def _plain(args: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Give what the arguments were understood as, where JSON can hold it; adapters as name=path."""
    for key, value in vars(args).items():
        if key == "lora_modules":
            yield key, [f"{item.name}={item.path}" for item in value or []]
        elif value is None or isinstance(value, str | int | float | bool | dict | list):
            with contextlib.suppress(TypeError, ValueError):
                yield key, json.loads(json.dumps(value))


def _last(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


if __name__ == "__main__":
    main()
