"""What a cluster of the plane holds before any model comes: nodes, namespaces, storage, gateways.

All of it follows from catalog/environments/*.yaml and catalog/gpus.yaml. Pure: documents in, objects out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from . import documents
from .components import HUB
from .errors import PlaneError
from .kube import Object

PROVISIONER = "kubernetes.io/no-provisioner"
"""Claims bind to volumes of a pool that is made once: nothing here could provision."""

_VOLUMES = 24
_RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
_FAKE = {"kwok.x-k8s.io/node": "fake"}


@dataclass(frozen=True, slots=True)
class Catalog:
    """The documents a plane is made from: environments by name, GPU classes by name, and names of CRDs."""

    environments: Mapping[str, Mapping[str, Any]]
    gpus: Mapping[str, Mapping[str, Any]]
    crds: tuple[str, ...]

    @property
    def clusters(self) -> tuple[str, ...]:
        """The hub first, then the clusters that environments name."""
        named = {cluster for one in self.environments.values() for cluster in one["clusters"]}
        return (HUB, *sorted(named - {"local"}, reverse=True))

    def of(self, cluster: str) -> dict[str, Mapping[str, Any]]:
        """Return the environments that live on a cluster."""
        name = "local" if cluster == HUB else cluster
        return {key: one for key, one in self.environments.items() if name in one["clusters"]}


def read(root: Path) -> Catalog:
    """Read what the plane needs of a checkout's catalog.

    Raises:
        PlaneError: a file is missing or is not what it should be.
    """
    folder = root / "catalog"
    try:
        files = sorted((folder / "environments").glob("*.yaml"))
        environments = {file.stem: documents.read(file)["spec"] for file in files}
        gpus = documents.read(folder / "gpus.yaml")["spec"]["classes"]
        apis = documents.read(folder / "apis.yaml")["spec"]["apis"]
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise PlaneError(f"cannot read the catalog in {folder}: {error!r}", "`sailplan check` says more") from error
    crds = {crd for row in apis.values() for crd in row.get("crds", [])} | {"gatewayclasses.gateway.networking.k8s.io"}
    return Catalog(environments, gpus, tuple(sorted(crds)))


def objects(catalog: Catalog, cluster: str) -> list[Object]:
    """Return everything a cluster holds, in an order in which it can be created."""
    here = catalog.of(cluster)
    return [
        *_namespaces(here),
        *_storage(here),
        *_runtime_classes(here),
        *_priority_classes(here),
        *_gateways(here),
        *_tenants(here),
        *nodes(catalog, cluster),
    ]


def nodes(catalog: Catalog, cluster: str) -> list[Object]:
    """Return one node without GPUs, and as many with one GPU as the environments' budgets add up to."""
    made = [_node("general-1", {}, [], {})]
    for environment in catalog.of(cluster).values():
        for _ in range(environment["gpu"]["budget"]):
            made.append(_gpu_node(f"gpu-{len(made)}", environment["gpu"], catalog.gpus))
    return made


def _gpu_node(name: str, wish: Mapping[str, Any], classes: Mapping[str, Mapping[str, Any]]) -> Object:
    """Make a node of a GPU class: its labels, its taint, and the labels and taints the environment expects."""
    kind = classes[wish["class"]]
    labels = {**kind.get("nodeSelector", {}), **wish.get("nodeSelector", {})}
    if "memoryLabel" in kind:
        labels[kind["memoryLabel"]] = str(int(kind["memoryGiB"] * 1024))
    taints = [{"key": kind["resourceName"], "value": "true", "effect": "NoSchedule"}]
    for key, row in wish.get("tolerations", {}).items():
        taints.append({"key": key, "value": row.get("value", "true"), "effect": row.get("effect", "NoSchedule")})
    return _node(name, labels, taints, {kind["resourceName"]: "1"})


def _node(name: str, labels: Mapping[str, str], taints: list[dict[str, str]], more: Mapping[str, str]) -> Object:
    sizes = {"cpu": "32", "memory": "192Gi", "pods": "110", "ephemeral-storage": "500Gi", **more}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": _FAKE,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": "loopback",
                **labels,
            },
        },
        "spec": {"taints": taints} if taints else {},
        "status": {"allocatable": sizes, "capacity": sizes},
    }


def _namespaces(here: Mapping[str, Mapping[str, Any]]) -> Iterator[Object]:
    own = {one["namespace"] for one in here.values()}
    shared = {one[key]["namespace"] for one in here.values() for key in ("gateway", "web") if key in one}
    for name in sorted(own | shared):
        labels = _RESTRICTED if name in own else {}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _storage(here: Mapping[str, Mapping[str, Any]]) -> Iterator[Object]:
    """Make the storage classes that environments name, one of them the default, and a pool of volumes for each."""
    named = {one["storage"]["storageClassName"] for one in here.values() if "storageClassName" in one["storage"]}
    for index, name in enumerate(sorted(named or {"standard"})):
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {
                "name": name,
                "annotations": {"storageclass.kubernetes.io/is-default-class": str(index == 0).lower()},
            },
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        for number in range(1, _VOLUMES + 1):
            yield _volume(name, number)


def _volume(storage: str, number: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{storage}-{number}"},
        "spec": {
            "storageClassName": storage,
            "capacity": {"storage": "1Ti"},
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": f"/volumes/{number}"},
        },
    }


def _runtime_classes(here: Mapping[str, Mapping[str, Any]]) -> Iterator[Object]:
    names = {one["gpu"].get("runtimeClassName", "nvidia") for one in here.values()} - {""}
    for name in sorted(names):
        yield {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": name}


def _priority_classes(here: Mapping[str, Mapping[str, Any]]) -> Iterator[Object]:
    names = {one.get("scheduling", {}).get("priorityClassName") for one in here.values()} - {None}
    for name in sorted(map(str, names)):
        meta = {"name": name}
        yield {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": 1000}


def _gateways(here: Mapping[str, Mapping[str, Any]]) -> Iterator[Object]:
    """Make the gateways that environments name; nothing serves them."""
    api = "gateway.networking.k8s.io/v1"
    spec = {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"}
    yield {"apiVersion": api, "kind": "GatewayClass", "metadata": {"name": "local-plane"}, "spec": spec}
    named = [one[key] for one in here.values() for key in ("gateway", "web") if key in one]
    places = {(one["namespace"], one["name"]) for one in named}
    listener = {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}
    for namespace, name in sorted(places):
        yield {
            "apiVersion": api,
            "kind": "Gateway",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"gatewayClassName": "local-plane", "listeners": [listener]},
        }


def _tenants(here: Mapping[str, Mapping[str, Any]]) -> Iterator[Object]:
    """Make what an environment says exists already: the shared claim, who may write to it, a stand-in for the token."""
    for one in here.values():
        meta = {"namespace": one["namespace"]}
        account = one.get("overrides", {}).get("traits", {}).get("preload", {}).get("serviceAccountName")
        if account:
            yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, **meta}}
        if "claim" in one["storage"]:
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": one["storage"]["claim"], **meta},
                "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "500Gi"}}},
            }
        token = one.get("hub", {}).get("tokenSecret")
        if token:
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": token, **meta}}
            yield {**secret, "stringData": {"HF_TOKEN": "stand-in"}}
