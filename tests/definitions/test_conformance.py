"""Every object that any case renders holds to the schema of its API, every pod to Pod Security "restricted"."""

from __future__ import annotations

import pytest

from conformance.pod_security import pod_security_violations
from conformance.schemas import validate
from definitions.cases import objects_of, table
from definitions.engine import Object, dry_run, one
from definitions.files import FILES
from definitions.test_commute import ADAPTER, GIVEN
from definitions.test_examples import example

pytestmark = pytest.mark.conformance

every = pytest.mark.parametrize("definition", FILES)


def problems(item: Object) -> list[str]:
    """What an API server, or a namespace that enforces "restricted", would not take."""
    found = validate(item)
    if item["kind"] in ("Deployment", "Job"):
        found += pod_security_violations(item["spec"]["template"])
    return [f"{item['kind']}/{item['metadata']['name']}: {problem}" for problem in found]


@every
def test_every_case(definition: str) -> None:
    rendered = [(name, objects_of(definition, name, "cli")) for name in table(definition)["cases"]]
    assert not [(name, problem) for name, found in rendered for item in found.values() for problem in problems(item)]


def test_longest_names() -> None:
    """A component's name may have 63 characters, with preload 44, an adapter's 56, an outside secret's 54."""
    adapters = {"adapters": {"a" * 56: {**ADAPTER, "rank": 8, "weightPercent": 5}}}
    others = {name: given for name, given in GIVEN.items() if name not in ("preload", "lora-canary")}
    others["external-secret"] = {"secrets": {"s" * 54: {"key": "a"}}}
    for length, traits in ((63, others), (44, {"preload": {}, "ai-gateway-route": {}, "lora-canary": adapters})):
        assert not [problem for item in one(traits, name="m" * length).values() for problem in problems(item)]


@every
def test_every_example(definition: str) -> None:
    assert not [problem for item in dry_run(example(definition)) for problem in problems(item)]
