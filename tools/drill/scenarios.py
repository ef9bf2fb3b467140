"""The list of scenarios. A scenario's own modules are imported when it runs, and not before."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from drill import needs
from drill.context import Context
from drill.model import Result, Scenario


def late(module: str, function: str = "run") -> Callable[[Context], Result]:
    """Return a function that imports `module` when it is called."""

    def run(context: Context) -> Result:
        result: Result = getattr(importlib.import_module(module), function)(context)
        return result

    return run


_KEDA = (needs.tool("keda-operator"), needs.tool("keda-adapter"), needs.tool("prometheus"))
_GATEWAY = (needs.tool("aigw"), needs.tool("envoy"), needs.namespaces())

_ALL = (
    Scenario(
        "scaling",
        "Real KEDA and Kubernetes' autoscaler on the catalog's triggers, by load",
        (*needs.plane(), *_KEDA),
        late("drill.scaling.scenario"),
    ),
    Scenario(
        "traffic",
        "Real KEDA on real requests: pods are processes that answer, come and go",
        (*needs.plane(), *_KEDA, needs.namespaces()),
        late("drill.traffic.scenario"),
    ),
    Scenario(
        "canary",
        "Canary shares through the real gateway, changed by intent edits and vela up",
        (*needs.plane(), *_GATEWAY),
        late("drill.gateway.canary"),
    ),
    Scenario(
        "routes",
        "Names, shares and streams through the real gateway, on objects that vela renders without a cluster",
        (needs.tool("vela"), needs.tool("cue"), *_GATEWAY),
        late("drill.gateway.routes"),
    ),
    Scenario(
        "engine",
        "The real vLLM on a processor, started with the rendered arguments",
        (needs.tool("vela"), needs.tool("cue"), needs.engine()),
        late("drill.engine.scenario"),
    ),
)

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in _ALL}
"""By name, in the order in which they run."""
