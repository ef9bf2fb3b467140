"""The only door to `cue`: checking data against a schema, taking definitions apart. Its messages come out as data."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sailplan.errors import ToolError
from sailplan.model import Path as ValuePath
from sailplan.toolbox import proc

TIMEOUT = 120.0
"""Seconds for one run; a thousand presets take two."""

_ENV = {"GOGC": "off", "GOMEMLIMIT": "1GiB", "CUE_CACHE_DIR": str(Path(tempfile.gettempdir()) / "sailplan-cue")}
"""Collecting garbage doubles the time of a short run, and the limit still bounds its memory (measured). cue wants to
know a cache folder, or a HOME to find one in, though it puts nothing there while it has no modules to fetch."""

_STEP = r'(?:"(?:[^"\\]|\\.)*"|[\w$#-]+)'
_ERROR = re.compile(rf"^(?P<path>{_STEP}(?:\.{_STEP})+): (?P<message>.*)$")
_PARTS = re.compile(_STEP)

_PLACE = re.compile(r"^\s+\./(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+)$", re.MULTILINE)
_BOTTOM = re.compile(r"_\|_(?:\s*// (?P<reason>.*))?")

_CONTEXT = "\ncontext: _\n"
"""What KubeVela gives a template. A parameter does not depend on it, so it only has to exist."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One place that CUE refuses, and all that it says about it."""

    path: ValuePath
    messages: tuple[str, ...]


class SourceError(ToolError):
    """A definition that cue cannot read.

    Attributes:
        problem: what cue says is wrong, one line.
        line: where, from 1; 0 when cue does not say.
        column: as `line`.
    """

    exit_code = 1

    def __init__(self, error: ToolError, problem: str, line: int = 0, column: int = 0) -> None:
        super().__init__(error.message, error.hint, error.command, error.code, error.stderr)
        self.problem = problem
        self.line = line
        self.column = column


def vet(schema: Mapping[str, str], root: str, data: str) -> list[Refusal]:
    """Check data against a schema.

    Args:
        schema: text of the CUE files of one package, by name.
        root: the definition that the data must satisfy, `#Bundle`.
        data: JSON.

    Returns:
        What CUE refuses, in its order; an empty list when all is well. Where there are mistakes of one sort (a wrong
        type), CUE does not look for others (an unknown key), so an absence from a non-empty list means nothing.

    Raises:
        ToolError: cue is missing, or the schema itself is broken.
    """
    with tempfile.TemporaryDirectory(prefix="sailplan-") as folder:
        files = _write(Path(folder), schema)
        args = [proc.tool("cue"), "vet", "--concrete", "--all-errors", "--schema", root, *files, "json:", "-"]
        done = proc.run(args, input=data, timeout=TIMEOUT, env=_ENV, cwd=folder)
    if done.code == 0:
        return []
    refusals = _refusals(done.stderr)
    if not refusals:
        raise proc.failed(done, "cue could not check the documents", "is catalog/schema/ as it was committed?")
    return refusals


def parameter(source: str, name: str) -> str:
    """The `parameter` of a KubeVela definition, as CUE.

    Args:
        source: text of the definition.
        name: its name, for messages.

    Raises:
        SourceError: the definition is not CUE, or has no parameter.
        ToolError: cue is missing.
    """
    with tempfile.TemporaryDirectory(prefix="sailplan-") as folder:
        files = _write(Path(folder), {f"{name}.cue": source + _CONTEXT})
        args = [proc.tool("cue"), "def", "--expression", "template.parameter", *files]
        done = proc.run(args, timeout=TIMEOUT, env=_ENV, cwd=folder)
    nothing = _BOTTOM.match(done.stdout)
    if done.code or nothing:
        failed = proc.failed(done, f"cue cannot read the parameter of {name}", "`vela def vet FILE` says more")
        raise _of_source(failed, f"{name}.cue", source, (nothing and nothing["reason"]) or "it has no parameter")
    return done.stdout


def openapi(schema: Mapping[str, str]) -> dict[str, Any]:
    """The definitions (`#Name`) of a CUE package as OpenAPI schemas, by name.

    Raises:
        ToolError: cue is missing, or a definition has a form that OpenAPI cannot write.
    """
    import json

    with tempfile.TemporaryDirectory(prefix="sailplan-") as folder:
        files = _write(Path(folder), schema)
        done = proc.run([proc.tool("cue"), "def", "--out", "openapi", *files], timeout=TIMEOUT, env=_ENV, cwd=folder)
    if done.code:
        raise proc.failed(done, "cue cannot write the schema as OpenAPI")
    found: dict[str, Any] = json.loads(done.stdout)["components"]["schemas"]
    return found


def formatted(text: str) -> str:
    """The same CUE as `cue fmt` writes it.

    Raises:
        ToolError: cue is missing, or the text is not CUE.
    """
    done = proc.run([proc.tool("cue"), "fmt", "-"], input=text, timeout=TIMEOUT, env=_ENV)
    if done.code:
        raise proc.failed(done, "cue cannot format what was generated")
    return done.stdout


def identity() -> str:
    """Something that changes when another cue is used: its path, size and time of change."""
    path = Path(proc.tool("cue"))
    try:
        found = path.stat()
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}", "`make setup` builds the tools that are missing") from error
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def _of_source(error: ToolError, file: str, source: str, otherwise: str) -> SourceError:
    """The first thing that cue says is wrong with a file, and where."""
    problem = error.stderr.partition("\n")[0].removesuffix(":") or otherwise
    at = next((found for found in _PLACE.finditer(error.stderr) if found["file"] == file), None)
    if at is None:
        return SourceError(error, problem)
    lines = source.splitlines()
    # What we add stands behind it, so a missing brace is noticed below its last line.
    if int(at["line"]) > len(lines):
        return SourceError(error, problem, max(1, len(lines)), 1)
    return SourceError(error, problem, int(at["line"]), int(at["column"]))


def _write(folder: Path, files: Mapping[str, str]) -> list[str]:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return list(files)


def _refusals(stderr: str) -> list[Refusal]:
    found: dict[ValuePath, list[str]] = {}
    for line in stderr.splitlines():
        error = _ERROR.match(line)
        if error:
            path = tuple(_step(part) for part in _PARTS.findall(error["path"]))
            found.setdefault(path, []).append(error["message"].removesuffix(":"))
    return [Refusal(path, tuple(dict.fromkeys(messages))) for path, messages in found.items()]


def _step(text: str) -> str | int:
    if text.startswith('"'):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return int(text) if text.isdigit() else text
