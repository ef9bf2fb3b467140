"""What a hub holds of our definitions: those in force, and every version that was published."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sailplan.toolbox.kube import Cluster, Object

API = "core.oam.dev/v1beta1"
SYSTEM = "vela-system"
"""Namespace of definitions that every Application may use."""

KINDS = {
    "ComponentDefinition": "componentDefinition",
    "TraitDefinition": "traitDefinition",
    "WorkflowStepDefinition": "workflowStepDefinition",
    "PolicyDefinition": "policyDefinition",
}
"""Kinds of definitions, and where a DefinitionRevision keeps its copy of one."""

_LABELS = {
    "ComponentDefinition": "componentdefinition.oam.dev/name",
    "TraitDefinition": "trait.oam.dev/name",
    "WorkflowStepDefinition": "workflowstepdefinition.oam.dev/name",
    "PolicyDefinition": "policydefinition.oam.dev/name",
}
"""Label of a DefinitionRevision that says whose it is."""

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)\Z")


@dataclass(frozen=True, slots=True)
class Published:
    """One definition on a hub.

    Attributes:
        live: the object that unpinned types use; None when the hub has none of this name.
        versions: every published version -> the definition as it was then.
    """

    live: Object | None
    versions: Mapping[str, Object] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Version of the live one; "" when there is none, or it says none."""
        return version(self.live) if self.live else ""

    @property
    def newest(self) -> str:
        """The highest version that was ever published; "" for none."""
        known = [one for one in {*self.versions, self.version} if parsed(one)]
        return max(known, key=parsed, default="")


def read(hub: Cluster, kind: str, name: str) -> Published:
    """What the hub holds of one definition.

    Raises:
        ClusterError: the hub does not answer, or refuses.
    """
    live = hub.find(API, kind, name, SYSTEM)
    revisions = hub.list(API, "DefinitionRevision", SYSTEM, f"{_LABELS[kind]}={name}")
    copies = [one["spec"][KINDS[kind]] for one in revisions]
    return Published(live, {version(one): one for one in copies if version(one)})


def version(definition: Mapping[str, Any]) -> str:
    """Version that a definition says of itself; "" for none."""
    return str(definition.get("spec", {}).get("version") or "")


def parsed(text: str) -> tuple[int, ...]:
    """A version as numbers that compare; () when it is not MAJOR.MINOR.PATCH."""
    found = _VERSION.match(text)
    return tuple(map(int, found.groups())) if found else ()


def content(definition: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared of a definition: what we write into it, without what API servers add or leave out.

    A hub drops empty fields from a definition and adds others, so a field that is empty or false counts as absent.
    """
    annotations = definition.get("metadata", {}).get("annotations") or {}
    own = {key: value for key, value in annotations.items() if key.startswith("definition.oam.dev/")}
    made: dict[str, Any] = _pruned({"annotations": own, "spec": definition.get("spec", {})})
    return made


def _pruned(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {key: _pruned(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, "", False, {}, [])}
    if isinstance(value, list):
        return [_pruned(item) for item in value]
    return "\n".join(line.rstrip() for line in value.strip().splitlines()) if isinstance(value, str) else value
