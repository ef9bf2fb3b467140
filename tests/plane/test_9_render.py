"""What `sailplan render` says without a cluster is what clusters get: every app (the fleet: see the delivery)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from plane import test_4_delivery
from plane.likeness import unlike
from plane.support import ROOT, Desk

APPS = sorted({file.parent.name for file in (ROOT / "applications").glob("*/app.yaml")} - {test_4_delivery.APP})


@pytest.fixture(params=APPS)
def live(request: pytest.FixtureRequest, published: Desk) -> Iterator[tuple[str, list[str]]]:
    """An app in all its environments."""
    app = str(request.param)
    intent = yaml.safe_load((ROOT / "applications" / app / "app.yaml").read_text())
    published.remove(app)
    published.up(published.compose(app))
    for environment in intent["spec"]["environments"]:
        if gate(environment) == "approve":
            published.approve(app, environment)
    published.until_phase(app, "running")
    yield app, intent["spec"]["environments"]
    published.remove(app)


def gate(environment: str) -> Any:
    return yaml.safe_load((ROOT / f"catalog/environments/{environment}.yaml").read_text())["spec"].get("gate")


def test_the_cluster_got_what_was_rendered(published: Desk, live: tuple[str, list[str]]) -> None:
    app, environments = live
    found = [f"{one}: {line}" for one in environments for line in unlike(published, app, one)]
    assert not found, "\n".join(found)
