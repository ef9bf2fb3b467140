"""`sailplan init`: the beginning of an intent."""

from __future__ import annotations

from typing import Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application
from sailplan.errors import UsageError

app = application()

Models = Annotated[
    list[str], typer.Option("--model", metavar="MODEL", help="Model preset.", autocompletion=complete.models)
]
With = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="CAPABILITY", help="Capability preset.", autocompletion=complete.capabilities),
]
Environments = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME", help="Environment, in order.", autocompletion=complete.environments),
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

    --model, --with and --env may be given several times. What would be refused is not written.
    """
    from contextlib import suppress
    from dataclasses import replace
    from pathlib import Path

    from sailplan import committed, pipeline, scaffold
    from sailplan.catalog import load, read_intents

    everything = load(options.root(catalog))
    path = Path(everything.root, "applications", name, "app.yaml")
    if path.exists():
        raise UsageError(f"{terminal.near(path)} exists already", "choose another name, or change that file")
    environments = env or _first(everything.environments)
    text = scaffold.intent(name, model, capabilities or (), environments, owner or name)
    documents = read_intents(text, f"applications/{name}/app.yaml")
    # Checked as if it were there already: what would be refused tomorrow is not written today.
    with_it = replace(everything, apps={**everything.apps, name: documents[0]})
    options.warn(pipeline.plan(with_it, documents).findings)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        committed.write(path, text)
    except OSError:
        # A folder without an intent would be a finding in every later command.
        with suppress(OSError):
            path.parent.rmdir()
        raise
    terminal.out(f"{terminal.near(path)}\n")
    terminal.hint(f"next: sailplan render {name}, then sailplan compose {name} --write")


def _first(environments: object) -> list[str]:
    names = sorted(environments) if isinstance(environments, dict) else []
    if not names:
        raise UsageError("there are no environments in this catalog", "write one in catalog/environments/")
    return ["dev"] if "dev" in names else names[:1]
