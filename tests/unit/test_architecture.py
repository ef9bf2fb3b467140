"""The house rules that imports can show: who may know whom, who may start programs, what stays pure."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sailplan

PACKAGE = Path(sailplan.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
PURE = (
    "layers",
    "knobs",
    "facts",
    "layering",
    "compose",
    "policies",
    "workflow",
    "fit",
    "capacity",
    "summary",
    "texts",
)
MODEL = ("sailplan.model", "sailplan.errors")


def imports(path: Path, deferred: bool = True) -> set[str]:
    """Names of all modules that a module imports; without `deferred` only when it is imported itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree) if deferred else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("name", PURE)
def test_pure_modules_know_no_files_programs_or_yaml(name: str) -> None:
    known = imports(MODULES[f"sailplan.{name}"])
    outside = {"os", "subprocess", "pathlib", "tempfile", "yaml", "json", "socket", "random", "time", "datetime"}
    assert not known & outside
    assert not {
        module for module in known if module.startswith(("sailplan.toolbox", "sailplan.cli", "sailplan.catalog"))
    }


def test_only_the_runner_starts_programs() -> None:
    starters = {name for name, path in MODULES.items() if {"subprocess", "os.system", "pty"} & imports(path)}
    assert starters <= {"sailplan.toolbox.proc"}


def test_the_library_does_not_know_the_command_line() -> None:
    allowed = {"sailplan.__main__", "sailplan.demo"}
    for name, path in MODULES.items():
        if not name.startswith("sailplan.cli") and name not in allowed:
            assert not {module for module in imports(path) if module.startswith(("sailplan.cli", "typer"))}, name


def test_the_library_does_not_print() -> None:
    for name, path in MODULES.items():
        if not name.startswith("sailplan.cli") and name != "sailplan.demo":
            calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
            assert not [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"], name
            assert "sys.stdout" not in path.read_text(), name


def test_jinja_writes_documents_only() -> None:
    users = {name for name, path in MODULES.items() if "jinja2" in imports(path)}
    assert users <= {"sailplan.docs", "sailplan.scaffold"}


def test_nouns_know_nobody() -> None:
    for name in MODEL:
        assert not {module for module in imports(MODULES[name], deferred=False) if module.startswith("sailplan")} - {
            "sailplan.model",
            "sailplan.model.Finding",
        }


def test_compose_does_not_know_who_uses_it() -> None:
    above = ("render", "rules", "describe", "demo", "pipeline", "checks", "committed", "explain", "listing")
    for name in ("layers", "layering", "compose", "policies", "workflow", "facts", "knobs"):
        known = imports(MODULES[f"sailplan.{name}"])
        assert not {module for module in known if module.split(".")[1:2] and module.split(".")[1] in above}, name


def test_errors_are_caught_by_name() -> None:
    """No `except Exception`, no bare `except`."""
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, name
                assert not (isinstance(node.type, ast.Name) and node.type.id == "Exception"), name


def test_rooms_are_small() -> None:
    long = {name: lines for name, path in MODULES.items() if (lines := len(path.read_text().splitlines())) > 280}
    assert not long
