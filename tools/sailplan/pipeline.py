"""The way from documents to Applications that every command takes: schema, references, compose, rules.

Errors stop it after each stage, with everything that stage found; what is left are warnings and notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sailplan.compose import compose
from sailplan.errors import FindingsError
from sailplan.findings import errors
from sailplan.model import Catalog, Composition, Document, Finding


@dataclass(frozen=True, slots=True)
class Plan:
    """What came of the intents: their Applications, and findings that do not stop anything."""

    compositions: tuple[Composition, ...]
    findings: tuple[Finding, ...]


def plan(catalog: Catalog, apps: Sequence[Document], pins: Mapping[str, Mapping[str, str]] | None = None) -> Plan:
    """Check the catalog and `apps`, and compose them.

    Args:
        catalog: with `apps` among its own, so that budgets and names are counted over all of them.
        apps: the intents to compose.
        pins: application -> versions of component definitions to keep; the checkout's where there is none.

    Raises:
        FindingsError: the schema, a reference or a rule says no. Nothing was written.
    """
    from sailplan import rules, schema

    outside = [app for app in apps if catalog.apps.get(app.name) is not app]
    findings = _stop(schema.validate(catalog, outside))
    findings += _stop(found for app in apps for found in rules.references(catalog, app))
    made = tuple(compose(catalog, app, (pins or {}).get(app.name)) for app in apps)
    findings += _stop(rules.check(catalog, made))
    return Plan(made, tuple(dict.fromkeys(findings)))


def sound(catalog: Catalog) -> tuple[Catalog, list[Finding]]:
    """The catalog without the applications whose references are wrong, and what is wrong with those.

    Raises:
        FindingsError: the schema says no.
    """
    from sailplan import rules, schema

    findings = _stop(schema.validate(catalog))
    wrong = {name: rules.references(catalog, app) for name, app in catalog.apps.items()}
    good = {name: app for name, app in catalog.apps.items() if not errors(wrong[name])}
    return replace(catalog, apps=good), [*findings, *(found for some in wrong.values() for found in some)]


def stop_at(catalog: Catalog, kind: str, name: str) -> None:
    """What is wrong with one thing, as an error.

    Args:
        catalog: valid by the schema, with all applications.
        kind: as in `sailplan.listing`, in plural.
        name: of a thing that need not exist.

    Raises:
        FindingsError: a rule says no to the preset or environment, or to what an application refers to.
    """
    from sailplan import rules

    presets = {"models": catalog.presets, "capabilities": catalog.capabilities, "environments": catalog.environments}
    document = {**presets, "edges": catalog.edges, "apps": catalog.apps}.get(kind, {}).get(name)
    if document:
        of_app = kind == "apps"
        _stop(errors(rules.references(catalog, document) if of_app else rules.presets_of(catalog, document.file)))


def _stop(findings: Iterable[Finding]) -> list[Finding]:
    found = list(findings)
    if errors(found):
        raise FindingsError(found)
    return found
