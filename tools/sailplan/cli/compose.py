"""`sailplan compose`: the Application that an intent becomes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sailplan.cli import options, terminal
from sailplan.cli.commands import application
from sailplan.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sailplan.model import Composition

app = application()


class Format(StrEnum):
    """How Applications are printed."""

    yaml = "yaml"
    json = "json"


@app.command()
def compose(
    apps: options.Apps = None,
    files: options.Files = None,
    output: Annotated[Format, typer.Option("-o", "--output", help="How to print it.")] = Format.yaml,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show which line of which layer each value is from.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write application.yaml beside each intent.")] = False,
    repin: Annotated[
        bool, typer.Option("--repin", help="Pin the checkout's definitions, not the committed pin.")
    ] = False,
    catalog: options.Catalog = "",
) -> None:
    """Print the Application of an intent, for `vela up -f -`.

    With warnings on stderr. When the schema or a rule says no, all of it is said and nothing is printed or written.
    What only a definition itself refuses is for the real vela to say: `sailplan render`, or `sailplan check --render`.
    """
    from sailplan import committed, pipeline

    if write and (origin or output is not Format.yaml):
        raise UsageError("--write writes plain YAML: leave out --origin and -o")
    chosen = options.choose(catalog, apps, files)
    if write and set(chosen.files) != {document.name for document in chosen.apps}:
        raise UsageError("--write needs a file to write beside; what comes from stdin has none")
    pins = {} if repin else committed.pins(chosen.files)
    plan = pipeline.plan(chosen.catalog, chosen.apps, pins)
    options.warn(plan.findings)
    if write:
        _write(plan.compositions, chosen)
    else:
        terminal.out(_origins(chosen, plan.compositions, output) if origin else _text(plan.compositions, output))


def _text(compositions: Sequence[Composition], output: Format) -> str:
    from sailplan import writer

    made = [composition.application for composition in compositions]
    if output is Format.json:
        return writer.dump_json(made[0] if len(made) == 1 else options.as_list(made))
    return writer.dump(made[0]) if len(made) == 1 else writer.dump_all(made)


def _origins(chosen: options.Chosen, compositions: Sequence[Composition], output: Format) -> str:
    from sailplan import origins, writer

    if output is Format.json:
        found: list[Any] = [line for made in compositions for line in origins.lines(chosen.catalog, made)]
        return writer.dump_json(found)
    texts = [writer.dump(made.application, origins.comment(chosen.catalog, made)) for made in compositions]
    return texts[0] if len(texts) == 1 else "".join(f"---\n{text}" for text in texts)


def _write(compositions: Sequence[Composition], chosen: options.Chosen) -> None:
    from sailplan import committed

    for made in compositions:
        path = chosen.files[made.app.name].parent / committed.FILE
        changed = committed.write(path, committed.text(made))
        terminal.say(f"{'wrote' if changed else 'unchanged'} {terminal.near(path)}")
