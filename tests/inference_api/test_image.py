"""What the Dockerfile claims, as far as it can be seen without Docker: nothing here builds the image."""

from __future__ import annotations

import ast
import json
import re
import stat
import sys
from pathlib import Path

from facade.edge import ROOT, Edge
from facade.fake import Backend
from inference_api.settings import Settings

PACKAGE = ROOT / "tools" / "inference_api"


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions: name and the rest, with continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (PACKAGE / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def given(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def test_the_base_is_one_exact_version() -> None:
    (default,) = given("ARG")
    assert re.fullmatch(r"PYTHON=3\.\d+\.\d+-slim-[a-z]+", default)
    assert [image.split()[0] for image in given("FROM")] == ["python:${PYTHON}"] * 2


def test_nothing_comes_in_but_by_hash() -> None:
    assert given("ADD") == []
    commands = " && ".join(given("RUN"))
    assert re.findall(r"(apt-get|apk|curl|wget|git) ", commands) == []
    (install,) = [part for part in commands.split(" && ") if "pip install" in part]
    assert "--require-hashes" in install and install.endswith("-r /serve.lock")


def test_it_runs_as_a_number_that_is_not_root() -> None:
    last = instructions()
    (user,) = given("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert [name for name, _ in last[last.index(("USER", user)) + 1 :]] == ["EXPOSE", "STOPSIGNAL", "ENTRYPOINT"]


def test_the_entry_point_gets_signals_itself() -> None:
    (entry,) = given("ENTRYPOINT")
    assert json.loads(entry)[1:] == ["-m", "inference_api"]
    assert given("STOPSIGNAL") == ["SIGTERM"] and given("CMD") == []


def test_its_environment_is_known() -> None:
    (env,) = given("ENV")
    names = {pair.split("=")[0] for pair in env.split()}
    known = {name.upper() for name in Settings.__slots__}
    assert {name for name in names if not name.startswith("PYTHON")} <= known


def test_what_is_copied_is_there_and_is_let_in() -> None:
    sources = [line.split()[0] for line in given("COPY") if not line.startswith("--from")]
    assert all(list(ROOT.glob(source)) for source in sources)
    ignored = (PACKAGE / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert ignored == ["*", *(f"!{source}" for source in sources)]


def test_the_image_holds_all_that_is_imported() -> None:
    """Modules import Python's own, each other, and what the lock of the image has."""
    lock = (ROOT / "requirements" / "serve.lock").read_text(encoding="utf-8")
    locked = {name.replace("-", "_") for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    for path in PACKAGE.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        whole = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) if not node.level]
        tops = {name.split(".")[0] for name in plain + whole}
        assert tops - sys.stdlib_module_names <= locked, path


def test_it_writes_to_no_file(edge: Edge, backend: Backend) -> None:
    """After requests of all kinds no regular file is open for writing, and its folder is as it was."""
    for body in ("small", "x" * 300_000):
        assert edge.chat(body).status_code == 200
    edge.client.get("/metrics")
    opened = list(Path(f"/proc/{edge.process.pid}/fd").iterdir())
    files = [fd.readlink() for fd in opened if stat.S_ISREG(fd.stat().st_mode)]
    assert files == []
