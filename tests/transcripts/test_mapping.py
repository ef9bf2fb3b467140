"""tests/README.md names tests that exist, and leaves no number out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+|R\d\d|plane|family|traffic) \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE)


def test_every_test_named_there_exists() -> None:
    missing = []
    for row, cell in ROWS:
        named = re.findall(r"`([^`]+)`", cell)
        assert named, f"row {row} names no test"
        missing += [f"{row}: {name}" for name in named if not exists(name)]
    assert missing == []


def exists(name: str) -> bool:
    file, _, function = name.partition("::")
    path = TESTS / file
    if not path.is_file():
        return False
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return function in functions if function else any(found.startswith("test_") for found in functions)


def test_no_number_is_left_out() -> None:
    assert [row for row, _ in ROWS if row.isdigit()] == [str(number) for number in range(1, 43)]
    rows = [row for row, _ in ROWS if re.fullmatch(r"R\d\d", row)]
    assert len(rows) == len(set(rows)) == 47
