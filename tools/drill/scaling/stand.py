"""What every drill of scaling stands on: Prometheus and KEDA beside a hub, and workloads that are watched there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Any, Self

from drill.desk import Desk, translated
from drill.errors import DrillError
from drill.scaling import intent, keys, programs
from drill.scaling.load import Gauges, Load
from drill.scaling.track import Track
from drill.scaling.triggers import Triggers
from drill.scaling.watch import Object, Seen, Watch
from localplane import pki, ports, wait
from localplane.components import HUB, Component
from localplane.kube import condition

Key = tuple[str, str]
"""Namespace and name of a workload."""

SCALED = ("keda.sh/v1alpha1", "ScaledObject")
_EVERY = 0.5


class Stand:
    """Programs, watches and tracks beside one desk, started and stopped by `with`.

    Who derives from it says which pods report what.

    Args:
        desk: whose hub is up.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.context = desk.context
        self.place = _place(desk)
        self.tracks: dict[str, Track] = {}
        self.stopped = threading.Event()
        self._keys: dict[str, Key] = {}
        self._held = contextlib.ExitStack()
        self._programs: list[Component] = []

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything, deliver, and begin to watch.

        Raises:
            DrillError: something does not come up.
        """
        raise NotImplementedError

    def gauges(self, key: Key) -> list[Gauges]:
        """What the pods of a workload report now; [] when none serves."""
        raise NotImplementedError

    def put(self, key: Key, load: Load) -> None:
        """Put a workload under a load that is played, from now on."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop what runs in this process; the plane stops the programs."""
        self.stopped.set()
        self._held.close()

    def track(self, case: str) -> Track:
        """Return the workload that a case drives."""
        return self.tracks[case]

    def blind(self, case: str) -> bool:
        """Tell whether KEDA says that a case's workload runs on its fallback."""
        namespace, name = self._keys[case]
        with translated():
            return condition(self.desk.client.get(*SCALED, name, namespace), "Fallback") == "True"

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

    def _start_programs(self, discovery: Mapping[str, Any], *objects: Object) -> None:
        """Start Prometheus, which finds pods by `discovery`, and KEDA; give the hub these objects first."""
        plane, hub = self.desk.plane, self.desk.plane.clusters[HUB]
        self.place.folder.mkdir()
        keys.make(self.place.keys)
        (self.place.folder / "prometheus.yml").write_text(self.place.prometheus_config(discovery), encoding="utf-8")
        # The plane pretends to be KEDA otherwise.
        hub.simulation.answer("ScaledObject", on=False)
        hub.install_crds(programs.crds())
        for item in (*self.place.objects(), *objects):
            hub.apply(item)
        self._programs = [self.place.prometheus(), self.place.operator(), self.place.adapter()]
        for component in self._programs:
            plane.runner.start(component, wait=False)
        for component in self._programs:
            plane.runner.wait(component)
        wait("KEDA's API is available", self._api_available, 120)
        self.context.mark("Prometheus and KEDA work")

    def _api_available(self) -> bool:
        item = self.desk.client.get("apiregistration.k8s.io/v1", "APIService", programs.API)
        return condition(item, "Available") == "True"

    def _follow(self, case: str, key: Key, triggers: Triggers | None = None) -> None:
        """Make a track for a case's workload; its triggers are its ScaledObject's unless others are given."""
        if triggers is None:
            triggers = Triggers.of(self.desk.client.get(*SCALED, key[1], key[0]))
        self._keys[case] = key
        self.tracks[case] = Track(case, triggers, lambda load: self.put(key, load), self._clock, self.check)

    def _clock(self) -> float:
        return self.context.seconds

    def _watch(self, path: str, seen: Seen) -> None:
        plane = self.desk.plane
        watch = Watch(self.desk.client.server, plane.folder / "pki" / pki.CA, plane.state.token, path, seen)
        watch.start()
        self._held.callback(watch.stop)

    def _watch_replicas(self) -> None:
        """Tell the tracks of their replicas, from now on."""
        self._watch("/apis/apps/v1/deployments", self._seen)

    def _seen(self, item: Object, there: bool) -> None:
        key = (item["metadata"]["namespace"], item["metadata"]["name"])
        for case, own in self._keys.items():
            if own == key and there:
                self.tracks[case].seen(item["spec"]["replicas"], item.get("status", {}).get("readyReplicas", 0))

    def _sample(self) -> None:
        """Note the signals twice a second, in a thread."""

        def run() -> None:
            while not self.stopped.wait(_EVERY):
                for case, key in self._keys.items():
                    self.tracks[case].sample(self.gauges(key))

        thread = threading.Thread(target=run, name="signals", daemon=True)
        thread.start()
        self._held.callback(thread.join)
        self._held.callback(self.stopped.set)


def _place(desk: Desk) -> programs.Place:
    plane = desk.plane
    names = [f"{HUB}/{name}" for name in programs.PORTS]
    chosen = ports.choose(plane.state, [*plane.state.ports, *names])
    own = {name.partition("/")[2]: chosen[name] for name in names}
    kubeconfig = plane.clusters[HUB].place.kubeconfig
    return programs.Place(plane.folder / "scaling", kubeconfig, own, intent.prometheus_port(desk.checkout))
