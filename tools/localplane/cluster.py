"""One cluster of a plane: its processes, its kubeconfig, and what it holds."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from . import pki, platform, simulation
from .components import HUB_PORTS, Component, Place
from .errors import ApiError, NotReady
from .kube import Client, Object, condition, wait
from .runner import Runner

_NODES_SECONDS = 30.0
_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


class Cluster:
    """A Kubernetes cluster out of processes: store, API server, controllers, scheduler, pretended kubelets.

    Attributes:
        name: "hub", "staging", ...
        place: paths and ports.
        client: talks to its API server.
        simulation: what its pretended kubelets and controllers do.
    """

    def __init__(self, place: Place, token: str, runner: Runner) -> None:
        self.name = place.name
        self.place = place
        self._token = token
        self._runner = runner
        self.client = Client(place.server, place.keys / pki.CA, token)
        self.simulation = simulation.Simulation(self.client)

    @property
    def components(self) -> list[Component]:
        """Its processes, in the order in which they start."""
        place = self.place
        return [place.kine(), place.apiserver(), place.controller_manager(), place.scheduler(), place.kwok()]

    def start(self) -> None:
        """Start store, API server, controllers and scheduler; return when they work.

        Raises:
            PlaneError: one of them does not.
        """
        self._write_files()
        store, server, *others, _ = self.components
        self._runner.start(store)
        self._runner.start(server)
        for one in others:
            self._runner.start(one, wait=False)
        for one in others:
            self._runner.wait(one)

    def install(self, catalog: platform.Catalog, crds: list[Object]) -> None:
        """Put CRDs, the simulation and the platform's objects into it, and start the pretended kubelets.

        All of it is applied again on every start, so a plane of last week has what this checkout says.

        Raises:
            PlaneError: the API server refuses something, or something does not come up.
        """
        self.install_crds([*simulation.crds(), *crds])
        self.simulation.reset({crd["spec"]["names"]["kind"] for crd in crds})
        for item in platform.objects(catalog, self.name):
            self.apply(item)
        self._runner.start(self.components[-1])

    def install_crds(self, crds: list[Object]) -> None:
        """Apply CRDs and wait until the API server serves them."""
        for crd in crds:
            self.client.apply(crd)
        names = {crd["metadata"]["name"] for crd in crds}
        wait(f"{self.name}: all CRDs are served", lambda: names <= self._established(), 60)

    def apply(self, item: Object) -> None:
        """Apply one object; the status of a node too, which is a request of its own."""
        self.client.apply({key: value for key, value in item.items() if key != "status"})
        if "status" in item:
            name = item["metadata"]["name"]
            self.client.patch(item["apiVersion"], item["kind"], name, {"status": item["status"]}, part="status")

    def wait_for_nodes(self, say: Callable[[str], None]) -> None:
        """Wait until every node is ready and open for pods.

        Once, on a busy machine, nodes of a cluster stayed as they were. Then KWOK gets a second chance, and what it
        said is told.

        Raises:
            NotReady: some node is not; the message names it.
        """
        what, kwok = f"{self.name}: all nodes are ready", self.components[-1]
        try:
            wait(what, self._nodes_ready, _NODES_SECONDS)
        except NotReady as error:
            say(f"{error.message}; {kwok.name} is started anew, it said:{self._runner.tail(kwok.name)}")
            self._runner.stop([kwok.name])
            self._runner.start(kwok)
            wait(what, self._nodes_ready, 2 * _NODES_SECONDS)

    def _nodes_ready(self) -> bool:
        # The others wait for whoever runs their pods as processes.
        nodes = self.client.list("v1", "Node", labels="sailplan.dev/runs!=processes")
        if waiting := [one["metadata"]["name"] for one in nodes if not _open(one)]:
            raise NotReady(f"not so {', '.join(waiting)}")
        return bool(nodes)

    def _established(self) -> set[str]:
        try:
            found = self.client.list(*_CRD)
        except ApiError as error:
            if error.status not in (404, 429, 503):
                raise
            return set()
        return {one["metadata"]["name"] for one in found if condition(one, "Established") == "True"}

    def _write_files(self) -> None:
        folder = self.place.folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(folder / "tokens.csv", f"{self._token},admin,admin,system:masters\n")
        _write(self.place.kubeconfig, yaml.safe_dump(self.kubeconfig(), sort_keys=False))
        if any(name in self.place.ports for name in HUB_PORTS):
            _write(folder / "cluster-gateway.yaml", _GATEWAY_CONFIG)

    def kubeconfig(self) -> dict[str, Any]:
        """Return a kubeconfig with this cluster as its only, current context."""
        authority = base64.b64encode((self.place.keys / pki.CA).read_bytes()).decode("ascii")
        server = {"server": self.place.server, "certificate-authority-data": authority}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.name,
            "clusters": [{"name": self.name, "cluster": server}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": "admin"}}],
            "users": [{"name": "admin", "user": {"token": self._token}}],
        }


def _open(node: Object) -> bool:
    taints = [taint["key"] for taint in node["spec"].get("taints", [])]
    return condition(node, "Ready") == "True" and not any(key.startswith("node.kubernetes.io/") for key in taints)


_GATEWAY_CONFIG = """\
apiVersion: cluster.core.oam.dev/v1alpha1
kind: ClusterGatewayProxyConfiguration
spec: {clientIdentityExchanger: {rules: []}}
"""


def _write(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
