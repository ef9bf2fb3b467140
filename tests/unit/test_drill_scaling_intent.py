"""What the drill of scaling makes of an application, before anything is started."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from drill.checkout import Checkout
from drill.context import Context
from drill.scaling import intent
from sailplan.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


def prepared(folder: Path, component: str = "") -> tuple[Context, Checkout]:
    context = Context(ROOT, folder, component=component)
    checkout = Checkout(context)
    intent.prepare(context, checkout)
    return context, checkout


def test_the_component_with_most_room_is_copied_for_each_case(tmp_path: Path) -> None:
    _, checkout = prepared(tmp_path)
    made = checkout.composed().application["spec"]["components"]
    *models, edge = made
    assert [one["name"] for one in models] == list(intent.ALONE)
    assert {one["traits"][-1]["type"] for one in models} == {intent.TRAIT}
    assert len({str(one["properties"]) for one in models}) == 1
    assert (edge["name"], edge["traits"][-1]["type"]) == (intent.EDGE, intent.EDGE_TRAIT)
    assert [path.name for path in (checkout.folder / "applications").iterdir()] == ["scaling"]
    original = ROOT / "catalog/environments/drill.yaml"
    overrides = checkout.environment["overrides"]["traits"][intent.TRAIT]
    assert f"scaleDownStabilizationSeconds: {overrides['scaleDownStabilizationSeconds']}" in original.read_text()


def test_a_twin_lives_in_two_environments(tmp_path: Path) -> None:
    context, checkout = prepared(tmp_path)
    pair = intent.pair(intent.apart(context, "pair"), checkout)
    application = pair.composed().application
    assert [one["name"] for one in application["spec"]["components"]] == [intent.LOOP]
    places = {one["properties"]["namespace"] for one in application["spec"]["policies"] if one["type"] == "topology"}
    assert places == {intent.namespace_of(checkout, name) for name in ("drill", intent.WIDE)}
    (wide,) = (one for one in application["spec"]["policies"] if one["name"] == f"override-{intent.WIDE}")
    traits = {one["type"]: one["properties"] for one in wide["properties"]["components"][0]["traits"]}
    assert traits[intent.TRAIT]["maxReplicas"] == intent.ROOM
    assert checkout.app == "scaling"


def test_a_component_without_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="xplane-qwen-coder-fim has no room to scale"):
        prepared(tmp_path, "xplane-qwen-coder-fim")


def test_where_the_port_of_prometheus_is_taken_another_is_written_into_the_copy(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    wanted = Checkout(Context(ROOT, tmp_path / "plain"))
    port = intent.prometheus_port(wanted)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", port))
        except OSError:
            other.bind(("127.0.0.1", 0))  # a drill of somebody else has it: taken all the same
        other.listen()
        (tmp_path / "taken").mkdir()
        _, checkout = prepared(tmp_path / "taken")
    assert intent.prometheus_port(checkout) != port
