"""Traits commute: whatever their order, the same objects come out, the order of flags included.

Components of one Application need names of their own, and are renamed before they are compared. With `preload` that
does not do, because its Job is called by a hash that knows the component's name: those render one by one.
"""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import pytest

from definitions.cases import renamed, table
from definitions.engine import Objects, component, render
from definitions.files import EDGE_TRAITS, ENGINE_TRAITS, LEGACY, MODES, OTHER_REVISION

PROPERTIES = {
    "model": {"quantization": "fp8", "toolCallParser": "hermes", "streaming": {"enabled": True}},
    "servedName": "coder",
    "env": {"A": "1"},
    "annotations": {"oam.ai/catalog-model": "coder"},
    "imagePullSecrets": {"registry": True},
    "extraArgs": ["--seed=1", "--enable-log-requests"],
}
Order = tuple[str, ...]

ADAPTER = {"repository": "team/adapter", "revision": OTHER_REVISION}


def full(trait: str) -> dict[str, Any]:
    """What a trait that nobody has named here yet is given: all of its parameters."""
    given: dict[str, Any] = table(trait)["cases"]["full"]["properties"]
    return given


GIVEN: dict[str, dict[str, Any]] = {
    "gpu": {"count": 4, "pipelineParallel": 2, "minVRAM": "16Gi", "memoryLabel": "memory", "tolerations": {"spot": {}}},
    "prefix-cache": {"enabled": False},
    "preload": {"secrets": {"hf-token": True}},
    "external-secret": {"secrets": {"hf-token": {"key": "hub"}}},
    "kv-offload": {"sizeGB": 16, "layers": 28},
    "lora-canary": {
        "adapters": {"sql": {**ADAPTER, "rank": 64, "weightPercent": 10}, "secure": {**ADAPTER, "rank": 8}}
    },
    "keda-saturation-scaling": {"maxReplicas": 2},
    "ai-gateway-route": {"requestTimeout": "1h"},
    "http-route": {"hostname": "coder.example.com"},
    "network-policy": {"engine": "kubernetes"},
    "observability": {"labels": {"team": "ai"}},
}
GIVEN |= {trait: full(trait) for trait in ENGINE_TRAITS if trait not in GIVEN}
WITHOUT = ["", "lora-canary", "preload", "ai-gateway-route"]
"""The traits that change what others render, each left out once."""


def rendered(orders: list[Order], env: dict[str, str] | None = None) -> list[Objects]:
    """The objects of each order of traits, under one name."""
    names = ["model" if "preload" in order else f"order{number:03}" for number, order in enumerate(orders)]
    parts = [
        component(name, PROPERTIES, [(trait, GIVEN[trait]) for trait in order])
        for name, order in zip(names, orders, strict=True)
    ]
    batch = 8 if len(orders[0]) < 3 else 3
    together = render([part for part in parts if part["name"] != "model"], env, batch)
    return [
        renamed(together[part["name"]], part["name"]) if part["name"] in together else render([part], env)["model"]
        for part in parts
    ]


@functools.cache
def canonical(traits: frozenset[str]) -> Objects:
    """One order to compare with: that of the composer is as good as any."""
    (objects,) = rendered([tuple(trait for trait in GIVEN if trait in traits)])
    return objects


def same(found: Objects, wanted: Objects) -> None:
    assert found.keys() == wanted.keys()
    for key, item in wanted.items():
        assert found[key] == item, key


def shuffled(traits: list[str], count: int, seed: int) -> list[Order]:
    chance = random.Random(seed)
    return [tuple(chance.sample(traits, len(traits))) for _ in range(count)]


def test_all_traits_are_shuffled() -> None:
    assert set(GIVEN) == set(ENGINE_TRAITS)
    assert len(canonical(frozenset(GIVEN))) > len(GIVEN)


@pytest.mark.parametrize("first", ENGINE_TRAITS)
def test_pairs_in_both_orders(first: str) -> None:
    """Every pair, once: each trait with those after it in the list."""
    others = ENGINE_TRAITS[ENGINE_TRAITS.index(first) + 1 :]
    if not others:
        return
    orders = [order for other in others for order in ((first, other), (other, first))]
    found = rendered(orders)
    for one, two in zip(found[::2], found[1::2], strict=True):
        same(one, two)


@pytest.mark.parametrize("seed", range(10))
def test_permutations_of_all(seed: int) -> None:
    """Thirty, by threes."""
    for objects in rendered(shuffled(list(GIVEN), 3, seed)):
        same(objects, canonical(frozenset(GIVEN)))


@pytest.mark.parametrize("without", WITHOUT[1:])
def test_permutations_without(without: str) -> None:
    left = [trait for trait in GIVEN if trait != without]
    for objects in rendered(shuffled(left, 5, 100)):
        same(objects, canonical(frozenset(left)))


@pytest.mark.parametrize("seed", range(2))
def test_permutations_as_the_controller_evaluates(seed: int) -> None:
    for objects in rendered(shuffled(list(GIVEN), 3, 200 + seed), LEGACY):
        same(objects, canonical(frozenset(GIVEN)))


def test_what_a_trait_adds_depends_on_others_only_where_it_should() -> None:
    """Left out, the traits that others read leave no trace; the Job's name shows the adapters, the route its rules."""
    every = canonical(frozenset(GIVEN))
    plain = canonical(frozenset(set(GIVEN) - {"lora-canary"}))
    assert len(every["AIGatewayRoute/model"]["spec"]["rules"]) == 3
    assert len(plain["AIGatewayRoute/model"]["spec"]["rules"]) == 1
    jobs = [next(key for key in objects if key.startswith("Job/")) for objects in (every, plain)]
    assert jobs[0] != jobs[1]


EDGES: tuple[dict[str, dict[str, Any]], ...] = (
    {
        "model-config": {"model": "m", "backendURL": "http://a.b:8000/v1"},
        "prompt-policy": {"systemPrompt": "Be brief.", "temperature": 0.2},
        "inference-autoscaling": {"maxReplicas": 5},
    },
    {
        "llmd-routing": {"poolName": "pool", "model": "m", "backendURL": "http://a.b:8000/v1"},
        "prompt-policy": {"systemPrompt": "Be brief."},
        "inference-queue-scaling": {"maxReplicas": 5},
    },
)
"""Traits of an edge; those that exclude each other apart."""
NAMED = {name for given in EDGES for name in given}
EDGES += tuple(
    {trait: full(trait), "prompt-policy": {"systemPrompt": "Be brief."}} for trait in EDGE_TRAITS if trait not in NAMED
)


def test_all_traits_of_an_edge_are_shuffled() -> None:
    assert {name for given in EDGES for name in given} == set(EDGE_TRAITS)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("given", EDGES, ids=lambda given: next(iter(given)))
def test_every_order_on_an_edge(given: dict[str, dict[str, Any]], mode: str) -> None:
    orders = list(itertools.permutations(given))
    names = [f"order{number:03}" for number in range(len(orders))]
    properties = {"apiKeys": {"secretName": "keys"}, "podAnnotations": {"a": "1"}, "podLabels": {"b": "2"}}
    parts = [
        component(name, properties, [(trait, given[trait]) for trait in order], "inference-api")
        for name, order in zip(names, orders, strict=True)
    ]
    found = render(parts, MODES[mode], 3)
    for name in names[1:]:
        same(renamed(found[name], name), renamed(found[names[0]], names[0]))
