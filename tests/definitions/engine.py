"""Render components through the real `vela dry-run --offline`, several to a process, and return plain objects.

Time grows faster than linearly with the components of one Application, and each trait costs: a whole set of traits
renders best by threes, a component with one or two traits by tens.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from definitions.files import FILES, LEAST
from sailplan.toolbox import proc

Object = dict[str, Any]
Objects = dict[str, Object]
"""What one component becomes: "Kind/name" -> object."""

_NOISE = "Failed to load external packages"
_KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "nowhere",
    "clusters": [{"name": "nowhere", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "nowhere", "context": {"cluster": "nowhere", "user": "nobody"}}],
    "users": [{"name": "nobody", "user": {}}],
}


class Refused(AssertionError):
    """`vela` rendered nothing, or not all; the text is what it said."""


def component(
    name: str = "model",
    properties: Mapping[str, Any] | None = None,
    traits: Mapping[str, Any] | Sequence[tuple[str, Any]] = (),
    type: str = "vllm-model",
) -> Object:
    """A component of an Application, with the properties that its type cannot do without."""
    pairs = traits.items() if isinstance(traits, Mapping) else traits
    return {
        "name": name,
        "type": type,
        "properties": merged(LEAST.get(type, {}), properties or {}),
        "traits": [{"type": kind, "properties": given} for kind, given in pairs],
    }


def application(
    components: Iterable[Object],
    policies: Sequence[Object] = (),
    workflow: Object | None = None,
    namespace: str = "llm",
) -> Object:
    """An Application around the components."""
    spec: Object = {"components": list(components), "policies": list(policies)}
    return {
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {"name": "app", "namespace": namespace},
        "spec": spec | ({"workflow": workflow} if workflow else {}),
    }


def dry_run(app: Object, env: Mapping[str, str] | None = None, extra: Sequence[Path] = ()) -> list[Object]:
    """All objects of an Application, in vela's order; definitions in `extra` take the place of ours of that name.

    Raises:
        Refused: vela complained, or left a component out.
    """
    ours = _types(app) & FILES.keys() - {file.stem for file in extra}
    done = _run(app, [*(FILES[name] for name in sorted(ours)), *extra], env or {})
    said = "\n".join(line for line in done.stderr.splitlines() if line.strip() and _NOISE not in line)
    # Vela prints the Application and policies too when it meets a workflow; none of them is an object of ours.
    documents = [found for found in yaml.load_all(done.stdout, yaml.CSafeLoader) if found] if done.code == 0 else []
    missing = {part["name"] for part in app["spec"]["components"]} - {part_of(found) for found in documents}
    if done.code != 0 or missing or "Error" in said:
        raise Refused(said or f"exit code {done.code}, missing {sorted(missing)}")
    return documents


def _types(app: Object) -> set[str]:
    """Every definition that an Application names, in its components and in its override policies."""
    overridden = [part for policy in app["spec"]["policies"] for part in policy["properties"].get("components", [])]
    parts = [*app["spec"]["components"], *overridden]
    return {part.get("type", "") for part in parts} | {
        trait["type"] for part in parts for trait in part.get("traits", [])
    }


def _run(app: Object, definitions: Iterable[Path], env: Mapping[str, str]) -> proc.Completed:
    with tempfile.TemporaryDirectory(prefix="definitions-") as folder:
        home = Path(folder)
        (home / "definitions").mkdir()
        for file in definitions:
            (home / "definitions" / file.name).symlink_to(file)
        (home / "app.yaml").write_text(json.dumps(app))
        return vela(["dry-run", "--offline", "-d", "definitions", "-f", "app.yaml"], home, env)


def vela(args: Sequence[str], home: Path, env: Mapping[str, str] | None = None) -> proc.Completed:
    """Run vela in a home of its own, with the kubeconfig it insists on pointing nowhere."""
    (home / "kubeconfig").write_text(json.dumps(_KUBECONFIG))
    places = {"HOME": str(home), "KUBECONFIG": str(home / "kubeconfig")}
    return proc.run([proc.tool("vela"), *args], timeout=300, env={**places, **(env or {})}, cwd=home)


def part_of(found: Object) -> str:
    """The component that an object came from."""
    return str(found["metadata"]["labels"].get("app.oam.dev/component", ""))


def render(components: Iterable[Object], env: Mapping[str, str] | None = None, batch: int = 10) -> dict[str, Objects]:
    """Render independent components, `batch` to a process: component name -> its objects."""
    todo = list(components)
    found: dict[str, Objects] = {part["name"]: {} for part in todo}
    for start in range(0, len(todo), batch):
        for item in dry_run(application(todo[start : start + batch]), env):
            key = f"{item['kind']}/{item['metadata']['name']}"
            objects = found[part_of(item)]
            assert key not in objects, f"{key} is rendered twice"
            objects[key] = item
    return found


def one(
    traits: Mapping[str, Any] | Sequence[tuple[str, Any]] = (),
    properties: Mapping[str, Any] | None = None,
    name: str = "model",
    env: Mapping[str, str] | None = None,
) -> Objects:
    """The objects of one vllm-model."""
    return render([component(name, properties, traits)], env)[name]


def refusal(
    traits: Mapping[str, Any] | Sequence[tuple[str, Any]] = (),
    properties: Mapping[str, Any] | None = None,
    name: str = "model",
    env: Mapping[str, str] | None = None,
) -> str:
    """What vela says against one vllm-model that must not render."""
    try:
        objects = one(traits, properties, name, env)
    except Refused as refused:
        return str(refused)
    raise AssertionError(f"rendered, though it should have been refused: {sorted(objects)}")


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> Object:
    """Maps merged deeply, everything else replaced, as KubeVela's override policy does."""
    result = deepcopy(dict(base))
    for key, value in change.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def engine_of(objects: Objects, name: str = "model") -> Object:
    """The engine's container."""
    container: Object = objects[f"Deployment/{name}"]["spec"]["template"]["spec"]["containers"][0]
    return container


def args_of(objects: Objects, name: str = "model") -> list[str]:
    return list(engine_of(objects, name)["args"])


def kinds(objects: Objects, *wanted: str) -> list[Object]:
    """All objects of these kinds, in the order of their names."""
    return [found for key, found in sorted(objects.items()) if key.split("/")[0] in wanted]
