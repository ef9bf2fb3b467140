"""Health and message of a definition, evaluated as KubeVela's controller does it (pkg/cue/definition/health, 1.11.0).

The policy's text comes first, then `context: {...}` and `parameter: {...}` as JSON. Three things surprise there, and
are kept: the parameters are those that the Application gives, without any default; a trait's context has its own
`outputs` and no `output`; and the message is evaluated after the health, which it finds in `context.status.healthy`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from definitions.engine import Object, Objects, merged
from definitions.files import COMPONENTS, cue, header


@dataclass(frozen=True)
class Status:
    """What `vela status` shows. A policy that cannot be evaluated is unhealthy and says why in `error`."""

    healthy: bool
    message: str
    error: str = ""


def context(definition: str, objects: Objects, live: Mapping[str, Any], name: str = "model") -> Object:
    """The context of a status: rendered objects, with what the cluster knows (`live`, by output name) put on top."""
    found: Object = {"name": name, "appName": "app", "appRevision": "app-v1", "status": {}}
    owner = "AuxiliaryWorkload" if definition in COMPONENTS else definition
    outputs = {}
    for item in objects.values():
        labels = item["metadata"]["labels"]
        if labels.get("trait.oam.dev/type") == owner:
            outputs[labels["trait.oam.dev/resource"]] = item
    unknown = set(live) - set(outputs) - {"output"}
    assert not unknown, f"{definition} renders no {sorted(unknown)}"
    if definition in COMPONENTS:
        (workload,) = [item for item in objects.values() if _is_workload(item)]
        found["output"] = merged(workload, live.get("output", {}))
    if outputs:
        found["outputs"] = {key: merged(item, live.get(key, {})) for key, item in outputs.items()}
    return found


def _is_workload(item: Object) -> bool:
    return bool(item["metadata"]["labels"].get("app.oam.dev/resourceType") == "WORKLOAD")


def evaluate(definition: str, given: Object, parameter: Mapping[str, Any] | None, env: dict[str, str]) -> Status:
    """Health, then message."""
    texts = header(definition)["attributes"]["status"]
    given = merged(given, {"parameter": parameter})
    healthy, first = _look_up("isHealth", texts["healthPolicy"], given, parameter, env)
    given["status"] = {"healthy": bool(healthy)}
    message, second = _look_up("message", texts["customStatus"], given, parameter, env)
    return Status(bool(healthy), str(message or ""), first + second)


def _look_up(
    field: str, policy: str, given: Object, parameter: Mapping[str, Any] | None, env: dict[str, str]
) -> tuple[Any, str]:
    source = f"{policy}\ncontext: {json.dumps(given)}\nparameter: {json.dumps(parameter or {})}\n"
    done = cue(["export", "-e", field, "-"], source, env)
    return (json.loads(done.stdout), "") if done.code == 0 else (None, done.stderr)
