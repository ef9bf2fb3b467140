"""Everything that can be found without a cluster, collected: YAML, schema, references, rules, and what has drifted.

A document that is wrong keeps only what depends on it from being looked at further.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from sailplan import rules, schema
from sailplan.asked import Asked
from sailplan.catalog import read
from sailplan.committed import drift, intents, pins
from sailplan.compose import compose
from sailplan.errors import FindingsError
from sailplan.files import SINGLES
from sailplan.findings import errors
from sailplan.model import Catalog, Composition, Document, Finding
from sailplan.pipeline import plan
from sailplan.sources import used


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at a checkout showed: findings, and the Applications that are worth rendering."""

    findings: tuple[Finding, ...]
    catalog: Catalog
    compositions: tuple[Composition, ...] = ()


def everything(root: Path, others: Sequence[Document] = ()) -> Seen:
    """Look at all of a checkout, and at intents from elsewhere; what only vela can say is for `refused`.

    Raises:
        ToolError: cue is missing, or the schema itself is broken.
    """
    catalog, findings = read(root)
    # A value that readers take differently is text to us, and of the wrong type for that reason only.
    odd = {(one.position.file, one.field) for one in findings if one.id == "SP007"}
    valid = [one for one in schema.validate(catalog, others) if (one.position.file, one.field) not in odd]
    found = [*findings, *valid]
    apps = {**catalog.apps, **{app.name: app for app in others}}
    usable = _usable(replace(catalog, apps=apps), found)
    if usable is None:
        return Seen((*found, *rules.checkout(root)), catalog)
    wrong = [finding for app in usable.apps.values() for finding in rules.references(usable, app)]
    bad = {finding.position.file for finding in errors(wrong)}
    good = replace(usable, apps=_without(usable.apps, bad)) if bad else usable
    kept = pins(intents(catalog))
    made = [compose(good, app, kept.get(name)) for name, app in good.apps.items()]
    committed = [one for one in made if one.app.name in catalog.apps and one.app is catalog.apps[one.app.name]]
    definitions = rules.checkout(root)
    said = [*found, *wrong, *rules.check(good, made), *definitions, *drift(good, committed)]
    broken = {Path(finding.position.file) for finding in errors(definitions)}
    lost = {path.stem for path in broken if path.suffix == ".cue" and path.parts[0] == "definitions"}
    return Seen(tuple(said), good, tuple(one for one in made if not lost.intersection(used(one))))


def concerning(asked: Asked) -> list[Finding]:
    """Errors that keep the intents that were asked about from composing, wherever the lines are that cause them.

    A budget is written in the environment, and a missing gateway too; an intent that breaks on them is told so.

    Raises:
        ToolError: cue is missing, or the schema itself is broken.
    """
    catalog, unread = read(asked.root)
    found: list[Finding] = []
    try:
        kept, wrong = usable(catalog, unread)
    except FindingsError as stopped:
        return list(stopped.findings)
    for app in catalog.apps.values():
        if not asked.within(app.file):
            continue
        if app.name not in kept.apps:
            found += wrong
            continue
        try:
            plan(kept, [app])
        except FindingsError as stopped:
            found += errors(stopped.findings)
    return found


def usable(catalog: Catalog, unread: Iterable[Finding] = ()) -> tuple[Catalog, list[Finding]]:
    """The catalog without documents that the schema refuses and what depends on them, and why they are left out.

    Args:
        catalog: what could be read.
        unread: what is wrong with the files that could not.

    Raises:
        FindingsError: a document that everything depends on is wrong.
        ToolError: cue is missing, or the schema itself is broken.
    """
    found = errors([*unread, *schema.validate(catalog)])
    kept = _usable(catalog, found)
    if kept is None:
        raise FindingsError(found)
    return kept, found


def _usable(catalog: Catalog, findings: Iterable[Finding]) -> Catalog | None:
    """The catalog without documents that are wrong, and without intents that need one of those.

    None when one of the documents that exist once is wrong: everything depends on those.
    """
    bad = {finding.position.file for finding in errors(findings)}
    if any(f"catalog/{name}" in bad for name in SINGLES):
        return None
    models, edges = _without(catalog.models, bad), _without(catalog.edges, bad)
    lost = catalog.presets.keys() - models.keys() - edges.keys()
    kept = replace(
        catalog,
        models=models,
        edges=edges,
        capabilities=_standing(_without(catalog.capabilities, bad), lost, catalog.capabilities.keys()),
        environments=_without(catalog.environments, bad),
    )
    apps = {name: app for name, app in _without(catalog.apps, bad).items() if not any(_lost(catalog, kept, app))}
    return replace(kept, apps=apps)


def _without(documents: Mapping[str, Document], bad: set[str]) -> dict[str, Document]:
    return {name: document for name, document in documents.items() if document.file not in bad}


def _standing(
    capabilities: Mapping[str, Document], lost_models: Set[str], all_capabilities: Set[str]
) -> dict[str, Document]:
    """The capabilities that speak of nothing that was left out, each other included."""
    kept = dict(capabilities)
    while True:
        lost = {*lost_models, *(all_capabilities - kept.keys())}
        named = {
            name: {*spec.get("models", ()), *spec.get("requires", ()), *spec.get("conflicts", ())}
            for name, spec in ((name, document.spec) for name, document in kept.items())
        }
        falling = [name for name, names in named.items() if names & lost]
        if not falling:
            return kept
        for name in falling:
            del kept[name]


def _lost(catalog: Catalog, kept: Catalog, app: Document) -> Iterator[bool]:
    """Whether each name in an intent means a document that was left out; unknown names are the rules' business."""
    parts = app.spec["components"]
    for part in parts:
        yield part["model"] in catalog.presets and part["model"] not in kept.presets
        for name in part.get("capabilities", ()):
            yield name in catalog.capabilities and name not in kept.capabilities
    for name in app.spec["environments"]:
        yield name in catalog.environments and name not in kept.environments
