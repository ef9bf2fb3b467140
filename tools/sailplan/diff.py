"""What an intent would change: against the committed Application, a commit, or what clusters hold."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sailplan import sources, written
from sailplan.committed import FILE
from sailplan.differences import compare
from sailplan.errors import UsageError
from sailplan.live import Outcome, applied, compared
from sailplan.model import Catalog, Composition, Document
from sailplan.render import render_with
from sailplan.toolbox import git
from sailplan.toolbox.kube import Cluster, Object

COMMITTED, LIVE = "committed", "live"

Objects = Callable[[str], list[Object]]
"""From an environment's name to its objects."""


@dataclass(frozen=True, slots=True)
class Place:
    """What changes in one environment, and in which of its clusters ("" when no cluster was asked)."""

    environment: str
    cluster: str
    outcome: Outcome

    @property
    def differs(self) -> bool:
        """Whether applying would change or fail to change anything."""
        return bool(self.outcome.differences or self.outcome.refused)


def against_file(
    catalog: Catalog, composition: Composition, names: Sequence[str], reference: str = COMMITTED
) -> list[Place]:
    """Compare with the Application that is committed beside the intent, or was at `reference`.

    Raises:
        UsageError: there is no such commit.
        FindingsError: a definition refuses, or the old Application cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="sailplan-old-") as old, tempfile.TemporaryDirectory() as new:
        before = _before(catalog, composition, reference, Path(old))
        files = sources.checkout(catalog, composition, Path(new))
        made = []
        for name in names:
            after = render_with(files, composition, catalog.environments[name])
            made.append(Place(name, "", Outcome(tuple(compare(before(name), after)))))
    return made


def against_live(
    catalog: Catalog, composition: Composition, names: Sequence[str], hub: Cluster, namespace: str
) -> list[Place]:
    """Compare with what clusters hold, rendered with the definitions that the hub has in force.

    Args:
        catalog: of the checkout.
        composition: the Application as it would be applied.
        names: of the environments to look at.
        hub: where the Application lives.
        namespace: of the Application on the hub.

    Raises:
        ClusterError: the hub or a cluster does not answer.
    """
    had = applied(hub, composition.app.name, namespace)
    with tempfile.TemporaryDirectory(prefix="sailplan-hub-") as folder:
        files = sources.hub(catalog, composition, hub, Path(folder))
        made = []
        for name in names:
            environment = catalog.environments[name]
            rendered = render_with(files, composition, environment)
            for cluster in environment.spec["clusters"]:
                outcome = compared(hub.joined(cluster), composition, environment, rendered, had)
                made.append(Place(name, cluster, outcome))
    return made


def _before(catalog: Catalog, composition: Composition, reference: str, folder: Path) -> Objects:
    """How to render what was: nothing where there was no Application, or not in that environment."""
    old, files = _old(catalog, composition.app, reference, folder)
    if old is None:
        return lambda _: []
    places = written.environments(old.application)
    return lambda name: render_with(files, old, places[name]) if name in places else []


def _old(catalog: Catalog, app: Document, reference: str, folder: Path) -> tuple[Composition | None, list[Path]]:
    if reference == COMMITTED:
        made = written.committed(catalog, app)
        return made, sources.checkout(catalog, made, folder) if made else []
    file = f"{Path(app.file).parent}/{FILE}"
    text = git.show(Path(catalog.root), reference, file)
    if text is None:
        return None, []
    made = written.composition(app, text, f"{reference}:{file}")
    files = sources.commit(catalog, made, reference, folder)
    missing = {*sources.used(made)} - {path.stem for path in files}
    if missing:
        raise UsageError(f"{reference} has the Application, and not its definitions: {', '.join(sorted(missing))}")
    return made, files
