"""The catalog's list of the engine's flags: written from the real parser, one flag a line, compared for drift."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

from toolchain.errors import ToolchainError

from . import NAME, VERSION
from .ask import ask

FILE = Path(__file__).resolve().parents[3] / "catalog" / "engine-flags" / f"{NAME}.json"

REMOVED = {
    "--cuda-graph-sizes": "gone; --cudagraph-capture-sizes",
    "--disable-log-requests": "gone; requests are not logged by default, --enable-log-requests turns it on",
    "--enable-reasoning": "gone; --reasoning-parser alone turns it on",
    "--guided-decoding-backend": "gone; --structured-outputs-config",
    "--lora-extra-vocab-size": "gone; adapters cannot add words",
    "--max-seq-len-to-capture": "gone; --max-cudagraph-capture-size",
    "--num-lookahead-slots": "gone with the first generation of the engine; leave it out",
    "--num-scheduler-steps": "gone with the first generation of the engine; leave it out",
    "--preemption-mode": "gone; a preempted request is always computed again",
    "--rope-scaling": "gone; --hf-overrides",
    "--rope-theta": "gone; --hf-overrides",
    "--speculative-model": "gone; --speculative-config",
    "--swap-space": "gone; preempted requests are no longer swapped. KV blocks in host memory: --kv-offloading-size",
    "--task": "gone; --runner and --convert",
    "--use-v2-block-manager": "gone; there is one block manager",
    "--worker-use-ray": "gone; --distributed-executor-backend=ray",
}
"""Flags of earlier versions that people still paste -> what to do. tests/engine asserts that each is refused."""

NOTES = {
    "abbreviations": "any unambiguous beginning of a flag is accepted; an exact name wins over a longer one",
    "dotted": "--flag.key=value sets one key of a JSON flag, so a name ends at the first = or .",
    "order": "the model comes first: a flag that takes several values would swallow it",
    "repeated": "the last of two equal flags wins, for flags that take several values too",
    "underscores": "--max_num_seqs is --max-num-seqs",
}
"""How the parser reads a list; each is proved in tests/engine."""


def render(found: dict[str, Any]) -> str:
    """Return the file's content, the same bytes for the same engine.

    Args:
        found: the facts that `ask` returns.

    Raises:
        ToolchainError: they are another version's.
    """
    if found["version"] != VERSION:
        raise ToolchainError(f"the environment has vLLM {found['version']}, the list is for {VERSION}")
    parts = [
        _pair("engine", "vllm"),
        _pair("version", VERSION),
        _pair("positional", found["positional"]),
        _rows("notes", [_pair(key, NOTES[key]) for key in sorted(NOTES)], "{}"),
        _rows("flags", [json.dumps(row) for row in found["flags"]], "[]"),
        _rows("values", [_pair(key, found["values"][key]) for key in sorted(found["values"])], "{}"),
        _rows("removed", [_pair(key, REMOVED[key]) for key in sorted(REMOVED)], "{}"),
    ]
    return "{\n" + ",\n".join(f"  {part}" for part in parts) + "\n}\n"


def write() -> Path:
    """Ask the engine and write the file; return its path.

    Raises:
        ToolchainError: there is no environment and it cannot be built.
    """
    _, found = ask(facts=True)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(render(found), encoding="utf-8")
    return FILE


def check(found: dict[str, Any] | None = None) -> list[str]:
    """Return the difference between the committed file and the engine, as lines of a diff; empty when there is none.

    Args:
        found: what `ask` returned; asked for when None.

    Raises:
        ToolchainError: there is no environment and it cannot be built.
    """
    new = render(ask(facts=True)[1] if found is None else found)
    committed = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    names = (f"catalog/engine-flags/{FILE.name}", "the engine's parser")
    return list(difflib.unified_diff(committed.splitlines(), new.splitlines(), *names, n=0, lineterm=""))


def _pair(key: str, value: Any) -> str:
    return f"{json.dumps(key)}: {json.dumps(value)}"


def _rows(key: str, rows: list[str], brackets: str) -> str:
    return f'"{key}": {brackets[0]}\n' + ",\n".join(f"    {row}" for row in rows) + f"\n  {brackets[1]}"
