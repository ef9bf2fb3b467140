"""Where processes run: a folder each, a mount namespace each, and the hosts file that names Services."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import NotRunnable
from .inside import NO_NAMESPACE
from .plan import Folder

_SCRIPT = Path(__file__).with_name("inside.py")
_TOOLS = Path(__file__).resolve().parents[1]
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")


class Space:
    """One folder in which a pod's files live, and the way into its namespace.

    Args:
        folder: made here; gone with `remove`.
        hosts: file that stands for /etc/hosts, "" when this system gives no namespaces.
    """

    def __init__(self, folder: Path, hosts: str) -> None:
        self.folder = folder
        self._hosts = hosts
        self._used = 0
        self._binds: list[tuple[str, str]] = [(hosts, "/etc/hosts")] if hosts else []
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def log(self) -> Path:
        """File of what the pod's process says."""
        return self.folder / "log"

    def materialise(self, folders: Sequence[Folder]) -> None:
        """Write a pod's volumes, and let them appear where the pod wants them.

        Folders that begin empty, claims too, stay what this machine has there if it has anything: /tmp is /tmp.

        Raises:
            NotRunnable: a volume would hide this Python or the state, or there are no namespaces.
        """
        shutil.rmtree(self.folder / "volumes", ignore_errors=True)
        for number, one in enumerate(folders):
            if one.files is None and os.path.lexists(one.path):
                continue
            if not self._hosts:
                raise NotRunnable("FailedMount", f"{one.path}: this system gives no mount namespace")
            self._may_cover(one.path)
            place = self.folder / "volumes" / str(number)
            place.mkdir(parents=True)
            for name, data in (one.files or {}).items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(data)
            self._binds.append((str(place / one.one), one.path))
        # A mount inside of another one comes after it.
        self._binds.sort(key=lambda bind: bind[1].count("/"))

    def _may_cover(self, path: str) -> None:
        for needed in (Path(sys.prefix), Path(sys.base_prefix), _TOOLS, self.folder):
            if Path(path) == needed or Path(path) in needed.parents:
                raise NotRunnable("FailedMount", f"{path} cannot be covered: {needed} is needed here")

    def argv(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        forward: Mapping[int, str] | None = None,
        *,
        tied: bool = True,
        once: bool = True,
    ) -> list[str]:
        """The argument list that runs a command in here.

        Args:
            command: program and arguments.
            env: its variables, on top of the few that every program needs.
            forward: see inside.py.
            tied: whether it dies with this process.
            once: whether the list is used once only; its file, which may hold secrets, goes with that.
        """
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        spec = {
            "env": environment(env),
            "binds": self._binds,
            "scratch": str(scratch),
            "forward": [[port, address] for port, address in (forward or {}).items()],
            "once": once,
            "parent": os.getpid() if tied else None,
        }
        self._used += 1
        file = self.folder / f"spec-{self._used}.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(spec), encoding="utf-8")
        return [sys.executable, "-I", str(_SCRIPT), str(file), *command]

    def remove(self) -> None:
        """Remove the folder with all in it but the log, which moves up and keeps its pod's name."""
        if self.log.exists():
            self.log.replace(self.folder.parent / f"{self.folder.name}.log")
        shutil.rmtree(self.folder, ignore_errors=True)


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """Variables of a process: what every program needs, the simulator's knobs of ours, and its own on top."""
    inherited = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("VLLM_SIM_")}
    return {"HOME": "/tmp", **inherited, "PYTHONPATH": str(_TOOLS), "PYTHONUNBUFFERED": "1", **own}


async def works(folder: Path) -> str:
    """Try a namespace; return why there is none, "" when there is."""
    folder.mkdir(parents=True, exist_ok=True)
    hosts = folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n", encoding="utf-8")
    argv = Space(folder, str(hosts)).argv(["true"], {})
    child = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.PIPE)
    _, said = await child.communicate()
    shutil.rmtree(folder, ignore_errors=True)
    if child.returncode == 0:
        return ""
    return said.decode(errors="replace").strip() or f"exit code {child.returncode} (namespaces: {NO_NAMESPACE})"
