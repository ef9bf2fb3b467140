"""What `init` decides when it is not told: which model gets which capability, and where a new application goes. Pure.

The catalog has passed the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sailplan import offers
from sailplan.capacity import demand
from sailplan.compose import compose
from sailplan.errors import FindingsError, UsageError
from sailplan.findings import errors
from sailplan.model import Catalog, Document, Finding

TRYING = "sandbox"
"""The environment that is looked at first: it is there for trying things out, with GPUs of its own."""

Wishes = Mapping[str, Sequence[str]]
"""Model -> the capabilities that it gets."""


def wishes(
    catalog: Catalog, models: Sequence[str], capabilities: Sequence[str], environments: Sequence[str]
) -> tuple[Wishes, list[str]]:
    """The capabilities that each of `models` gets, and for those it does not get a line that says why.

    Args:
        catalog: names that it does not have are passed on; the rules say what is wrong with them.
        models: as they were asked for.
        capabilities: as they were asked for.
        environments: where the application goes; those that might be chosen for it when empty.

    Raises:
        UsageError: a capability can be had for none of the models.
    """
    given: dict[str, list[str]] = {model: [] for model in models}
    left_out = []
    for capability in capabilities:
        why = {model: _refused(catalog, model, capability, environments) for model in given}
        if all(why.values()):
            reason = next(iter(why.values()))
            hint = f"`sailplan describe capability {capability}` says for which models, and in which --env"
            raise UsageError(f"--with {capability}: {reason}", hint)
        for model, reason in why.items():
            if reason:
                left_out.append(f"{capability} is left out of {model}: {reason}")
            else:
                given[model].append(capability)
    return given, left_out


def _refused(catalog: Catalog, model: str, capability: str, environments: Sequence[str]) -> str:
    known = model in catalog.presets and capability in catalog.capabilities
    if not known or not catalog.environments.keys() >= set(environments):
        return ""
    if not environments:
        return offers.anywhere(catalog, model, capability, _candidates(catalog.environments))
    # Named environments all get the same intent.
    return next(filter(None, (offers.refusal(catalog, model, capability, name) for name in environments)), "")


def environment(catalog: Catalog, intent: Callable[[str], Document]) -> tuple[str, str]:
    """An environment that takes a new application, and why it was chosen.

    The one for trying first, then the others that ask for no approval, by name: the first whose GPUs suffice at full
    load, else the first whose GPUs suffice for the replicas that always run.

    Args:
        catalog: with the applications that are there already.
        intent: the new application, by the environment that it goes to.

    Raises:
        UsageError: there is no environment.
        FindingsError: no environment takes it; what the first one says.
    """
    names = _candidates(catalog.environments)
    if not names:
        raise UsageError("there are no environments in this catalog", "write one in catalog/environments/")
    tried = {name: _tried(catalog, intent(name)) for name in names}
    going = {name: found for name, found in tried.items() if not errors(found)}
    if not going:
        same = all(found == tried[names[0]] for found in tried.values())
        hint = "" if same else f"none of {', '.join(names)} takes it; --env NAME chooses another environment"
        raise FindingsError(errors(tried[names[0]]), hint=hint)
    needs = {name: _gpus(catalog, intent(name)) for name in going}
    chosen = min(going, key=lambda name: bool(needs[name]) and any(found.id == "SP202" for found in going[name]))
    before = names[: names.index(chosen)]
    return chosen, ", and ".join(filter(None, (_why(chosen, before), needs[chosen])))


def _candidates(environments: Mapping[str, Document]) -> list[str]:
    free = [name for name, document in environments.items() if document.spec["gate"] == "auto"]
    return sorted(free or environments, key=lambda name: (name != TRYING, name))


def _tried(catalog: Catalog, app: Document) -> list[Finding]:
    """What rules say about an application beside all others."""
    from sailplan import rules

    beside = replace(catalog, apps={**catalog.apps, app.name: app})
    found = rules.references(beside, app)
    return found if errors(found) else rules.check(beside, [compose(beside, app)])


def _why(chosen: str, before: Sequence[str]) -> str:
    if chosen == TRYING:
        return "it is there for trying things out"
    return f"it is the first that suits ({', '.join(before)} would not)" if before else "it is the first there is"


def _gpus(catalog: Catalog, app: Document) -> str:
    """How many GPUs are asked for where an application goes; "" when it asks for none."""
    from sailplan import rules

    name = app.spec["environments"][0]
    beside = replace(catalog, apps={**catalog.apps, app.name: app})
    there = rules.view(beside, [compose(beside, app)]).within(name)
    asked = [(placed.app.name, demand(placed.component, name)) for placed in there]
    if not any(one.most for whose, one in asked if whose == app.name):
        return ""
    least, most = sum(one.least for _, one in asked), sum(one.most for _, one in asked)
    budget = catalog.environments[name].spec["gpu"]["budget"]
    return f"{least if least == most else f'{least} to {most}'} of its {budget} GPUs are then asked for"
