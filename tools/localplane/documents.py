"""Reads YAML files, with the fast loader where PyYAML has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(file: Path) -> dict[str, Any]:
    """Return the one document of a file.

    Raises:
        OSError, yaml.YAMLError: it cannot be read, or is no YAML.
    """
    return dict(yaml.load(file.read_text(encoding="utf-8"), _LOADER))


def split(text: str) -> list[dict[str, Any]]:
    """Return all documents of a text; empty ones are left out."""
    return [dict(item) for item in yaml.load_all(text, _LOADER) if item]
