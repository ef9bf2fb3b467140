"""Balancers, hosts files, targets, probes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from podrunner import network, probes
from podrunner.balancer import Balancer
from podrunner.errors import RunnerError
from podrunner.network import Network
from podrunner.probes import Probe

LIMIT = 60.0
HOST = "127.45.0.1"


def port_of(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


@contextlib.asynccontextmanager
async def server(name: str) -> AsyncIterator[tuple[str, int]]:
    """Says its name, then echoes."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name.encode())
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    made = await asyncio.start_server(talk, HOST, 0)
    try:
        yield HOST, made.sockets[0].getsockname()[1]
    finally:
        made.close()


async def greeting(balancer: Balancer) -> tuple[str, asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(balancer.host, balancer.port)
    return (await asyncio.wait_for(reader.readexactly(1), LIMIT)).decode(), reader, writer


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), LIMIT * 2)

    asyncio.run(bounded())


def test_connections_are_spread_and_those_that_run_stay() -> None:
    async def test() -> None:
        balancer = Balancer("127.45.0.2", port_of("127.45.0.2"))
        async with server("a") as first, server("b") as second:
            await balancer.use([first, second])
            open_ = [await greeting(balancer) for _ in range(10)]
            assert Counter(name for name, _, _ in open_) == {"a": 5, "b": 5}
            await balancer.use([first])
            assert [(await greeting(balancer))[0] for _ in range(3)] == ["a"] * 3
            _, reader, writer = next(one for one in open_ if one[0] == "b")
            writer.write(b"still here")
            assert await asyncio.wait_for(reader.readexactly(10), LIMIT) == b"still here"
            balancer.close()
            assert await asyncio.wait_for(reader.read(1), LIMIT) == b""

    run(test)


def test_connections_that_ended_count_no_more() -> None:
    """The pod with the fewest that are open gets the next ones."""

    async def test() -> None:
        balancer = Balancer("127.45.0.7", port_of("127.45.0.7"))
        async with server("a") as first, server("b") as second:
            await balancer.use([first, second])
            open_ = [await greeting(balancer) for _ in range(6)]
            for name, _, writer in open_:
                if name == "a":
                    writer.close()

            async def closed() -> None:
                while balancer.connections != 3:
                    await asyncio.sleep(0.01)

            await asyncio.wait_for(closed(), LIMIT)
            assert [(await greeting(balancer))[0] for _ in range(3)] == ["a"] * 3
        balancer.close()

    run(test)


def test_without_a_ready_pod_connections_are_refused() -> None:
    async def test() -> None:
        balancer = Balancer("127.45.0.3", port_of("127.45.0.3"))
        async with server("a") as first:
            await balancer.use([first])
            await greeting(balancer)
            await balancer.use([])
            with pytest.raises(ConnectionRefusedError):
                await greeting(balancer)
            await balancer.use([first])
            assert (await greeting(balancer))[0] == "a"
        balancer.close()

    run(test)


def test_much_data_passes_whole_both_ways_and_a_half_close_too() -> None:
    async def test() -> None:
        balancer = Balancer("127.45.0.4", port_of("127.45.0.4"))
        async with server("a") as first:
            await balancer.use([first])
            _, reader, writer = await greeting(balancer)
            data = bytes(range(256)) * 40_000

            async def send() -> None:
                writer.write(data)
                await writer.drain()
                writer.write_eof()

            sending = asyncio.create_task(send())
            assert await asyncio.wait_for(reader.read(-1), LIMIT) == data
            await sending
        balancer.close()

    run(test)


def test_a_backend_that_is_gone_ends_the_connection() -> None:
    async def test() -> None:
        balancer = Balancer("127.45.0.5", port_of("127.45.0.5"))
        await balancer.use([(HOST, port_of(HOST))])
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await greeting(balancer)
        balancer.close()

    run(test)


def test_a_port_that_is_taken_is_said() -> None:
    async def test() -> None:
        with socket.create_server(("127.45.0.6", 0)) as taken:
            balancer = Balancer("127.45.0.6", taken.getsockname()[1])
            await balancer.use([(HOST, 1)])
            assert "cannot listen" in balancer.problem

    run(test)


def test_networks_do_not_collide(tmp_path: Path) -> None:
    first, second = Network(tmp_path), Network(tmp_path)
    try:
        assert first.number != second.number
        given = [first.pod() for _ in range(600)] + [first.service() for _ in range(300)]
        assert len(set(given)) == 900
        assert all(one.startswith(f"127.{first.number}.") for one in given)
    finally:
        first.close()
        second.close()


def test_hosts_files() -> None:
    services = {("a", "chat"): "127.9.200.1", ("b", "chat"): "127.9.200.2", ("b", "edge"): "127.9.200.3"}
    lines = network.hosts(services, "b").splitlines()
    assert "127.9.200.1 chat.a.svc.cluster.local chat.a.svc chat.a" in lines
    assert "127.9.200.2 chat.b.svc.cluster.local chat.b.svc chat.b chat" in lines
    whole = network.hosts(services).splitlines()
    assert "127.9.200.2 chat.b.svc.cluster.local chat.b.svc chat.b" in whole
    assert "127.9.200.3 edge.b.svc.cluster.local edge.b.svc edge.b edge" in whole


def test_targets() -> None:
    pod = {
        "metadata": {"name": "p", "namespace": "n", "labels": {"app": "x", "more": "y"}},
        "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8000}]}]},
    }
    services = [
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": selector, "ports": [{"name": "web", "port": 80, "targetPort": target}]},
        }
        for name, namespace, selector, target in (
            ("yes", "n", {"app": "x"}, "http"),
            ("number", "n", {"app": "x"}, 9000),
            ("other", "n", {"app": "z"}, "http"),
            ("elsewhere", "m", {"app": "x"}, "http"),
            ("all", "n", {}, "http"),
        )
    ]
    found = network.targets([(pod, "127.9.0.1")], services)
    assert {(one["labels"]["service"], one["targets"][0]) for one in found} == {
        ("yes", "127.9.0.1:8000"),
        ("number", "127.9.0.1:9000"),
    }
    assert found[0]["labels"]["endpoint"] == "web"


def test_a_file_is_changed_in_place(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    for text in ("one\ntwo\n", "one\n", "one\nthree\nfour\n"):
        network.write_in_place(file, text)
        inode = file.stat().st_ino
        assert file.read_text() == text
    network.write_in_place(file, "x")
    assert file.stat().st_ino == inode


def probe(answers: list[bool], period: float, failures: int) -> Probe:
    async def check() -> bool:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    return Probe(check, 0, period, failures)


def test_probes_wait_for_success_and_for_failures_in_a_row() -> None:
    async def test() -> None:
        assert await probe([False, False, True], 0.01, 1000).succeed()
        assert not await probe([False], 0.01, 2).succeed()
        mixed = [True, False, False, True, False, False, False, True]
        await probe(mixed, 0.01, 3).fail()
        assert mixed == [True]

    run(test)


def test_kinds_of_probes() -> None:
    container: dict[str, Any] = {"ports": [{"name": "http", "containerPort": 0}]}
    ran: list[list[str]] = []

    async def command(words: list[str], _: float) -> int:
        ran.append(words)
        return 1 if words == ["false"] else 0

    async def test() -> None:
        async with server("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n") as (host, number):
            container["ports"][0]["containerPort"] = number
            rows = {
                "get": {"httpGet": {"path": "/", "port": "http"}},
                "tcp": {"tcpSocket": {"port": number}},
                "gone": {"tcpSocket": {"port": port_of(HOST)}},
                "nameless": {"httpGet": {"port": "none"}},
                "true": {"exec": {"command": ["true"]}},
                "false": {"exec": {"command": ["false"]}},
            }
            for name, row in rows.items():
                found = probes.read({**container, "x": {**row, "timeoutSeconds": 30}}, "x", host, command)
                assert found is not None
                assert await found.check() == (name in ("get", "tcp", "true")), name
        assert probes.read(container, "x", HOST, command) is None
        assert ran == [["true"], ["false"]]

    run(test)


def test_a_runner_needs_a_kubeconfig_that_works(tmp_path: Path) -> None:
    from podrunner.api import Client

    broken = tmp_path / "kubeconfig"
    broken.write_text("current-context: x\n")
    for file in (broken, tmp_path / "none"):
        with pytest.raises(RunnerError):
            Client(file)
