"""What an environment must have: only what is really used there, each thing once."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from sailplan.capacity import Demand, demand
from sailplan.compose import components
from sailplan.prerequisites import prerequisites
from unit.plain import CAPABILITIES, DEV, MODEL, app, catalog, document

APIS = {"apis": {"keda": {"crds": ["scaledobjects.keda.sh"], "minVersion": "2.18.0", "group": "keda.sh"}}}


def found(environment: str, *parts: dict[str, Any], **changes: Any) -> dict[str, list[tuple[str, str]]]:
    made = replace(catalog(**changes), apis=document("APIs", "apis", APIS))
    needed = prerequisites(made, made.environments[environment], components(made, app(*parts)))
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for item in needed:
        by_kind.setdefault(item.kind, []).append((item.name, item.reason))
    return by_kind


def test_a_bare_model_needs_little() -> None:
    needed = found("dev", {"model": "coder"})
    assert set(needed) == {"Cluster", "Namespace", "GPUs", "StorageClass"}
    assert needed["Cluster"] == [("local", "the hub itself")]
    assert needed["GPUs"] == [("l4", "4 x nvidia.com/gpu, nodes pool=gpu-l4")]
    assert needed["StorageClass"][0][0] == "fast"


def test_everything_that_production_uses() -> None:
    needs = {**CAPABILITIES["scaling"], "needs": ["keda"]}
    needed = found("production", {"model": "coder", "capabilities": [*CAPABILITIES]}, capabilities={"scaling": needs})
    assert [name for name, _ in needed["Cluster"]] == ["one", "two"]
    assert ("scaledobjects.keda.sh", "keda >= 2.18.0") in needed["CRDs"]
    assert {reason for _, reason in needed["CRDs"]} == {"keda >= 2.18.0", "cilium", "prometheus-operator"}
    assert needed["PersistentVolumeClaim"][0][0] == "llm/models"
    assert needed["ServiceAccount"][0][0] == "llm/loader"
    assert [name for name, _ in needed["Secret"]] == ["llm/pull"], "the token is fetched from the store"
    assert needed["SecretStore"] == [("llm/vault", "has hub/token")]
    assert [name for name, _ in needed["Gateway"]] == ["gateways/ai", "gateways/web"]
    assert needed["PriorityClass"][0][0] == "high"
    assert needed["Metrics"][0][0] == "http://metrics:1"
    assert "RuntimeClass" not in needed, "production says none"


def test_the_token_must_be_there_when_nobody_fetches_it() -> None:
    assert ("llm/token", "HF_TOKEN for the preload Job, and for nothing else") in found("production")["Secret"]


def test_the_same_thing_is_listed_once() -> None:
    twice = found("production", {"model": "coder", "name": "a"}, {"model": "coder", "name": "b"})
    assert twice == found("production", {"model": "coder", "name": "a"})


def test_without_a_storage_class_the_default_one_is_meant() -> None:
    plain = {**DEV, "storage": {}}
    assert found("dev", {"model": "coder"}, environments={"dev": plain, "production": plain})["StorageClass"][0][0] == (
        "(default)"
    )


def test_demand() -> None:
    model = deepcopy(MODEL)
    model["profiles"]["l4"]["gpus"] = 2
    made = components(
        catalog(model),
        app({"model": "coder", "name": "a"}, {"model": "coder", "name": "b", "capabilities": ["scaling"]}),
    )
    assert [demand(component, "dev") for component in made] == [Demand(2, 2), Demand(2, 4)]
    model["properties"]["replicas"] = 3
    assert demand(components(catalog(model), app())[0], "dev") == Demand(6, 6)
