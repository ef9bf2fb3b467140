"""The workflow of a composed Application: environment after environment, routes only to healthy models. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from sailplan.model import Document
from sailplan.policies import WITHHOLD, override_name, topology_name


def steps(environments: Iterable[Document], policies: Collection[str]) -> list[dict[str, Any]]:
    """Steps for all environments, in the intent's order.

    Args:
        environments: the environments to deploy to.
        policies: names of the policies that exist; a step names no other.
    """
    return [step for environment in environments for step in _environment(environment, policies)]


def deploy_name(environment: str, withheld: bool = False) -> str:
    """Name of an environment's deploy step: of the first, which holds routes back, or of the last."""
    return f"deploy-{environment}-withheld" if withheld else f"deploy-{environment}"


def deploy(environment: str, policies: Collection[str], withheld: bool = False) -> dict[str, Any]:
    """One deploy step. The order of its policies is the order in which they apply."""
    wanted = [topology_name(environment), override_name(environment), *([WITHHOLD] if withheld else [])]
    used = [name for name in wanted if name in policies]
    return {"name": deploy_name(environment, withheld), "type": "deploy", "properties": {"policies": used}}


def _environment(environment: Document, policies: Collection[str]) -> list[dict[str, Any]]:
    name = environment.name
    made: list[dict[str, Any]] = []
    if environment.spec.get("gate") == "approve":
        made.append({"name": f"approve-{name}", "type": "suspend"})
    # KubeVela waits for a deploy step's objects to be healthy, so the second step adds the route to a model that
    # answers. It is never taken away again: objects are collected when a workflow ends, not between steps (measured).
    if WITHHOLD in policies:
        made.append(deploy(name, policies, withheld=True))
    return [*made, deploy(name, policies)]
