"""Sources of Go modules, by way of `go mod download` (the module proxy, checked by the checksum database)."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import golang
from .process import explain, run


def download(module: str, version: str, log: Path) -> Path:
    """Return the folder of a module's source in Go's module cache; fetches it when it is not there.

    Raises:
        BuildFailed: it cannot be fetched.
    """
    go = golang.go()
    title = f"{module} {version}: downloading"
    argv = [str(go), "mod", "download", "-json", f"{module}@{version}"]
    with tempfile.TemporaryDirectory() as empty:  # outside any module, whose own go.mod would have a say
        said = run(argv, title=title, log=log, env=golang.environment(go), cwd=Path(empty))
    answer, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
    if "Dir" not in answer:
        raise explain(title, argv, 1, str(answer.get("Error", said)), log)
    return Path(answer["Dir"])


def stand_in(module: str, version: str, folder: Path, log: Path, rewrite: Sequence[tuple[str, str]] = ()) -> None:
    """Fill an empty folder with a main module that requires `module` and has its replace lines.

    Go obeys replace lines in a main module only, so this one starts as a copy of the module's own go.mod and go.sum
    (from an empty go.sum the build fails: sums of replaced modules are not looked up). Build in it with `-mod=mod`,
    which lets go add the sum of the module itself; the checksum database still applies.

    Raises:
        BuildFailed: the module cannot be fetched.
    """
    source = download(module, version, log)
    text = main_module((source / "go.mod").read_text(encoding="utf-8"), rewrite)
    (folder / "go.mod").write_text(text, encoding="utf-8")
    shutil.copyfile(source / "go.sum", folder / "go.sum")  # contents only: in the module cache the file is read-only
    go = golang.go()
    edit = [str(go), "mod", "edit", "-require", f"{module}@{version}"]
    run(edit, title=f"{module} {version}: preparing", log=log, env=golang.environment(go), cwd=folder)


def main_module(text: str, rewrite: Sequence[tuple[str, str]] = ()) -> str:
    """Turn the text of a go.mod into that of a main module of another name, with pairs of patterns applied."""
    text = re.sub(r"(?m)^module .*$", "module build.local/stand-in", text, count=1)
    for pattern, replacement in rewrite:
        text = re.sub(pattern, replacement, text)
    return text
