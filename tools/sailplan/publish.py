"""Puts definitions on a hub: versioned, append-only, in order, and as often as one likes.

What was published under a version stays what it is: Applications pin it. So each definition of the checkout is one of:
unchanged, new, a higher version, or refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sailplan import differences, published
from sailplan.catalog import definition_files
from sailplan.errors import ClusterError, FindingsError
from sailplan.model import Catalog, Finding, Position
from sailplan.published import API, SYSTEM, Published, content, parsed, version
from sailplan.toolbox import proc, vela
from sailplan.toolbox.kube import Cluster

Action = Literal["unchanged", "older", "create", "update", "restore"]

_REVISION_SECONDS = 60.0
"""How long KubeVela gets to make a DefinitionRevision; it takes about a second."""


@dataclass(frozen=True, slots=True)
class Change:
    """What publishing one definition means for a hub.

    Attributes:
        name, kind: of the definition.
        file: where it is, below the checkout.
        action: create, update (a higher version), restore (somebody changed the live one by hand), unchanged, or older
            (the hub has this version, and higher ones are in force).
        wanted: the definition as it would be sent.
        held: what the hub has.
    """

    name: str
    kind: str
    file: str
    action: Action
    wanted: Mapping[str, Any]
    held: Published

    @property
    def writes(self) -> bool:
        """Whether anything is sent to the hub."""
        return self.action in ("create", "update", "restore")

    @property
    def title(self) -> str:
        """One line for people."""
        to = f"{self.wanted['kind'].removesuffix('Definition').lower()} {self.name} v{version(self.wanted)}"
        what = {
            "create": f"+ {to}: new",
            "update": f"~ {to}: the hub has v{self.held.version}",
            "restore": f"~ {to}: was changed on the hub by hand, and is put back",
            "older": f"  {to}: published; the hub has gone on to v{self.held.version}",
            "unchanged": f"  {to}: unchanged",
        }
        return what[self.action]

    @property
    def lines(self) -> list[str]:
        """The changed lines of a definition that the hub has in another form."""
        if self.held.live is None or not self.writes:
            return []
        return differences.unified(_text(self.held.live), _text(self.wanted))


def wanted(catalog: Catalog, names: Sequence[str] = ()) -> dict[str, tuple[Path, dict[str, Any]]]:
    """File of each definition, and the object that it becomes, components first.

    Args:
        catalog: of the checkout.
        names: only these; all without any.

    Raises:
        ToolError: vela is missing, or a file is no definition.
    """
    files = {name: path for name, path in definition_files(Path(catalog.root)).items() if not names or name in names}
    made = proc.run_all(vela.definition, list(files.values()))
    return {name: (files[name], one) for name, one in zip(files, made, strict=True)}


def plan(catalog: Catalog, hub: Cluster, names: Sequence[str] = ()) -> list[Change]:
    """What publishing would do.

    Raises:
        FindingsError: something must not be published; all such things at once.
        ClusterError: the hub does not answer, or has no KubeVela.
    """
    if not hub.serves(API, "DefinitionRevision"):
        raise ClusterError("there is no KubeVela on the hub", "KUBECONFIG must name the cluster that runs it")
    from sailplan import proof

    changes: list[Change] = []
    findings: list[Finding] = []
    for name, (path, definition) in wanted(catalog, names).items():
        held = published.read(hub, definition["kind"], name)
        file = path.relative_to(catalog.root).as_posix()
        problem = refusal(definition, held)
        if problem:
            findings.append(finding(file, *problem))
        else:
            changes.append(Change(name, definition["kind"], file, action(definition, held), definition, held))
    findings += [one for change in changes if change.action == "update" for one in proof.narrowed(change)]
    if findings:
        raise FindingsError(findings, "nothing was published")
    return changes


def refusal(definition: Mapping[str, Any], held: Published) -> tuple[str, str, str] | None:
    """Why a definition must not be published: id, message and fix; None when it may."""
    own = version(definition)
    if not parsed(own):
        return "SP701", f"its version {own!r} is not MAJOR.MINOR.PATCH", 'attributes: version: "1.0.0"'
    if held.live is not None and not held.version and not held.versions:
        if content(held.live) == content({**definition, "spec": {**definition["spec"], "version": ""}}):
            return None
        message = "the hub has a definition of this name that is not ours: it says no version"
        return "SP702", message, "give ours another name, or delete the hub's when nobody uses it"
    before = held.versions.get(own) or (held.live if held.version == own else None)
    if before is not None and content(before) != content(definition):
        message = f"its content changed, but the hub has published v{own} with another"
        return "SP703", message, f"raise attributes.version above {held.newest}"
    if before is None and held.newest and parsed(own) < parsed(held.newest):
        return "SP704", f"v{own} was never published, and the hub has v{held.newest}", "take a higher version"
    return None


def action(definition: Mapping[str, Any], held: Published) -> Action:
    """What is to be done with a definition that may be published."""
    if held.live is None:
        return "create"
    if parsed(held.version) > parsed(version(definition)):
        return "older"
    if held.version != version(definition):
        return "update"
    return "unchanged" if content(held.live) == content(definition) else "restore"


def apply(hub: Cluster, changes: Iterable[Change], dry_run: bool = False, say: Callable[[str], None] = print) -> None:
    """Send what is to be sent, in order, each one's revision before the next one's definition.

    Args:
        hub: where to.
        changes: what `plan` made.
        dry_run: the server checks everything and keeps nothing.
        say: gets a line for each definition that was sent.

    Raises:
        ClusterError: the hub refused; definitions before this one are published, those after it are not.
    """
    for change in changes:
        if change.writes:
            _send(hub, change, dry_run)
            if not dry_run:
                _wait(hub, change)
                say(f"published {change.name} v{version(change.wanted)}")


def _send(hub: Cluster, change: Change, dry_run: bool) -> None:
    live = change.held.live
    if live is None:
        hub.create(change.wanted, dry_run)
        return
    # The whole definition takes the place of the old one: a merge would keep what the new version dropped. The resource
    # version makes the hub refuse when somebody else published in between.
    metadata, own = live["metadata"], change.wanted["metadata"]
    merged = {key: {**(metadata.get(key) or {}), **(own.get(key) or {})} for key in ("labels", "annotations")}
    hub.replace({**change.wanted, "metadata": {**metadata, **merged}, "status": live.get("status", {})}, dry_run)


def _wait(hub: Cluster, change: Change) -> None:
    """Wait until Applications can pin what was sent."""
    name = f"{change.name}-v{version(change.wanted)}"
    deadline = time.monotonic() + _REVISION_SECONDS
    while hub.find(API, "DefinitionRevision", name, SYSTEM) is None:
        if time.monotonic() > deadline:
            hint = f"kubectl -n {SYSTEM} describe {change.kind.lower()} {change.name}"
            raise ClusterError(f"KubeVela made no revision {name} in {_REVISION_SECONDS:.0f} s", hint)
        time.sleep(0.2)


def finding(file: str, id: str, message: str, fix: str) -> Finding:
    """An error about a definition's file."""
    return Finding(id, "error", Position(file), "", message, fix=fix)


def _text(definition: Mapping[str, Any]) -> str:
    return differences.text(content(definition))
