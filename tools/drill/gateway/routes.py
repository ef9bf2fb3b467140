"""Scenario `routes`: the gateway on what vela renders, without a plane. Names, shares, streams, refusals, dead legs."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator

from drill.checkout import Checkout
from drill.context import Context
from drill.gateway import checks, client
from drill.gateway.cell import Cell
from drill.gateway.objects import AI_API, Model, Object, Rule, rules
from drill.gateway.source import Fed, rendered
from drill.model import Figure, Result

_DEAD = "drill-dead-canary"
_SOME = 400


def run(context: Context) -> Result:
    """Render, start, ask.

    Raises:
        DrillError: the gateway does not come up.
        FindingsError: the intent is wrong.
    """
    checkout = Checkout(context)
    fed = rendered(checkout)
    context.say(f"{len(fed.config)} objects for the gateway, {len(fed.models)} models behind it")
    with Cell([*fed.config, *dead_leg(fed)], fed.models, context.folder / "cell", checks.PACE) as cell:
        context.mark(f"gateway and {len(fed.models)} models answer after {cell.started_in:.0f} s")
        figures = list(ask(context, cell, fed))
    title = f"Routes of {context.app} on rendered objects"
    return Result("routes", title, context.seconds, tuple(figures), (), tuple(context.events))


def ask(context: Context, cell: Cell, fed: Fed) -> Iterator[Figure]:
    """Everything that one gateway can be asked."""
    known = rules(fed.config)
    split = [rule for rule in known if len(rule.shares) > 1]
    yield from healthy(context, cell, known)
    for rule in split[:1]:
        context.mark("one leg of a canary is dead")
        answers = client.many(cell.door, _DEAD, _SOME)
        yield checks.failures("dead canary backend: requests that fail", answers, _canary_share(rule))
        yield from without_adapter(context, cell, rule)
        yield from without_engine(context, cell, rule)


def healthy(context: Context, cell: Cell, known: list[Rule]) -> Iterator[Figure]:
    """Shares, names, refusals and a stream, with everything alive."""
    split = [rule for rule in known if len(rule.shares) > 1]
    for rule in split:
        context.mark(f"{checks.REQUESTS} requests for {rule.asked}")
        yield from checks.shares(cell, rule)
        other = next(name for name in rule.shares if name != rule.asked)
        yield from checks.shares(cell, rule, _SOME, {"x-ai-eg-model": other})
    context.mark("every other name")
    yield from checks.names(cell, [rule for rule in known if len(rule.shares) == 1])
    yield from checks.refusals(cell)
    for rule in (split or known)[:1]:
        yield from checks.stream(cell, rule.asked)


def without_adapter(context: Context, cell: Cell, rule: Rule) -> Iterator[Figure]:
    """The engine runs without its adapters, as after a revision that has none: the canary's share finds nothing."""
    model = _engine(cell, rule)
    context.mark(f"{model.name} starts again without adapters")
    cell.kill(model)
    cell.start(dataclasses.replace(model, args=_without_adapters(model.args)))
    answers = client.many(cell.door, rule.asked, _SOME)
    yield checks.failures("adapter is not in the engine: requests that fail", answers, _canary_share(rule))
    cell.kill(model)


def without_engine(context: Context, cell: Cell, rule: Rule) -> Iterator[Figure]:
    """The engine is gone: everybody is told, and soon."""
    context.mark("the engine is gone")
    began = context.seconds
    answers = client.many(cell.door, rule.asked, 40)
    yield checks.failures("engine is gone: requests that fail", answers, 100.0)
    took = context.seconds - began
    yield Figure("engine is gone: 40 refusals took", round(took, 2), "s", "under 20 s: nobody waits", took < 20)


def dead_leg(fed: Fed) -> list[Object]:
    """A copy of the first split rule under another name, whose canary leads to an address where nobody listens."""
    split = next((rule for rule in rules(fed.config) if len(rule.shares) > 1), None)
    if split is None:
        return []
    route = next(item for item in fed.config if item["kind"] == "AIGatewayRoute" and _holds(item, split.asked))
    leg = route["spec"]["rules"][0]["backendRefs"][1]
    own = copy.deepcopy(route)
    own["metadata"]["name"] = _DEAD
    first = own["spec"]["rules"][0]
    first["matches"][0]["headers"][0]["value"] = _DEAD
    first["backendRefs"] = [
        {**first["backendRefs"][0], "modelNameOverride": split.asked},
        {**leg, "name": _DEAD},
    ]
    own["spec"]["rules"] = [first]
    meta = {"name": _DEAD, "namespace": route["metadata"]["namespace"]}
    backend = next(item for item in fed.config if item["kind"] == "Backend")
    gone = {**copy.deepcopy(backend), "metadata": meta}
    host, port = gone["spec"]["endpoints"][0]["fqdn"]["hostname"], 9
    gone["spec"] = {"endpoints": [{"fqdn": {"hostname": host, "port": port}}]}
    reference = {"group": "gateway.envoyproxy.io", "kind": "Backend", "name": _DEAD}
    spec = {"schema": {"name": "OpenAI"}, "backendRef": reference}
    return [gone, {"apiVersion": AI_API, "kind": "AIServiceBackend", "metadata": meta, "spec": spec}, own]


def _holds(route: Object, asked: str) -> bool:
    return any(rule.asked == asked and len(rule.shares) > 1 for rule in rules([route]))


def _canary_share(rule: Rule) -> float:
    return sum(value for name, value in rule.shares.items() if name != rule.asked)


def _engine(cell: Cell, rule: Rule) -> Model:
    return next(model for model in cell.models if rule.asked in model.args)


def _without_adapters(args: tuple[str, ...]) -> tuple[str, ...]:
    """The same arguments without the flags of adapters."""
    kept: list[str] = []
    skipping = False
    for word in args:
        if word.startswith("--"):
            skipping = "lora" in word
        if not skipping:
            kept.append(word)
    return tuple(kept)
