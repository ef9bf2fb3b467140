"""Which local command stands for which image."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from .errors import RunnerError


@dataclass(frozen=True, slots=True)
class Image:
    """What an image is here.

    Attributes:
        command: stands for its entrypoint; "python" is this Python.
        env: variables that go before the container's own; "{address}" is the pod's.
    """

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


DEFAULT: Mapping[str, Image] = {
    "vllm/vllm-openai:*": Image(("python", "-m", "vllm_sim"), {"VLLM_SIM_HOST": "{address}"}),
    "vllm-sim:*": Image(("python", "-m", "vllm_sim"), {"VLLM_SIM_HOST": "{address}"}),
    "inference-api:*": Image(("python", "-m", "inference_api"), {"HOST": "{address}"}),
}


def read(file: Path | None) -> dict[str, Image]:
    """The map of a file on top of the default one.

    Args:
        file: YAML, `PATTERN: [WORD, ...]` or `PATTERN: {command: [WORD, ...], env: {NAME: VALUE}}`.

    Raises:
        RunnerError: there is no such file, or it is no such map.
    """
    if file is None:
        return dict(DEFAULT)
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        return {**{str(pattern): _image(row) for pattern, row in data.items()}, **_unless(DEFAULT, data)}
    except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        hint = "PATTERN: [WORD, ...] or PATTERN: {command: [WORD, ...], env: {NAME: VALUE}}"
        raise RunnerError(f"cannot read the map of images {file}: {error!r}", hint) from error


def _unless(images: Mapping[str, Image], data: Mapping[str, Any]) -> dict[str, Image]:
    return {pattern: image for pattern, image in images.items() if pattern not in data}


def _image(row: Any) -> Image:
    command, env = (row, {}) if isinstance(row, list) else (row["command"], row.get("env") or {})
    if not command or not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        raise ValueError(f"{row!r} has no command that is a list of words")
    return Image(tuple(command), {str(name): str(value) for name, value in env.items()})


def find(images: Mapping[str, Image], name: str) -> Image | None:
    """What an image is here; None when the map does not know it. A registry in front of its name does not matter."""
    for pattern, image in images.items():
        if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, f"*/{pattern}"):
            return image
    return None


def entrypoint(image: Image) -> list[str]:
    """The command of an image, with this Python for "python"."""
    first, *rest = image.command
    return [sys.executable if first in ("python", "python3") else first, *rest]
