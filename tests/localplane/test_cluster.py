"""What a cluster does when its nodes do not come up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localplane import NotReady, cluster
from localplane.cluster import Cluster
from localplane.components import Place


class Kwok:
    """A runner that knows of one process, which makes nodes ready from its `good`th start on."""

    def __init__(self, good: int) -> None:
        self.starts, self.good = 1, good

    def tail(self, name: str) -> str:
        return f"\n    the end of {name}"

    def stop(self, names: list[str]) -> None:
        assert names == ["production/kwok"]

    def start(self, component: Any) -> None:
        assert component.name == "production/kwok"
        self.starts += 1

    def list(self, *_: Any, **__: Any) -> list[dict[str, Any]]:
        status = "True" if self.starts >= self.good else "False"
        return [
            {"metadata": {"name": "gpu-1"}, "spec": {}, "status": {"conditions": [{"type": "Ready", "status": status}]}}
        ]


def waiting(kwok: Kwok, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said while a cluster waits for its nodes."""
    monkeypatch.setattr(cluster, "_NODES_SECONDS", 0.2)
    monkeypatch.setattr(cluster, "Client", lambda *_: SimpleNamespace(list=kwok.list))
    ports = dict.fromkeys(("kine", "kube-apiserver", "kube-controller-manager", "kube-scheduler"), 1)
    said: list[str] = []
    Cluster(Place("production", folder, folder, ports), "token", kwok).wait_for_nodes(said.append)  # type: ignore[arg-type]
    return said


def test_nodes_that_come_up_need_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert waiting(Kwok(1), tmp_path, monkeypatch) == []


def test_kwok_gets_a_second_chance_and_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (said,) = waiting(Kwok(2), tmp_path, monkeypatch)
    assert "production: all nodes are ready: not so gpu-1; production/kwok is started anew" in said
    assert said.endswith("the end of production/kwok")


def test_but_no_third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotReady, match="not so gpu-1"):
        waiting(Kwok(3), tmp_path, monkeypatch)
