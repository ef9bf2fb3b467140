"""Where the definitions are, and what they say about themselves."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from sailplan.toolbox import proc

ROOT = Path(__file__).parents[2]
DEFINITIONS = ROOT / "definitions"
EXAMPLES = DEFINITIONS / "examples"
CASES = Path(__file__).parent / "cases"

FILES = {file.stem: file for kind in ("component", "trait") for file in sorted((DEFINITIONS / kind).glob("*.cue"))}
COMPONENTS = [name for name, file in FILES.items() if file.parent.name == "component"]
TRAITS = [name for name, file in FILES.items() if file.parent.name == "trait"]
EDGE_TRAITS = [name for name in TRAITS if "goes with an inference-api component" in FILES[name].read_text("utf-8")]
ENGINE_TRAITS = [name for name in TRAITS if name not in EDGE_TRAITS]
"""A trait is for components of one type, and says so to others."""

LEGACY = {"CUE_EXPERIMENT": "evalv3=0,keepvalidators=0"}
"""What KubeVela's chart gives the controller, and the command line does not have: what holds must hold both ways."""

MODES = {"cli": {}, "controller": LEGACY}

REVISION = "c03e6d358207e414f1eca0bb1891e29f1db0e242"
OTHER_REVISION = "54344a00bd90d153fe8710abb8d600ceb4ed8458"
MODEL = {"model": {"repository": "Qwen/Qwen2.5-Coder-7B-Instruct", "revision": REVISION}}
"""The least that vllm-model wants."""

EDGE = {"backendURL": "http://backend.llm.svc:8000/v1", "model": "backend"}
"""The least that inference-api wants."""

LEAST: dict[str, dict[str, Any]] = {"vllm-model": MODEL, "inference-api": EDGE}


@functools.cache
def text(name: str) -> str:
    return FILES[name].read_text(encoding="utf-8")


@functools.cache
def header(name: str) -> dict[str, Any]:
    """The definition's own fields: type, description, attributes with status."""
    # A quoted label cannot be referred to, and a template speaks of a context that only a render has.
    source = text(name).replace(f'"{name}": {{', "header: {", 1)
    return dict(export(f"{source}\ncontext: _\n", "header"))


def export(source: str, expression: str, env: dict[str, str] | None = None) -> Any:
    """Evaluate one expression of a CUE source and return it as plain data."""
    done = cue(["export", "-e", expression, "-"], source, env)
    if done.code != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def cue(args: list[str], source: str, env: dict[str, str] | None = None) -> proc.Completed:
    return proc.run([proc.tool("cue"), *args], input=source, env=env)
