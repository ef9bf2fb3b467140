"""What each process of a plane is started with. Pure: paths and ports in, command lines out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from . import pki

HUB = "hub"
"""Folder and context of the cluster that runs KubeVela; Applications call it "local"."""

BASE_PORTS = ("kine", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
HUB_PORTS = ("vela-core", "vela-core-metrics", "vela-core-webhook", "cluster-gateway")


@dataclass(frozen=True, slots=True)
class Component:
    """One process.

    Attributes:
        name: cluster/program, for instance "hub/kine".
        tool: row of tools/toolchain/versions.toml.
        args: its arguments.
        ready: address that answers 200 once it works ("https://..." or "http://..."), "tcp:PORT" for a port that
            merely listens, "" when there is nothing to ask.
        env: variables on top of the plain environment.
    """

    name: str
    tool: str
    args: tuple[str, ...]
    ready: str = ""
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one cluster lives: its name, its folder, the folder of keys, and its ports by program."""

    name: str
    folder: Path
    keys: Path
    ports: dict[str, int]

    @property
    def kubeconfig(self) -> Path:
        """File with the one context of this cluster."""
        return self.folder / "kubeconfig"

    @property
    def server(self) -> str:
        """Address of its API server."""
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"

    def _key(self, name: str) -> tuple[str, str]:
        return str(self.keys / f"{name}.crt"), str(self.keys / f"{name}.key")

    def kine(self) -> Component:
        """The store: what etcd would be, over one SQLite file."""
        port = self.ports["kine"]
        options = "_journal=WAL&cache=shared&_busy_timeout=30000&_synchronous=NORMAL&_txlock=immediate"
        args = (
            f"--endpoint=sqlite://{self.folder}/state.db?{options}",
            f"--listen-address=127.0.0.1:{port}",
            "--metrics-bind-address=0",
        )
        return Component(f"{self.name}/kine", "kine", args, f"tcp:{port}")

    def apiserver(self) -> Component:
        """The API server, with the aggregation that cluster-gateway needs and Pod Security as on any cluster."""
        certificate, key = self._key(pki.SERVER)
        proxy_certificate, proxy_key = self._key(pki.FRONT_PROXY)
        args = (
            f"--etcd-servers=http://127.0.0.1:{self.ports['kine']}",
            f"--secure-port={self.ports['kube-apiserver']}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            # No endpoints for the Service `kubernetes`: a loopback address is refused there, once every ten seconds.
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--service-account-key-file={self.keys / pki.ACCOUNTS}",
            f"--service-account-signing-key-file={self.keys / pki.ACCOUNTS}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--requestheader-client-ca-file={self.keys / pki.CA}",
            f"--requestheader-allowed-names={pki.FRONT_PROXY}",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            f"--proxy-client-cert-file={proxy_certificate}",
            f"--proxy-client-key-file={proxy_key}",
        )
        return Component(f"{self.name}/kube-apiserver", "kube-apiserver", args, f"{self.server}/readyz")

    def controller_manager(self) -> Component:
        """Deployments, Jobs, garbage collection, claims and all the rest; quick where tests would wait."""
        args = (
            *self._client(),
            *self._serving("kube-controller-manager"),
            "--use-service-account-credentials=false",
            f"--service-account-private-key-file={self.keys / pki.ACCOUNTS}",
            f"--root-ca-file={self.keys / pki.CA}",
            "--controllers=*",
            "--leader-elect=false",
            "--node-monitor-grace-period=20s",
            "--horizontal-pod-autoscaler-sync-period=2s",
            "--horizontal-pod-autoscaler-downscale-stabilization=10s",
        )
        return self._watched("kube-controller-manager", args)

    def scheduler(self) -> Component:
        """The scheduler."""
        args = (*self._client(), *self._serving("kube-scheduler"), "--leader-elect=false")
        return self._watched("kube-scheduler", args)

    def kwok(self) -> Component:
        """Nodes and kubelets that only say so, by the Stage objects in the cluster. It needs their CRD to be there."""
        args = (
            f"--kubeconfig={self.kubeconfig}",
            # Pods on nodes with this label are run by somebody else, as processes.
            "--manage-nodes-with-label-selector=sailplan.dev/runs!=processes",
            "--node-lease-duration-seconds=40",
            "--enable-crds=Stage",
        )
        return Component(f"{self.name}/kwok", "kwok", args)

    def cluster_gateway(self) -> Component:
        """The aggregated API through which KubeVela reaches the other clusters."""
        args = (
            *self._client(),
            *self._serving("cluster-gateway"),
            "--secret-namespace=vela-system",
            f"--cluster-gateway-proxy-config={self.folder / 'cluster-gateway.yaml'}",
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
        )
        return self._watched("cluster-gateway", args, "readyz")

    @property
    def webhook_keys(self) -> Path:
        """Folder in which vela-core looks for tls.crt and tls.key."""
        return self.folder / "webhook"

    def vela_core(self) -> Component:
        """KubeVela's controller with the switches that its chart sets, only that it looks again sooner."""
        health = self.ports["vela-core"]
        args = (
            f"--health-addr=127.0.0.1:{health}",
            f"--metrics-addr=127.0.0.1:{self.ports['vela-core-metrics']}",
            "--use-webhook=true",
            f"--webhook-port={self.ports['vela-core-webhook']}",
            f"--webhook-cert-dir={self.webhook_keys}",
            "--enable-leader-election=false",
            "--enable-cluster-gateway",
            "--system-definition-namespace=vela-system",
            "--concurrent-reconciles=4",
            "--kube-api-qps=400",
            "--kube-api-burst=600",
            # The chart's 5 minutes, 60 and 300 seconds.
            "--application-re-sync-period=10s",
            "--max-workflow-wait-backoff-time=3",
            "--max-workflow-failed-backoff-time=10",
            *(f"--feature-gates={name}={value}" for name, value in _GATES.items()),
        )
        # CUE leaves much behind at once: to collect it less often saves processor time.
        env = {"CUE_EXPERIMENT": "evalv3=0,keepvalidators=0", "GOGC": "400", "GOMEMLIMIT": "1GiB"}
        return Component(f"{self.name}/vela-core", "vela-core", args, f"http://127.0.0.1:{health}/readyz", env)

    def _client(self) -> tuple[str, ...]:
        names = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
        return tuple(f"--{name}={self.kubeconfig}" for name in names)

    def _serving(self, program: str) -> tuple[str, ...]:
        certificate, key = self._key(pki.SERVER)
        return (
            "--bind-address=127.0.0.1",
            f"--secure-port={self.ports[program]}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
        )

    def _watched(self, program: str, args: tuple[str, ...], path: str = "healthz") -> Component:
        ready = f"https://127.0.0.1:{self.ports[program]}/{path}"
        return Component(f"{self.name}/{program}", program, args, ready)


_GATES = {
    "EnableSuspendOnFailure": "false",
    "ZstdResourceTracker": "true",
    "ApplyOnce": "false",
    "MultiStageComponentApply": "true",
    "ZstdApplicationRevision": "true",
    "PreDispatchDryRun": "true",
    "InformerCacheFilterUnnecessaryFields": "true",
    "SharedDefinitionStorageForApplicationRevision": "true",
    "DisableWorkflowContextConfigMapCache": "true",
}
"""What KubeVela's own chart sets (charts/vela-core/values.yaml, `featureGates`)."""
