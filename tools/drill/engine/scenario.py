"""Scenario `engine`: does the real engine take what we render, under the names and with the metrics that we use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from drill.checkout import Checkout, Object
from drill.context import Context
from drill.engine.arguments import LOOKED_UP, Fitted, fit, groups
from drill.engine.metrics import absent, exposed, queried
from drill.engine.server import Server, weights
from drill.errors import DrillError
from drill.model import Figure, Result

_TOOL = {"type": "function", "function": {"name": "wind", "parameters": {"type": "object", "properties": {}}}}
AT_ONCE = 2
"""Engines that boot at the same time: each takes 1.5 GB, and a boot hardly uses more than one core."""

_OWN = ("HOME", "HF_HOME", "USER")
"""Variables whose paths are the container's."""


def run(context: Context) -> Result:
    """Boot as many engines as show every flag, and ask each.

    Raises:
        DrillError: an engine does not come up.
        FindingsError: the intent is wrong.
    """
    objects = Checkout(context).rendered()
    wanted = queried(context.root, objects)
    figures: list[Figure] = []
    chosen = distinct(objects)
    for first in range(0, len(chosen), AT_ONCE):
        figures += together(context, chosen[first : first + AT_ONCE], wanted)
    title = f"The real engine with the arguments of {context.app}"
    return Result("engine", title, context.seconds, tuple(figures), (), tuple(context.events))


def together(context: Context, chosen: list[tuple[str, Object]], wanted: set[str]) -> list[Figure]:
    """Boot some engines at the same time, and ask one after the other."""
    figures: list[Figure] = []
    with ExitStack() as stack:
        started = []
        for name, container in chosen:
            folder = context.folder / name
            fitted = fit(container["args"], str(folder / "models"))
            weights(fitted, folder / "models")
            context.mark(f"{name}: starts with {len(fitted.args)} arguments")
            server = stack.enter_context(Server(fitted, _variables(container), folder / "run"))
            started.append((name, fitted, server))
        for name, fitted, server in started:
            server.until_healthy()
            context.mark(f"{name}: healthy after {server.booted_in:.0f} s")
            figures += ask(name, fitted, server, wanted)
    return figures


def distinct(objects: list[Object]) -> list[tuple[str, Object]]:
    """Engine containers by their Deployment's name, as many as show every flag that a processor runs.

    A container whose flags another one has too shows nothing new: names and numbers of all of them are parsed by
    tests/engine, in milliseconds.

    Raises:
        DrillError: there is none.
    """
    found: dict[str, Object] = {}
    for item in objects:
        if item["kind"] == "Deployment":
            container = item["spec"]["template"]["spec"]["containers"][0]
            if container["name"] == "vllm":
                found[item["metadata"]["name"]] = container
    if not found:
        raise DrillError("the application has no engine of its own")
    return [(name, found[name]) for name in enough({name: shown(one["args"]) for name, one in found.items()})]


def shown(args: list[str]) -> frozenset[str]:
    """What a boot shows: flags, with the values that are looked up at boot only."""
    kept = groups(fit(args, "/models").args[1:])
    return frozenset(" ".join([flag, *(words if flag in LOOKED_UP else ())]) for flag, words in kept)


def enough(known: dict[str, frozenset[str]]) -> list[str]:
    """Names whose sets hold those of all others; the largest first, none that adds nothing."""
    chosen: list[str] = []
    for name in sorted(known, key=lambda one: (-len(known[one]), one)):
        if not known[name] <= frozenset().union(*(known[one] for one in chosen)):
            chosen.append(name)
    return chosen


def _variables(container: Object) -> dict[str, str]:
    given = container.get("env", [])
    return {one["name"]: one["value"] for one in given if "value" in one and one["name"] not in _OWN}


def ask(name: str, fitted: Fitted, server: Server, wanted: set[str]) -> Iterator[Figure]:
    """Everything that is asked of one engine."""
    yield Figure(f"{name}: arguments that the engine took", len(fitted.args), "", "all")
    yield Figure(f"{name}: left out, for a GPU only", " ".join(fitted.dropped) or "nothing")
    yield Figure(f"{name}: healthy after", round(server.booted_in, 1), "s")
    yield listed(name, fitted, server)
    for asked in (fitted.served, *fitted.adapters):
        yield answered(name, asked, server, fitted)
    status, _ = server.post("/v1/completions", {"model": "no-such-model", "prompt": "ahoy"})
    yield Figure(f"{name}: unknown model", str(status), "", "404", status == 404)
    there = exposed(server.get("/metrics")[1])
    lacking = absent(wanted, there)
    promise = f"all {len(wanted)} that our queries, alerts and scripts name"
    yield Figure(f"{name}: metrics that are not exposed", ", ".join(lacking) or "none", "", promise, not lacking)
    yield labelled(name, fitted, there)


def listed(name: str, fitted: Fitted, server: Server) -> Figure:
    """The list of models is the base and its adapters."""
    rows = _json(server.get("/v1/models")[1]).get("data", [])
    there = {row["id"]: row.get("parent") for row in rows}
    promised = {fitted.served: None, **dict.fromkeys(fitted.adapters, fitted.served)}
    words = ", ".join(sorted(there)) or "nothing"
    return Figure(f"{name}: models it lists", words, "", ", ".join(sorted(promised)), there == promised)


def answered(name: str, asked: str, server: Server, fitted: Fitted) -> Figure:
    """One chat request under a name, with a tool where the engine was started for tools."""
    body: dict[str, Any] = {"model": asked, "messages": [{"role": "user", "content": "ships sail"}], "max_tokens": 4}
    if "--enable-auto-tool-choice" in fitted.args:
        body |= {"tools": [_TOOL], "tool_choice": "auto"}
    status, text = server.post("/v1/chat/completions", body)
    said = str(_json(text).get("model", text[:120]))
    return Figure(f"{name}: {asked} answers as", f"{status} {said}", "", asked, (status, said) == (200, asked))


def labelled(name: str, fitted: Fitted, there: dict[str, list[dict[str, str]]]) -> Figure:
    """Requests to adapters count under the base model's name: one filter finds all."""
    rows = [labels for metric, found in there.items() if metric.startswith("vllm:num_requests") for labels in found]
    names = sorted({labels.get("model_name", "") for labels in rows})
    return Figure(f"{name}: model_name of its gauges", ", ".join(names), "", fitted.served, names == [fitted.served])


def _json(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
