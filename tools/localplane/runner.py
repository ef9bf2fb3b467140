"""Starts and ends the processes of one plane, and notices when one has died."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from . import pki, process
from .components import Component
from .errors import ComponentDied, NotReady, PlaneError
from .process import Process
from .state import State

_START_SECONDS = 90.0
_LOG_LINES = 12


class Runner:
    """Runs components and writes down what it does, so that the next command knows.

    Args:
        state: where the plane keeps its notes.
        find: returns the path of a tool.
    """

    def __init__(self, state: State, find: Callable[[str], Path]) -> None:
        self._state = state
        self._find = find
        self._lock = threading.Lock()
        self._closed = False

    def start(self, component: Component, *, wait: bool = True) -> None:
        """Start a component unless it runs, and wait until it works.

        Raises:
            ComponentDied: it ended instead; the message holds the end of its log.
            NotReady: it runs, but does not work.
            PlaneError: it cannot be started.
        """
        program = str(self._find(component.tool))
        with self._lock:
            if self._closed:
                raise PlaneError("the plane is being stopped")
            held = self._state.processes.get(component.name)
            if held is None or not process.alive(held):
                log = self.log(component.name)
                log.parent.mkdir(parents=True, exist_ok=True)
                # Programs write helper files into HOME and the working folder; both are the cluster's.
                env = {"PATH": os.defpath, "HOME": str(log.parent), **component.env}
                home = log.parent.parent
                env["KUBECONFIG"] = str(home / "kubeconfig")
                made = process.start([program, *component.args], log, env, home)
                self._state.remember(component.name, made)
        if wait:
            self.wait(component)

    def wait(self, component: Component) -> None:
        """Wait until a component works; see `start` for what it raises."""
        check = _check(component.ready, self._state.folder / "pki" / pki.CA)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            # Alive is asked after the answer: whoever else answers on that port must not be taken for it.
            answers = check()
            self.alive(component.name)
            if answers:
                return
            if time.monotonic() > deadline:
                said = f"{component.name} does not work after {_START_SECONDS:.0f} s"
                raise NotReady(said + self.tail(component.name))
            time.sleep(0.1)

    def alive(self, name: str) -> None:
        """Raise ComponentDied when a component that was started is gone."""
        held = self._state.processes.get(name)
        if held is None:
            raise ComponentDied(f"{name} was not started")
        if not process.alive(held):
            code = process.exit_code(held)
            how = "" if code is None else f" (exit code {code})" if code >= 0 else f" (signal {-code})"
            raise ComponentDied(f"{name} ended by itself{how}{self.tail(name)}")

    def stop(self, names: Sequence[str]) -> list[str]:
        """Stop components that run, all asked at once; return those that had to be killed."""
        held = self._state.processes
        running = {name: held[name] for name in names if name in held}
        stubborn = process.stop(list(running.values()))
        for name in running:
            self._state.forget(name)
        return [name for name, one in running.items() if one in stubborn]

    def kill(self, names: Sequence[str]) -> None:
        """End components at once, for somebody who does not wait."""
        held = self._state.processes
        for name in names:
            if name in held:
                process.kill(held[name])
                self._state.forget(name)

    def crash(self, name: str) -> None:
        """Kill a component without warning. It stays written down as one that should run."""
        process.kill(self.process(name))

    def process(self, name: str) -> Process:
        """Return the process of a component.

        Raises:
            PlaneError: it was not started.
        """
        held = self._state.processes.get(name)
        if held is None:
            raise PlaneError(f"{name} was not started")
        return held

    def close(self) -> None:
        """Refuse to start anything from now on; what other threads wait for will not come any more."""
        with self._lock:
            self._closed = True

    def log(self, name: str) -> Path:
        """Return the log file of a component."""
        cluster, _, program = name.partition("/")
        return self._state.folder / cluster / "logs" / f"{program}.log"

    def tail(self, name: str) -> str:
        """Return the end of a component's log, indented, with the file's name."""
        log = self.log(name)
        try:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
        except OSError:
            return ""
        return "".join(f"\n    {line[:300]}" for line in [*lines, f"(all of it: {log})"])


def _check(ready: str, authority: Path) -> Callable[[], bool]:
    """Return a function that tells whether a component works."""
    if not ready:
        return lambda: True
    if ready.startswith("tcp:"):
        return lambda: _listens(int(ready.removeprefix("tcp:")))
    context = ssl.create_default_context(cafile=str(authority)) if ready.startswith("https:") else None
    return lambda: _answers(ready, context)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _answers(url: str, context: ssl.SSLContext | None) -> bool:
    # Without proxies: a person's HTTPS_PROXY is not for loopback.
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if context:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)
    try:
        with opener.open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
