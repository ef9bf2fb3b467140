"""Names that the shell completes. Folders are listed: no YAML is parsed, and no failure is shown."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import typer

from sailplan.errors import SailplanError

KINDS = ("models", "edges", "capabilities", "environments", "apps", "definitions", "gpus")


def models(incomplete: str) -> list[str]:
    """Model presets."""
    return _stems("catalog/models", "*.yaml", incomplete)


def edges(incomplete: str) -> list[str]:
    """Edge presets, which lie among the models."""
    folder = _found("catalog/models", "*.yaml")
    return sorted(path.stem for path in folder if _starts(path, incomplete) and "\nkind: Edge\n" in _text(path))


def capabilities(incomplete: str) -> list[str]:
    """Capability presets."""
    return _stems("catalog/capabilities", "*.yaml", incomplete)


def environments(incomplete: str) -> list[str]:
    """Environments."""
    return _stems("catalog/environments", "*.yaml", incomplete)


def definitions(incomplete: str) -> list[str]:
    """Definitions of every type."""
    return _stems("definitions", "*/*.cue", incomplete)


def apps(incomplete: str) -> list[str]:
    """Applications."""
    return sorted(path.parent.name for path in _found("applications", "*/app.yaml") if _starts(path.parent, incomplete))


def kinds(incomplete: str) -> list[str]:
    """What `get` and `describe` show."""
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def named(kind: str, incomplete: str) -> list[str]:
    """Names of one kind, as `get` and `describe` take them."""
    known = {
        "model": models,
        "edge": edges,
        "capabilit": capabilities,
        "environment": environments,
        "app": apps,
        "definition": definitions,
    }
    return next((list(names(incomplete)) for start, names in known.items() if kind.startswith(start)), [])


def _stems(folder: str, pattern: str, incomplete: str) -> list[str]:
    return sorted({path.stem for path in _found(folder, pattern) if _starts(path, incomplete)})


def _starts(path: Path, incomplete: str) -> bool:
    return path.name.startswith(incomplete)


def _found(folder: str, pattern: str) -> list[Path]:
    from sailplan.cli.options import root

    with suppress(SailplanError, OSError):
        return list((root("") / folder).glob(pattern))
    return []


def _text(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8")
    return ""


def of_type(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of the type that was typed before."""
    return named(str(ctx.params.get("type") or ""), incomplete)


def schemas(incomplete: str) -> list[str]:
    """Kinds of documents, and definitions."""
    kinds_of_document = _stems("catalog/schema/json", "*.json", incomplete)
    return [*kinds_of_document, *definitions(incomplete)]
