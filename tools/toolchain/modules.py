"""Sources of Go modules, by way of `go mod download` (the module proxy, checked by the checksum database)."""

from __future__ import annotations

import json
import tempfile
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
