"""Scenario `canary`: a share of a model's requests goes to its adapter, and the share is changed by intent edits.

Every step is a person's: edit the intent, compose, `vela up`. The gateway gets the objects that the hub holds then.
`aigw run` reads its input once, so each step starts a second gateway beside the first; when every name is answered the
traffic moves over, and the first one goes when it owes no answer any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from drill import desk as desks
from drill.checkout import Checkout
from drill.context import Context
from drill.errors import DrillError
from drill.gateway import checks, client, routes
from drill.gateway.cell import Cell
from drill.gateway.objects import Rule, rules
from drill.gateway.source import held
from drill.gateway.traffic import Stream, Traffic
from drill.model import Figure, Result, Series

_KNOB = "canary.weightPercent"
_STREAM_TOKENS = 160
"""A stream of 8 s: long enough to be in flight while one gateway takes over from the other."""


@dataclass(frozen=True)
class Step:
    """An edit of the intent: what it is, and the canary's share afterwards (None: what the preset says)."""

    what: str
    percent: int | None


STEPS = (Step("promoted", 50), Step("changed", 25), Step("rolled back", None))


@dataclass
class Rollout:
    """What runs, and what was found."""

    context: Context
    desk: desks.Desk
    model: str
    stack: ExitStack
    cells: list[Cell] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    weights: list[tuple[float, float]] = field(default_factory=list)

    def start(self) -> tuple[Cell, Rule]:
        """Start a gateway with what the hub holds now."""
        fed = held(self.desk)
        folder = self.context.folder / f"cell-{len(self.cells)}"
        cell = self.stack.enter_context(Cell(fed.config, fed.models, folder, checks.PACE))
        self.cells.append(cell)
        rule = next((rule for rule in rules(fed.config) if len(rule.shares) > 1), None)
        if rule is None:
            raise DrillError("no route of the hub splits a name", "a canary takes the capability sql-canary")
        return cell, rule

    def weigh(self, rule: Rule) -> None:
        """Note the share that is promised from now on."""
        now = self.context.seconds
        if self.weights:
            self.weights.append((now, self.weights[-1][1]))
        self.weights.append((now, canary_of(rule)[1]))


def run(context: Context) -> Result:
    """Deliver, start, ask, and change the share under traffic.

    Raises:
        DrillError: something does not come up, or the application has no canary.
        FindingsError: the intent is wrong.
    """
    model = ""

    def prepare(checkout: Checkout) -> None:
        nonlocal model
        model = chosen(checkout)
        checkout.only(model)

    with desks.opened(context, prepare) as desk, ExitStack() as stack:
        rollout = Rollout(context, desk, model, stack)
        took = desk.deliver()
        context.mark(f"{context.app} is delivered after {took:.0f} s")
        series = _whole(rollout)
    title = f"Canary of {model}, changed by intent edits and vela up"
    return Result("canary", title, context.seconds, tuple(rollout.figures), tuple(series), tuple(context.events))


def chosen(checkout: Checkout) -> str:
    """The preset in the intent that has the knob of a canary's share.

    Raises:
        DrillError: none has.
    """
    composed = checkout.composed().application
    canaries = [
        part["name"]
        for part in composed["spec"]["components"]
        for trait in part["traits"]
        if trait["type"] == "lora-canary"
        and any("weightPercent" in one for one in trait["properties"]["adapters"].values())
    ]
    parts = checkout.intent["spec"]["components"]
    found = [part["model"] for part in parts if checkout.named(part) in canaries]
    if not found:
        raise DrillError(f"no component of {checkout.app} has a canary", "add the capability sql-canary to one")
    return str(found[0])


def canary_of(rule: Rule) -> tuple[str, float]:
    """Name and share of a rule's canary."""
    return next((name, share) for name, share in rule.shares.items() if name != rule.asked)


def _whole(rollout: Rollout) -> list[Series]:
    context = rollout.context
    cell, rule = rollout.start()
    context.mark(f"a gateway answers after {cell.started_in:.0f} s")
    rollout.weigh(rule)
    rollout.figures += routes.healthy(context, cell, rules(cell.config))
    with Traffic(rule.asked, cell) as traffic:
        for step in STEPS:
            rollout.figures += _step(rollout, traffic, step)
    rollout.weigh(rule)
    lost = traffic.lost
    said = f"{len(lost)}" + (f": {client.statuses(lost)} {lost[0].text[:80]}" if lost else "")
    total = len(traffic.answers)
    rollout.figures.append(Figure("requests lost while gateways took over", said, f"of {total}", "0", not lost))
    canary, _ = canary_of(rule)
    weights = Series("weight in the route", "% of requests", tuple(rollout.weights))
    return [weights, *traffic.series(context, canary)]


def _step(rollout: Rollout, traffic: Traffic, step: Step) -> Iterator[Figure]:
    """Edit, deliver, let a second gateway take over, and measure."""
    context, desk, old = rollout.context, rollout.desk, rollout.cells[-1]
    desk.checkout.set(rollout.model, **{_KNOB.replace(".", "__"): step.percent})
    took = desk.deliver()
    context.mark(f"{step.what}: delivered after {took:.0f} s")
    cell, rule = rollout.start()
    canary, promised = canary_of(rule)
    stream = Stream(old, rule.asked, _STREAM_TOKENS)
    stream.until_begun()
    traffic.use(cell)
    in_flight = stream.runs
    traffic.drained(old)
    rollout.weigh(rule)
    context.mark(f"{step.what}: {promised:g} % to {canary}, a second gateway took over")
    wanted = step.percent
    fits = wanted is None or promised == wanted
    yield Figure(f"{step.what}: weight in the hub's route", promised, "%", f"{wanted or promised:g} %", fits)
    answers = client.many(cell.door, rule.asked, checks.REQUESTS)
    yield checks.share(f"{canary}, {step.what}", client.shares(answers).get(canary, 0.0), promised)
    answer = stream.end()
    whole = answer.done and len(answer.chunks) >= _STREAM_TOKENS and in_flight
    words = f"{len(answer.chunks)} pieces{'' if answer.done else ', no end'}{'' if in_flight else ', over too early'}"
    yield Figure(
        f"{step.what}: stream through the first gateway", words, "", f"all {_STREAM_TOKENS}, and an end", whole
    )
    old.stop()
