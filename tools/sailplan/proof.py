"""Proof that new versions of definitions may be published: nothing narrowed, and every Application still renders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sailplan import compatible, published, written
from sailplan.model import Catalog, Composition, Finding
from sailplan.publish import Change, finding, wanted
from sailplan.published import Published, parsed, version
from sailplan.toolbox.kube import Cluster


def narrowed(change: Change) -> list[Finding]:
    """Findings for parameters that would no longer be taken. Components are pinned, so theirs may change."""
    if change.kind == "ComponentDefinition" or change.held.live is None:
        return []
    fix = f"give it back, or publish it under a new name: {change.name}-v{parsed(version(change.wanted))[0] + 1}"
    return [
        finding(change.file, "SP705", f"Applications that follow the hub's {change.name} may break: {line}", fix)
        for line in compatible.narrowed(change.held.live, change.wanted)
    ]


def effects(catalog: Catalog, changes: Iterable[Change], hub: Cluster) -> list[compatible.Effect]:
    """What new versions of traits change in the Applications that are committed in the repository.

    Components are pinned, so they change nothing; a trait that is new changes nothing either.

    Raises:
        ClusterError: the hub does not answer.
        ToolError: vela is missing.
    """
    moved = {
        change.name: change for change in changes if change.kind == "TraitDefinition" and change.action == "update"
    }
    if not moved:
        return []
    applications = [made for app in catalog.apps.values() if (made := written.committed(catalog, app))]
    here = {name: definition for name, (_, definition) in wanted(catalog).items()}
    held = {name: published.read(hub, one["kind"], name) for name, one in here.items()}
    found: list[compatible.Effect] = []
    for made in applications:
        if any(moved.keys() & part.traits.keys() for part in made.components):
            old = in_force(made, here, held)
            new = {**old, **{name: change.wanted for name, change in moved.items()}}
            found += compatible.effects([(made, written.environments(made.application))], old, new)
    return found


def broken(effects: Iterable[compatible.Effect], changes: Sequence[Change]) -> list[Finding]:
    """A finding for every value of an Application that would no longer be taken."""
    files = [change.file for change in changes if change.kind == "TraitDefinition" and change.writes]
    file = files[0] if len(files) == 1 else "definitions/trait"
    fix = "keep what it took, or publish it under a new name"
    return [
        finding(file, "SP706", f"{effect.app} would no longer render in {effect.environment}: {line}", fix)
        for effect in effects
        for line in effect.refusals
    ]


def in_force(
    made: Composition, here: Mapping[str, Mapping[str, Any]], held: Mapping[str, Published]
) -> dict[str, Mapping[str, Any]]:
    """The definitions that an Application gets from a hub: its pins for components, the live ones for traits.

    Args:
        made: the Application.
        here: definitions of the checkout, which stand in for what the hub does not have yet.
        held: what the hub has.
    """
    found = {name: held[name].live or one for name, one in here.items()}
    pins = written.pinned(made.application)
    return {**found, **{name: held[name].versions.get(pin, here[name]) for name, pin in pins.items()}}
