"""Our definitions on a real hub."""

from __future__ import annotations

from localplane.components import HUB
from localplane.hub import SYSTEM
from plane.support import APP_API, Desk

KINDS = {
    "component": "ComponentDefinition",
    "trait": "TraitDefinition",
    "workflowstep": "WorkflowStepDefinition",
    "policy": "PolicyDefinition",
}


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
