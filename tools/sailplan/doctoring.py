"""How each kind of prerequisite is looked for in a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sailplan import installed
from sailplan.model import Catalog, Document, Severity
from sailplan.prerequisites import Prerequisite
from sailplan.toolbox.kube import Cluster, Object

_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_GATEWAY = ("gateway.networking.k8s.io/v1", "Gateway")
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_SERVICE = re.compile(r"^\w+://(?P<name>[a-z0-9-]+)\.(?P<namespace>[a-z0-9-]+)\.svc\b")

_PLAIN = {
    "Namespace": ("v1", "kubectl create namespace {name}"),
    "PriorityClass": ("scheduling.k8s.io/v1", "create it, or change scheduling in the environment"),
    "RuntimeClass": ("node.k8s.io/v1", "install the GPU operator, or set runtimeClassName in the environment"),
    "Secret": ("v1", "create it, or use the capability hub-token"),
    "ServiceAccount": ("v1", "create it, with the role that may write the weights"),
    "PersistentVolumeClaim": ("v1", "create it, shared by several pods, or let the environment render claims"),
    "ClusterSecretStore": ("external-secrets.io/v1", "create it, or name another in hub.store"),
    "SecretStore": ("external-secrets.io/v1", "create it, or name another in hub.store"),
}
"""Kinds that are there or not: their API, and what to do when not."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a prerequisite."""

    message: str
    fix: str
    severity: Severity = "error"


@dataclass(slots=True)
class Ward:
    """One cluster of one environment, with what was asked of it once for all."""

    catalog: Catalog
    environment: Document
    cluster: Cluster
    _deployments: list[Object] | None = field(default=None)

    @property
    def deployments(self) -> list[Object]:
        """All Deployments of the cluster."""
        if self._deployments is None:
            self._deployments = self.cluster.list("apps/v1", "Deployment")
        return self._deployments


def look(ward: Ward, wanted: Prerequisite) -> Problem | None:
    """What is wrong with a prerequisite; None when it is there, or nothing can be said about its kind.

    Raises:
        ClusterError: the cluster does not answer, or refuses.
    """
    special = _SPECIAL.get(wanted.kind)
    if special:
        return special(ward, wanted)
    if wanted.kind not in _PLAIN:
        return None
    api, fix = _PLAIN[wanted.kind]
    namespace, _, name = wanted.name.rpartition("/")
    if ward.cluster.find(api, wanted.kind, name, namespace) is None:
        return Problem("is missing", fix.format(name=wanted.name))
    return None


def _crds(ward: Ward, wanted: Prerequisite) -> Problem | None:
    key, _, least = wanted.reason.partition(" >= ")
    names = wanted.name.split(", ")
    found = [ward.cluster.find(*_CRD, name) for name in names]
    missing = [name for name, one in zip(names, found, strict=True) if one is None]
    if missing:
        return Problem(f"missing: {', '.join(missing)}", f"install {wanted.reason}, or leave out what needs it")
    version = installed.of_api(key, [one for one in found if one], ward.deployments)
    if least and version and installed.numbers(version) < installed.numbers(least):
        return Problem(f"{key} is {version}", f"upgrade it to {least} or higher")
    if least and not version:
        return Problem(f"the cluster does not say which {key} this is", f"make sure it is {least} or higher", "note")
    return None


def _gpus(ward: Ward, wanted: Prerequisite) -> Problem | None:
    facts = ward.catalog.gpus.spec["classes"].get(wanted.name, {}) if ward.catalog.gpus else {}
    labels = {**facts.get("nodeSelector", {}), **ward.environment.spec["gpu"].get("nodeSelector", {})}
    resource = facts.get("resourceName", "nvidia.com/gpu")
    nodes = ward.cluster.list("v1", "Node", labels=",".join(f"{key}={value}" for key, value in labels.items()))
    if not nodes:
        text = f"no node has the labels {', '.join(f'{key}={value}' for key, value in labels.items())}"
        return Problem(text, "label the GPU nodes; nothing to do where nodes are made on demand", "warning")
    count = sum(int(one.get("status", {}).get("allocatable", {}).get(resource, 0)) for one in nodes)
    budget = int(ward.environment.spec["gpu"].get("budget", 0))
    if count < budget:
        fix = "install the device plugin, add nodes, or lower the budget; fine where nodes are made on demand"
        return Problem(f"{len(nodes)} nodes offer {count} {resource}, and the budget is {budget}", fix, "warning")
    memory = facts.get("memoryLabel")
    without = [one["metadata"]["name"] for one in nodes if memory and memory not in one["metadata"].get("labels", {})]
    if without:
        fix = f"label them {memory}=MEBIBYTES: pods with a minVRAM are placed by it"
        return Problem(f"these nodes do not tell their GPU memory: {', '.join(without)}", fix)
    return None


def _storage_class(ward: Ward, wanted: Prerequisite) -> Problem | None:
    api = ("storage.k8s.io/v1", "StorageClass")
    if wanted.name != "(default)":
        there = ward.cluster.find(*api, wanted.name)
        return None if there else Problem("is missing", "create it, or name another in storage.storageClassName")
    known = ward.cluster.list(*api)
    if any((one["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true" for one in known):
        return None
    names = ", ".join(one["metadata"]["name"] for one in known) or "none at all"
    return Problem(f"no class is the default (there is {names})", "name one in storage.storageClassName")


def _gateway(ward: Ward, wanted: Prerequisite) -> Problem | None:
    namespace, _, name = wanted.name.rpartition("/")
    gateway = ward.cluster.find(*_GATEWAY, name, namespace)
    if gateway is None:
        return Problem("is missing", "create it, or name another in the environment")
    if namespace != ward.environment.spec["namespace"] and not any(map(_open, gateway["spec"].get("listeners", ()))):
        fix = "allowedRoutes.namespaces.from: All, or a Selector that matches the namespace"
        return Problem(f"takes no routes from {ward.environment.spec['namespace']}", fix)
    conditions = {one["type"]: one for one in gateway.get("status", {}).get("conditions") or ()}
    programmed = conditions.get("Programmed", {})
    if programmed.get("status") != "True":
        said = programmed.get("message") or "nobody has programmed it"
        return Problem(f"does not work yet: {said}", "see the gateway controller's log", "warning")
    return None


def _open(listener: Any) -> bool:
    allowed = listener.get("allowedRoutes", {}).get("namespaces", {})
    return allowed.get("from", "Same") in ("All", "Selector")


def _metrics(ward: Ward, wanted: Prerequisite) -> Problem | None:
    service = _SERVICE.match(wanted.name)
    if service is None or ward.cluster.find("v1", "Service", service["name"], service["namespace"]):
        return None
    return Problem("there is no such Service", "install the metrics store, or correct metrics.serverAddress", "warning")


_SPECIAL: dict[str, Callable[[Ward, Prerequisite], Problem | None]] = {
    "CRDs": _crds,
    "GPUs": _gpus,
    "StorageClass": _storage_class,
    "Gateway": _gateway,
    "Metrics": _metrics,
}
