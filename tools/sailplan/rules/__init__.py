"""What must hold beyond the schema: names that exist, GPUs that suffice, things that go together.

`references` is asked before an intent is composed, `check` afterwards, `checkout` about definitions and generated
files.
Findings are collected; nobody stops at the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sailplan.compose import components
from sailplan.errors import FindingsError
from sailplan.findings import errors, worst_first
from sailplan.model import ENGINE, Catalog, Component, Composition, Document, Finding
from sailplan.rules import (
    arguments,
    composition,
    edges,
    elsewhere,
    environment,
    examples,
    gateway,
    gpu,
    made,
    names,
    objects,
    overrides,
    presets,
    security,
    settings,
)
from sailplan.rules.registry import RULES, Rule, run
from sailplan.rules.view import Placed, View

__all__ = ["RULES", "Rule", "View", "check", "checkout", "listed", "presets_of", "references", "view"]

MODULES = (
    elsewhere,
    names,
    settings,
    presets,
    edges,
    gpu,
    composition,
    environment,
    overrides,
    gateway,
    objects,
    security,
    arguments,
    made,
    examples,
)
"""Where the rules are; importing them registers them."""


def references(catalog: Catalog, app: Document) -> list[Finding]:
    """What is wrong with the names and values of an intent, and with the presets that it uses.

    Args:
        catalog: valid by the schema.
        app: valid by the schema.

    Returns:
        Findings, worst first. With an error among them the intent cannot be composed.
    """
    found = list(run("intent", catalog, app))
    files = set(_files(catalog, app))
    return worst_first([*found, *(one for one in _of_catalog(catalog) if one.position.file in files)])


def check(catalog: Catalog, compositions: Sequence[Composition]) -> list[Finding]:
    """What is wrong with composed Applications, alone and together with all others of the checkout.

    Args:
        catalog: with all intents of the checkout: those that were not composed still hold GPUs and names.
        compositions: what to look at.
    """
    seen = view(catalog, compositions)
    found = list(_of_catalog(catalog))
    for placed in seen.placed:
        found += run("component", seen, placed)
        found += run("engine", seen, placed) if placed.component.definition == ENGINE else ()
    return worst_first([*found, *run("all", seen)])


def presets_of(catalog: Catalog, file: str) -> list[Finding]:
    """What is wrong with the preset or environment in `file`; with an error among them nothing can be made of it."""
    return [found for found in _of_catalog(catalog) if found.position.file == file]


def checkout(root: Path) -> list[Finding]:
    """What is wrong with the definitions and the generated files of a checkout.

    Raises:
        ToolError: cue is missing, or the schema is broken.
    """
    found: list[Finding] = []
    for rule in listed():
        if rule.subject == "checkout":
            try:
                found += rule.findings(root)
            except FindingsError as stopped:  # a definition that cannot be read: all that need it say the same
                found += stopped.findings
    return worst_first(found)


def listed() -> list[Rule]:
    """Every rule, by id."""
    return sorted(RULES.values(), key=lambda rule: rule.id)


def view(catalog: Catalog, compositions: Sequence[Composition]) -> View:
    """What rules look at: the components of `compositions`, and those of the other intents that can be composed."""
    composed = {composition.app.name for composition in compositions}
    others = [app for app in catalog.apps.values() if app.name not in composed]
    whole = [app for app in others if not errors(references(catalog, app))]
    return View(
        catalog,
        [placed for one in compositions for placed in _placed(one.app, one.components)],
        [placed for app in whole for placed in _placed(app, components(catalog, app))],
    )


def _placed(app: Document, made: Sequence[Component]) -> Iterator[Placed]:
    for index, component in enumerate(made):
        yield Placed(app, index, component)


_last: tuple[Catalog, list[Finding]] | None = None


def _of_catalog(catalog: Catalog) -> list[Finding]:
    """Findings about presets and environments; remembered for the catalog that was asked about last."""
    global _last  # noqa: PLW0603
    if _last is None or _last[0] is not catalog:
        _last = (catalog, list(run("catalog", catalog)))
    return _last[1]


def _files(catalog: Catalog, app: Document) -> Iterator[str]:
    """Files of everything that an intent uses, and of what all share."""
    for component in app.spec["components"]:
        if component["model"] in catalog.presets:
            yield catalog.presets[component["model"]].file
        for name in component.get("capabilities", ()):
            if name in catalog.capabilities:
                yield catalog.capabilities[name].file
    for name in app.spec["environments"]:
        if name in catalog.environments:
            yield catalog.environments[name].file
    yield from (one.file for one in (catalog.gpus, catalog.images, catalog.apis) if one)
