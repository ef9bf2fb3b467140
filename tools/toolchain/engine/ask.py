"""Asks the engine's own code, in its own environment, in one process for all questions."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolchain.errors import BuildFailed

from .environment import ensure, variables

_PROBE = Path(__file__).with_name("probe.py")
_SECONDS = 1800.0


@dataclass(frozen=True)
class Case:
    """An argument list to try.

    Attributes:
        argv: what comes after `vllm serve`.
        config: go on to the engine's configuration; its model must be a folder that exists.
    """

    argv: Sequence[str]
    config: bool = False


@dataclass(frozen=True)
class Answer:
    """What the engine made of a list.

    Attributes:
        stage: "accepted", or where it was refused: "parse", "validate", "config".
        error: what the engine said; empty when accepted.
        args: how the list was understood, by attribute name (`max_model_len`); empty when refused.
        made: parts of the configuration made from it; empty unless asked for and accepted.
    """

    stage: str
    error: str
    args: dict[str, Any] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)


def ask(cases: Sequence[Case] = (), *, facts: bool = False) -> tuple[list[Answer], dict[str, Any]]:
    """Return the engine's answers in the order of the cases, and what its parser knows (empty unless asked for).

    Facts: version, positional, flags, values, as catalog/engine-flags has them.

    Raises:
        ToolchainError: there is no environment and it cannot be built.
        BuildFailed: the environment is broken.
    """
    found = _run({"facts": facts, "cases": [{"argv": list(case.argv), "config": case.config} for case in cases]})
    return [Answer(**row) for row in found["answers"]], found["facts"]


def _run(request: dict[str, Any]) -> dict[str, Any]:
    python = ensure()
    with tempfile.TemporaryDirectory(prefix="sailplan-engine-") as name:
        scratch = Path(name)
        answer = scratch / "answer.json"
        # -P: this folder's modules must not stand in for packages of the same name.
        done = subprocess.run([python, "-P", _PROBE, answer], input=json.dumps(request), capture_output=True, text=True,
                              env=variables(scratch), cwd=scratch, timeout=_SECONDS, check=False)  # fmt: skip
        if done.returncode != 0:
            tail = "\n".join(f"    {line}" for line in (done.stdout + done.stderr).splitlines()[-15:])
            raise BuildFailed(f"the engine's environment does not answer (code {done.returncode})\n{tail}")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found
