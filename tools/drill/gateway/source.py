"""Where a gateway's objects come from: a plane that holds them, or `vela dry-run` and the plane's own recipe."""

from __future__ import annotations

from dataclasses import dataclass

from drill.checkout import Checkout, Object
from drill.desk import Desk
from drill.errors import DrillError
from drill.gateway.objects import GATEWAY_API, ROUTED, Model, for_aigw, leads_to, models

_KINDS = (("apps/v1", "Deployment"), ("v1", "Service"), *ROUTED)


@dataclass(frozen=True)
class Fed:
    """What a cell is started with."""

    config: list[Object]
    models: list[Model]


def rendered(checkout: Checkout) -> Fed:
    """What vela renders for the intent as it is now, with the gateway that a plane would have.

    Raises:
        FindingsError: the intent is wrong.
    """
    from localplane import platform
    from localplane.components import HUB

    platform_objects = platform.objects(platform.read(checkout.folder), HUB)
    return _fed(checkout, [*platform_objects, *checkout.rendered()])


def held(desk: Desk) -> Fed:
    """What the plane holds now."""
    objects = [item for kind in _KINDS for item in desk.objects(*kind)]
    objects += desk.objects(GATEWAY_API, "GatewayClass", "")
    objects += desk.objects(GATEWAY_API, "Gateway", desk.checkout.environment["gateway"]["namespace"])
    return _fed(desk.checkout, objects)


def _fed(checkout: Checkout, objects: list[Object]) -> Fed:
    wanted = checkout.environment["gateway"]
    for gateway in objects:
        if gateway["kind"] == "Gateway" and gateway["metadata"]["name"] == wanted["name"]:
            named = gateway["spec"]["gatewayClassName"]
            kind = next(one for one in objects if one["kind"] == "GatewayClass" and one["metadata"]["name"] == named)
            return _answered(Fed(for_aigw(objects, gateway, kind), models(objects)))
    raise DrillError(f"there is no gateway {wanted['namespace']}/{wanted['name']}")


def _answered(fed: Fed) -> Fed:
    """Leave out routes that lead to no engine: what somebody else serves cannot be put under traffic here.

    A route that lacks one of its backends stays: that is a fault, and the gateway has to show what becomes of it.

    Raises:
        DrillError: nothing is left.
    """
    here = {host for model in fed.models for host in model.hosts}
    foreign = [one for one in fed.config if one["kind"] == "AIGatewayRoute" and not here & leads_to(fed.config, one)]
    config = [item for item in fed.config if item not in foreign]
    if not any(item["kind"] == "AIGatewayRoute" for item in config):
        raise DrillError("no route leads to an engine", "the capability gateway makes one")
    return Fed(config, fed.models)
