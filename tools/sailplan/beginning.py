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
from sailplan.names import unknown

TRYING = "sandbox"
"""The environment that is looked at first: it is there for trying things out, with GPUs of its own."""

DRILLS = "drill"
"""The environment that `sailplan drill` puts under traffic. Who wants an application there says so."""

Wishes = Mapping[str, Sequence[str]]
"""Model -> the capabilities that it gets."""


def words(catalog: Catalog, models: Sequence[str], capabilities: Sequence[str], environments: Sequence[str]) -> None:
    """Refuse options that name what there is not, or the same thing twice.

    Raises:
        UsageError: names the option.
    """
    once = "once is enough"
    own = "write the second component into the intent afterwards, with a name of its own"
    for option, what, given, known, twice in (
        ("--model", "model", models, catalog.presets, own),
        ("--with", "capability", capabilities, catalog.capabilities, once),
        ("--env", "environment", environments, catalog.environments, once),
    ):
        for place, name in enumerate(given):
            if name not in known:
                raise UsageError(f"{option} {name}: there is no such {what}", unknown(what, name, known).hint)
            if name in given[:place]:
                raise UsageError(f"{option} {name} is given twice", twice)


def wishes(
    catalog: Catalog, models: Sequence[str], capabilities: Sequence[str], environments: Sequence[str]
) -> tuple[Wishes, list[str]]:
    """The capabilities that each of `models` gets, and for those it does not get a line that says why.

    Args:
        catalog: has all the names.
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
            raise _for_none(catalog, capability, why, environments)
        for model, reason in why.items():
            if reason:
                left_out.append(f"{capability} is left out of {model}: {reason}")
            else:
                given[model].append(capability)
    return given, left_out


def _refused(catalog: Catalog, model: str, capability: str, environments: Sequence[str]) -> str:
    if not environments:
        return offers.anywhere(catalog, model, capability, _candidates(catalog.environments))
    # Named environments all get the same intent.
    return next(filter(None, (offers.refusal(catalog, model, capability, name) for name in environments)), "")


def _for_none(catalog: Catalog, capability: str, why: Mapping[str, str], environments: Sequence[str]) -> UsageError:
    """The error for a capability that none of the models gets, and where one would."""
    reason = next(iter(why.values()))
    names = _candidates(catalog.environments)
    others = [] if environments else [name for name in catalog.environments if name not in (*names, DRILLS)]
    for name in others:
        if not all(offers.refusal(catalog, model, capability, name) for model in why):
            message = f"none of the environments that are chosen without --env ({', '.join(names)}) takes it: {reason}"
            return UsageError(f"--with {capability}: {message}", f"--env {name} would do")
    hint = f"`sailplan describe capability {capability}` says for which models, and in which --env"
    return UsageError(f"--with {capability}: {reason}", hint)


def environment(catalog: Catalog, intent: Callable[[str], Document]) -> tuple[str, str, dict[str, str]]:
    """An environment that takes a new application, why it was chosen, and why those before it were not.

    The one for trying first, then the others that ask for no approval, by name, and never the one for drills: the
    first where nothing is refused. That GPUs may run out at full load is a warning, as for a named environment.

    Args:
        catalog: with the applications that are there already.
        intent: the new application, by the environment that it goes to.

    Raises:
        UsageError: there is no environment to choose.
        FindingsError: no environment takes it; what all of them say, else what the first one says.
    """
    names = _candidates(catalog.environments)
    if not names:
        raise UsageError("there is no environment to choose", "write one in catalog/environments/, or name it by --env")
    wrong: dict[str, list[Finding]] = {}
    for name in names:
        wrong[name] = errors(_tried(catalog, intent(name)))
        if not wrong[name]:
            why = "it is there for trying things out" if name == TRYING else "it is the first that takes it"
            before = {other: offers.reason(found[0]) for other, found in wrong.items() if found}
            return name, ", and ".join(filter(None, (why, _gpus(catalog, intent(name))))), before
    raise _nowhere(wrong)


def _nowhere(wrong: Mapping[str, Sequence[Finding]]) -> FindingsError:
    first, *others = wrong
    # What every environment says is not about environments.
    always = [one for one in wrong[first] if all(one in wrong[name] for name in others)]
    if always:
        return FindingsError(always)
    also = "; ".join(f"{name}: {offers.reason(wrong[name][0])}" for name in others)
    return FindingsError(wrong[first], hint=f"nor do others take it ({also}); --env NAME chooses another")


def _candidates(environments: Mapping[str, Document]) -> list[str]:
    """The environments to choose from: those that ask for no approval, all when there are none such."""
    known = {name: document for name, document in environments.items() if name != DRILLS}
    free = [name for name, document in known.items() if document.spec["gate"] == "auto"]
    return sorted(free or known, key=lambda name: (name != TRYING, name))


def _tried(catalog: Catalog, app: Document) -> list[Finding]:
    """What rules say about an application beside all others."""
    from sailplan import rules

    beside = replace(catalog, apps={**catalog.apps, app.name: app})
    found = rules.references(beside, app)
    return found if errors(found) else rules.check(beside, [compose(beside, app)])


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
