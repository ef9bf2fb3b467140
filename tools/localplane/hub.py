"""KubeVela on the hub: its definitions, its webhooks, cluster-gateway, and the other clusters joined to it."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Iterator

from toolchain import find, sources

from . import documents, pki
from .cluster import Cluster
from .components import Component
from .errors import PlaneError
from .kube import Object, wait
from .runner import Runner

SYSTEM = "vela-system"
_CHART = "charts/vela-core/templates"
_HELM = re.compile(r"\{\{\s*include \"systemDefinitionNamespace\" \.\s*\}\}")
_GATEWAY_SERVICE = "kubevela-cluster-gateway-service"

_MUTATED = ("applications", "componentdefinitions")
_VALIDATED = (*_MUTATED, "policydefinitions", "traitdefinitions", "workflowstepdefinitions")


class Hub:
    """KubeVela in one cluster of the plane.

    Args:
        cluster: the cluster, started.
        runner: starts its processes.
    """

    def __init__(self, cluster: Cluster, runner: Runner) -> None:
        self.cluster = cluster
        self._place = cluster.place
        self._runner = runner

    def install(self, crds: list[Object]) -> None:
        """Install KubeVela and start it; return when it works.

        Raises:
            PlaneError: something is refused, or a process does not come up.
        """
        self._write_webhook_keys()
        self.cluster.install_crds(crds)
        self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
        for item in self._aggregation():
            self.cluster.apply(item)
        for component in self.components:
            self._runner.start(component, wait=False)
        for component in self.components:
            self._runner.wait(component)
        # In this order: the webhooks of an earlier start need their server, the first definitions need no judge.
        for item in [*_chart_objects(), *self._webhooks()]:
            self.cluster.apply(item)
        wait("the aggregated API of cluster-gateway is available", self._gateway_available, 60)

    @property
    def components(self) -> list[Component]:
        """Its processes, in the order in which they start."""
        return [self._place.cluster_gateway(), self._place.vela_core()]

    def join(self, other: Cluster) -> None:
        """Join a cluster as a person would: `vela cluster join KUBECONFIG --name NAME`.

        Raises:
            PlaneError: vela refuses.
        """
        held = self.cluster.client.find("v1", "Secret", other.name, SYSTEM)
        endpoint = base64.b64encode(other.place.server.encode()).decode()
        if held and held["data"].get("endpoint") == endpoint:
            return
        if held:
            self.vela("cluster", "detach", other.name)
        self.vela("cluster", "join", str(other.place.kubeconfig), "--name", other.name)

    def vela(self, *args: str, timeout: float = 60.0) -> str:
        """Run vela against the hub and return what it printed.

        Raises:
            PlaneError: it failed.
        """
        home = self._place.folder / "vela"
        home.mkdir(exist_ok=True)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "KUBECONFIG": str(self._place.kubeconfig), "GOGC": "400"}
        try:
            done = subprocess.run(
                [find("vela"), *args], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise PlaneError(f"vela {' '.join(args)}: no end after {timeout:.0f} s") from error
        if done.returncode != 0:
            raise PlaneError(f"vela {' '.join(args)}: code {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
        return done.stdout

    def _write_webhook_keys(self) -> None:
        """Put the server's certificate under the names that vela-core looks for."""
        folder = self._place.webhook_keys
        folder.mkdir(exist_ok=True, mode=0o700)
        for name in ("crt", "key"):
            link = folder / f"tls.{name}"
            if not link.is_symlink():
                link.symlink_to(self._place.keys / f"{pki.SERVER}.{name}")

    def _aggregation(self) -> Iterator[Object]:
        """Make the Service and the registration of cluster-gateway's API.

        An ExternalName leads to loopback; Endpoints refuse such an address.
        """
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": _GATEWAY_SERVICE, "namespace": SYSTEM},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        yield {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1alpha1.cluster.core.oam.dev"},
            "spec": {
                "group": "cluster.core.oam.dev",
                "version": "v1alpha1",
                "groupPriorityMinimum": 2000,
                "versionPriority": 10,
                "caBundle": self._authority(),
                "service": {
                    "name": _GATEWAY_SERVICE,
                    "namespace": SYSTEM,
                    "port": self._place.ports["cluster-gateway"],
                },
            },
        }

    def _webhooks(self) -> Iterator[Object]:
        """Register KubeVela's admission webhooks as its chart does."""
        for kind, verb, plurals in (("Validating", "validating", _VALIDATED), ("Mutating", "mutating", _MUTATED)):
            yield {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": "kubevela-vela-core-admission"},
                "webhooks": [self._webhook(verb, plural) for plural in plurals],
            }

    def _webhook(self, verb: str, plural: str) -> Object:
        port = self._place.ports["vela-core-webhook"]
        url = f"https://127.0.0.1:{port}/{verb}-core-oam-dev-v1beta1-{plural}"
        rule = {
            "apiGroups": ["core.oam.dev"],
            "apiVersions": ["v1beta1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [plural],
        }
        return {
            "name": f"{verb}.core.oam.dev.v1beta1.{plural}",
            "clientConfig": {"url": url, "caBundle": self._authority()},
            "rules": [rule],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            # The chart's 10 s, thrice: judging the fleet takes 2.4 s of processor time, on a machine with other work.
            "timeoutSeconds": 30,
        }

    def _authority(self) -> str:
        return base64.b64encode((self._place.keys / pki.CA).read_bytes()).decode("ascii")

    def _gateway_available(self) -> bool:
        item = self.cluster.client.get("apiregistration.k8s.io/v1", "APIService", "v1alpha1.cluster.core.oam.dev")
        conditions = item.get("status", {}).get("conditions", [])
        return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


def _chart_objects() -> Iterator[Object]:
    """Read what KubeVela's chart installs besides its processes: built-in definitions, and views for `vela status`."""
    chart = sources.folder("kubevela") / _CHART
    for file in [*sorted((chart / "defwithtemplate").glob("*.yaml")), *sorted((chart / "velaql").glob("*.yaml"))]:
        text = _HELM.sub(SYSTEM, file.read_text(encoding="utf-8"))
        yield from documents.split(text)
