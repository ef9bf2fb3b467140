"""The running engine: in a box, so that no hub can be asked and nothing of it is left behind."""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from drill.box.outside import Box, Door, Program
from drill.engine import TINY
from drill.engine.arguments import Fitted
from drill.errors import DrillError, tail
from drill.gateway.client import FAILED, OK, Unix
from toolchain.engine.environment import find, variables

_BOOT_SECONDS = 600
_MAKE_SECONDS = 180
_ADDRESS, _PORT = "127.0.0.1", 8000
_NAME = "vllm"


def weights(fitted: Fitted, folder: Path) -> None:
    """Write the tiny model and its adapters where the arguments say they are.

    Raises:
        DrillError: the engine's environment cannot do it.
    """
    folder.mkdir(parents=True)
    adapters = [f"{path}={fitted.rank}" for path in fitted.adapters.values()]
    argv = [str(find()), "-P", str(TINY), str(folder / "tiny"), *(adapters or [f"{folder / 'unused'}=8"])]
    done = subprocess.run(
        argv, env=variables(folder), capture_output=True, text=True, timeout=_MAKE_SECONDS, check=False
    )
    if done.returncode:
        raise DrillError(f"the tiny model cannot be made: {done.stderr[-500:]}")
    Path(fitted.model).parent.mkdir(parents=True, exist_ok=True)
    Path(fitted.model).symlink_to(folder / "tiny" / "model")


class Server:
    """One engine. Use it as a context manager.

    Args:
        fitted: its arguments.
        env: further variables, as rendered.
        folder: for its log and everything that it writes.

    Attributes:
        booted_in: seconds until /health said 200.
    """

    def __init__(self, fitted: Fitted, env: dict[str, str], folder: Path) -> None:
        self.booted_in = 0.0
        self._began = 0.0
        self._fitted = fitted
        self._env = env
        self._folder = folder
        self._log = folder / f"{_NAME}.log"
        files = {"/etc/hosts": "127.0.0.1 localhost\n", "/etc/resolv.conf": "nameserver 127.0.0.53\n"}
        self._box = Box(folder, files, [Door(_NAME, _ADDRESS, _PORT)])

    def __enter__(self) -> Server:
        """Start it; `until_healthy` waits."""
        program = find().with_name("vllm")
        argv = (str(program), "serve", *self._fitted.args, "--host", _ADDRESS, "--enforce-eager")
        self._began = time.monotonic()
        try:
            self._box.open([Program(_NAME, argv, self._env | variables(self._folder), str(self._log))])
        except BaseException:
            self._box.close()
            raise
        return self

    def until_healthy(self) -> None:
        """Wait until /health says 200.

        Raises:
            DrillError: it ends instead, or takes longer than ten minutes.
        """
        while self.get("/health")[0] != OK:
            self._box.alive()
            if time.monotonic() > self._began + _BOOT_SECONDS:
                raise DrillError(f"the engine is not up after {_BOOT_SECONDS} s{tail(self._log)}")
            time.sleep(0.3)
        self.booted_in = time.monotonic() - self._began

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._box.close()

    def get(self, path: str) -> tuple[int, str]:
        """GET; (FAILED, what broke) without an answer."""
        return self._ask("GET", path)

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, str]:
        """POST JSON; (FAILED, what broke) without an answer."""
        return self._ask("POST", path, json.dumps(body))

    def _ask(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        link = Unix(self._box.door(_NAME))
        try:
            link.request(method, path, body, {"content-type": "application/json"})
            answer = link.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return FAILED, repr(error)
        finally:
            link.close()
