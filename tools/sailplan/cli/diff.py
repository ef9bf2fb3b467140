"""`sailplan diff`: what an intent would change. Exit code 0 for nothing, 1 for something, 2 and more for an error."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application
from sailplan.errors import FindingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sailplan.diff import Place
    from sailplan.model import Composition

app = application()

WRONG = 2
"""Exit code where other commands have 1: here 1 says that there are differences."""


class Format(StrEnum):
    """How differences are printed."""

    text = "text"
    json = "json"


App = Annotated[str, typer.Argument(metavar="APP", help="The application.", autocompletion=complete.apps)]
Environments = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME", help="Only this environment.", autocompletion=complete.environments),
]
Namespace = Annotated[str, typer.Option("-n", "--namespace", metavar="NAME", help="Of the Application on the hub.")]
Context = Annotated[str, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig that is the hub.")]


@app.command()
def diff(
    name: App,
    env: Environments = None,
    against: Annotated[
        str, typer.Option("--against", metavar="WHAT", help="committed, live (what clusters hold), or a commit.")
    ] = "committed",
    output: Annotated[Format, typer.Option("-o", "--output", help="How to print it.")] = Format.text,
    namespace: Namespace = "",
    context: Context = "",
    catalog: options.Catalog = "",
) -> None:
    """Show which objects an intent would change, and where."""
    try:
        found = _found(name, env, against, namespace, context, catalog)
    except FindingsError as error:
        from sailplan.cli.outcome import explain

        explain(error)
        raise typer.Exit(WRONG) from None
    for place in found:
        for line in place.outcome.warnings:
            terminal.say(f"warning: {place.environment}: {line}")
    terminal.out(_json(found) if output is Format.json else _text(found))
    if any(place.differs for place in found):
        raise typer.Exit(1)


def wanted_environments(made: Composition, names: Sequence[str] | None) -> list[str]:
    """The environments that were asked for, in the intent's order; all without any."""
    from sailplan.names import unknown

    known = [str(one) for one in made.app.spec["environments"]]
    for name in names or ():
        if name not in known:
            raise unknown(f"environment of {made.app.name}:", name, known)
    return [name for name in known if not names or name in names]


def _found(
    name: str, env: Sequence[str] | None, against: str, namespace: str, context: str, catalog: str
) -> list[Place]:
    from sailplan import committed, pipeline
    from sailplan import diff as library

    chosen = options.choose(catalog, [name], None)
    (made,) = pipeline.plan(chosen.catalog, chosen.apps, committed.pins(chosen.files)).compositions
    names = wanted_environments(made, env)
    terminal.progress(f"rendering {name} for {', '.join(names)} ...")
    if against != library.LIVE:
        return library.against_file(chosen.catalog, made, names, against)
    from sailplan.toolbox.kube import hub

    where = namespace or made.application["metadata"].get("namespace") or "default"
    return library.against_live(chosen.catalog, made, names, hub(context), where)


def _text(found: Sequence[Place]) -> str:
    from sailplan import differences

    lines = []
    for place in found:
        where = f"{place.environment} ({place.cluster})" if place.cluster else place.environment
        outcome = place.outcome
        lines.append(f"{where}:{'' if place.differs else ' no difference'}\n")
        lines.append(differences.report(outcome.differences))
        lines += [f"! refused {line}\n" for line in outcome.refused]
        lines += [f"= left alone {line}\n" for line in outcome.left]
        lines += [f"= kept {line} (garbage-collect: never)\n" for line in outcome.kept]
    return "".join(lines)


def _json(found: Sequence[Place]) -> str:
    from sailplan import writer

    return writer.dump_json([_plain(place) for place in found])


def _plain(place: Place) -> dict[str, Any]:
    outcome = place.outcome
    changes = [{"change": one.sort, "object": one.name, "to": one.to, "diff": one.lines} for one in outcome.differences]
    return {
        "environment": place.environment,
        "cluster": place.cluster,
        "differences": changes,
        "refused": list(outcome.refused),
        "leftAlone": list(outcome.left),
        "kept": list(outcome.kept),
        "warnings": list(outcome.warnings),
    }
