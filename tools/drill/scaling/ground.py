"""Everything that the cases need, started and stopped: a hub, KEDA, Prometheus, delivered workloads, their pods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from drill.context import ENVIRONMENT, Context
from drill.desk import Desk, opened, translated
from drill.scaling import intent, programs, reference
from drill.scaling.fleet import Fleet, Server
from drill.scaling.load import Gauges, Load
from drill.scaling.stand import SCALED, Key, Stand
from localplane import wait


class Ground(Stand):
    """What the cases stand on. Use `opened_ground`."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.fleet = Fleet()

    @property
    def namespaces(self) -> dict[str, str]:
        """Namespace of each environment."""
        checkout = self.desk.checkout
        return {name: intent.namespace_of(checkout, name) for name in (ENVIRONMENT, intent.WIDE)}

    def gauges(self, key: Key) -> list[Gauges]:
        """What is played for the pods of a workload."""
        return self.fleet.gauges(key)

    def put(self, key: Key, load: Load) -> None:
        """Play another load from now on."""
        self.fleet.put(key, load)

    def start(self) -> None:
        """Start the programs, deliver the applications, and begin to watch.

        Raises:
            DrillError: something does not come up.
        """
        with translated():
            server = Server(self.fleet, self.place.ports["metrics-of-pods"])
            self._held.callback(server.stop)
            self._start_programs(self.place.found_by_http(), self._node())
            self._watch("/api/v1/pods", self.fleet.seen)
            self._deliver()
            self._add_reference()
            self._follow_all()
            self._watch_replicas()
            self._sample()
            wait("every workload has its pod", self._all_serve, 120)

    def hide(self, case: str, hidden: bool = True) -> None:
        """Let the metrics of a case's workload vanish, or come back."""
        self.fleet.hide(self._keys[case], hidden)

    def _node(self) -> dict[str, Any]:
        """Make a node with room for all replicas of all cases."""
        nodes = self.desk.client.list("v1", "Node")
        return programs.node(next(one for one in nodes if programs.gpus(one)))

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
        client.apply(reference.scaled_object(client.get(*SCALED, intent.LOOP, namespace)))

    def _follow_all(self) -> None:
        """Make a track for each case's workload."""
        here, wide = self.namespaces[ENVIRONMENT], self.namespaces[intent.WIDE]
        for name in (*intent.ALONE, intent.EDGE):
            self._follow(name, (here, name))
        self._follow(intent.LOOP, (wide, intent.LOOP))
        self._follow("twin", (here, intent.LOOP))
        self._follow(reference.NAME, (wide, reference.NAME), self.tracks[intent.LOOP].triggers)

    def _all_serve(self) -> bool:
        self.check()
        return all(self.gauges(key) for key in self._keys.values())


@contextlib.contextmanager
def opened_ground(context: Context) -> Iterator[Ground]:
    """Start everything; stop and forget it at the end.

    Raises:
        DrillError: it does not come up.
    """
    with opened(context, lambda checkout: intent.prepare(context, checkout)) as desk, Ground(desk) as ground:
        yield ground
