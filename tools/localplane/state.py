"""The folder of one plane: its ports, its token, and which processes it started. Everything a plane leaves is in it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import PlaneError
from .process import Process

_NAME = re.compile(r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$")


def planes() -> Path:
    """Return the folder of all planes: $SAILPLAN_STATE/plane, else $XDG_STATE_HOME/sailplan/plane.

    $XDG_STATE_HOME is ~/.local/state where it is not set.
    """
    own = os.environ.get("SAILPLAN_STATE")
    if own:
        return Path(own).expanduser().absolute() / "plane"
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base).absolute() if base else Path.home() / ".local" / "state") / "sailplan" / "plane"


class State:
    """What is written down about one plane. Every change is on disk before the method returns."""

    def __init__(self, name: str) -> None:
        if not _NAME.match(name):
            raise PlaneError(f"{name!r} is no name for a plane", "small letters, digits and dashes, 32 at most")
        self.name = name
        self.folder = planes() / name
        self._file = self.folder / "state.json"
        self._threads = threading.Lock()

    @property
    def exists(self) -> bool:
        """Whether the plane was ever started (and not reset since)."""
        return self._file.is_file()

    def create(self) -> None:
        """Make the folder, for its owner's eyes only: it holds keys and the token."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.exists:
            self._write({"ports": {}, "processes": {}, "token": secrets.token_hex(16)})

    def remove(self) -> None:
        """Remove the folder with all in it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def token(self) -> str:
        """The one token that all API servers of the plane accept."""
        return str(self._read()["token"])

    @property
    def ports(self) -> dict[str, int]:
        """Ports by name, for instance "hub/kine"; {} before they were chosen."""
        return dict(self._read()["ports"])

    @ports.setter
    def ports(self, ports: dict[str, int]) -> None:
        with self._changing() as data:
            data["ports"] = ports

    @property
    def processes(self) -> dict[str, Process]:
        """Processes by the name of their component, those too that have died since."""
        return {name: Process(**row) for name, row in self._read()["processes"].items()}

    def remember(self, component: str, process: Process) -> None:
        """Write down that a component runs as this process."""
        with self._changing() as data:
            data["processes"][component] = {"pid": process.pid, "birth": process.birth}

    def forget(self, component: str) -> None:
        """Write down that a component does not run, and is not meant to."""
        with self._changing() as data:
            data["processes"].pop(component, None)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the plane for the length of a `with` block, against other commands.

        Raises:
            PlaneError: another command has it.
        """
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        # Beside the folder, not in it: `reset` removes the folder while it holds the lock.
        with (self.folder.parent / f".{self.name}.lock").open("ab") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise PlaneError(f"plane {self.name}: another command is at work on it", "wait for it to end") from None
            yield

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        with self._threads:
            data = self._read()
            yield data
            self._write(data)

    def _read(self) -> dict[str, Any]:
        try:
            data = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"ports": {}, "processes": {}, "token": ""}
        except (OSError, ValueError) as error:
            raise PlaneError(f"{self._file}: {error}", f"`make plane-reset` starts plane {self.name} over") from error
        return dict(data)

    def _write(self, data: dict[str, Any]) -> None:
        handle, name = tempfile.mkstemp(prefix="state.", suffix=".partial", dir=self.folder)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(data, out, indent=1)
        Path(name).replace(self._file)
