"""The published schemas, as we read them: good objects pass, anything misspelt does not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conformance.schemas import index, validate

pytestmark = pytest.mark.conformance

SAMPLES = list(yaml.safe_load_all(Path(__file__).with_name("samples.yaml").read_text(encoding="utf-8")))

# Maps whose keys are the writer's own.
FREE = {"labels", "matchLabels", "annotations", "nodeSelector", "requests", "limits"}

Path_ = tuple[str | int, ...]


def sample(kind: str) -> dict[str, Any]:
    return copy.deepcopy(next(obj for obj in SAMPLES if obj["kind"] == kind))


def keys(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the path of each key of each map that is not free."""
    if isinstance(value, list):
        for position, item in enumerate(value):
            yield from keys(item, (*path, position))
    if not isinstance(value, dict) or (path and path[-1] in FREE):
        return
    for key, inner in value.items():
        yield (*path, key)
        yield from keys(inner, (*path, key))


def open_in(obj: dict[str, Any], path: Path_) -> bool:
    """Tell whether the API leaves this map open: OAM properties, selectors of Services, settings of KEDA triggers."""
    inside = path[:-1]
    own = {"Application": "properties", "Service": "selector", "ScaledObject": "metadata"}
    return own.get(obj["kind"]) in inside[1:]


def renamed(obj: dict[str, Any], path: Path_) -> dict[str, Any]:
    made = copy.deepcopy(obj)
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    place[f"{path[-1]}x"] = place.pop(path[-1])
    return made


@pytest.mark.parametrize("obj", SAMPLES, ids=[obj["kind"] for obj in SAMPLES])
def test_a_good_object_passes(obj: dict[str, Any]) -> None:
    assert validate(obj) == []


@pytest.mark.parametrize("obj", SAMPLES, ids=[obj["kind"] for obj in SAMPLES])
def test_every_misspelt_key_is_refused(obj: dict[str, Any]) -> None:
    planted = [path for path in keys(obj) if not open_in(obj, path)]
    assert len(planted) > 5
    assert [path for path in planted if not validate(renamed(obj, path))] == []


@pytest.mark.parametrize("obj", SAMPLES, ids=[obj["kind"] for obj in SAMPLES])
def test_the_misspelt_key_is_named(obj: dict[str, Any]) -> None:
    obj = copy.deepcopy(obj)
    obj["metadata"]["labells"] = {}
    assert any("labells" in problem and problem.startswith("metadata: ") for problem in validate(obj))


@pytest.mark.parametrize(
    ("kind", "change", "problem"),
    [
        ("Deployment", lambda o: o["spec"]["strategy"].update(type="Rolling"), "spec.strategy.type: 'Rolling'"),
        ("Deployment", lambda o: o["spec"].update(replicas="2"), "spec.replicas: '2' is not of type 'integer'"),
        ("Deployment", lambda o: o["spec"].update(replicas=2**31), "spec.replicas: 2147483648 is greater"),
        ("Deployment", lambda o: o["spec"].pop("selector"), "spec: 'selector' is a required property"),
        ("Deployment", lambda o: container(o)["resources"]["limits"].update(memory="32GiB"), "'32GiB'"),
        ("Deployment", lambda o: container(o)["env"].append({"name": "HOME"}), "env[2]: a second item"),
        ("Deployment", lambda o: container(o)["ports"].append({"containerPort": 8000, "protocol": "TCP"}),
         "ports[1]: a second item"),
        ("Deployment", lambda o: container(o)["env"][0].update(value=1), "env[0].value: 1 is not of type 'string'"),
        ("Deployment", lambda o: o["metadata"]["annotations"].update({"oam.ai/gb": 15.2}), "is not of type 'string'"),
        ("Job", lambda o: o["spec"]["template"]["spec"].update(restartPolicy="Alway"), "restartPolicy: 'Alway'"),
        ("PersistentVolumeClaim", lambda o: o["spec"].update(accessModes=["RWX"]), "accessModes[0]: 'RWX'"),
        ("Service", lambda o: o["metadata"].update(name="1st.coder"), "metadata.name: '1st.coder'"),
        ("Service", lambda o: o["metadata"].update(labels={"a/b/c": "x"}), "metadata.labels: 'a/b/c' is no key"),
        ("Service", lambda o: o["metadata"].update(labels={"model": "Qwen/Qwen3"}), "'Qwen/Qwen3' is no label value"),
        ("Service", lambda o: o.pop("metadata"), "metadata: missing"),
        ("ScaledObject", lambda o: o["spec"]["triggers"][0]["metadata"].update(threshold=0.7), "is not of type"),
        ("HTTPRoute", lambda o: o["spec"]["rules"][0]["timeouts"].update(request="30 min"), "timeouts.request"),
        ("HTTPRoute", lambda o: o["spec"]["parentRefs"].clear() or o["spec"].update(parentRefs={}), "spec.parentRefs"),
        ("CiliumNetworkPolicy", lambda o: o["spec"]["egress"][1].update(toEntities=["wrold"]), "'wrold'"),
        ("AIGatewayRoute", lambda o: o["spec"]["rules"][0]["backendRefs"][0].update(weight=-1), "weight: -1"),
        ("ExternalSecret", lambda o: o["spec"]["target"].update(creationPolicy="Own"), "creationPolicy: 'Own'"),
        ("Application", lambda o: o["spec"]["components"][0].pop("type"), "'type' is a required property"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused(kind: str, change: Any, problem: str) -> None:
    obj = sample(kind)
    change(obj)
    assert any(problem in found for found in validate(obj)), validate(obj)


def test_a_kind_that_nobody_publishes_is_refused() -> None:
    assert validate({"apiVersion": "apps/v2", "kind": "Deployment"}) == [
        "apiVersion, kind: no published schema of apps/v2/Deployment is known"
    ]


def test_the_samples_cover_what_the_catalog_renders() -> None:
    kinds = {f"{obj['apiVersion']}/{obj['kind']}" for obj in SAMPLES}
    assert len(kinds) == len(SAMPLES)
    assert kinds <= index().keys()


def container(obj: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = obj["spec"]["template"]["spec"]["containers"][0]
    return found
