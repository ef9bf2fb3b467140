"""The house rules that imports can show: who may know whom, who may start programs, what stays pure."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
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
    "defaults",
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
    for name in ("layers", "layering", "defaults", "compose", "policies", "workflow", "facts", "knobs"):
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


TOOLS = PACKAGE.parent
KNOWN = {
    "toolchain": set(),
    "localplane": {"toolchain"},
    "sailplan": {"toolchain", "drill"},
    "vllm_sim": {"sailplan"},
    "podrunner": {"localplane"},
    "inference_api": set(),
    "drill": {"sailplan", "localplane", "podrunner", "toolchain"},
}
"""Packages beside each other, and which others each may import. What runs in a container of its own knows no tool."""

NARROW = {
    ("sailplan", "drill"): ("sailplan.cli.drill",),
    ("vllm_sim", "sailplan"): ("sailplan.engineflags",),
    ("podrunner", "localplane"): ("localplane.errors", "localplane.state"),
    ("drill", "podrunner"): ("podrunner.errors", "podrunner.handle"),
}
"""For some of these pairs: the only module that imports, or the only ones that are imported."""


ANYTHING = ("toolchain.engine.probe",)
"""Runs the engine's own code in a process of its own: whatever that says no with is the answer."""


def modules(package: str) -> dict[str, Path]:
    """All modules of a package beside sailplan, by name."""
    found = sorted((TOOLS / package).rglob("*.py"))
    return {".".join(path.relative_to(TOOLS).with_suffix("").parts).removesuffix(".__init__"): path for path in found}


def outside(package: str) -> set[tuple[str, str]]:
    """(module, imported module) wherever a package imports from another one of ours; names in modules do not count."""
    found = set()
    for name, path in modules(package).items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named = {alias.name for alias in node.names}
            else:
                named = {node.module} if isinstance(node, ast.ImportFrom) and node.module and not node.level else set()
            found |= {(name, one) for one in named if one.split(".")[0] in set(KNOWN) - {package}}
    return found


def test_every_package_is_known() -> None:
    assert {path.parent.name for path in TOOLS.glob("*/__init__.py")} == set(KNOWN)


@pytest.mark.parametrize("package", KNOWN)
def test_packages_know_each_other_one_way(package: str) -> None:
    found = outside(package)
    assert {imported.split(".")[0] for _, imported in found} <= KNOWN[package], found
    for importer, imported in found:
        narrow = NARROW.get((package, imported.split(".")[0]))
        assert narrow is None or importer in narrow or imported in narrow, (importer, imported)


@pytest.mark.parametrize("package", sorted(set(KNOWN) - {"sailplan"}))
def test_other_packages_keep_the_house_rules_too(package: str) -> None:
    """Small rooms, docstrings, no net for errors without a name, none for all that does not raise again."""
    for name, path in modules(package).items():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        assert len(text.splitlines()) <= 280, name
        assert ast.get_docstring(tree) or not tree.body, name
        for node in ast.walk(tree) if name not in ANYTHING else ():
            if isinstance(node, ast.ExceptHandler):
                kind = node.type.id if isinstance(node.type, ast.Name) else ast.dump(node.type) if node.type else ""
                again = any(isinstance(one, ast.Raise) for one in ast.walk(node))
                assert kind not in ("", "Exception") and (kind != "BaseException" or again), (name, node.lineno)


def test_help_imports_no_server_and_no_drill() -> None:
    heavy = {
        "drill",
        "podrunner",
        "vllm_sim",
        "inference_api",
        "localplane",
        "starlette",
        "uvicorn",
        "httpx",
        "asyncio",
    }
    ask = (
        "import sys\n"
        "from sailplan.cli import main\n"
        "sys.argv = ['sailplan', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(','.join(sys.modules), file=sys.stderr)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(TOOLS)}
    done = subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert "drill" in done.stdout  # the command is listed all the same
    assert not {name.split(".")[0] for name in done.stderr.strip().splitlines()[-1].split(",")} & heavy
