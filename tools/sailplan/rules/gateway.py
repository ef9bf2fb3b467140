"""SP4xx: names under which models are asked for, and how requests are split."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sailplan.findings import nearest
from sailplan.rules.composition import places
from sailplan.rules.registry import Problem, Problems, component_rule, fleet_rule
from sailplan.rules.view import Placed, View

ROUTE = "ai-gateway-route"
CANARY = "lora-canary"

PICKERS = ("endpoint-picker", "inference-pool")
"""Traits that choose a pod by its load. Their backends carry neither weights nor another model name."""

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What the engine's --max-lora-rank takes."""

SHORT = 120
"""Seconds; a route that cuts a request off sooner cuts long answers off (R50)."""

_DURATION = re.compile(r"(?P<number>[0-9]+)(?P<unit>ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@component_rule("SP401", "canaries take everything")
def canary_sum(view: View, placed: Placed) -> Problems:
    """The base model keeps at least one percent, so that its own backend stays in the route."""
    for environment, adapters in _adapters(placed):
        total = sum(adapter.get("weightPercent", 0) for adapter in adapters.values())
        if total > 99:
            parts = ", ".join(
                f"{name} {one['weightPercent']}" for name, one in adapters.items() if "weightPercent" in one
            )
            message = f"{placed.component.name} in {environment}: canary weights add up to {total} percent ({parts})"
            last = [name for name, one in adapters.items() if "weightPercent" in one][-1]
            path = ("traits", CANARY, "adapters", last, "weightPercent")
            at = placed.at(environment, *path)
            yield Problem(at, placed.field(*path), message, str(total), "at most 99", fix="lower one of them")


@component_rule("SP402", "unknown adapter")
def unknown_adapter(view: View, placed: Placed) -> Problems:
    """A weight for an adapter that the preset does not describe is a misspelt name, and would be a route to nowhere."""
    for environment, adapters in _adapters(placed):
        whole = [name for name, one in adapters.items() if "repository" in one]
        for name, adapter in adapters.items():
            missing = [key for key in ("repository", "revision", "rank") if key not in adapter]
            path = ("traits", CANARY, "adapters", name)
            at = placed.at(environment, *path)
            if len(missing) == 3:
                near = nearest(name, whole)
                message = f"{placed.component.model} describes no adapter {name}"
                fix = (
                    f"did you mean {near}?" if near else "describe it under settings.lora-canary.adapters of the preset"
                )
                yield Problem(at, placed.field(*path), message, name, ", ".join(whole) or "none", near, fix)
            elif missing:
                message = f"the adapter {name} has no {' and no '.join(missing)}"
                yield Problem(at, placed.field(*path, missing[0]), message, fix=f"add {' and '.join(missing)}")


@fleet_rule("SP403", "one name, two models")
def served_twice(view: View) -> Problems:
    """A gateway finds a model by the name in the request; of two that serve one name, adapters too, it finds one."""
    seen: dict[tuple[str, str, str, str], tuple[Placed, str, str]] = {}
    for cluster, _, placed, environment in places(view):
        for gateway in _gateway(view, placed, environment):
            for name, what, path in _names(placed, environment):
                other, where, before = seen.setdefault((cluster, *gateway, name), (placed, environment, what))
                if other is placed and (where, before) == (environment, what):
                    continue
                whom = f"{placed.name} serves it as {what}, {other.name} in {where} as {before}"
                message = f"{name} is served twice on the gateway {gateway[1]} of {environment}: {whom}"
                at = placed.at(environment, *path) if path else placed.here("name")
                yield Problem(at, placed.field(*path), message, name, fix="give one of them another name, or gateway")


@component_rule("SP404", "rank that the engine does not take", "warning")
def odd_rank(view: View, placed: Placed) -> Problems:
    """The engine's limit is the next rank that it takes, and memory for that one is set aside for every adapter."""
    for environment, adapters in _adapters(placed):
        for name, adapter in adapters.items():
            rank = adapter.get("rank")
            if rank is not None and rank not in RANKS:
                path = ("traits", CANARY, "adapters", name, "rank")
                more = [one for one in RANKS if one > rank]
                next_one = more[0] if more else "none"
                message = f"the adapter {name} has rank {rank}; the engine sets memory aside for {next_one}"
                at = placed.at(environment, *path)
                yield Problem(at, placed.field(*path), message, str(rank), ", ".join(map(str, RANKS)))


@component_rule("SP405", "canary without a gateway")
def canary_without_gateway(view: View, placed: Placed) -> Problems:
    """The gateway splits the requests; without a route an adapter's weight does nothing."""
    for environment, adapters in _adapters(placed):
        weighed = [name for name, one in adapters.items() if "weightPercent" in one]
        if weighed and ROUTE not in placed.component.environments[environment][1]:
            path = ("traits", CANARY, "adapters", weighed[0], "weightPercent")
            message = f"{placed.component.name} has a canary and no {ROUTE} that could split its requests"
            at = placed.at(environment, *path)
            yield Problem(at, placed.field(*path), message, weighed[0], fix="add the capability gateway")


@component_rule("SP406", "canary with an endpoint picker")
def canary_with_picker(view: View, placed: Placed) -> Problems:
    """A rule with an inference pool takes no second backend and no other model name, so no canary."""
    for environment, adapters in _adapters(placed):
        pickers = [name for name in PICKERS if name in placed.component.environments[environment][1]]
        if pickers and any("weightPercent" in one for one in adapters.values()):
            message = f"{placed.component.name} has a canary and {pickers[0]}, which takes no weights"
            at = placed.at(environment, "traits", pickers[0])
            yield Problem(at, placed.field("traits", pickers[0]), message, pickers[0], fix="keep one of the two")


@component_rule("SP407", "answers may be cut off", "warning")
def short_timeout(view: View, placed: Placed) -> Problems:
    """The timeout of a route bounds the whole answer, streaming included; long ones end in the middle, with a 200."""
    for environment, (_, traits) in placed.environments:
        for trait in (ROUTE, "http-route"):
            timeout = traits.get(trait, {}).get("requestTimeout")
            seconds = duration(timeout) if timeout else 0.0
            if 0 < seconds < SHORT:
                path = ("traits", trait, "requestTimeout")
                message = f"{placed.component.name} in {environment}: answers are cut off after {timeout}"
                at = placed.at(environment, *path)
                fix = f"write at least {SHORT}s, or 0s for no limit"
                yield Problem(at, placed.field(*path), message, str(timeout), f"at least {SHORT}s, or 0s", fix=fix)


@fleet_rule("SP112", "component name taken in the namespace")
def name_taken(view: View) -> Problems:
    """Objects are named as their component: two of one name in a namespace overwrite each other."""
    seen: dict[tuple[str, str, str], tuple[Placed, str]] = {}
    for cluster, namespace, placed, environment in places(view):
        other, where = seen.setdefault((cluster, namespace, placed.component.name), (placed, environment))
        same_app = other.app.name == placed.app.name
        if (same_app and where == environment) or (same_app and other is not placed):
            continue  # itself, or a name taken twice within one intent, which SP110 says
        whom = f"{placed.name} in {environment} and {other.name} in {where}"
        message = f"{whom} have the same name in namespace {namespace} of cluster {cluster}"
        at = placed.here("name" if "name" in placed.app.spec["components"][placed.index] else "model")
        yield Problem(at, placed.field(), message, placed.component.name, fix="choose another name, or namespace")


@component_rule("SP408", "one adapter under two names")
def adapter_twice(view: View, placed: Placed) -> Problems:
    """The same weights under two names take memory twice and split nothing."""
    for environment, adapters in _adapters(placed):
        seen: dict[tuple[Any, Any], str] = {}
        for name, adapter in adapters.items():
            if "repository" not in adapter:
                continue
            other = seen.setdefault((adapter["repository"], adapter.get("revision")), name)
            if other != name:
                path = ("traits", CANARY, "adapters", name)
                message = f"the adapters {other} and {name} are the same: {adapter['repository']}"
                yield Problem(placed.at(environment, *path), placed.field(*path), message, name, fix="delete one")


def duration(text: str) -> float:
    """Seconds of a Go duration such as `1h30m`; 0 for `0s` and for what is none."""
    return sum(float(one["number"]) * _SECONDS[one["unit"]] for one in _DURATION.finditer(str(text)))


def _adapters(placed: Placed) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for environment, (_, traits) in placed.environments:
        if CANARY in traits:
            yield environment, traits[CANARY].get("adapters", {})


def _names(placed: Placed, environment: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every name that a component serves: as what, and which value says so."""
    properties, traits = placed.component.environments[environment]
    own = ("properties", "servedName") if "servedName" in properties else ()
    yield str(properties.get("servedName", placed.component.name)), "the model", own
    for name in traits.get(CANARY, {}).get("adapters", {}):
        yield name, "an adapter", ("traits", CANARY, "adapters", name)


def _gateway(view: View, placed: Placed, environment: str) -> Iterator[tuple[str, str]]:
    """Namespace and name of the gateway that routes to a component, if one does."""
    route = placed.component.environments[environment][1].get(ROUTE)
    if route is not None:
        named = {**(view.environment(environment).spec.get("gateway") or {}), **route.get("gateway", {})}
        yield str(named.get("namespace", "")), str(named.get("name", ""))
