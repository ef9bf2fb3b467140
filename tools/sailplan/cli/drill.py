"""`sailplan drill`: puts what an intent becomes under traffic, on this machine, and says what came of it."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sailplan.cli import complete, options, terminal
from sailplan.cli.commands import application
from sailplan.errors import ToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drill.model import Need, Result, Scenario

app = application()


class Format(StrEnum):
    """How results are printed."""

    text = "text"
    json = "json"
    html = "html"


def _complete(incomplete: str) -> list[str]:
    try:
        from drill.scenarios import SCENARIOS
    except ImportError:
        return []
    return [name for name in SCENARIOS if name.startswith(incomplete)]


Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="SCENARIO", help="Which; all of them by default.", autocompletion=_complete),
]
App = Annotated[
    str, typer.Option("--app", metavar="APP", help="What is put under traffic.", autocompletion=complete.apps)
]


@app.command()
def drill(
    scenarios: Names = None,
    output: Annotated[Format, typer.Option("-o", "--output", help="How to print the results.")] = Format.text,
    report: Annotated[str, typer.Option("--report", metavar="FILE", help="Also write an HTML page with plots.")] = "",
    listing: Annotated[bool, typer.Option("--list", help="Show the scenarios and what each needs.")] = False,
    application_name: App = "inference-fleet",
    component: Annotated[
        str,
        typer.Option("--component", metavar="NAME", help="Only this component of it.", autocompletion=complete.models),
    ] = "",
    catalog: options.Catalog = "",
) -> None:
    """Put an application under traffic on this machine.

    The gateway, the autoscaler and the engine are real; models are simulated where a GPU would be needed.

    Exit code 1 when a figure is not as promised, 3 when something that a scenario needs is not on this machine.
    """
    chosen = _chosen(scenarios or ())
    if listing:
        terminal.out(_listed(chosen) if output is Format.json else _table(chosen))
        return
    _writable(report)
    root = options.root(catalog)
    _known(root, application_name, component)
    from drill import run
    from drill.report import all_ok

    run.ready(chosen)
    results = run.run(chosen, root, application_name, component, terminal.say)
    about = f"{application_name}{f', {component}' if component else ''}"
    terminal.out(_text(results, output, about))
    if report:
        Path(report).write_text(_text(results, Format.html, about), encoding="utf-8")
        terminal.say(f"wrote {report}")
    if not all_ok(results):
        raise typer.Exit(1)


def _chosen(names: Sequence[str]) -> list[Scenario]:
    try:
        from drill.scenarios import SCENARIOS
    except ImportError as error:
        raise ToolError(f"drills are not installed here: {error}", "run `make setup` in a checkout") from error
    from sailplan.names import unknown

    for name in names:
        if name not in SCENARIOS:
            raise unknown("scenario", name, SCENARIOS)
    return [scenario for name, scenario in SCENARIOS.items() if not names or name in names]


def _table(scenarios: Sequence[Scenario]) -> str:
    rows = [(one.name, _needed(one), one.title) for one in scenarios]
    return terminal.table(("scenario", "missing here", "what it shows"), rows)


def _listed(scenarios: Sequence[Scenario]) -> str:
    from drill.needs import missing

    rows = [{"name": one.name, "title": one.title, "missing": _names(missing(one.needs))} for one in scenarios]
    return json.dumps(rows, indent=2)


def _names(needs: Sequence[Need]) -> list[str]:
    return [need.name for need in needs]


def _needed(scenario: Scenario) -> str:
    from drill.needs import missing

    return ", ".join(_names(missing(scenario.needs))) or "-"


def _writable(report: str) -> None:
    """Refuse a file that cannot be written before minutes go by.

    Raises:
        UsageError: it cannot.
    """
    if not report:
        return
    path = Path(report)
    there = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise UsageError(
            f"--report {report}: {error.strerror}", "name a file in a folder that you may write"
        ) from error
    if not there:
        path.unlink()


def _known(root: Path, name: str, component: str) -> None:
    from sailplan.catalog import load
    from sailplan.names import unknown

    everything = load(root)
    if name not in everything.apps:
        raise unknown("application", name, everything.apps)
    known: set[str] = set()
    for part in everything.apps[name].spec.get("components", ()):
        preset = everything.models.get(str(part.get("model")))
        served = preset.spec.get("servedName", "") if preset else ""
        known |= {str(part.get("model")), str(part.get("name") or served)}
    if component and component not in known:
        raise unknown(f"component of {name}:", component, known)


def _text(results: Sequence[Result], output: Format, about: str) -> str:
    from drill import page, report

    if output is Format.json:
        return report.as_json(results)
    if output is Format.html:
        return page.html(results, about)
    return report.text(results, terminal.colour(sys.stdout))
