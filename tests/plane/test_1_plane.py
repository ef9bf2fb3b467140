"""The plane itself: what runs, how long it took, and that nothing is hidden."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localplane import ApiError, Plane, cli, report, wait
from plane.support import ROOT, Desk, left_over
from plane.sweep import swept

START_BUDGET_SECONDS = 60
MEMORY_BUDGET_MIB = 4096


def test_from_nothing_to_ready(plane: Plane, figure: Callable[[str], None]) -> None:
    rows = report.rows(plane)
    figure(f"{report.table(rows)}\nup after {getattr(plane, 'started_in', 0):.1f} s")
    assert {row.state for row in rows} == {"running"}
    # On a machine that has more to do than it has processors, everything takes as much longer.
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert getattr(plane, "started_in", 0) < START_BUDGET_SECONDS * crowd
    assert 100 < plane.memory() / 2**20 < MEMORY_BUDGET_MIB


def test_clusters_are_joined(desk: Desk) -> None:
    said = desk.vela("cluster", "list")
    assert {line.split()[0] for line in said.splitlines()[1:]} == {"local", "staging", "production"}


def test_every_listener_is_on_loopback(plane: Plane) -> None:
    ours = {row.pid for row in report.rows(plane)}
    open_ = [(address, pid) for address, pid in listeners() if pid in ours and address != "127.0.0.1"]
    # KubeVela's webhook server takes no address, and asks for no certificate: it judges objects, and changes nothing.
    webhook = plane.state.processes["hub/vela-core"].pid
    assert {pid for _, pid in open_} <= {webhook}


def listeners() -> list[tuple[str, int]]:
    """Return the addresses that processes listen on, with the process."""
    inodes = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                raw = bytes.fromhex(fields[1].split(":")[0])
                address = socket.inet_ntoa(raw[::-1]) if len(raw) == 4 else "::"
                inodes[fields[9]] = address
    found = []
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = str(handle.readlink())
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in inodes:
            found.append((inodes[target[8:-1]], int(handle.parts[2])))
    return found


def test_namespaces_of_models_refuse_what_is_not_restricted(desk: Desk) -> None:
    client, namespace = desk.cluster("production")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "loose", "namespace": namespace},
        "spec": {"containers": [{"name": "c", "image": "scratch"}]},
    }
    with pytest.raises(ApiError, match='violates PodSecurity "restricted'):
        client.apply(pod, dry_run=True)


def test_another_up_changes_nothing_that_runs_and_tells_how_much_it_takes(
    plane: Plane, capsys: pytest.CaptureFixture[str]
) -> None:
    before = plane.state.processes
    assert cli.main(["--name", plane.state.name, "--root", str(ROOT), "up"]) == 0
    assert plane.state.processes == before
    said = capsys.readouterr().out
    assert re.match(rf"Plane {plane.state.name} is up after \d+ s, \d+ MiB\. Next:", said)
    assert f"export KUBECONFIG={plane.kubeconfig}" in said


def test_a_crash_is_reported_and_mended(plane: Plane, capsys: pytest.CaptureFixture[str]) -> None:
    plane.runner.crash("staging/kube-scheduler")
    assert cli.main(["--name", plane.state.name, "status", "-o", "json"]) == 1
    said = capsys.readouterr()
    states = {row["component"]: row["state"] for row in json.loads(said.out)["components"]}
    assert states.pop("staging/kube-scheduler") == "died"
    assert set(states.values()) == {"running"}
    assert "staging/kube-scheduler ended by itself" in said.err
    assert "staging/logs/kube-scheduler.log" in said.err
    plane.start_component("staging/kube-scheduler")
    assert cli.main(["--name", plane.state.name, "status"]) == 0
    assert cli.main(["--name", plane.state.name, "logs", "staging/kube-scheduler"]) == 0
    assert "secure" in capsys.readouterr().out.lower(), "a scheduler says on which port it serves"


@pytest.mark.parametrize("times", [1, 2])
def test_a_start_that_is_interrupted_leaves_nothing_running(plane: Plane, times: int) -> None:
    """And beside the plane that runs: another one takes other ports. Twice is what an impatient person does."""
    name = f"{plane.state.name}-2"
    folder = plane.folder.with_name(name)
    start = subprocess.Popen(
        [sys.executable, "-m", "localplane", "--name", name, "up"], stderr=subprocess.PIPE, text=True
    )
    try:
        wait("three API servers are on their way", lambda: len(servers(folder)) == 3, 60)
        for _ in range(times):
            time.sleep(1)
            start.send_signal(signal.SIGINT)
        _, said = start.communicate(timeout=60)
    finally:
        start.kill()
    assert start.returncode == 130, said
    assert said.splitlines()[-1] == "interrupted"
    assert left_over(folder) == []
    assert {row.state for row in report.rows(plane)} == {"running"}
    ports = json.loads((folder / "state.json").read_text())["ports"].values()
    assert not set(ports) & set(plane.state.ports.values())
    assert cli.main(["--name", name, "reset"]) == 0
    assert not folder.exists()


def test_a_run_that_was_killed_is_swept(tmp_path: Path) -> None:
    folder = tmp_path / "planes"
    folder.mkdir()
    by_variable = subprocess.Popen(["sleep", "600"], env={**os.environ, "SAILPLAN_STATE": str(folder)})
    by_argument = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", str(folder / "plane")])
    other = subprocess.Popen(["sleep", "600"])
    try:
        assert swept(folder) == 2
        assert (by_variable.wait(60), by_argument.wait(60)) == (-signal.SIGTERM, -signal.SIGTERM)
        assert other.poll() is None
        assert not folder.exists()
    finally:
        for process in (by_variable, by_argument, other):
            process.kill()
            process.wait(60)


def servers(folder: Path) -> list[str]:
    return [line for line in left_over(folder) if "/kube-apiserver" in line.split()[0]]
