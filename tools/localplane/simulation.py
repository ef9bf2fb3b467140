"""What KWOK pretends in one cluster, and the switches of it.

The pretence is Stage objects in the cluster itself (see stages/README.md), so `kubectl get stages` shows it, and a
switch is in force at once.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolchain import sources

from . import documents
from .errors import PlaneError
from .kube import Client, Object

_API, _KIND = "kwok.x-k8s.io/v1alpha1", "Stage"
_FOLDER = Path(__file__).with_name("stages")
_ANSWER = "answer-"
_PART_LABEL = '.metadata.labels["app.kubernetes.io/component"]'
_NAME_LABEL = '.metadata.labels["app.kubernetes.io/name"]'

READY_AFTER = "plane.sailplan.dev/ready-after"
"""Annotation of a pod: how long it takes to become ready, for instance "20s". Goes before the cluster's setting."""

ENDS_AFTER = "plane.sailplan.dev/ends-after"
"""Annotation of a preload pod: how long it runs."""

_OWN = (
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "kustomize/stage/pod/fast/pod-ready.yaml",
    "kustomize/stage/pod/fast/pod-complete.yaml",
    "kustomize/stage/pod/fast/pod-delete.yaml",
)
"""KWOK's own stages that the plane uses, in its module."""


class Simulation:
    """The switches of one cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def reset(self, kinds: Iterable[str]) -> None:
        """Bring the pretence to its beginning: pods ready after a second, preload succeeds, everything is answered.

        Args:
            kinds: kinds that the cluster serves; answers to others are left out.
        """
        self.ready_after(1.0)
        self.preload(fail=())
        for name in ("node-initialize", "node-heartbeat-with-lease", "pod-delete"):
            self._client.apply(_kwok(name))
        completes = _kwok("pod-complete")
        _require(completes, {"key": _PART_LABEL, "operator": "NotIn", "values": ["preload"]})
        self._client.apply(completes)
        self._client.apply(_ours("volume-recycled"))
        for kind in answers():
            if kind in set(kinds):
                self.answer(kind, on=True)

    def ready_after(self, seconds: float) -> None:
        """Set how long a pod without an annotation of its own takes from being scheduled to being ready."""
        stage = _kwok("pod-ready")
        own = {"jq": {"expression": f'.metadata.annotations["{READY_AFTER}"]'}}
        stage["spec"]["delay"] = {"durationMilliseconds": int(seconds * 1000), "durationFrom": own}
        # A Job's pod does not wait: what it takes is said by the stage that ends it.
        quick = copy.deepcopy(stage)
        quick["metadata"]["name"] = "pod-ready-job"
        del quick["spec"]["delay"]
        owner = ".metadata.ownerReferences.[].kind"
        _require(quick, {"key": owner, "operator": "In", "values": ["Job"]})
        _require(stage, {"key": owner, "operator": "NotIn", "values": ["Job"]})
        self._client.apply(stage)
        self._client.apply(quick)

    def preload(self, *, fail: Iterable[str], seconds: float = 1.0) -> None:
        """Set the fate of preload Jobs that have not ended yet.

        Args:
            fail: names of components whose Jobs keep failing; all others succeed.
            seconds: how long a Job without an annotation of its own runs.
        """
        names = sorted(fail)
        succeeds, fails = _ours("preload-succeeds"), _ours("preload-fails")
        for stage in (succeeds, fails):
            stage["spec"]["delay"]["durationMilliseconds"] = int(seconds * 1000)
        # A stage is chosen at random among those that match, so at most one may.
        _require(fails, {"key": _NAME_LABEL, "operator": "In", "values": names or ["-"]})
        if names:
            _require(succeeds, {"key": _NAME_LABEL, "operator": "NotIn", "values": names})
        self._client.apply(fails)
        self._client.apply(succeeds)

    def answer(self, kind: str, *, on: bool) -> None:
        """Let the stand-in for a controller answer objects of a kind, or stop it. What was answered stays answered.

        Raises:
            PlaneError: nobody stands in for this kind.
        """
        if kind not in answers():
            raise PlaneError(f"nobody stands in for {kind!r}", f"one of: {', '.join(answers())}")
        name = _ANSWER + kind.lower()
        if on:
            self._client.apply(_ours(name))
        else:
            self._client.delete(_API, _KIND, name)

    def answered(self) -> list[str]:
        """Return the kinds that are answered now."""
        there = {stage["metadata"]["name"] for stage in self._client.list(_API, _KIND)}
        return [kind for kind in answers() if _ANSWER + kind.lower() in there]

    def remove_node(self, name: str) -> None:
        """Let a node vanish, as a spot instance does: the node first, then what ran on it.

        Raises:
            PlaneError: there is no such node.
        """
        if not self._client.delete("v1", "Node", name, grace=0):
            raise PlaneError(f"there is no node {name}")
        for pod in self._client.list("v1", "Pod"):
            if pod["spec"].get("nodeName") == name:
                self._client.delete("v1", "Pod", pod["metadata"]["name"], pod["metadata"]["namespace"], grace=0)


@functools.cache
def answers() -> Mapping[str, str]:
    """Return the kinds somebody can stand in for, with the API each belongs to."""
    refs = [_ours(file.stem)["spec"]["resourceRef"] for file in sorted(_FOLDER.glob(f"{_ANSWER}*.yaml"))]
    return {ref["kind"]: ref["apiGroup"] for ref in refs}


def crds() -> list[Object]:
    """Return the CRD of stages."""
    return [documents.read(_module() / "kustomize/crd/bases/kwok.x-k8s.io_stages.yaml")]


def _ours(name: str) -> Object:
    return documents.read(_FOLDER / f"{name}.yaml")


def _kwok(name: str) -> Object:
    path = next(path for path in _OWN if path.endswith(f"/{name}.yaml"))
    return documents.read(_module() / path)


@functools.cache
def _module() -> Path:
    return sources.folder("kwok")


def _require(stage: Object, row: dict[str, Any]) -> None:
    """Narrow a stage by one more expression."""
    stage["spec"]["selector"].setdefault("matchExpressions", []).append({"jq": row})
