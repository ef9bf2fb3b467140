"""Everything under the traffic, started and stopped: a hub, KEDA, Prometheus, a runner of pods, clients."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import httpx

from drill.context import Context
from drill.desk import Desk, opened, translated
from drill.errors import DrillError
from drill.scaling import intent
from drill.scaling.load import Gauges
from drill.scaling.stand import Key, Stand
from drill.scaling.track import Track
from drill.scaling.watch import Object
from drill.traffic.clients import Clients
from localplane.components import HUB
from podrunner.handle import Handle, running

NAME = "traffic"

_PACE = {
    # A start that takes time, and answers of some four seconds: few tokens, so that two cores are enough.
    "VLLM_SIM_LOAD_SECONDS": "2",
    "VLLM_SIM_FIRST_TOKEN_SECONDS": "0.3",
    "VLLM_SIM_TOKEN_SECONDS": "0.5",
}
_SIGNALS = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")


class Ground(Stand):
    """What the scenario stands on. Use `opened_ground`.

    Attributes:
        clients: make the load.
        told: when each pod was told to go, in seconds since the scenario began.
        counted: (seconds, requests that the engines report to Prometheus, over all pods).
    """

    clients: Clients
    runner: Handle

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.told: dict[str, float] = {}
        self.counted: list[tuple[float, float]] = []
        self._gpus = 0

    @property
    def traffic(self) -> Track:
        """The one workload."""
        return self.track(NAME)

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self._gpus

    @property
    def pods(self) -> set[str]:
        """Pods whose process runs, those that end included."""
        return set(self.runner.pods(self.desk.namespace))

    def start(self) -> None:
        """Start the programs, deliver the application, begin to watch.

        Raises:
            DrillError: something does not come up.
        """
        namespace = self.desk.namespace
        with translated():
            self._start_runner()
            self._http = self._held.enter_context(httpx.Client(timeout=5, trust_env=False))
            found = {"files": [str(self.runner.targets)], "refresh_interval": "1s"}
            self._start_programs({"file_sd_configs": [found]})
            took = self.desk.deliver()
            self.context.mark(f"delivered by vela up in {took:.0f} s; its pod is a process that answers")
            self._follow(NAME, (namespace, NAME))
            self._watch("/api/v1/pods", self._pod_seen)
            self._watch_replicas()
            self._sample()
            url = f"http://{self.runner.service(namespace, NAME)}:8000"
            self.clients = Clients(url, NAME, self._clock)
            self._held.callback(self.clients.close)

    def gauges(self, key: Key) -> list[Gauges]:
        """What Prometheus has of each pod of a workload; [] when it does not answer."""
        namespace, _ = key
        query = f'{{__name__=~"{"|".join(_SIGNALS)}",namespace="{namespace}"}}'
        address = f"http://127.0.0.1:{self.place.prometheus_port}/api/v1/query"
        try:
            rows = self._http.get(address, params={"query": query}).json()["data"]["result"]
        except (httpx.HTTPError, ValueError, KeyError):
            return []
        found = by_pod(rows)
        if found:
            self.counted.append((round(self._clock(), 2), float(sum(one.running + one.waiting for one in found))))
        return found

    def check(self) -> None:
        """Raise DrillError when a program has died or the drill is being stopped."""
        super().check()
        if self.runner.process.poll() is not None:
            raise DrillError("the runner of pods ended by itself", self.runner.log[-1000:])

    def _start_runner(self) -> None:
        """Let the hub's pods be processes from now on."""
        kubeconfig = self.desk.plane.clusters[HUB].place.kubeconfig
        more = ("--adopt", "all", "--namespace", self.desk.namespace)
        self.runner = self._held.enter_context(running(kubeconfig, self.context.folder / "pods", *more, env=_PACE))

    def _pod_seen(self, item: Object, there: bool) -> None:
        """Note when a pod is told to go, and what one has of GPUs."""
        meta = item["metadata"]
        if meta["namespace"] != self.desk.namespace or meta.get("labels", {}).get("app.kubernetes.io/name") != NAME:
            return
        limits = item["spec"]["containers"][0].get("resources", {}).get("limits", {})
        self._gpus = max(self._gpus, *(int(limits[name]) for name in limits if name.endswith("/gpu")), 0)
        if "deletionTimestamp" in meta or not there:
            self.told.setdefault(meta["name"], self._clock())


def by_pod(rows: list[dict[str, Any]]) -> list[Gauges]:
    """Gauges of each pod from the result of a query, in the order of their names. Pure."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        labels = row["metric"]
        found.setdefault(labels.get("pod", ""), {})[labels["__name__"]] = float(row["value"][1])
    values = [[found[pod].get(name, 0.0) for name in _SIGNALS] for pod in sorted(found)]
    return [Gauges(int(running), int(waiting), kv) for running, waiting, kv in values]


@contextlib.contextmanager
def opened_ground(context: Context) -> Iterator[Ground]:
    """Start everything; stop and forget it at the end.

    Raises:
        DrillError: it does not come up.
    """
    with opened(context, lambda checkout: intent.single(context, checkout, NAME)) as desk, Ground(desk) as ground:
        yield ground
