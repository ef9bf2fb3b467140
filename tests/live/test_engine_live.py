"""The real vLLM, started with what we render: names, adapters, tools, metrics.

That its parser takes every argument list of every profile is shown by tests/engine, which does not boot it.
"""

from __future__ import annotations

from pathlib import Path

from tests.live.conftest import Drilled, show

from plane.support import left_over


def test_engines_boot_with_the_rendered_arguments(drilled: Drilled) -> None:
    found = drilled("engine")
    show(found, *{f"{one.name.partition(':')[0]}: healthy" for one in found.figures})


def test_names_are_the_ones_that_routes_promise(drilled: Drilled) -> None:
    show(drilled("engine"), "xplane-qwen-coder: models", "xplane-qwen-coder: xplane", "xplane-qwen-coder: unknown")


def test_every_metric_that_anything_of_ours_names_is_exposed(drilled: Drilled) -> None:
    found = drilled("engine")
    names = {one.name.partition(":")[0] for one in found.figures}
    show(found, *(f"{name}: metrics" for name in names), *(f"{name}: model_name" for name in names))


def test_nothing_of_the_engine_is_left(drilled: Drilled, state: Path) -> None:
    drilled("engine")
    assert left_over(state.parent) == []
