"""Chooses ports for a plane: free ones, below the range that the system hands out to outgoing connections."""

from __future__ import annotations

import contextlib
import fcntl
import json
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

from .errors import PlaneError
from .state import State, planes

FIRST, LAST = 20000, 32767
"""Linux hands out 32768 and above to outgoing connections; a listener there loses its port sooner or later."""

_BLOCK = 64


def choose(state: State, names: Sequence[str]) -> dict[str, int]:
    """Return a port for each name, those of the last start where it had them, and write them down.

    Each plane takes its ports from a block of its own, so planes side by side stay apart even while one is stopped.

    Raises:
        PlaneError: no block is left, or a port of this plane was taken by another program meanwhile.
    """
    with _choosing():
        had = state.ports
        base = min(had.values()) if had else _free_block(state.name)
        ports = {name: had[name] for name in names if name in had}
        spare = (port for port in range(base, base + _BLOCK) if port not in ports.values())
        ports |= {name: next(spare) for name in names if name not in ports}
        state.ports = dict(sorted(ports.items(), key=lambda item: item[1]))
        return ports


def free(port: int) -> bool:
    """Tell whether nobody listens on a port of loopback or of all addresses."""
    for address in ("127.0.0.1", "0.0.0.0"):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # As servers do: connections of an earlier server that are still in TIME_WAIT do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                return False
    return True


def _free_block(name: str) -> int:
    taken = _taken(name)
    for base in range(FIRST, LAST - _BLOCK, _BLOCK):
        block = range(base, base + _BLOCK)
        if not taken.intersection(block) and all(map(free, block)):
            return base
    raise PlaneError(f"no {_BLOCK} free ports in a row between {FIRST} and {LAST}", "stop other planes or programs")


def _taken(name: str) -> set[int]:
    """Return the ports that other planes have written down, running or not."""
    ports: set[int] = set()
    for file in planes().glob("*/state.json"):
        if file.parent.name != name:
            with contextlib.suppress(OSError, ValueError, KeyError):
                ports.update(json.loads(file.read_text(encoding="utf-8"))["ports"].values())
    return ports


@contextlib.contextmanager
def _choosing() -> Iterator[None]:
    """Let one command choose at a time."""
    guard: Path = planes() / ".ports.lock"
    with guard.open("ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
