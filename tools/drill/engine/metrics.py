"""Every metric of the engine that anything of ours asks for, and every one that an engine exposes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_NAME = re.compile(r"\bvllm:[a-zA-Z_][a-zA-Z0-9_]*")
_SAMPLE = re.compile(r"^(vllm:[a-zA-Z0-9_]+)\{(.*)\} ", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_TEXTS = ("definitions/*/*.cue", "catalog/**/*.yaml", "catalog/**/*.json")


def queried(root: Path, objects: Iterable[Any]) -> set[str]:
    """Names in queries, alerts, scripts and dashboards: of rendered objects, and of whatever may render others."""
    texts = [json.dumps(item) for item in objects]
    texts += [file.read_text(encoding="utf-8") for glob in _TEXTS for file in sorted(root.glob(glob))]
    return {name for text in texts for name in _NAME.findall(text)}


def exposed(text: str) -> dict[str, list[dict[str, str]]]:
    """Names of samples in Prometheus' text format, each with its sets of labels."""
    found: dict[str, list[dict[str, str]]] = {}
    for name, labels in _SAMPLE.findall(text):
        found.setdefault(name, []).append(dict(_LABEL.findall(labels)))
    return found


def absent(wanted: Iterable[str], there: Mapping[str, Any]) -> list[str]:
    """Wanted names that are not there. A histogram may be named by its stem, as texts for people do."""
    ends = ("", "_bucket", "_count", "_total")
    return sorted(name for name in wanted if not any(name + end in there for end in ends))
