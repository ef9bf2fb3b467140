"""The committed fleet, composed and rendered once by the real vela, for every test of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sailplan.compose import compose
from sailplan.model import Catalog, Composition
from sailplan.render import render, render_all
from unit.catalogs import repository

Object = Mapping[str, Any]
FLEET = "inference-fleet"


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return repository()


@pytest.fixture(scope="session")
def fleet(catalog: Catalog) -> Composition:
    return compose(catalog, catalog.apps[FLEET])


@pytest.fixture(scope="session")
def rendered(catalog: Catalog, fleet: Composition) -> Mapping[str, list[Object]]:
    """Environment -> objects, as they end up."""
    return render_all(catalog, fleet, list(catalog.apps[FLEET].spec["environments"]))


@pytest.fixture(scope="session")
def withheld(catalog: Catalog, fleet: Composition) -> list[Object]:
    """What production has after its first deploy step."""
    return render(catalog, fleet, "production", "withheld")


@pytest.fixture(scope="session")
def production(rendered: Mapping[str, list[Object]]) -> Callable[..., Any]:
    """`production("Deployment", "xplane-qwen-coder")`: one object of production; without a name all of that kind."""

    def find(kind: str, name: str = "") -> Any:
        found = [item for item in rendered["production"] if item["kind"] == kind]
        if not name:
            return found
        return next(item for item in found if item["metadata"]["name"] == name)

    return find
