"""What runs: one row a component, for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from . import process
from .plane import Plane


@dataclass(frozen=True, slots=True)
class Row:
    """One component: "running", "died" (was started, is gone) or "stopped". Memory in bytes."""

    component: str
    state: str
    pid: int | None
    memory: int
    port: int | None
    log: str


def rows(plane: Plane) -> list[Row]:
    """Return the state of every component of a plane; [] when it was never started."""
    held = plane.state.processes if plane.state.exists else {}
    ports = plane.state.ports if plane.state.exists else {}
    made = []
    for one in plane.components():
        mine = held.get(one.name)
        runs = mine is not None and process.alive(mine)
        state = "running" if runs else "stopped" if mine is None else "died"
        memory = process.memory(mine) if mine and runs else 0
        pid = mine.pid if mine and runs else None
        made.append(Row(one.name, state, pid, memory, ports.get(one.name), str(plane.runner.log(one.name))))
    return made


def table(found: Sequence[Row]) -> str:
    """Return rows as text, with the memory of all at the end."""
    lines = [f"{'COMPONENT':<34} {'STATE':<8} {'PID':>7} {'MIB':>6} {'PORT':>6}"]
    lines += [
        f"{one.component:<34} {one.state:<8} {one.pid or '-':>7} {one.memory / 2**20:>6.0f} {one.port or '-':>6}"
        for one in found
    ]
    return "\n".join([*lines, f"{len(found)} components, {sum(one.memory for one in found) / 2**20:.0f} MiB together"])


def data(plane: Plane, found: Sequence[Row]) -> dict[str, object]:
    """Return the same as plain data."""
    return {"name": plane.state.name, "folder": str(plane.folder), "components": [asdict(one) for one in found]}
