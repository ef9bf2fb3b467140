"""A runner from Python: start one, see what it does, end it. For tests and drills."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .cli import command
from .errors import RunnerError

_TOOLS = Path(__file__).resolve().parents[1]


class Handle:
    """A running runner.

    Attributes:
        state: its folder.
        process: the runner itself.
    """

    def __init__(self, state: Path, process: subprocess.Popen[bytes]) -> None:
        self.state = state
        self.process = process

    @property
    def log(self) -> str:
        """What it has said so far."""
        return (self.state / "runner.log").read_text(encoding="utf-8", errors="replace")

    @property
    def targets(self) -> Path:
        """File for Prometheus' file_sd."""
        return self.state / "targets.json"

    def pods(self, namespace: str = "") -> dict[str, dict[str, Any]]:
        """What runs, by namespace/name: address, pid, ready, ending, restarts, log."""
        found: dict[str, dict[str, Any]] = self._read("pods.json")
        return {name: row for name, row in found.items() if not namespace or name.startswith(f"{namespace}/")}

    def service(self, namespace: str, name: str) -> str:
        """The address of a Service.

        Raises:
            RunnerError: there is no such Service.
        """
        found: dict[str, str] = self._read("services.json")
        if f"{namespace}/{name}" not in found:
            raise RunnerError(f"no Service {namespace}/{name}", f"there are {', '.join(found)}")
        return found[f"{namespace}/{name}"]

    def beside(self, wanted: Sequence[str], namespace: str = "") -> list[str]:
        """The argument list of a command that sees the names of Services."""
        return command(self.state / (f"hosts.d/{namespace}" if namespace else "hosts"), wanted)

    def wait(self, what: str, check: Callable[[], Any], seconds: float = 120.0) -> Any:
        """Wait until `check` returns something true, and return that.

        Raises:
            RunnerError: it does not in time, or the runner ended.
        """
        deadline = time.monotonic() + seconds
        while True:
            found = check()
            if found:
                return found
            if self.process.poll() is not None:
                raise RunnerError(f"the runner ended with {self.process.returncode}", self.log[-3000:])
            if time.monotonic() > deadline:
                raise RunnerError(f"not within {seconds:.0f} s: {what}", self.log[-3000:])
            time.sleep(0.1)

    def stop(self, seconds: float = 60.0) -> int:
        """End it with all its pods; return its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.state / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}


@contextlib.contextmanager
def running(
    kubeconfig: Path, state: Path, *more: str, env: Mapping[str, str] | None = None, seconds: float = 120.0
) -> Iterator[Handle]:
    """Run a runner for the length of a `with` block.

    Args:
        kubeconfig: of the cluster, its current context.
        state: folder.
        more: further arguments of the command, for instance "--adopt", "all".
        env: variables on top of this process's own; VLLM_SIM_* reach the simulated engines.
        seconds: how long it may take to come up.

    Raises:
        RunnerError: it does not come up.
    """
    state.mkdir(parents=True, exist_ok=True)
    (state / "ready").unlink(missing_ok=True)
    argv = [sys.executable, "-m", "podrunner", "--kubeconfig", str(kubeconfig), "--state", str(state), *more]
    with (state / "runner.log").open("wb") as log:
        process = subprocess.Popen(
            argv,
            env={**os.environ, "PYTHONPATH": str(_TOOLS), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    handle = Handle(state, process)
    try:
        handle.wait("the runner is up", (state / "ready").exists, seconds)
        yield handle
    finally:
        handle.stop()
