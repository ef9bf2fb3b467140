"""The reference platform's own triggers, on a workload beside ours. Pure: objects in, objects out.

Its queries have no namespace, all three take `max()`, and none says a metricType, so KEDA takes AverageValue; a lost
series reads as no load; neither fallback nor behaviour is set.
"""

from __future__ import annotations

import copy
from typing import Any

Object = dict[str, Any]

NAME = "reference"


def deployment(ours: Object) -> Object:
    """Copy a workload of ours, with one pod, under another name: of objects, of labels, and of the served model."""
    made: Object = _renamed(copy.deepcopy(ours), ours["metadata"]["name"])
    labels = made["metadata"]["labels"]
    made["metadata"] = {"name": NAME, "namespace": ours["metadata"]["namespace"], "labels": _own(labels)}
    made["spec"]["replicas"] = 1
    made.pop("status", None)
    return made


def scaled_object(ours: Object) -> Object:
    """Make the ScaledObject that the reference platform would have, with our thresholds and limits."""
    spec = ours["spec"]
    by_name = {one["name"]: one["metadata"] for one in spec["triggers"]}
    slots = by_name["running"]["query"].rpartition("/")[2].strip()
    queries = {
        "running": f"max(vllm:num_requests_running{_MODEL}) / scalar(vector({slots}))",
        "kv-cache": f"max(vllm:kv_cache_usage_perc{_MODEL})",
        "waiting": f"max(vllm:num_requests_waiting{_MODEL})",
    }
    return {
        "apiVersion": ours["apiVersion"],
        "kind": ours["kind"],
        "metadata": {"name": NAME, "namespace": ours["metadata"]["namespace"]},
        "spec": {
            "scaleTargetRef": {**spec["scaleTargetRef"], "name": NAME},
            "minReplicaCount": spec["minReplicaCount"],
            "maxReplicaCount": spec["maxReplicaCount"],
            "pollingInterval": spec["pollingInterval"],
            "cooldownPeriod": 300,
            "triggers": [_trigger(by_name[name], query) for name, query in queries.items()],
        },
    }


_MODEL = f'{{model_name="{NAME}"}}'


def _trigger(ours: Object, query: str) -> Object:
    kept = {key: ours[key] for key in ("serverAddress", "threshold", "activationThreshold")}
    return {"type": "prometheus", "metadata": {**kept, "query": query}}


def _renamed(node: Any, name: str, key: str = "") -> Any:
    """Replace a name in labels, selectors and arguments; claims, paths and accounts keep theirs."""
    if isinstance(node, dict):
        return {inner: _renamed(value, name, inner) for inner, value in node.items()}
    if isinstance(node, list):
        return [_renamed(value, name, key) for value in node]
    ours = key == "args" or key.startswith("app.kubernetes.io/")
    return NAME if node == name and ours else node


def _own(labels: dict[str, str]) -> dict[str, str]:
    """Leave out KubeVela's labels: the copy is none of its objects."""
    return {key: value for key, value in labels.items() if "oam.dev" not in key}
