"""Every list of arguments that this repository renders: from its applications, and from each preset's profiles."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
SAILPLAN = Path(sys.executable).with_name("sailplan")

SHAPING = {"kv-offload", "lora-canary", "prefix-cache", "gpu"}
"""Traits that put flags into the list."""


def rendered() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give each engine container that anything renders, with words that say where it comes from."""
    for path in sorted((ROOT / "applications").glob("*/app.yaml")):
        app = yaml.safe_load(path.read_text(encoding="utf-8"))
        for env in app["spec"]["environments"]:
            name = app["metadata"]["name"]
            yield from _engines(f"{name} in {env}", ["render", name, "--env", env, "-o", "json"])
    for label, intent in profiles():
        yield from _engines(label, ["render", "-f", "-", "-o", "json"], json.dumps(intent))


def profiles() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give an intent for each profile of each preset, with all the capabilities that shape its arguments."""
    capabilities = list(_documents("capabilities"))
    for model in _documents("models"):
        name = model["metadata"]["name"]
        for profile in model["spec"].get("profiles", {}):
            component = {
                "model": name,
                "name": "probe",
                "profile": profile,
                "capabilities": _fitting(name, capabilities),
            }
            yield (
                f"{name} on {profile}",
                {
                    "apiVersion": "catalog.oam.ai/v1",
                    "kind": "App",
                    "metadata": {"name": "probe", "owner": "tests"},
                    "spec": {"components": [component], "environments": ["sandbox"]},
                },
            )


def _fitting(model: str, capabilities: list[dict[str, Any]]) -> list[str]:
    chosen: list[str] = []
    for row in capabilities:
        spec = row["spec"]
        if SHAPING & set(spec.get("traits", {})) and model in (spec.get("models") or [model]):
            chosen += [row["metadata"]["name"], *spec.get("requires", [])]
    return sorted(set(chosen))


def _documents(kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted((ROOT / "catalog" / kind).glob("*.yaml")):
        yield yaml.safe_load(path.read_text(encoding="utf-8"))


def _engines(label: str, args: list[str], stdin: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    done = subprocess.run(
        [SAILPLAN, *args], input=stdin, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False
    )
    assert done.returncode == 0, f"{label}: sailplan {' '.join(args)} ended with {done.returncode}\n{done.stderr}"
    for item in json.loads(done.stdout)["items"]:
        if item["kind"] == "Deployment":
            for container in item["spec"]["template"]["spec"]["containers"]:
                if container["name"] == "vllm":
                    yield f"{label}: {item['metadata']['name']}", container
