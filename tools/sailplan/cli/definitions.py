"""`sailplan definitions`: what the platform team does with definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application
from sailplan.errors import FindingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sailplan.compatible import Effect
    from sailplan.model import Catalog
    from sailplan.publish import Change

app = application()

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Only these definitions.", autocompletion=complete.definitions),
]
Context = Annotated[str, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig that is the hub.")]


@app.callback()
def definitions() -> None:
    """Publish, package and check definitions."""


@app.command()
def publish(
    names: Names = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Let the hub check everything and keep nothing.")] = False,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Publish although Applications come out otherwise.")
    ] = False,
    context: Context = "",
    catalog: options.Catalog = "",
) -> None:
    """Put definitions on the hub that KUBECONFIG names. What is published under a version never changes."""
    from sailplan import proof
    from sailplan import publish as library
    from sailplan.catalog import load
    from sailplan.toolbox.kube import hub

    everything = load(options.root(catalog))
    known(everything, names)
    cluster = hub(context)
    changes = library.plan(everything, cluster, names or ())
    terminal.out(_shown(changes))
    effects = proof.effects(everything, changes, cluster)
    refused = proof.broken(effects, changes)
    if refused:
        raise FindingsError(refused, "nothing was published")
    terminal.out(_affected(effects))
    if effects and not (accept_changes or dry_run):
        terminal.say("error: nothing was published: these Applications would change at their next edit")
        terminal.say("hint: --accept-changes publishes all the same")
        raise typer.Exit(1)
    library.apply(cluster, changes, dry_run, lambda line: terminal.out(f"{line}\n"))
    terminal.out(_summary(changes, dry_run))


@app.command()
def render(names: Names = None, catalog: options.Catalog = "") -> None:
    """Print definitions as the objects that a hub gets. No cluster is asked."""
    from sailplan import writer
    from sailplan.catalog import load
    from sailplan.publish import wanted

    everything = load(options.root(catalog))
    known(everything, names)
    terminal.out(writer.dump_all((one for _, one in wanted(everything, names or ()).values()), blocks=True))


@app.command()
def check(names: Names = None, catalog: options.Catalog = "") -> None:
    """Check definitions by themselves. Vela accepts them, they say a version, and their example renders."""
    from sailplan import vetting
    from sailplan.catalog import load

    everything = load(options.root(catalog))
    known(everything, names)
    found = vetting.check(everything, names or ())
    if found:
        raise FindingsError(found)
    terminal.out(f"{len(names or everything.definitions)} definitions: no findings\n")


@app.command()
def package(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where to write it.")] = "build/addon",
    version: Annotated[str, typer.Option("--version", metavar="X.Y.Z", help="Version of the addon.")] = "",
    catalog: options.Catalog = "",
) -> None:
    """Write the definitions as a KubeVela addon. `vela addon enable DIR` installs it."""
    from pathlib import Path

    from sailplan import __version__
    from sailplan import package as library
    from sailplan.catalog import load
    from sailplan.errors import UsageError
    from sailplan.published import parsed

    if version and not parsed(version):
        raise UsageError(f"--version {version} is not MAJOR.MINOR.PATCH")
    files = library.addon(load(options.root(catalog)), version or __version__)
    library.write(Path(folder), files)
    terminal.out(f"wrote {folder}: {len(files)} files\n")


def known(catalog: Catalog, names: Sequence[str] | None) -> None:
    """Refuse names of definitions that do not exist."""
    from sailplan.names import unknown

    for name in names or ():
        if name not in catalog.definitions:
            raise unknown("definition", name, catalog.definitions)


def _shown(changes: Sequence[Change]) -> str:
    lines = [line for one in changes for line in (one.title, *(f"    {line}" for line in one.lines))]
    return "".join(f"{line}\n" for line in lines)


def _affected(effects: Sequence[Effect]) -> str:
    from sailplan import differences

    return "".join(
        f"{effect.app} in {effect.environment}:\n{differences.report(effect.differences)}" for effect in effects
    )


def _summary(changes: Sequence[Change], dry_run: bool) -> str:
    count = sum(change.writes for change in changes)
    if not count:
        return f"nothing to publish: the hub has all {len(changes)}\n"
    return f"{count} of {len(changes)} {'would be published' if dry_run else 'published'}\n"
