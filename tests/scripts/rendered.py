"""The scripts as a cluster would get them: taken from a real render of a component with preload and lora-canary."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sailplan.toolbox import vela

DEFINITIONS = Path(__file__).resolve().parents[2] / "definitions"

REPOSITORY = "owner/model"
REVISION = "0123456789abcdef0123456789abcdef01234567"
ADAPTERS = {"first": ("owner/first", "1" * 40), "second": ("owner/second", "2" * 40)}
TOKEN_SECRET = "hub-token"


@dataclass(frozen=True)
class Scripts:
    """What the pods run.

    Attributes:
        command: of the preload container.
        env: its variables by name.
        drain: command of the engine's preStop hook.
    """

    command: tuple[str, ...]
    env: dict[str, str]
    drain: tuple[str, ...]


@functools.cache
def scripts() -> Scripts:
    """Render once a process (about 0.3 s)."""
    files = [
        DEFINITIONS / "component/vllm-model.cue",
        *(DEFINITIONS / f"trait/{t}.cue" for t in ("preload", "lora-canary")),
    ]
    objects = [yaml.safe_load(item.text) for item in vela.dry_run(_application(), files)]
    job = _container(objects, "Job")
    engine = _container(objects, "Deployment")
    return Scripts(
        tuple(job["command"]),
        {entry["name"]: entry["value"] for entry in job["env"]},
        tuple(engine["lifecycle"]["preStop"]["exec"]["command"]),
    )


def _application() -> dict[str, Any]:
    adapters = {name: {"repository": r, "revision": c, "rank": 8} for name, (r, c) in ADAPTERS.items()}
    component = {
        "name": "demo",
        "type": "vllm-model",
        "properties": {"model": {"repository": REPOSITORY, "revision": REVISION}},
        "traits": [
            {"type": "preload", "properties": {"secrets": {TOKEN_SECRET: True}, "exclude": {"*.pth": True}}},
            {"type": "lora-canary", "properties": {"adapters": adapters}},
        ],
    }
    return {
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {"name": "scripts", "namespace": "default"},
        "spec": {"components": [component]},
    }


def _container(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    [found] = [o for o in objects if o["kind"] == kind]
    [container] = found["spec"]["template"]["spec"]["containers"]
    return dict(container)
