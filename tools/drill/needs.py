"""What scenarios cannot run without, and how a person gets it. Nothing is built or fetched here."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from drill.model import Need
from sailplan.errors import ToolError

PLANE = ("kine", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "cluster-gateway", "vela-core")


def tool(name: str) -> Need:
    """A program of tools/toolchain/versions.toml."""

    def find() -> Path | None:
        from toolchain import Missing, ToolchainError
        from toolchain import find as search

        try:
            return search(name)
        except Missing:
            return None
        except ToolchainError as error:  # a variable points at another version
            raise ToolError(error.message, error.hint) from error

    return Need(name, find, f"PYTHONPATH=tools python3 -m toolchain ensure {name}")


def program(name: str, remedy: str) -> Need:
    """A program on PATH (or where systems keep those of the administrator)."""

    def find() -> Path | None:
        found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
        return Path(found) if found else None

    return Need(name, find, remedy)


def engine() -> Need:
    """The environment of the real vLLM for a processor."""

    def find() -> Path | None:
        from toolchain import Missing
        from toolchain.engine.environment import find as search

        try:
            return search()
        except Missing:
            return None

    return Need("vllm (for a processor)", find, "make engine")


def namespaces() -> Need:
    """The right to make network and mount namespaces: as root, or by user namespaces."""

    def find() -> Path | None:
        from drill.box.namespace import enter

        argv = enter()
        return Path(argv[0]) if argv else None

    return Need(
        "network and mount namespaces",
        find,
        "run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1); unshare is of util-linux",
    )


def plane() -> tuple[Need, ...]:
    """What a hub of one's own needs."""
    return tuple(tool(name) for name in (*PLANE, "vela", "cue"))


def missing(needs: Iterable[Need]) -> list[Need]:
    """Those that are not on this machine, each once."""
    asked = {need.name: need for need in needs}
    return [need for need in asked.values() if need.find() is None]
