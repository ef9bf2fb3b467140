"""Our definitions on a real hub: first as an addon where there is nothing of ours, then one by one."""

from __future__ import annotations

from pathlib import Path

from localplane.components import HUB
from localplane.hub import SYSTEM
from plane.checkout import Checkout, copied
from plane.support import APP_API, ROOT, Desk

KINDS = {
    "component": "ComponentDefinition",
    "trait": "TraitDefinition",
    "workflowstep": "WorkflowStepDefinition",
    "policy": "PolicyDefinition",
}


def test_the_addon_installs_on_a_fresh_plane(desk: Desk, tmp_path: Path) -> None:
    """The first test that puts anything of ours on the hub. (A plane that is kept for writing tests is not fresh.)"""
    client = desk.plane.clusters[HUB].client
    for file in desk.definitions():
        client.delete(APP_API, KINDS[file.parent.name], file.stem, SYSTEM)
    desk.until("no revision is left", lambda: not any(desk.revisions(file.stem) for file in desk.definitions()))

    checkout = Checkout(copied(ROOT, tmp_path), desk)
    addon = checkout.folder / "addon"
    assert checkout.sailplan("definitions", "package", str(addon)).code == 0
    desk.vela("addon", "enable", str(addon), "--yes", timeout=300)
    assert "sailplan" in desk.vela("addon", "list")
    for file in desk.definitions():
        desk.until(f"{file.stem} can be pinned", lambda name=file.stem: desk.revisions(name) == [f"{name}-v1.0.0"])
    assert checkout.sailplan("definitions", "publish").out.splitlines()[-1].startswith("nothing to publish")
    desk.vela("addon", "disable", "sailplan", "--yes", timeout=300)
    desk.until("its definitions are gone", lambda: not any(desk.revisions(file.stem) for file in desk.definitions()))
    assert client.find(APP_API, "TraitDefinition", "gpu", SYSTEM) is None


def test_every_definition_is_accepted(published: Desk) -> None:
    client = published.plane.clusters[HUB].client
    for file in published.definitions():
        held = client.get(APP_API, KINDS[file.parent.name], file.stem, SYSTEM)
        assert held["spec"]["version"] == "1.0.0"


def test_each_has_a_revision_that_an_application_can_pin(published: Desk) -> None:
    for file in published.definitions():
        published.until(
            f"{file.stem} has a revision", lambda name=file.stem: published.revisions(name) == [f"{name}-v1.0.0"]
        )


def test_applying_them_again_changes_nothing(published: Desk) -> None:
    client = published.plane.clusters[HUB].client

    def generations() -> dict[str, int]:
        found = [(file, KINDS[file.parent.name]) for file in published.definitions()]
        held = {file.stem: client.get(APP_API, kind, file.stem, SYSTEM) for file, kind in found}
        return {name: one["metadata"]["generation"] for name, one in held.items()}

    before = generations()
    for file in published.definitions():
        published.vela("def", "apply", str(file))
    assert generations() == before
