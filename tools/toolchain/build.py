"""Makes the pinned tools: fetch, build beside the target, ask the result for its version, rename, stamp."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from . import cache, deb, golang, locate, wheel
from .errors import BuildFailed
from .modules import stand_in
from .pins import Tool
from .pins import tool as pinned
from .process import run, say


def ensure(name: str) -> Path:
    """Return the path of a tool; builds it when neither named, cached nor on PATH.

    Two runs at once do not collide: the second waits for the first and takes its result. After ^C the next run starts
    over, but Go's own caches keep every module that was fetched and every package that was compiled.

    Raises:
        WrongVersion: the tool's environment variable points at something else.
        BuildFailed: it cannot be fetched or built.
    """
    tool = pinned(name)
    found = locate.named(tool) or locate.cached(tool) or locate.on_path(tool)
    return found or _make(tool)


def _make(tool: Tool) -> Path:
    target = locate.binary(tool)
    folder = target.parent
    cache.folder("tools")
    guard = cache.folder("locks") / f"{folder.name}.lock"
    with cache.locked(guard, lambda: say(f"{tool.name} {tool.version}: another run is building it, waiting")):
        if locate.cached(tool):
            return target
        start = time.monotonic()
        log = cache.folder("logs") / f"{folder.name}.log"
        log.unlink(missing_ok=True)
        with cache.staging(folder) as stage:
            _RECIPES[tool.recipe](tool, stage, log)
            _verify(tool, stage / tool.name)
            locate.stamp_of(stage / tool.name).write_text(locate.stamp(stage / tool.name), encoding="utf-8")
        say(f"{tool.name} {tool.version}: ready after {time.monotonic() - start:.0f} s: {target}")
    return target


def _install(tool: Tool, stage: Path, log: Path) -> None:
    """`go install`, for modules without replace lines."""
    go = golang.go()
    env = golang.environment(go) | {"GOBIN": str(stage / "bin")}
    say(f"{tool.name} {tool.version}: building from {tool.module} (once)")
    argv = [str(go), "install", "-v", *_linker(tool), f"{tool.package}@{tool.version}"]
    run(argv, title=f"{tool.name} {tool.version}: building", log=log, env=env, cwd=stage, status=_status)
    built = list((stage / "bin").iterdir())
    built[0].rename(stage / tool.name)
    (stage / "bin").rmdir()


def _copy(tool: Tool, stage: Path, log: Path) -> None:
    """`go build` in a stand-in for the module, so that its replace lines hold."""
    title = f"{tool.name} {tool.version}: building"
    main = stage / "main"
    main.mkdir()
    stand_in(tool.module, tool.version, main, log, [(pattern, tool.fill(new)) for pattern, new in tool.rewrite])
    say(f"{title} from {tool.module} (once, a few minutes)")
    go = golang.go()
    argv = [str(go), "build", "-mod=mod", "-v", *_linker(tool), "-o", str(stage / tool.name), tool.package]
    run(argv, title=title, log=log, env=golang.environment(go), cwd=main, status=_status)
    shutil.rmtree(main)


def _wheel(tool: Tool, stage: Path, _: Path) -> None:
    """A program out of a wheel, linked under the tool's name (it may need its neighbours)."""
    wheel.install(tool.wheel, tool.hashes, tool.path, stage / "wheel")
    (stage / tool.name).symlink_to(Path("wheel") / tool.path)


def _deb(tool: Tool, stage: Path, _: Path) -> None:
    """A program out of a Debian package, linked under the tool's name."""
    remedy = f"install {tool.package}, or point {tool.env} at one"
    deb.unpack(tool.package, tool.path, stage / "deb", remedy)
    (stage / tool.name).symlink_to(Path("deb") / tool.path)


_RECIPES: dict[str, Callable[[Tool, Path, Path], None]] = {
    "install": _install,
    "copy": _copy,
    "wheel": _wheel,
    "deb": _deb,
}


def _linker(tool: Tool) -> list[str]:
    return ["-ldflags", tool.fill(tool.ldflags)] if tool.ldflags else []


def _verify(tool: Tool, built: Path) -> None:
    """Refuse what does not say that it is the pinned version."""
    if not tool.says:
        return
    said = locate.says(tool, built)
    if not locate.matches(tool, said):
        raise BuildFailed(f"{tool.name}: built, but it says {said.strip()[:200]!r} instead of {tool.expected!r}")


def _status(log: Path) -> str:
    """Say how far go is: it prints a line for each module it fetches and each package it compiled."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    fetched = sum(line.startswith("go: downloading ") for line in lines)
    compiled = sum(bool(re.match(r"[\w.-]+(/[\w.~-]+)*$", line)) for line in lines)
    return f", {fetched} modules fetched, {compiled} packages compiled"
