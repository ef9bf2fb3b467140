"""Every row of every table, through the real vela and cue, as the command line and as the controller evaluates it."""

from __future__ import annotations

import json

import pytest

from definitions import cases, parameters
from definitions.cases import OWN, rows, table
from definitions.files import FILES, MODES, cue
from definitions.match import differences
from definitions.status import context, evaluate


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("definition", "name"), rows("cases"))
def test_renders(definition: str, name: str, mode: str) -> None:
    row = table(definition)["cases"][name]
    objects = cases.objects_of(definition, name, mode)
    if "objects" in row:
        added = [key for key in objects if key not in OWN]
        assert len(added) == len(row["objects"]), added
        for pattern in row["objects"]:
            cases.pick(objects, pattern)
    wrong = []
    for pattern, wanted in (row.get("expect") or {}).items():
        wrong += differences(wanted, cases.pick(objects, pattern), pattern)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("definition", "name"), rows("refused"))
def test_refuses(definition: str, name: str, mode: str) -> None:
    said = cases.refuse(definition, name, mode)
    for words in table(definition)["refused"][name]["says"]:
        assert words in said


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("definition", FILES)
def test_bounds(definition: str, mode: str) -> None:
    """All values of a definition in one cue process; a mutant is refused when an error names it."""
    full = table(definition)["cases"]["full"]["properties"]
    good, bad = [], []
    for path, values in table(definition)["bounds"].items():
        good += [planted(full, path, value) for value in values.get("accepted", [])]
        bad += [planted(full, path, value) for value in values["refused"]]
    said = judged(definition, [*good, *bad], mode)
    assert not [(good[at], said[at]) for at in range(len(good)) if at in said]
    assert not [mutant for at, mutant in enumerate(bad, len(good)) if at not in said]


def planted(full: dict[str, object], path: str, value: object) -> dict[str, object]:
    """A copy of the full properties with one field changed; `*` is the first name of a map."""
    copy = json.loads(json.dumps(full))
    *way, last = path.split("/")
    at = copy
    for step in way:
        at = at[next(iter(at)) if step == "*" else step]
    at[next(iter(at)) if last == "*" else last] = value
    return dict(copy)


def judged(definition: str, mutants: list[dict[str, object]], mode: str) -> dict[int, str]:
    """What the closed parameter says to each set of properties, by its place in the list; nothing when it takes it."""
    block = parameters.block(definition)
    # CUE refuses an import that nothing uses, and most imports serve the template, not the parameter.
    imports = "".join(f'import "{package}"\n' for package in ("list", "math", "strings") if f"{package}." in block)
    lines = [f"m{at}: _parameter & {json.dumps(mutant)}" for at, mutant in enumerate(mutants)]
    source = f"{imports}_parameter: {block}\n" + "\n".join(lines)
    done = cue(["vet", "-c", "--all-errors", "-"], source, MODES[mode])
    found: dict[int, str] = {}
    for line in done.stderr.splitlines():
        if line.startswith("m") and line[1 : line.find(".")].isdigit():
            at = int(line[1 : line.find(".")])
            found[at] = f"{found.get(at, '')}{line}\n"
    assert found or done.code == 0, done.stderr
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("definition", "name"), rows("status"))
def test_status(definition: str, name: str, mode: str) -> None:
    row = table(definition)["status"][name]
    case = row.get("of", "minimal")
    objects = cases.objects_of(definition, case, mode)
    given = table(definition)["cases"][case].get("properties")
    found = evaluate(definition, context(definition, objects, row.get("live") or {}), given, MODES[mode])
    assert (found.healthy, found.message, found.error) == (row["healthy"], row["message"], "")
