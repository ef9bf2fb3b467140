"""`sailplan init`: the beginning of an intent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application
from sailplan.errors import UsageError

if TYPE_CHECKING:
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
    owner: Annotated[str, typer.Option("--owner", metavar="TEAM", help="Team that answers for it.")] = "",
    catalog: options.Catalog = "",
) -> None:
    """Begin an application: writes applications/APP/app.yaml.

    --model, --with and --env may be given several times. A model gets those of the capabilities that may be picked for
    it; without --env an environment is chosen, and said. What would be refused is not written.
    """
    from contextlib import suppress
    from dataclasses import replace
    from pathlib import Path

    from sailplan import beginning, committed, pipeline, scaffold
    from sailplan.catalog import load, read_intents

    everything = load(options.root(catalog))
    path = Path(everything.root, "applications", name, "app.yaml")
    if path.exists():
        raise UsageError(f"{terminal.near(path)} exists already", "choose another name, or change that file")
    good, _ = pipeline.sound(everything)
    chosen, left_out = beginning.wishes(good, model, capabilities or (), env or ())

    def text(*environments: str) -> str:
        return scaffold.intent(name, model, chosen, environments, owner or name)

    def intent(*environments: str) -> Document:
        return read_intents(text(*environments), f"applications/{name}/app.yaml")[0]

    environments, why = (env, "") if env else _choice(beginning.environment(good, intent))
    # Checked as if it were there already: what would be refused tomorrow is not written today.
    app = intent(*environments)
    with_it = replace(everything, apps={**everything.apps, name: app})
    options.warn(pipeline.plan(with_it, [app]).findings)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        committed.write(path, text(*environments))
    except OSError:
        # A folder without an intent would be a finding in every later command.
        with suppress(OSError):
            path.parent.rmdir()
        raise
    for line in (*left_out, why):
        if line:
            terminal.say(line)
    terminal.out(f"{terminal.near(path)}\n")
    terminal.hint(f"next: sailplan render {name}, then sailplan compose {name} --write")


def _choice(found: tuple[str, str]) -> tuple[list[str], str]:
    name, reason = found
    return [name], f"environment {name}: {reason}; --env NAME chooses another"
