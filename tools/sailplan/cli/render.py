"""`sailplan render`: the Kubernetes objects that each environment gets."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sailplan.model import Composition

app = application()


class Format(StrEnum):
    """How objects are printed."""

    yaml = "yaml"
    json = "json"
    name = "name"


class Stage(StrEnum):
    """Which of an environment's deploy steps."""

    final = "final"
    withheld = "withheld"


Environments = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME", help="Only this environment.", autocompletion=complete.environments),
]


@app.command()
def render(
    apps: options.Apps = None,
    files: options.Files = None,
    env: Environments = None,
    output: Annotated[Format, typer.Option("-o", "--output", help="How to print them.")] = Format.yaml,
    stage: Annotated[Stage, typer.Option("--stage", help="After the last or the first deploy step.")] = Stage.final,
    catalog: options.Catalog = "",
) -> None:
    """Print the objects that each environment gets.

    KubeVela itself renders them, on this machine: no cluster is asked, and none need exist.
    """
    from sailplan import committed, pipeline

    chosen = options.choose(catalog, apps, files)
    plan = pipeline.plan(chosen.catalog, chosen.apps, committed.pins(chosen.files))
    options.warn(plan.findings)
    objects = [item for made in plan.compositions for item in _objects(chosen, made, env, stage)]
    terminal.out(_text(objects, output))


def _objects(
    chosen: options.Chosen, made: Composition, env: Sequence[str] | None, stage: Stage
) -> list[dict[str, Any]]:
    from sailplan.names import unknown
    from sailplan.render import render_all

    known = made.app.spec["environments"]
    for name in env or ():
        if name not in known:
            raise unknown(f"environment of {made.app.name}:", name, known)
    wanted = [name for name in known if not env or name in env]
    terminal.progress(f"rendering {made.app.name} for {', '.join(wanted)} ...")
    rendered = render_all(chosen.catalog, made, wanted, "withheld" if stage is Stage.withheld else "final")
    return [item for name in wanted for item in rendered[name]]


def _text(objects: list[dict[str, Any]], output: Format) -> str:
    from sailplan import writer

    if output is Format.json:
        return writer.dump_json(options.as_list(objects))
    if output is Format.name:
        return "".join(f"{_kind(item)}/{item['metadata']['name']}\n" for item in objects)
    return writer.dump_all(objects, blocks=True)


def _kind(item: dict[str, Any]) -> str:
    group, slash, _ = item["apiVersion"].partition("/")
    return f"{item['kind'].lower()}.{group}" if slash else str(item["kind"]).lower()
