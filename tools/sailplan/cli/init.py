"""`sailplan init`: the beginning of an intent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application
from sailplan.errors import FindingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sailplan.model import Document

app = application()

Models = Annotated[
    list[str], typer.Option("--model", metavar="MODEL", help="Model preset.", autocompletion=complete.models)
]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="CAPABILITY",
        help="Capability preset, for each model that it is for.",
        autocompletion=complete.capabilities,
    ),
]
Environments = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME",
        help="Environment, in order; one is chosen without.",
        autocompletion=complete.environments,
    ),
]


@app.command()
def init(
    name: Annotated[str, typer.Argument(metavar="APP", help="Name of the new application.", show_default=False)],
    model: Models,
    capabilities: With = None,
    env: Environments = None,
    owner: Annotated[
        str | None,
        typer.Option("--owner", metavar="TEAM", help="Team that answers for it; the application's name without."),
    ] = None,
    catalog: options.Catalog = "",
) -> None:
    """Begin an application: writes applications/APP/app.yaml.

    --model, --with and --env may be given several times. A model gets those of the capabilities that may be picked for
    it; without --env an environment is chosen, and said. What would be refused is not written.
    """
    from pathlib import Path

    from sailplan import beginning, pipeline, scaffold
    from sailplan.catalog import load, read_intents

    everything = load(options.root(catalog))
    path = Path(everything.root, "applications", name, "app.yaml")
    options.free(path)
    good, _ = pipeline.sound(everything)
    beginning.words(good, model, capabilities or (), env or ())
    chosen, said = beginning.wishes(good, model, capabilities or (), env or ())

    def text(*environments: str) -> str:
        return scaffold.intent(name, model, chosen, environments, name if owner is None else owner)

    def intent(*environments: str) -> Document:
        return read_intents(text(*environments), f"applications/{name}/app.yaml")[0]

    try:
        if not env:
            env, reasons = _choice(beginning.environment(good, intent))
            said += reasons
        # Checked as if it were there already: what would be refused tomorrow is not written today.
        app = intent(*env)
        with_it = replace(everything, apps={**everything.apps, name: app})
        options.warn(pipeline.plan(with_it, [app]).findings)
    except FindingsError as stopped:
        raise _unwritten(stopped, f"applications/{name}/app.yaml") from None
    _write(path, text(*env))
    for line in said:
        terminal.say(line)
    terminal.out(f"{terminal.near(path)}\n")
    terminal.hint(f"next: sailplan render {name}, then sailplan compose {name} --write")


def _choice(found: tuple[str, str, Mapping[str, str]]) -> tuple[list[str], list[str]]:
    """The environment that was chosen, and the lines that say why."""
    name, reason, before = found
    passed = [f"{other} is passed over: {why}" for other, why in before.items()]
    return [name], [*passed, f"environment {name}: {reason}; --env NAME chooses another"]


def _unwritten(stopped: FindingsError, file: str) -> FindingsError:
    """The same error, where findings name lines of a file that is not there."""
    about = any(found.position.file == file for found in stopped.findings)
    hints = [f"{file} was not written; the lines are those it would have" if about else "", stopped.hint]
    return FindingsError(stopped.findings, hint="; ".join(filter(None, hints)))


def _write(path: Path, text: str) -> None:
    from sailplan import committed

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        committed.write(path, text)
    except OSError:
        # A folder without an intent would be a finding in every later command.
        with suppress(OSError):
            path.parent.rmdir()
        raise
