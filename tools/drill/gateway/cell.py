"""One gateway with its models, in a box of its own: started from objects, asked through Unix sockets, stopped."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from drill.box.outside import Box, Door, Program
from drill.context import until
from drill.errors import DrillError, tail
from drill.gateway import client
from drill.gateway.objects import ENVOY, PORT, Model, Object, rules

_READY_SECONDS = 120
_GATEWAY = "AIGW"
"""Capital letters: no Deployment can have that name."""


class Cell:
    """A running gateway. Use it as a context manager.

    Args:
        config: what aigw reads, see `objects.for_aigw`.
        models: what runs behind it.
        folder: for logs and files of the gateway.
        pace: environment of the models (VLLM_SIM_...).

    Attributes:
        started_in: seconds until every name was answered.
    """

    def __init__(
        self, config: Sequence[Object], models: Sequence[Model], folder: Path, pace: Mapping[str, str]
    ) -> None:
        self.models = tuple(models)
        self.config = tuple(config)
        self.folder = folder
        self.started_in = 0.0
        self._pace = dict(pace)
        doors = [Door(one.name, one.address, one.port) for one in self.models]
        self._box = Box(folder, _files(folder, self.models), [Door(_GATEWAY, "127.0.0.1", PORT), *doors])

    @property
    def door(self) -> Path:
        """Unix socket that leads to the gateway."""
        return self._box.door(_GATEWAY)

    def behind(self, model: Model) -> Path:
        """Unix socket that leads to a model, past the gateway."""
        return self._box.door(model.name)

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
        self._box.open([*map(self._model, self.models), self._gateway()])
        waiting = [rule.asked for rule in rules(self.config)]
        while waiting:
            self._box.alive()
            waiting = [name for name in waiting if client.ask(self.door, name).status != client.OK]
            if time.monotonic() > began + _READY_SECONDS:
                names = ", ".join(waiting)
                log = tail(self.folder / f"{_GATEWAY}.log")
                raise DrillError(f"the gateway does not answer for {names} after {_READY_SECONDS} s{log}")
            time.sleep(0.1)
        self.started_in = time.monotonic() - began

    def _model(self, model: Model) -> Program:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.folder), "VLLM_SIM_HOST": model.address}
        argv = (sys.executable, "-m", "vllm_sim", *model.args)
        return Program(model.name, argv, env | self._pace, str(self.folder / f"{model.name}.log"))

    def _gateway(self) -> Program:
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
        own = {"AIGW_CONFIG_HOME": self.folder / "config", "AIGW_STATE_HOME": self.folder / "state"}
        # It makes a Unix socket there.
        env |= {key: str(path) for key, path in (own | {"AIGW_RUNTIME_DIR": self._box.short / "RUN"}).items()}
        argv = (str(find("aigw")), "run", str(file))
        return Program(_GATEWAY, argv, env, str(self.folder / f"{_GATEWAY}.log"))

    def kill(self, model: Model) -> None:
        """End a model; its address refuses connections from then on."""
        self._box.end(model.name)

    def start(self, model: Model) -> None:
        """Start a model, in place of one of the same name that was ended; return when it answers.

        Raises:
            DrillError: it does not come up.
        """
        self._box.start(self._model(model))
        until(f"{model.name} answers", lambda: self._answers(model), _READY_SECONDS)

    def _answers(self, model: Model) -> bool:
        self._box.alive()
        return client.get(self.behind(model), "/health")[0] == client.OK

    def stop(self) -> None:
        """End the gateway and its models. Twice is no error."""
        self._box.close()


def _files(folder: Path, models: Sequence[Model]) -> dict[str, str]:
    """What stands in place of the machine's files inside."""
    hosts = "".join(f"{one.address} {' '.join(one.hosts)}\n" for one in models)
    return {
        "/etc/hosts": f"127.0.0.1 localhost\n{hosts}",
        # aigw writes certificates into the home folder that this file says.
        "/etc/passwd": f"root:x:0:0:root:{folder}:/bin/sh\n",
        # Nobody listens there: a name that is not in the first file does not exist, and nobody waits for it.
        "/etc/resolv.conf": "nameserver 127.0.0.53\noptions attempts:1 timeout:1\n",
    }
