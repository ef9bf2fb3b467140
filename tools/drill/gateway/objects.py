"""From the objects of a namespace to what aigw reads, and to the models behind it. Pure: objects in, objects out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from drill.errors import DrillError

Object = dict[str, Any]

GATEWAY_API = "gateway.networking.k8s.io/v1"
ENVOY_API = "gateway.envoyproxy.io/v1alpha1"
AI_API = "aigateway.envoyproxy.io/v1beta1"
ROUTED = ((ENVOY_API, "Backend"), (AI_API, "AIServiceBackend"), (AI_API, "AIGatewayRoute"))
"""Kinds of a component's own objects that a gateway reads, of its namespace."""

ENVOY = "1.38.3"
PORT = 28080
"""Where the gateway listens inside its network; a cluster's port below 1024 would be moved by Envoy Gateway."""

_ENGINE = "vllm"
"""Name of the container that runs an engine."""

_HEADER = "x-ai-eg-model"


@dataclass(frozen=True)
class Model:
    """One engine behind a Service.

    Attributes:
        name: of its Deployment.
        address: loopback address that stands for the Service.
        port: of the Service and of the engine.
        args: of the engine's container, as rendered.
        hosts: names that lead to the address.
    """

    name: str
    address: str
    port: int
    args: tuple[str, ...]
    hosts: tuple[str, ...]


def for_aigw(objects: Iterable[Object], gateway: Object, gateway_class: Object) -> list[Object]:
    """Return what `aigw run` reads: the gateway with its class, and the routed kinds among `objects`.

    Differences to a cluster, all of them here: the gateway listens at `PORT`, and its parameters say that Envoy is a
    program of this machine.

    Raises:
        DrillError: two objects of one kind share a name: aigw would silently drop one of them.
    """
    proxy = {"name": "drill", "namespace": gateway["metadata"]["namespace"]}
    own = bare(gateway)
    for listener in own["spec"]["listeners"]:
        listener["port"] = PORT
    own["spec"]["infrastructure"] = {
        "parametersRef": {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": proxy["name"]}
    }
    envoy = {
        "apiVersion": ENVOY_API,
        "kind": "EnvoyProxy",
        "metadata": proxy,
        "spec": {
            "provider": {"type": "Host", "host": {"envoyVersion": ENVOY}},
            "logging": {"level": {"default": "warn"}},
        },
    }
    routed = [bare(item) for item in objects if (item["apiVersion"], item["kind"]) in ROUTED]
    names = [(item["kind"], item["metadata"]["name"]) for item in routed]
    twice = sorted({f"{kind}/{name}" for kind, name in names if names.count((kind, name)) > 1})
    if twice:
        raise DrillError(f"several objects are called {', '.join(twice)}; aigw keeps one of them")
    return [bare(gateway_class), own, envoy, *routed]


def bare(item: Object) -> Object:
    """An object without what a server added."""
    meta = {key: item["metadata"][key] for key in ("name", "namespace", "labels") if key in item["metadata"]}
    rest = {key: copy.deepcopy(value) for key, value in item.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": meta}


def models(objects: Sequence[Object], domain: str = "cluster.local") -> list[Model]:
    """Return the engines: each Deployment of one that a Service selects, with an address for the Service.

    Raises:
        DrillError: a Service's port is not the engine's: one address could not stand for both.
    """
    services = [item for item in objects if item["kind"] == "Service"]
    found = []
    for place, deployment in enumerate(filter(_is_engine, _of_kind(objects, "Deployment")), 1):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        for service in services:
            if service["spec"].get("selector", {"": ""}).items() <= labels.items():
                found.append(_model(deployment, service, f"127.1.0.{place}", domain))
    return found


def leads_to(config: Sequence[Object], route: Object) -> set[str]:
    """Host names that a route's legs lead to; a leg that leads nowhere gives ""."""
    services = {item["metadata"]["name"]: item for item in config if item["kind"] == "AIServiceBackend"}
    backends = {item["metadata"]["name"]: item for item in config if item["kind"] == "Backend"}
    found = set()
    for leg in (leg for rule in route["spec"]["rules"] for leg in rule["backendRefs"]):
        service = services.get(leg["name"], {"spec": {"backendRef": {"name": ""}}})
        backend = backends.get(service["spec"]["backendRef"]["name"], {"spec": {"endpoints": []}})
        hosts = {one["fqdn"]["hostname"] for one in backend["spec"]["endpoints"] if "fqdn" in one}
        found |= hosts or {""}
    return found


def _of_kind(objects: Sequence[Object], kind: str) -> list[Object]:
    return sorted((item for item in objects if item["kind"] == kind), key=lambda item: str(item["metadata"]["name"]))


def _is_engine(deployment: Object) -> bool:
    return bool(deployment["spec"]["template"]["spec"]["containers"][0]["name"] == _ENGINE)


def _model(deployment: Object, service: Object, address: str, domain: str) -> Model:
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    port = service["spec"]["ports"][0]
    target = port.get("targetPort", port["port"])
    real = {one.get("name"): one["containerPort"] for one in container["ports"]}.get(target, target)
    if real != port["port"]:
        raise DrillError(f"Service {name} has port {port['port']}, its engine {real}")
    hosts = tuple(f"{name}.{namespace}.{part}" for part in (f"svc.{domain}", "svc"))
    return Model(deployment["metadata"]["name"], address, real, tuple(container["args"]), hosts)


@dataclass(frozen=True)
class Rule:
    """What a route promises for one name: the share of each name that the engine is asked for, in percent."""

    asked: str
    shares: dict[str, float]


def rules(objects: Iterable[Object]) -> list[Rule]:
    """Return the promises of all routes, by the names that clients ask for."""
    return [
        Rule(asked, _shares(rule["backendRefs"], asked))
        for item in objects
        if item["kind"] == "AIGatewayRoute"
        for rule in item["spec"]["rules"]
        for asked in (_asked(rule),)
    ]


def _asked(rule: Object) -> str:
    headers = [header for match in rule["matches"] for header in match["headers"] if header["name"] == _HEADER]
    return str(headers[0]["value"])


def _shares(legs: Sequence[Object], asked: str) -> dict[str, float]:
    total = sum(leg.get("weight", 1) for leg in legs)
    shares: dict[str, float] = {}
    for leg in legs:
        name = leg.get("modelNameOverride", asked)
        shares[name] = shares.get(name, 0.0) + 100.0 * leg.get("weight", 1) / total
    return shares
