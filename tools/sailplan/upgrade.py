"""Moves an Application's component pin to the checkout's version, after showing what that changes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sailplan import committed, pipeline, sources
from sailplan.differences import Difference, compare
from sailplan.errors import FindingsError
from sailplan.findings import errors
from sailplan.model import Catalog, Composition, Document
from sailplan.render import render_all, render_with
from sailplan.written import pinned


@dataclass(frozen=True, slots=True)
class Upgrade:
    """One Application before and after.

    Attributes:
        app: its intent.
        old, new: versions of the component definitions that change, as text; the same when none does.
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
    pins = committed.pins({app.name: Path(catalog.root, app.file)})
    (before,) = pipeline.plan(catalog, [app], pins).compositions
    stale = errors(committed.drift(catalog, [before]))
    if stale:
        raise FindingsError(stale, "an upgrade moves the pin and nothing else")
    old = {name: version for name, version in pinned(before.application).items() if version}
    new = {name: catalog.definitions.get(name, "") for name in old}
    if old == new:
        return Upgrade(app, _text(new), _text(new), committed.text(before), {})
    (after,) = pipeline.plan(catalog, [app], {app.name: new}).compositions
    moved = [name for name in old if old[name] != new[name]]
    was, now = (_text({name: one[name] for name in moved}) for one in (old, new))
    return Upgrade(app, was, now, committed.text(after), _compared(catalog, before, after))


def _text(versions: Mapping[str, str]) -> str:
    """Versions for people: the one number that they are, or each with its definition."""
    if len(set(versions.values())) == 1:
        return next(iter(versions.values()))
    return ", ".join(f"{version} ({name})" for name, version in versions.items())


def _compared(catalog: Catalog, before: Composition, after: Composition) -> dict[str, list[Difference]]:
    names = [str(name) for name in after.app.spec["environments"]]
    new = render_all(catalog, after, names)
    with tempfile.TemporaryDirectory(prefix="sailplan-before-") as folder:
        files = sources.checkout(catalog, before, Path(folder))
        return {name: compare(render_with(files, before, catalog.environments[name]), new[name]) for name in names}
