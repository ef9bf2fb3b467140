"""A whole plane: hub, workload clusters, KubeVela; up, status, stop, reset."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from . import crds, pki, platform, ports, process
from .cluster import Cluster
from .components import BASE_PORTS, HUB, HUB_PORTS, Component, Place
from .errors import PlaneError
from .hub import Hub
from .runner import Runner
from .state import State

TOOLS = (
    "kine",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "cluster-gateway",
    "vela-core",
    "vela",
)
"""Programs a plane needs, rows of tools/toolchain/versions.toml."""


class Plane:
    """One local control plane.

    Args:
        name: planes of different names live side by side.
        root: the checkout whose catalog says which clusters and environments there are.
        say: gets a line for people now and then.

    Attributes:
        clusters: by name, the hub under "hub". Empty before the first `up`.
    """

    def __init__(self, name: str, root: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.state = State(name)
        self.root = root
        self._say = say
        self.clusters: dict[str, Cluster] = {}
        self.runner = Runner(self.state, _tool)
        if self.state.exists and self.state.ports:
            self._build(self.state.ports)

    @property
    def folder(self) -> Path:
        """Folder of everything the plane leaves on disk."""
        return self.state.folder

    @property
    def kubeconfig(self) -> Path:
        """File with a context for each cluster; the hub is the current one."""
        return self.folder / "kubeconfig"

    @property
    def hub(self) -> Hub:
        """KubeVela on the hub."""
        return Hub(self.clusters[HUB], self.runner)

    def up(self) -> float:
        """Start what does not run and bring everything to what this checkout says; return the seconds it took.

        When it is interrupted or fails, everything of the plane is stopped again: half a plane helps nobody.

        Raises:
            PlaneError: see the message.
        """
        start = time.monotonic()
        for name in TOOLS:
            _build_tool(name)
        catalog = platform.read(self.root)
        hub_crds, all_crds = crds.ensure(catalog.crds)
        with self.state.locked():
            self.state.create()
            try:
                self._up(catalog, hub_crds, all_crds)
            except BaseException:
                self.runner.close()
                self._stop()
                raise
        return time.monotonic() - start

    def _up(self, catalog: platform.Catalog, hub_crds: list[Any], all_crds: list[Any]) -> None:
        pki.ensure(self.folder / "pki")
        names = [f"{cluster}/{one}" for cluster in catalog.clusters for one in _port_names(cluster)]
        self._build(ports.choose(self.state, names))
        self._write_kubeconfig()
        began = time.monotonic()

        def bring_up(cluster: Cluster) -> None:
            cluster.start()
            cluster.install(catalog, all_crds)
            self._say(f"{cluster.name}: up after {time.monotonic() - began:.0f} s")

        def bring_up_hub() -> None:
            cluster = self.clusters[HUB]
            cluster.start()
            self.hub.install(hub_crds)
            cluster.install(catalog, all_crds)
            self._say(f"hub: up with KubeVela after {time.monotonic() - began:.0f} s")

        others = [one for one in self.clusters.values() if one.name != HUB]
        with _pool(len(self.clusters), self._interrupted) as pool:
            tasks = [pool.submit(bring_up_hub), *(pool.submit(bring_up, one) for one in others)]
            for task in tasks:
                task.result()
        for one in others:
            self.hub.join(one)
        for one in self.clusters.values():
            one.wait_for_nodes(self._say)
        for component in self.components():
            self.runner.alive(component.name)

    def _interrupted(self) -> None:
        """Make threads that wait for a process or a server give up."""
        self.runner.close()
        for cluster in self.clusters.values():
            cluster.client.close()
        self._stop()

    def stop(self) -> list[str]:
        """Stop all processes; return those that had to be killed. What the plane holds stays on disk."""
        if not self.state.exists:
            return []
        with self.state.locked():
            return self._stop()

    def _stop(self) -> list[str]:
        """Stop everything else first, then API servers, then their stores: an API server without one hangs.

        ^C on the way means that somebody does not want to wait: everything is killed.
        """
        held = list(self.state.processes)
        stubborn: list[str] = []
        servers = [name for name in held if name.endswith("/kube-apiserver")]
        stores = [name for name in held if name.endswith("/kine")]
        try:
            for group in ([name for name in held if name not in servers + stores], servers, stores):
                stubborn += self.runner.stop(group)
        except KeyboardInterrupt:
            self.runner.kill(held)
            raise
        return stubborn

    def reset(self) -> None:
        """Stop all processes and forget everything."""
        if not self.state.exists:
            return
        with self.state.locked():
            self._stop()
            self.state.remove()

    def components(self) -> list[Component]:
        """Return all components, in the order in which they start."""
        found = [one for cluster in self.clusters.values() for one in cluster.components]
        return found + self.hub.components if self.clusters else found

    def component(self, name: str) -> Component:
        """Return a component by its name, or by its program's name where only one cluster has it.

        Raises:
            PlaneError: there is none, or there are several.
        """
        everything = self.components()
        found = [one for one in everything if name in (one.name, one.name.partition("/")[2])]
        if len(found) == 1:
            return found[0]
        names = ", ".join(one.name for one in (found or everything))
        raise PlaneError(f"{'several' if found else 'no'} components are called {name!r}", f"one of: {names}")

    def start_component(self, name: str) -> None:
        """Start one component and wait until it works."""
        self.runner.start(self.component(name))

    def stop_cluster(self, name: str) -> None:
        """Stop all processes of one cluster, as if its network were gone."""
        names = [one.name for one in self.components() if one.name.startswith(f"{name}/")]
        rest = [one for one in names if not one.endswith(("/kube-apiserver", "/kine"))]
        for group in (rest, [f"{name}/kube-apiserver"], [f"{name}/kine"]):
            self.runner.stop(group)

    def start_cluster(self, name: str) -> None:
        """Start all processes of one cluster again."""
        for component in self.components():
            if component.name.startswith(f"{name}/"):
                self.runner.start(component)

    def memory(self) -> int:
        """Return the bytes that all processes of the plane take together."""
        return sum(process.memory(one) for one in self.state.processes.values() if process.alive(one))

    def _build(self, chosen: dict[str, int]) -> None:
        """Make the clusters from their ports."""
        token = self.state.token
        for name in dict.fromkeys(key.partition("/")[0] for key in chosen):
            own = {key.partition("/")[2]: port for key, port in chosen.items() if key.startswith(f"{name}/")}
            place = Place(name, self.folder / name, self.folder / "pki", own)
            self.clusters[name] = Cluster(place, token, self.runner)

    def _write_kubeconfig(self) -> None:
        """Write one kubeconfig for people, with a context for each cluster."""
        whole: dict[str, Any] = copy.deepcopy(self.clusters[HUB].kubeconfig())
        for cluster in self.clusters.values():
            if cluster.name != HUB:
                own = cluster.kubeconfig()
                whole["clusters"] += own["clusters"]
                whole["contexts"] += own["contexts"]
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(yaml.safe_dump(whole, sort_keys=False), encoding="utf-8")


@contextlib.contextmanager
def _pool(size: int, interrupted: Callable[[], None]) -> Iterator[ThreadPoolExecutor]:
    """Run threads; when one fails or the person presses ^C, `interrupted` makes the others end soon."""
    pool = ThreadPoolExecutor(max_workers=size)
    try:
        yield pool
    except BaseException:
        interrupted()
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown()


def _port_names(cluster: str) -> tuple[str, ...]:
    return BASE_PORTS + HUB_PORTS if cluster == HUB else BASE_PORTS


def _tool(name: str) -> Path:
    from toolchain import find

    return find(name)


def _build_tool(name: str) -> Path:
    from toolchain import ensure

    return ensure(name)
