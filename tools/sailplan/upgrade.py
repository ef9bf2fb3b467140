"""Moves an Application's component pin to the checkout's version, after showing what that changes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sailplan import committed, pipeline, sources
from sailplan.compose import DEFINITION
from sailplan.differences import Difference, compare
from sailplan.errors import FindingsError
from sailplan.findings import errors
from sailplan.model import Catalog, Composition, Document
from sailplan.render import render_all, render_with


@dataclass(frozen=True, slots=True)
class Upgrade:
    """One Application before and after.

    Attributes:
        app: its intent.
        old, new: versions of the component definition.
        text: the Application with the new pin, as it is committed.
        differences: of the rendered objects, environment by environment.
    """

    app: Document
    old: str
    new: str
    text: str
    differences: Mapping[str, Sequence[Difference]]


def upgrade(catalog: Catalog, app: Document) -> Upgrade:
    """What moving the pin changes. Nothing is written.

    Raises:
        FindingsError: there is no committed Application or it is out of date, a rule says no, or the pinned version is
            nowhere to be found.
    """
    new = catalog.definitions.get(DEFINITION, "")
    pins = committed.pins({app.name: Path(catalog.root, app.file)})
    (before,) = pipeline.plan(catalog, [app], pins).compositions
    stale = errors(committed.drift(catalog, [before]))
    if stale:
        raise FindingsError(stale, "an upgrade moves the pin and nothing else")
    old = pins.get(app.name, new)
    if old == new:
        return Upgrade(app, old, new, committed.text(before), {})
    (after,) = pipeline.plan(catalog, [app], {app.name: new}).compositions
    return Upgrade(app, old, new, committed.text(after), _compared(catalog, before, after))


def _compared(catalog: Catalog, before: Composition, after: Composition) -> dict[str, list[Difference]]:
    names = [str(name) for name in after.app.spec["environments"]]
    new = render_all(catalog, after, names)
    with tempfile.TemporaryDirectory(prefix="sailplan-before-") as folder:
        files = sources.checkout(catalog, before, Path(folder))
        return {name: compare(render_with(files, before, catalog.environments[name]), new[name]) for name in names}
