"""Reads versions.toml, the one table of pinned versions."""

from __future__ import annotations

import functools
import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ToolchainError

TABLE = Path(__file__).with_name("versions.toml")

_RECIPES = ("install", "copy", "wheel", "deb")


@dataclass(frozen=True, slots=True)
class Tool:
    """One pinned program; the fields are explained at the top of versions.toml."""

    name: str
    recipe: str
    version: str
    env: str = ""
    module: str = ""
    package: str = ""
    ldflags: str = ""
    rewrite: tuple[tuple[str, str], ...] = ()
    probe: tuple[str, ...] = ()
    says: str = ""
    wheel: str = ""
    hashes: tuple[str, ...] = ()
    path: str = ""

    @property
    def expected(self) -> str:
        """What the program prints when asked for its version ("" when it cannot be asked)."""
        return self.fill(self.says)

    @property
    def key(self) -> str:
        """Name of its folder in the cache. A changed row is another folder, so no stale build is taken for it."""
        digest = hashlib.sha256(repr(self).encode()).hexdigest()[:8]
        return f"{self.name}-{self.version}-{digest}"

    def fill(self, text: str) -> str:
        """Put the version into a text of the table."""
        return text.replace("{version}", self.version).replace("{number}", self.version.removeprefix("v"))


@functools.cache
def table(path: Path = TABLE) -> dict[str, Any]:
    """Return the parsed file.

    Raises:
        ToolchainError: it is not TOML or cannot be read.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ToolchainError(f"{path}: {error}") from error


@functools.cache
def tools(path: Path = TABLE) -> dict[str, Tool]:
    """Return the programs by name.

    Raises:
        ToolchainError: a row has an unknown key, lacks a needed one, or names an unknown recipe.
    """
    return {name: _tool(path, name, row) for name, row in table(path)["tools"].items()}


def tool(name: str) -> Tool:
    """Return one program.

    Raises:
        ToolchainError: no such row.
    """
    rows = tools()
    if name not in rows:
        raise ToolchainError(f"no tool {name!r} is pinned", f"one of: {', '.join(rows)}")
    return rows[name]


def _tool(path: Path, name: str, row: dict[str, Any]) -> Tool:
    values = {key: _frozen(value) for key, value in row.items()}
    try:
        made = Tool(name=name, **values)
    except TypeError as error:
        raise ToolchainError(f"{path}: [tools.{name}]: {str(error).partition(' ')[2]}") from error
    if made.recipe not in _RECIPES:
        raise ToolchainError(f"{path}: [tools.{name}]: recipe {made.recipe!r} is none of {', '.join(_RECIPES)}")
    return made


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
