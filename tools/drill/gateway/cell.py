"""One gateway with its models, in namespaces of its own: started from objects, asked through Unix sockets, stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from drill.context import until
from drill.errors import DrillError, tail
from drill.gateway import client
from drill.gateway.namespace import enter
from drill.gateway.objects import ENVOY, PORT, Model, Object, rules

_READY_SECONDS = 120
_STOP_SECONDS = 40
_GATEWAY = "aigw"


class Cell:
    """A running gateway. Use it as a context manager.

    Args:
        config: what aigw reads, see `objects.for_aigw`.
        models: what runs behind it.
        folder: for logs and files of the gateway.
        pace: environment of the models (VLLM_SIM_...).

    Attributes:
        door: Unix socket that leads to the gateway.
        started_in: seconds until every name was answered.
    """

    def __init__(
        self, config: Sequence[Object], models: Sequence[Model], folder: Path, pace: Mapping[str, str]
    ) -> None:
        self.models = tuple(models)
        self.folder = folder
        self.config = tuple(config)
        self.started_in = 0.0
        self._pace = dict(pace)
        self._ended: dict[str, int] = {}
        self._stack = ExitStack()
        # Names of Unix sockets may have 107 characters; scratch folders of tests are deeper than that.
        self._doors = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="sp-", dir=_short())))
        self.door = self._doors / "gateway"
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Cell:
        """Start it, and wait until every name that a route promises is answered.

        Raises:
            DrillError: something ended by itself or did not come up.
        """
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    def _start(self) -> None:
        began = time.monotonic()
        self.folder.mkdir(parents=True)
        settings = self.folder / "inside.json"
        settings.write_text(json.dumps(self._settings()), encoding="utf-8")
        argv = [*enter(), sys.executable, "-m", "drill.gateway.inner", str(settings)]
        with (self.folder / "inside.log").open("wb") as log:
            # A session of its own: ^C in the terminal reaches us, and we end what is inside in order.
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        self._wait_until_answered(began + _READY_SECONDS)
        self.started_in = time.monotonic() - began

    def _settings(self) -> dict[str, Any]:
        files = {
            "hosts": "127.0.0.1 localhost\n" + "".join(f"{one.address} {' '.join(one.hosts)}\n" for one in self.models),
            "passwd": f"root:x:0:0:root:{self.folder}:/bin/sh\n",
            # Nobody listens there: a name that is not in the file above is a name that does not exist.
            "resolv.conf": "nameserver 127.0.0.53\noptions attempts:1 timeout:1\n",
        }
        for name, text in files.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        return {
            "binds": [[str(self.folder / name), f"/etc/{name}"] for name in files],
            "doors": [
                [str(self.door), "127.0.0.1", PORT],
                *([str(self.behind(one)), one.address, one.port] for one in self.models),
            ],
            "processes": [*map(self._model, self.models), self._gateway()],
        }

    def behind(self, model: Model) -> Path:
        """Unix socket that leads to a model, past the gateway."""
        return self._doors / f"model-{self.models.index(model)}"

    def _model(self, model: Model) -> dict[str, Any]:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.folder), "VLLM_SIM_HOST": model.address}
        log = str(self.folder / f"{model.name}.log")
        argv = [sys.executable, "-m", "vllm_sim", *model.args]
        return {"name": model.name, "argv": argv, "env": env | self._pace, "log": log}

    def _gateway(self) -> dict[str, Any]:
        from toolchain import find

        data = self.folder / "data"
        place = data / "envoy-versions" / ENVOY / "bin" / "envoy"
        place.parent.mkdir(parents=True)
        place.symlink_to(find("envoy").resolve())
        file = self.folder / "objects.yaml"
        # JSON is YAML, and leaves nothing for a parser to retype.
        file.write_text("".join(f"---\n{json.dumps(item)}\n" for item in self.config), encoding="utf-8")
        home = str(self.folder)
        env = {"PATH": os.defpath, "HOME": home, "TMPDIR": home, "AIGW_RUN_ID": "0", "AIGW_DATA_HOME": str(data)}
        own = {"AIGW_CONFIG_HOME": "config", "AIGW_STATE_HOME": "state", "AIGW_RUNTIME_DIR": "run"}
        env |= {key: str(self.folder / name) for key, name in own.items()}
        log = str(self.folder / f"{_GATEWAY}.log")
        return {"name": _GATEWAY, "argv": [str(find("aigw")), "run", str(file)], "env": env, "log": log}

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            news = json.loads(line)
            if "ended" in news:
                self._ended[news["ended"]] = news["code"]

    def _wait_until_answered(self, deadline: float) -> None:
        names = [rule.asked for rule in rules(self.config)]
        while names:
            self.alive()
            if time.monotonic() > deadline:
                raise DrillError(
                    f"the gateway does not answer for {', '.join(names)} after {_READY_SECONDS} s{self._logs()}"
                )
            names = [name for name in names if client.ask(self.door, name).status != client.OK]
            time.sleep(0.1)

    def alive(self) -> None:
        """Raise DrillError when something that was started has ended by itself."""
        process = self._process
        if process is None or process.poll() is not None:
            raise DrillError(f"the namespaces ended by themselves{tail(self.folder / 'inside.log')}{self._logs()}")
        for name, code in self._ended.items():
            raise DrillError(f"{name} ended by itself (code {code}){tail(self.folder / f'{name}.log')}")

    def kill(self, model: Model) -> None:
        """End a model; its address refuses connections from then on.

        Raises:
            DrillError: it does not end.
        """
        self._order({"stop": model.name})
        until(f"{model.name} has ended", lambda: model.name in self._ended, _STOP_SECONDS)
        del self._ended[model.name]

    def start(self, model: Model) -> None:
        """Start a model, in place of one of the same name that was ended; return when it answers.

        Raises:
            DrillError: it does not come up.
        """
        self._order({"start": self._model(model)})
        door = self._doors / f"model-{[one.name for one in self.models].index(model.name)}"
        until(f"{model.name} answers", lambda: client.get(door, "/health")[0] == client.OK, _READY_SECONDS)

    def _order(self, order: Mapping[str, Any]) -> None:
        self.alive()
        inbox = self._inbox(self._process)
        inbox.write(json.dumps(order) + "\n")
        inbox.flush()

    def _inbox(self, process: subprocess.Popen[str] | None) -> IO[str]:
        assert process is not None
        assert process.stdin is not None
        return process.stdin

    def _logs(self) -> str:
        return tail(self.folder / f"{_GATEWAY}.log")

    def stop(self) -> None:
        """End everything inside: the gateway in order, then what is left with the namespaces."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(BrokenPipeError):
                self._inbox(process).close()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._stack.close()


def _short() -> str | None:
    """Where temporary folders have short names; None is the system's choice."""
    return "/tmp" if len(tempfile.gettempdir()) > 60 and os.access("/tmp", os.W_OK) else None
