"""`make demo`: composes the fleet, renders it with the real engine, and prints what each environment gets."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sailplan import committed, pipeline, report, summary
from sailplan.catalog import find_root, load
from sailplan.cli.outcome import Outcome
from sailplan.describe import prerequisite_lines
from sailplan.model import Catalog, Composition, Document
from sailplan.render import render_all
from sailplan.texts import table

APP = "inference-fleet"


def main() -> None:
    """Print the demo; ends like the command line does when something is wrong."""
    with Outcome():
        started = time.monotonic()
        for line in show(find_root(Path(__file__).parent)):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        sys.stdout.write(f"\n{time.monotonic() - started:.1f} s. Next: README.md, or `.venv/bin/sailplan --help`.\n")


def show(root: Path) -> Iterator[str]:
    """The lines of the demo."""
    catalog = load(root)
    app = catalog.apps[APP]
    plan = pipeline.plan(catalog, [app], committed.pins(committed.intents(catalog)))
    made = plan.compositions[0]
    environments = list(app.spec["environments"])
    yield from _application(made)
    yield from report.text(plan.findings).splitlines()
    rendered = render_all(catalog, made, environments)
    seen: dict[str, tuple[str, ...]] = {}
    for name in environments:
        yield from _environment(catalog, made, catalog.environments[name], rendered[name], seen)


def _application(made: Composition) -> Iterator[str]:
    yield f"{made.app.name}: {made.app.description}"
    for component in made.components:
        yield f"  {component.name}: {component.model}, {', '.join(component.capabilities)}"
    yield "  workflow:"
    for step in made.application["spec"]["workflow"]["steps"]:
        policies = step.get("properties", {}).get("policies", ["waits for a person"])
        yield f"    {step['name']}: {', '.join(policies)}"


def _environment(
    catalog: Catalog,
    made: Composition,
    environment: Document,
    objects: Sequence[dict[str, Any]],
    seen: dict[str, tuple[str, ...]],
) -> Iterator[str]:
    spec = environment.spec
    gate = "waits for approval" if spec["gate"] == "approve" else "no approval"
    served = summary.served(objects, made.components)
    rows = [("component", "GPUs", "replicas", "weights in claim", "answers to")]
    rows += [(one.name, str(one.gpus), f"{one.least} to {one.most}", one.claim, one.routes[0]) for one in served]
    least, most = sum(one.gpus * one.least for one in served), sum(one.gpus * one.most for one in served)
    yield ""
    yield f"== {environment.name}: namespace {spec['namespace']} on {', '.join(spec['clusters'])}, {gate}"
    yield f"  {len(objects)} objects: {summary.kinds(objects)}"
    yield f"  {least} GPUs at least, {most} at most, of a budget of {spec['gpu']['budget']} {spec['gpu']['class']}"
    yield from (f"  {line}" for line in table(rows))
    yield "  engines:"
    yield from (f"    {line}" for one in served for line in _engine(one, seen))
    yield "  must be there before:"
    yield from (f"    {line}" for line in prerequisite_lines(catalog, environment, [made.app]))


def _engine(one: summary.Served, seen: dict[str, tuple[str, ...]]) -> list[str]:
    if seen.get(one.name) == one.args:
        return [f"{one.name}: as above"]
    seen[one.name] = one.args
    also = [f"  also answers to {', '.join(one.routes[1:])}"] if one.routes[1:] else []
    return [f"{one.name}: vllm serve", *(f"  {line}" for line in summary.command_lines(one.args)), *also]


if __name__ == "__main__":
    main()
