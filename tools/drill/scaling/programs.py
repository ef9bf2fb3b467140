"""How Prometheus and KEDA are started beside a plane's hub. Paths and ports in, command lines and objects out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from drill.scaling import keys
from localplane import documents
from localplane.components import HUB, Component
from toolchain import sources

NAMESPACE = "keda"
PROMETHEUS = f"{HUB}/prometheus"
PORTS = ("keda-metrics", "keda-health", "keda-grpc", "keda-adapter", "keda-adapter-metrics", "metrics-of-pods")
"""Ports that are needed besides that of Prometheus, which the environment names."""

API = "v1beta1.external.metrics.k8s.io"
"""APIService through which the autoscaler asks KEDA."""

_SERVICE = "keda-metrics-apiserver"


def crds() -> list[dict[str, Any]]:
    """Return all CRDs of KEDA: its operator ends when one of them is missing.

    Raises:
        ToolchainError: its module cannot be fetched.
    """
    folder = sources.folder("keda") / "config" / "crd" / "bases"
    return [documents.read(file) for file in sorted(folder.glob("*.yaml"))]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the programs live: their folder, the hub's kubeconfig, their ports, the port of Prometheus."""

    folder: Path
    kubeconfig: Path
    ports: dict[str, int]
    prometheus_port: int

    @property
    def keys(self) -> Path:
        """Folder of KEDA's certificates."""
        return self.folder / "keda"

    def prometheus(self) -> Component:
        """Prometheus, which looks at every pod once a second."""
        args = (
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{self.prometheus_port}",
            # A pod that went must not count for minutes.
            "--query.lookback-delta=10s",
            "--log.level=warn",
        )
        return Component(PROMETHEUS, "prometheus", args, f"http://127.0.0.1:{self.prometheus_port}/-/ready")

    def prometheus_config(self, discovery: Mapping[str, Any]) -> str:
        """Text of Prometheus' configuration: pods as a ServiceMonitor finds them, labelled by namespace and pod.

        Args:
            discovery: where it finds them, as a job of a configuration has it.
        """
        every = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        return yaml.safe_dump({"global": every, "scrape_configs": [{"job_name": "models", **discovery}]})

    def found_by_http(self) -> dict[str, Any]:
        """Pods that are asked for at the server of a fleet (fleet.py)."""
        found = {"url": f"http://127.0.0.1:{self.ports['metrics-of-pods']}/targets", "refresh_interval": "1s"}
        return {"http_sd_configs": [found]}

    def operator(self) -> Component:
        """KEDA's operator."""
        health = self.ports["keda-health"]
        args = (
            f"--kubeconfig={self.kubeconfig}",
            f"--metrics-bind-address=127.0.0.1:{self.ports['keda-metrics']}",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--metrics-service-bind-address=127.0.0.1:{self.ports['keda-grpc']}",
            f"--cert-dir={self.keys}",
            "--enable-cert-rotation=false",
            "--kube-api-qps=200",
            "--kube-api-burst=300",
            "--zap-log-level=info",
        )
        return Component(f"{HUB}/keda-operator", "keda-operator", args, f"http://127.0.0.1:{health}/readyz", _ENV)

    def adapter(self) -> Component:
        """KEDA's half that the API server asks."""
        port = self.ports["keda-adapter"]
        clients = ("kubeconfig", "lister-kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
        args = (
            *(f"--{name}={self.kubeconfig}" for name in clients),
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--port={self.ports['keda-adapter-metrics']}",
            f"--tls-cert-file={self.keys / 'tls.crt'}",
            f"--tls-private-key-file={self.keys / 'tls.key'}",
            f"--client-ca-file={self.keys / 'ca.crt'}",
            f"--cert-dir={self.keys}",
            f"--metrics-service-address=127.0.0.1:{self.ports['keda-grpc']}",
        )
        return Component(f"{HUB}/keda-adapter", "keda-adapter", args, f"tcp:{port}", _ENV)

    def objects(self) -> Iterator[dict[str, Any]]:
        """KEDA's namespace, and the registration of its API. An ExternalName leads to loopback."""
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": _SERVICE, "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        service = {"name": _SERVICE, "namespace": NAMESPACE, "port": self.ports["keda-adapter"]}
        yield {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": API},
            "spec": {
                "group": "external.metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "caBundle": keys.authority(self.keys),
                "service": service,
            },
        }


_ENV = {
    "WATCH_NAMESPACE": "",
    "POD_NAMESPACE": NAMESPACE,
    "POD_NAME": "keda-operator-drill",
    "KEDA_CLUSTER_OBJECT_NAMESPACE": NAMESPACE,
    "KEDA_HTTP_DEFAULT_TIMEOUT": "3000",
}


def gpus(node: dict[str, Any]) -> list[str]:
    """Return the names of the GPU resources that a node has."""
    return [name for name in node.get("status", {}).get("capacity", {}) if name.endswith("/gpu")]


def node(like: dict[str, Any]) -> dict[str, Any]:
    """Make a node with room for every replica, otherwise like one of the plane's with a GPU.

    The environment's own nodes follow its budget, which is about what it may cost, not about what a drill may try.
    """
    name = "gpu-many"
    meta, taints = like["metadata"], like["spec"].get("taints", [])
    many = {**dict.fromkeys(gpus(like), "64"), "cpu": "512", "memory": "4096Gi"}
    sizes = {**like["status"]["capacity"], **many}
    labels = {**meta["labels"], "kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {"taints": [one for one in taints if "kubernetes.io/" not in one["key"]]},
        "status": {"allocatable": sizes, "capacity": sizes},
    }
