"""Services: an address each, a balancer a port, and the files that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from .api import Object
from .balancer import Balancer
from .network import Network, backend_port, hosts, selects, targets, tcp, write_in_place, write_whole
from .worker import Worker

Key = tuple[str, str]


class Services:
    """The Services of a cluster.

    Args:
        network: gives addresses.
        state: folder of `hosts`, `hosts.d`, `targets.json` and `services.json`.
        say: tells people.
    """

    def __init__(self, network: Network, state: Path, say: Callable[[str], None]) -> None:
        self._network = network
        self._state = state
        self._say = say
        self._addresses: dict[Key, str] = {}
        self._balancers: dict[tuple[Key, int], Balancer] = {}
        self._namespaces: set[str] = set()
        (state / "hosts.d").mkdir(parents=True, exist_ok=True)

    def hosts(self, namespace: str) -> Path:
        """The hosts file of a namespace's pods; it changes as Services come and go."""
        self._namespaces.add(namespace)
        file = self._state / "hosts.d" / namespace
        write_in_place(file, hosts(self._addresses, namespace))
        return file

    async def update(self, services: Iterable[Object], workers: Iterable[Worker]) -> None:
        """Bring addresses, balancers and files to what there is now."""
        wanted = {_key(one): one for one in services if one["spec"].get("type") != "ExternalName"}
        running = list(workers)
        for key in [key for key in self._addresses if key not in wanted]:
            del self._addresses[key]
        for key in sorted(wanted):
            self._addresses.setdefault(key, self._network.service())
        await self._balance(wanted, running)
        self._write(wanted, running)

    async def _balance(self, wanted: dict[Key, Object], running: list[Worker]) -> None:
        ports = {(key, row["port"]): row for key, one in wanted.items() for row in tcp(one)}
        for gone in [one for one in self._balancers if one not in ports]:
            self._balancers.pop(gone).close()
        for (key, number), row in ports.items():
            made = self._balancers.setdefault((key, number), Balancer(self._addresses[key], number))
            chosen = [one for one in running if one.serving and selects(wanted[key], one.pod)]
            problem = made.problem
            await made.use([(one.address, backend_port(row, one.pod)) for one in chosen])
            if made.problem != problem and made.problem:
                self._say(f"! service {'/'.join(key)}: {made.problem}")

    def _write(self, wanted: dict[Key, Object], running: list[Worker]) -> None:
        write_in_place(self._state / "hosts", hosts(self._addresses))
        for namespace in self._namespaces:
            self.hosts(namespace)
        scraped = [(one.pod, one.address) for one in running if one.facts.started]
        write_whole(self._state / "targets.json", targets(scraped, wanted.values()))
        write_whole(self._state / "services.json", {"/".join(key): address for key, address in self._addresses.items()})

    def close(self) -> None:
        """Close all balancers."""
        for one in self._balancers.values():
            one.close()


def _key(service: Object) -> Key:
    return service["metadata"]["namespace"], service["metadata"]["name"]
