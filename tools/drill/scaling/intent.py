"""What is put under load: copies of one component of an application, each with its own name, in two environments."""

from __future__ import annotations

import copy
import dataclasses
import shutil
from typing import Any
from urllib.parse import urlsplit

import yaml

from drill.checkout import Checkout
from drill.context import ENVIRONMENT, Context
from drill.errors import DrillError
from localplane import ports
from sailplan.errors import UsageError

CAPABILITY = "saturation-scaling"
TRAIT = "keda-saturation-scaling"

ALONE = ("running", "kv-cache", "queue", "hottest", "vanish")
"""Components in the environment `drill`: each is driven by a case of the same name."""

EDGE = "edge"
"""Component in the environment `drill` that is an edge, with a scaler of its own kind."""

LOOP = "loop"
"""Component in both environments, one model under the same name."""

WIDE = f"{ENVIRONMENT}-wide"
"""The second environment: as `drill`, in a namespace of its own and with more room."""

ROOM = 8
"""Replicas in the second environment at most."""

EDGE_TRAIT = "inference-queue-scaling"

_EDGE_MODEL = "llama32-1b"
"""A preset of an edge; its backend is not asked for anything."""

_EDGE_TIMES = {"pollingIntervalSeconds": 5, "scaleDownStabilizationSeconds": 60}
"""The shortest that the trait takes."""

_PORTS = range(19091, 19200)


def prepare(context: Context, checkout: Checkout) -> None:
    """Turn a checkout's copy into what the drill of scaling wants.

    The environment `drill` stays as the catalog has it, save for the times of an edge, which no application of ours has
    there. Only when another program has the port of its Prometheus is another one written into the copy.

    Raises:
        UsageError: the chosen component does not scale, or has no room to.
        DrillError: no port is free.
    """
    part = _chosen(context, checkout)
    checkout.app = "scaling"
    edge = {"model": _EDGE_MODEL, "name": EDGE, "capabilities": ["queue-scaling"]}
    checkout.intent = _intent("scaling", [*(_copied(part, name) for name in ALONE), edge], [ENVIRONMENT])
    spec = _free_address(checkout)
    spec["overrides"]["traits"][EDGE_TRAIT] = _EDGE_TIMES
    _write_environment(checkout, ENVIRONMENT, spec)
    wide = copy.deepcopy(spec)
    wide["namespace"] = f"{spec['namespace']}-wide"
    wide["gateway"]["name"] = f"{spec['gateway']['name']}-wide"
    wide["overrides"]["traits"][TRAIT]["maxReplicas"] = ROOM
    _write_environment(checkout, WIDE, wide)
    _alone(checkout)


def single(context: Context, checkout: Checkout, name: str) -> None:
    """Turn a checkout's copy into one whose application is the chosen component, under this name, and nothing else.

    Raises:
        UsageError, DrillError: as for `prepare`.
    """
    part = _chosen(context, checkout)
    checkout.app = name
    checkout.intent = _intent(name, [_copied(part, name)], [ENVIRONMENT])
    _write_environment(checkout, ENVIRONMENT, _free_address(checkout))
    _alone(checkout)


def pair(context: Context, checkout: Checkout) -> Checkout:
    """Return a second checkout like a prepared one, whose application is one component in both environments.

    Args:
        context: with scratch space of its own, so that both can be composed at once.
        checkout: the first one.
    """
    other = copy.copy(checkout)
    other.folder = context.folder / "checkout"
    shutil.copytree(checkout.folder, other.folder)
    other.app = "scaling-pair"
    other.intent = _intent(other.app, [_copied(checkout.intent["spec"]["components"][0], LOOP)], [ENVIRONMENT, WIDE])
    _alone(other)
    return other


def _alone(checkout: Checkout) -> None:
    """Write a checkout's application, and leave no other."""
    shutil.rmtree(checkout.folder / "applications")
    checkout.write()


def namespace_of(checkout: Checkout, environment: str) -> str:
    """Return the namespace of an environment."""
    return str(_environment(checkout, environment)["spec"]["namespace"])


def prometheus_port(checkout: Checkout) -> int:
    """Return the port at which the environment's rendered triggers look for Prometheus."""
    return int(urlsplit(checkout.environment["metrics"]["serverAddress"]).port or 80)


def apart(context: Context, name: str) -> Context:
    """Return a context with scratch space of its own, for work beside that of others."""
    folder = context.folder / name
    folder.mkdir()
    return dataclasses.replace(context, folder=folder)


def _chosen(context: Context, checkout: Checkout) -> dict[str, Any]:
    """Return the chosen component of the intent, or the one with the most room to scale."""
    made = checkout.composed().application["spec"]["components"]
    rooms = [(_room(one), part) for one, part in zip(made, checkout.intent["spec"]["components"], strict=True)]
    room, part = max(rooms, key=lambda row: row[0])
    if room < 2:
        which = context.component or f"of {context.app}"
        raise UsageError(f"component {which} has no room to scale", f"choose one with {CAPABILITY} and maxReplicas > 1")
    return dict(part)


def _room(component: dict[str, Any]) -> int:
    found = [one.get("properties", {}) for one in component.get("traits", []) if one["type"] == TRAIT]
    return int(found[0].get("maxReplicas", 3)) if found else 0


def _copied(part: dict[str, Any], name: str) -> dict[str, Any]:
    """Copy a component under another name, with its own settings and nothing attached but scaling."""
    kept = {key: value for key, value in part.get("set", {}).items() if key.startswith(("model.", "scaling."))}
    made = {"model": part["model"], "name": name, "capabilities": [CAPABILITY]}
    if "profile" in part:
        made["profile"] = part["profile"]
    return made | {"set": kept | {"scaling.minReplicas": 1}}


def _intent(name: str, components: list[dict[str, Any]], environments: list[str]) -> dict[str, Any]:
    return {
        "apiVersion": "catalog.oam.ai/v1",
        "kind": "App",
        "metadata": {"name": name, "owner": "drill"},
        "spec": {"components": components, "environments": environments},
    }


def _free_address(checkout: Checkout) -> dict[str, Any]:
    spec: dict[str, Any] = checkout.environment
    if not ports.free(prometheus_port(checkout)):
        spare = next((port for port in _PORTS if ports.free(port)), None)
        if spare is None:
            raise DrillError(f"no port is free for Prometheus between {_PORTS[0]} and {_PORTS[-1]}")
        spec["metrics"]["serverAddress"] = f"http://127.0.0.1:{spare}"
    return spec


def _environment(checkout: Checkout, name: str) -> dict[str, Any]:
    text = (checkout.folder / f"catalog/environments/{name}.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def _write_environment(checkout: Checkout, name: str, spec: dict[str, Any]) -> None:
    document = {
        "apiVersion": "catalog.oam.ai/v1",
        "kind": "Environment",
        "metadata": {"name": name, "description": "For drills under traffic"},
        "spec": spec,
    }
    file = checkout.folder / f"catalog/environments/{name}.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
