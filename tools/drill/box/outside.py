"""The outer half of a box: starts the first process inside, gives it orders, hears its news, ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from drill.box.namespace import enter
from drill.context import until
from drill.errors import DrillError, tail

_STOP_SECONDS = 60


@dataclass(frozen=True)
class Program:
    """What runs inside: its name, its command, its whole environment, and the file that gets what it prints."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log: str


@dataclass(frozen=True)
class Door:
    """Inside address that a Unix socket leads to."""

    name: str
    address: str
    port: int


class Box:
    """Programs in namespaces of their own.

    Args:
        folder: for logs and settings; made.
        files: text by path: what stands in place of files like /etc/hosts inside.
        doors: addresses inside that can be talked to from here.
    """

    def __init__(self, folder: Path, files: Mapping[str, str], doors: Sequence[Door]) -> None:
        self.folder = folder
        self._files = dict(files)
        self._inside = tuple(doors)
        self._ended: dict[str, int] = {}
        self._process: subprocess.Popen[str] | None = None
        # Names of Unix sockets may have 107 characters; scratch folders can be deeper than that.
        self._sockets = tempfile.TemporaryDirectory(prefix="drill-", dir=_short())

    @property
    def short(self) -> Path:
        """Folder with a short name, for Unix sockets that programs make themselves; gone with the box."""
        return Path(self._sockets.name)

    def door(self, name: str) -> Path:
        """Unix socket that leads to an address inside."""
        return self.short / name

    def open(self, programs: Sequence[Program]) -> None:
        """Make the namespaces and start programs in them; it does not wait until they work.

        Raises:
            DrillError: this machine does not allow it.
        """
        words = enter()
        if not words:
            raise DrillError("namespaces cannot be made here", "run as root, or allow user namespaces")
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "inside.json"
        settings.write_text(json.dumps(self._settings(programs)), encoding="utf-8")
        argv = [*words, sys.executable, "-m", "drill.box.inner", str(settings)]
        with (self.folder / "inside.log").open("wb") as log:
            # A session of its own: ^C in the terminal reaches us, and we end what is inside in order.
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def _settings(self, programs: Sequence[Program]) -> dict[str, Any]:
        binds = []
        for place, text in self._files.items():
            file = self.folder / place.strip("/").replace("/", "-")
            file.write_text(text, encoding="utf-8")
            binds.append([str(file), place])
        doors = [[str(self.door(one.name)), one.address, one.port] for one in self._inside]
        return {"binds": binds, "doors": doors, "processes": [asdict(one) for one in programs]}

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            news = json.loads(line)
            if "ended" in news:
                self._ended[news["ended"]] = news["code"]

    def alive(self) -> None:
        """Raise DrillError when something that was started has ended by itself."""
        process = self._process
        if process is None or process.poll() is not None:
            raise DrillError(f"the namespaces ended by themselves{tail(self.folder / 'inside.log')}")
        for name, code in list(self._ended.items()):
            raise DrillError(f"{name} ended by itself (code {code}){tail(self.folder / f'{name}.log')}")

    def start(self, program: Program) -> None:
        """Start one more program."""
        self._order({"start": asdict(program)})

    def end(self, name: str) -> None:
        """End a program, and wait until it is gone.

        Raises:
            DrillError: it does not end.
        """
        self._order({"stop": name})
        until(f"{name} has ended", lambda: name in self._ended, _STOP_SECONDS)
        del self._ended[name]

    def _order(self, order: Mapping[str, Any]) -> None:
        self.alive()
        inbox = self._inbox(self._process)
        inbox.write(json.dumps(order) + "\n")
        inbox.flush()

    def _inbox(self, process: subprocess.Popen[str] | None) -> IO[str]:
        assert process is not None
        assert process.stdin is not None
        return process.stdin

    def close(self) -> None:
        """End everything inside, in order; what is left then goes with the namespaces."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(BrokenPipeError):
                self._inbox(process).close()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass  # it goes with the namespaces now; this is no reason to lose a scenario's figures
            finally:
                process.kill()
                process.wait()
        self._sockets.cleanup()


def _short() -> str | None:
    """Where temporary folders have short names; None is the system's choice."""
    return "/tmp" if len(tempfile.gettempdir()) > 60 and os.access("/tmp", os.W_OK) else None
