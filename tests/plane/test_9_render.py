"""What `sailplan render` says without a cluster is what clusters get. (The fleet's environments: see the delivery.)"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from plane.likeness import unlike
from plane.support import ROOT, Desk

SMALL = [
    file.parent.name
    for file in sorted((ROOT / "applications").glob("*/app.yaml"))
    if len(yaml.safe_load(file.read_text())["spec"]["environments"]) == 1
]


@pytest.fixture(params=SMALL)
def live(request: pytest.FixtureRequest, published: Desk) -> Iterator[str]:
    app = str(request.param)
    published.remove(app)
    published.up(published.compose(app))
    published.until_phase(app, "running")
    yield app
    published.remove(app)


def test_the_cluster_got_what_was_rendered(published: Desk, live: str) -> None:
    (environment,) = yaml.safe_load((ROOT / "applications" / live / "app.yaml").read_text())["spec"]["environments"]
    found = unlike(published, live, environment)
    assert not found, "\n".join(found)
