"""One process of the engine answers all questions of these tests: importing it costs seconds."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drill.engine import TINY
from engine.lists import rendered
from engine.table import FACTS, MODEL
from toolchain.engine.ask import Answer, Case, ask
from toolchain.engine.environment import ensure, variables
from toolchain.engine.flags import FILE, REMOVED

SPELLINGS = sorted(
    {
        spelling
        for row in json.loads(FILE.read_text(encoding="utf-8"))["flags"]
        for name in (row["name"], row.get("negation", row["name"]))
        for cut in (name[: len(name) // 2], name[:-4], name[:-1], name)
        for spelling in (cut, f"--{cut[2:].replace('-', '_')}")
        if len(cut) > len("--no-") and cut != "--model"  # which has a row of its own in the table
    }
)
"""Each flag: whole and cut short, with dashes and with underscores."""

NEEDS_WEIGHTS = {"awq", "gptq", "bitsandbytes"}
"""Quantizations that only weights of that kind have; the tiny model has none."""


@dataclass(frozen=True)
class Engine:
    """What the real engine said.

    Attributes:
        facts: what its parser knows.
        table: answers to the rows of the table, by their names.
        removed: answers to flags of earlier versions.
        spellings: answers to beginnings of flags, each with a value.
        rendered: each rendered list with its answer, by where it comes from.
        configured: the same lists for the tiny model, as far as the configuration.
    """

    facts: dict[str, Any]
    table: dict[str, Answer]
    removed: dict[str, Answer]
    spellings: dict[str, Answer]
    rendered: dict[str, tuple[list[str], Answer]]
    configured: dict[str, tuple[list[str], Answer]]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model and two adapters."""
    folder = tmp_path_factory.mktemp("tiny")
    argv = [ensure(), "-P", TINY, folder]
    subprocess.run(argv, env=variables(folder), timeout=300, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def containers() -> dict[str, dict[str, Any]]:
    """Every rendered engine container."""
    return dict(rendered())


@pytest.fixture(scope="session")
def engine(tiny: Path, containers: dict[str, dict[str, Any]]) -> Engine:
    model = str(tiny / "model")
    lists = {label: list(container["args"]) for label, container in containers.items()}
    local = {label: [model, *argv[1:]] for label, argv in lists.items() if not NEEDS_WEIGHTS & set(argv)}
    cases = [
        *(Case([model if word == MODEL else word for word in fact.argv], fact.config) for fact in FACTS.values()),
        *(Case([model, f"{flag}=1"]) for flag in REMOVED),
        *(Case([model, f"{spelling}=1"]) for spelling in SPELLINGS),
        *(Case(argv) for argv in lists.values()),
        *(Case(argv, config=True) for argv in local.values()),
    ]
    answers, facts = ask(cases, facts=True)
    rest = iter(answers)
    return Engine(
        facts,
        {name: next(rest) for name in FACTS},
        {flag: next(rest) for flag in REMOVED},
        {spelling: next(rest) for spelling in SPELLINGS},
        {label: (argv, next(rest)) for label, argv in lists.items()},
        {label: (argv, next(rest)) for label, argv in local.items()},
    )
