"""Everything that the cases need, started and stopped: a hub, KEDA, Prometheus, delivered workloads, their pods."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from drill.context import ENVIRONMENT, Context
from drill.desk import Desk, opened, translated
from drill.errors import DrillError
from drill.scaling import intent, keys, programs, reference
from drill.scaling.fleet import Fleet, Key, Server
from drill.scaling.track import Track
from drill.scaling.triggers import Triggers
from drill.scaling.watch import Seen, Watch
from localplane import pki, ports, wait
from localplane.components import HUB, Component
from localplane.kube import condition

_SCALED = ("keda.sh/v1alpha1", "ScaledObject")
_EVERY = 0.5


class Ground:
    """What the cases stand on. Use `opened_ground`."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.context = desk.context
        self.fleet = Fleet()
        self.tracks: dict[str, Track] = {}
        self.stopped = threading.Event()
        self._keys: dict[str, Key] = {}
        self._held = contextlib.ExitStack()
        self._programs: list[Component] = []

    @property
    def namespaces(self) -> dict[str, str]:
        """Namespace of each environment."""
        checkout = self.desk.checkout
        return {name: intent.namespace_of(checkout, name) for name in (ENVIRONMENT, intent.WIDE)}

    def start(self) -> None:
        """Start the programs, deliver the applications, and begin to watch.

        Raises:
            DrillError: something does not come up.
        """
        with translated():
            self._start_programs()
            self._watch("/api/v1/pods", self.fleet.seen)
            self._deliver()
            self._add_reference()
            self._follow()
            self._watch("/apis/apps/v1/deployments", self._seen)
            self._sample()
            wait("every workload has its pod", self._all_serve, 120)

    def stop(self) -> None:
        """Stop what runs in this process; the plane stops the programs."""
        self.stopped.set()
        self._held.close()

    def track(self, case: str) -> Track:
        """Return the workload that a case drives."""
        return self.tracks[case]

    def hide(self, case: str, hidden: bool = True) -> None:
        """Let the metrics of a case's workload vanish, or come back."""
        self.fleet.hide(self._keys[case], hidden)

    def blind(self, case: str) -> bool:
        """Tell whether KEDA says that a case's workload runs on its fallback."""
        namespace, name = self._keys[case]
        with translated():
            return condition(self.desk.client.get(*_SCALED, name, namespace), "Fallback") == "True"

    def sighted(self, case: str) -> bool:
        """Tell whether KEDA sees the metrics of a case's workload."""
        return not self.blind(case)

    def crash_prometheus(self) -> None:
        """Kill Prometheus without warning."""
        self._programs = [one for one in self._programs if one.name != programs.PROMETHEUS]
        self.desk.plane.runner.crash(programs.PROMETHEUS)

    def restart_prometheus(self) -> None:
        """Start Prometheus again, and wait until it works."""
        component = self.place.prometheus()
        with translated():
            self.desk.plane.runner.start(component)
        self._programs.append(component)

    def check(self) -> None:
        """Raise DrillError when a program has died or the drill is being stopped."""
        if self.stopped.is_set():
            raise DrillError("the drill is being stopped")
        with translated():
            for component in self._programs:
                self.desk.plane.runner.alive(component.name)

    def _start_programs(self) -> None:
        plane, hub = self.desk.plane, self.desk.plane.clusters[HUB]
        self.place = self._choose_place()
        self.place.folder.mkdir()
        keys.make(self.place.keys)
        (self.place.folder / "prometheus.yml").write_text(self.place.prometheus_config(), encoding="utf-8")
        server = Server(self.fleet, self.place.ports["metrics-of-pods"])
        self._held.callback(server.stop)
        # The plane pretends to be KEDA otherwise.
        hub.simulation.answer("ScaledObject", on=False)
        hub.install_crds(programs.crds())
        for item in (*self.place.objects(), self._node()):
            hub.apply(item)
        self._programs = [self.place.prometheus(), self.place.operator(), self.place.adapter()]
        for component in self._programs:
            plane.runner.start(component, wait=False)
        for component in self._programs:
            plane.runner.wait(component)
        wait("KEDA's API is available", self._api_available, 120)
        self.context.mark("Prometheus and KEDA work")

    def _choose_place(self) -> programs.Place:
        plane = self.desk.plane
        names = [f"{HUB}/{name}" for name in programs.PORTS]
        chosen = ports.choose(plane.state, [*plane.state.ports, *names])
        own = {name.partition("/")[2]: chosen[name] for name in names}
        kubeconfig = plane.clusters[HUB].place.kubeconfig
        return programs.Place(plane.folder / "scaling", kubeconfig, own, intent.prometheus_port(self.desk.checkout))

    def _node(self) -> dict[str, Any]:
        """Make a node with room for all replicas of all cases."""
        nodes = self.desk.client.list("v1", "Node")
        return programs.node(next(one for one in nodes if programs.gpus(one)))

    def _api_available(self) -> bool:
        item = self.desk.client.get("apiregistration.k8s.io/v1", "APIService", programs.API)
        return condition(item, "Available") == "True"

    def _deliver(self) -> None:
        """Deliver both applications at once."""
        other = intent.apart(self.context, "pair")
        pair = Desk(other, self.desk.plane, intent.pair(other, self.desk.checkout))
        with ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(one.deliver) for one in (self.desk, pair)]
            try:
                while futures.wait(tasks, timeout=1, return_when=futures.FIRST_EXCEPTION).not_done:
                    self._raise_first(tasks)
                self._raise_first(tasks)
            except BaseException:
                self.desk.client.close()  # so that what the threads wait for will not come any more
                raise
        self.context.mark("both applications are delivered by vela up")

    def _raise_first(self, tasks: list[futures.Future[float]]) -> None:
        """Raise what has gone wrong with a delivery or a program."""
        for task in tasks:
            if task.done():
                task.result()
        self.check()

    def _add_reference(self) -> None:
        client, namespace = self.desk.client, self.namespaces[intent.WIDE]
        ours = client.get("apps/v1", "Deployment", intent.LOOP, namespace)
        client.apply(reference.deployment(ours))
        client.apply(reference.scaled_object(client.get(*_SCALED, intent.LOOP, namespace)))

    def _follow(self) -> None:
        """Make a track for each case's workload."""
        here, wide = self.namespaces[ENVIRONMENT], self.namespaces[intent.WIDE]
        self._keys = {name: (here, name) for name in intent.ALONE}
        self._keys |= {intent.LOOP: (wide, intent.LOOP), "twin": (here, intent.LOOP)}
        self._keys |= {reference.NAME: (wide, reference.NAME)}
        for case, key in self._keys.items():
            self.tracks[case] = Track(case, self._triggers(case, key), self._putter(key), self._clock, self.check)

    def _triggers(self, case: str, key: Key) -> Triggers:
        ours = (key[0], intent.LOOP) if case == reference.NAME else key
        return Triggers.of(self.desk.client.get(*_SCALED, ours[1], ours[0]))

    def _putter(self, key: Key) -> Any:
        return lambda load: self.fleet.put(key, load)

    def _clock(self) -> float:
        return self.context.seconds

    def _watch(self, path: str, seen: Seen) -> None:
        plane = self.desk.plane
        watch = Watch(self.desk.client.server, plane.folder / "pki" / pki.CA, plane.state.token, path, seen)
        watch.start()
        self._held.callback(watch.stop)

    def _seen(self, item: dict[str, Any], there: bool) -> None:
        key = (item["metadata"]["namespace"], item["metadata"]["name"])
        for case, own in self._keys.items():
            if own == key and there:
                self.tracks[case].seen(item["spec"]["replicas"], item.get("status", {}).get("readyReplicas", 0))

    def _sample(self) -> None:
        """Note the signals twice a second, in a thread."""

        def run() -> None:
            while not self.stopped.wait(_EVERY):
                for case, key in self._keys.items():
                    self.tracks[case].sample(self.fleet.gauges(key))

        thread = threading.Thread(target=run, name="signals", daemon=True)
        thread.start()
        self._held.callback(thread.join)
        self._held.callback(self.stopped.set)

    def _all_serve(self) -> bool:
        self.check()
        return all(self.fleet.gauges(key) for key in self._keys.values())


@contextlib.contextmanager
def opened_ground(context: Context) -> Iterator[Ground]:
    """Start everything; stop and forget it at the end.

    Raises:
        DrillError: it does not come up.
    """
    with opened(context, lambda checkout: intent.prepare(context, checkout)) as desk:
        ground = Ground(desk)
        try:
            ground.start()
            yield ground
        finally:
            ground.stop()
