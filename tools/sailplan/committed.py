"""The composed Applications that are kept in the repository: their text, their place, and whether they still hold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from sailplan.model import Catalog, Composition, Finding, Position
from sailplan.writer import dump

FILE = "application.yaml"

_PIN = re.compile(r'^ +type: "?(?P<definition>[a-z0-9-]+)@v(?P<version>[0-9][^"\s]*)"?$', re.MULTILINE)


def text(composition: Composition) -> str:
    """What is committed for an Application.

    It names the command that made it, but no version and no time: the same input always gives the same bytes.
    """
    made_by = (
        f"# Made from app.yaml by `sailplan compose {composition.app.name} --write`. Change app.yaml, not this file."
    )
    return f"{made_by}\n{dump(composition.application)}"


def intents(catalog: Catalog) -> dict[str, Path]:
    """File of every intent of a checkout, by the application's name."""
    return {name: Path(catalog.root, app.file) for name, app in catalog.apps.items()}


def pins(files: Mapping[str, Path]) -> dict[str, dict[str, str]]:
    """Versions that each committed Application is pinned to, by component definition.

    A published definition must not change what is already delivered, so composing again keeps the pin.

    Args:
        files: application -> file of its intent; the Application is beside it, if it was ever written.
    """
    found: dict[str, dict[str, str]] = {}
    for name, file in files.items():
        path = file.parent / FILE
        pinned = set(_PIN.findall(path.read_text(encoding="utf-8"))) if path.is_file() else set()
        versions = dict(pinned)
        # Two versions of one definition are nothing that we wrote.
        if pinned and len(versions) == len(pinned):
            found[name] = versions
    return found


def write(path: Path, content: str) -> bool:
    """Put `content` into `path` at once or not at all; False when it was there already."""
    if path.is_file() and path.read_bytes() == content.encode():
        return False
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(content, encoding="utf-8", newline="\n")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return True


def drift(catalog: Catalog, compositions: Iterable[Composition]) -> list[Finding]:
    """A finding for every committed Application that is not what its intent composes to now."""
    return [
        Finding("SP902", "error", Position(f"{Path(made.app.file).parent}/{FILE}", line), "", message, fix=fix)
        for made in compositions
        for line, message, fix in _differences(catalog, made)
    ]


def _differences(catalog: Catalog, made: Composition) -> Iterable[tuple[int, str, str]]:
    path = Path(catalog.root, made.app.file).parent / FILE
    fix = f"sailplan compose {made.app.name} --write"
    if not path.is_file():
        yield 0, "is missing", fix
        return
    wanted, there = text(made).splitlines(), path.read_text(encoding="utf-8", errors="replace").splitlines()
    if wanted != there or path.read_bytes() != text(made).encode():
        pairs = enumerate(zip(wanted, there, strict=False), start=1)
        line = next((number for number, (one, other) in pairs if one != other), min(len(wanted), len(there)) + 1)
        yield line, "is not what app.yaml composes to now", fix
