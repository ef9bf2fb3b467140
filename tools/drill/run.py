"""Runs scenarios one after the other, each with scratch space of its own, and stops at nothing but ^C."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from drill.context import Context
from drill.errors import DrillError
from drill.model import Figure, Need, Result, Scenario
from drill.needs import missing
from sailplan.errors import SailplanError, ToolError


def ready(scenarios: Sequence[Scenario]) -> None:
    """See that everything is here, before anything is started.

    Raises:
        ToolError: something is missing; the message names each thing and the way to get it.
    """
    lacking = missing(need for scenario in scenarios for need in scenario.needs)
    if not lacking:
        return
    lines = [f"  {need.name:<24} {need.remedy}" for need in lacking]
    names = ", ".join(_users(scenarios, lacking))
    raise ToolError("\n".join([f"not on this machine, and needed by {names}:", *lines]))


def _users(scenarios: Sequence[Scenario], lacking: Sequence[Need]) -> list[str]:
    wanted = {need.name for need in lacking}
    return [scenario.name for scenario in scenarios if wanted & {need.name for need in scenario.needs}]


def run(
    scenarios: Sequence[Scenario], root: Path, app: str, component: str, say: Callable[[str], None]
) -> list[Result]:
    """Run scenarios and return what they found. One that cannot be carried out is a result with a figure that says so.

    Args:
        scenarios: in the order in which they run.
        root: the checkout.
        app: application that is put under traffic.
        component: one of its components; "" leaves the choice to the scenario.
        say: gets a line for people now and then.

    Raises:
        SailplanError: the first scenario cannot start: the intent is wrong, or a tool is missing or gave up. What the
            later ones raise becomes a figure, so that nothing that was found is lost.
    """
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="sailplan-drill-", ignore_cleanup_errors=True) as folder:
        for scenario in scenarios:
            own = Path(folder, scenario.name)
            own.mkdir()
            say(f"{scenario.name}: {scenario.title}")
            context = Context(root, own, app, component, _named(say, scenario.name))
            try:
                results.append(one(scenario, context))
            except SailplanError as error:
                if not results:
                    raise
                results.append(given_up(scenario, context, error))
    return results


def _named(say: Callable[[str], None], name: str) -> Callable[[str], None]:
    return lambda text: say(f"{name}: {text}")


def one(scenario: Scenario, context: Context) -> Result:
    """Run one scenario; see `run`."""
    try:
        return scenario.run(context)
    except DrillError as error:
        return given_up(scenario, context, error)


def given_up(scenario: Scenario, context: Context, error: SailplanError) -> Result:
    """What is left of a scenario that did not come to its end."""
    said = error.message if not error.hint else f"{error.message} ({error.hint})"
    figure = Figure("carried out", said, expected="to its end", ok=False)
    return Result(scenario.name, scenario.title, context.seconds, (figure,), (), tuple(context.events))
