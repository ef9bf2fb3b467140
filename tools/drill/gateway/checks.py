"""What is asked of a gateway, as figures."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from drill.gateway import client
from drill.gateway.cell import Cell
from drill.gateway.client import OK, Answer
from drill.gateway.objects import Rule
from drill.model import Figure

REQUESTS = 1000
TOLERANCE = 2.0
"""Points of percent that a share may be off over `REQUESTS`."""

TOKEN_SECONDS = 0.05
PACE = {
    "VLLM_SIM_FIRST_TOKEN_SECONDS": "0.005",
    "VLLM_SIM_TOKEN_SECONDS": str(TOKEN_SECONDS),
    "VLLM_SIM_LOAD_SECONDS": "0",
}
"""How fast the models answer."""

_TOKENS = 20


def shares(cell: Cell, rule: Rule, count: int = REQUESTS, headers: dict[str, str] | None = None) -> Iterator[Figure]:
    """Ask for one name many times: who was asked for what, and did everybody get an answer."""
    before = engine_count(cell)
    answers = client.many(cell.door, rule.asked, count, headers=headers)
    found = client.shares(answers)
    what = f"{rule.asked}{' with a forged header' if headers else ''}"
    for name, promised in rule.shares.items():
        yield share(f"{what} that reaches {name}", found.get(name, 0.0), promised)
    strangers = sum(answer.reached not in rule.shares for answer in answers)
    yield Figure(f"{what}: requests under another name, or not answered", strangers, f"of {count}", "0", strangers == 0)
    counted = round(engine_count(cell) - before)
    yield Figure(f"{what}: requests that the engines counted", counted, "", str(count), counted == count)


def share(name: str, found: float, promised: float) -> Figure:
    """A share in percent that has to lie around what was promised; nothing and everything have to be exact."""
    exact = promised in (0.0, 100.0)
    off = 0.0 if exact else TOLERANCE
    words = f"{promised:g} %" if exact else f"{promised - off:g} to {promised + off:g} %"
    return Figure(f"share of {name}", round(found, 2), "%", words, abs(found - promised) <= off)


def engine_count(cell: Cell) -> float:
    """Requests that the engines say they answered, by their own metrics."""
    total = 0.0
    for model in cell.models:
        status, text = client.get(cell.behind(model), "/metrics")
        if status == OK:
            total += sum(
                float(line.split()[-1]) for line in text.splitlines() if line.startswith("vllm:request_success_total{")
            )
    return total


def names(cell: Cell, rules: Iterable[Rule], count: int = 100) -> Iterator[Figure]:
    """Ask for each name that has an engine's adapter or base of its own: all of it goes there."""
    for rule in rules:
        answers = client.many(cell.door, rule.asked, count)
        yield share(rule.asked, client.shares(answers).get(rule.asked, 0.0), 100.0)


def refusals(cell: Cell) -> Iterator[Figure]:
    """What is no request for a known name: refused by the gateway, and no engine hears of it."""
    before = engine_count(cell)
    unknown = client.ask(cell.door, "no-such-model")
    said = " ".join(unknown.text.split())[:140]
    yield Figure("unknown model", f"{unknown.status} {said}", "", "404 in words", unknown.status == 404 and bool(said))
    caller = client.Caller(cell.door)
    broken = caller.post("", "{oops")
    empty = caller.post("", '{"messages": []}')
    caller.close()
    yield Figure("body that is no JSON", str(broken.status), "", "4xx", 400 <= broken.status < 500)
    yield Figure("body without a model", str(empty.status), "", "4xx", 400 <= empty.status < 500)
    heard = round(engine_count(cell) - before)
    yield Figure("of these, requests that an engine answered", heard, "", "0", heard == 0)


def stream(cell: Cell, name: str) -> Iterator[Figure]:
    """Read a stream as it comes: are its pieces handed on one by one, at the pace at which the engine makes them."""
    began = time.monotonic()
    answer = client.ask(cell.door, name, tokens=_TOKENS, stream=True, ignore_eos=True)
    yield from judged(answer, began)


def judged(answer: Answer, began: float) -> Iterator[Figure]:
    """A gateway that collects an answer first hands on all of it at its end; a busy machine only lumps a few pieces."""
    gaps = [later - earlier for earlier, later in zip(answer.chunks, answer.chunks[1:], strict=False)]
    whole = answer.done and answer.status == OK
    yield Figure("stream: pieces", len(answer.chunks), "", f"{_TOKENS} and an end", whole and len(gaps) + 1 >= _TOKENS)
    middle = statistics.median(gaps) if gaps else 0.0
    words = f"{1000 * TOKEN_SECONDS:.0f} ms is the engine's pace"
    yield Figure(
        "stream: time between pieces (median)", round(1000 * middle, 1), "ms", words, middle > TOKEN_SECONDS / 5
    )
    first = 100.0 * (answer.chunks[0] - began) / (answer.at - began) if answer.chunks else 100.0
    yield Figure("stream: first piece after", round(first, 1), "% of its time", "under 50 %", first < 50)
    lumped = sum(gap < TOKEN_SECONDS / 10 for gap in gaps)
    fine = 2 * lumped <= len(gaps)
    yield Figure("stream: pieces that came together", lumped, f"of {len(gaps)}", "at most half", bool(gaps) and fine)


def failures(what: str, answers: Sequence[Answer], promised: float, rest: int = OK) -> Figure:
    """A share of requests that fails, and no more: the others get `rest`."""
    bad = [answer for answer in answers if answer.status != rest]
    found = 100.0 * len(bad) / len(answers)
    codes = ", ".join(f"{count} x {status}" for status, count in sorted(Counter(one.status for one in bad).items()))
    ok = abs(found - promised) <= (0 if promised in (0.0, 100.0) else TOLERANCE * 2)
    words = "all of them" if promised == 100.0 else f"{promised:g} %: its share, no failover"
    return Figure(what, f"{found:.1f} % ({codes})", "", words, ok)
