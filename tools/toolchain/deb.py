"""Takes a program out of a Debian package without installing it: nothing is started, no root is needed.

The distribution says which version that is; the archive's own signatures are checked by apt, as for any package.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import cache
from .errors import BuildFailed
from .process import run, say


def unpack(package: str, inner: str, target: Path, remedy: str) -> None:
    """Fetch a package with apt-get and unpack it into `target`.

    Args:
        package: its name in the distribution.
        inner: file that must be in it afterwards.
        target: folder that is made.
        remedy: what a person does where this cannot work.

    Raises:
        BuildFailed: this is no Debian, the package cannot be fetched, or lacks the file.
    """
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise BuildFailed(f"{package}: it comes from a Debian package, and there is no apt-get here", remedy)
    log = cache.folder("logs") / f"{package}.deb.log"
    target.mkdir()
    try:
        _download(package, target, log)
    except BuildFailed as error:
        raise BuildFailed(error.message, remedy) from error
    (file,) = target.glob("*.deb")
    run(["dpkg", "-x", file, target], title=f"{package}: unpacking", log=log)
    file.unlink()
    if not os.access(target / inner, os.X_OK):
        raise BuildFailed(f"the Debian package {package} holds no program at {inner}", remedy)


def _download(package: str, target: Path, log: Path) -> None:
    """Fetch the package by the machine's lists of packages; where these are missing or old, by lists of our own."""
    title = f"{package}: fetching Debian's package"
    argv = ["apt-get", "-o", "APT::Sandbox::User=root", "download", package]
    say(f"{title} (once)")
    try:
        run(argv, title=title, log=log, cwd=target)
    except BuildFailed:
        own = _own_lists(target / "apt")
        run(["apt-get", *own, "update"], title=f"{title}: lists", log=log, cwd=target)
        run([*argv, *own], title=title, log=log, cwd=target)
        shutil.rmtree(target / "apt")


def _own_lists(folder: Path) -> list[str]:
    """Return apt's options for lists in a folder, so that `update` needs no root and leaves the machine's alone."""
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True)
    places = (f"Dir::State::lists={folder}/lists", f"Dir::Cache={folder}", "APT::Sandbox::User=root")
    return [word for place in (*places, "Debug::NoLocking=1") for word in ("-o", place)]
