"""What every definition must have, and that its table leaves nothing of it out."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml

from definitions import parameters
from definitions.cases import table
from definitions.files import CASES, DEFINITIONS, EXAMPLES, FILES, TRAITS, cue, header, text

BUILT_IN = {"crypto/sha256", "encoding/hex", "encoding/json", "list", "math", "strconv", "strings"}

every = pytest.mark.parametrize("definition", FILES)


def test_nothing_belongs_to_no_definition() -> None:
    assert {file.stem for file in CASES.glob("*")} == set(FILES)
    # A workflow step renders nothing, so it has an example and no table; tests/plane runs it.
    steps = {file.stem for file in DEFINITIONS.glob("workflowstep/*.cue")}
    assert {file.stem for file in EXAMPLES.glob("*")} == {*FILES, *steps}


@every
def test_header(definition: str) -> None:
    found = header(definition)
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["attributes"]["version"])
    assert len(found["description"]) > 20 and found["description"].endswith(".")
    assert found["attributes"]["status"]["healthPolicy"] and found["attributes"]["status"]["customStatus"]
    if definition in TRAITS:
        # True makes KubeVela roll the pods whenever any object of the trait changes.
        assert found["attributes"]["podDisruptive"] is False
        assert found["attributes"]["appliesToWorkloads"] == ["deployments.apps"]


@every
def test_imports_only_what_is_built_in(definition: str) -> None:
    head = text(definition).split(f'\n"{definition}": {{')[0]
    imports = re.findall(r'"([^"]+)"', head) if "import" in head else []
    assert set(imports) <= BUILT_IN


@every
def test_no_arithmetic_on_parameters_or_context(definition: str) -> None:
    """KubeVela 1.11 takes `parameter.x * 2` and `context.x + y` for lists and rewrites them."""
    code = "\n".join(line.split("//")[0] for line in text(definition).split("template: {", 1)[1].splitlines())
    code = re.sub(r'"""[\s\S]*?"""|"(?:[^"\\]|\\.)*"', '""', code)
    # `context` with + on either side, `parameter` with * (a default's * opens a value, so it has no left operand).
    assert not re.findall(r"(?:context(?:\.\w+|\[\S+?\])+\s*\+|\+\s*context\.)", code)
    assert not re.findall(r"(?:parameter|context)(?:\.\w+)+\s*\*\s|[\w)\]]\s*\*\s*(?:parameter|context)\.", code)


@every
def test_formatted(definition: str) -> None:
    done = cue(["fmt", "--check", str(FILES[definition])], "")
    assert done.code == 0, done.stdout


@every
def test_every_field_says_what_it_is_for(definition: str) -> None:
    silent = [
        f"{level.path}.{name}" for level in parameters.tree(definition).walk() for name, said in level.usage.items()
        if name != "*" and not said
    ]  # fmt: skip
    assert not silent


@every
def test_closed_at_every_level(definition: str) -> None:
    block = parameters.block(definition)
    quoteless = re.sub(r'"(?:[^"\\]|\\.)*"', '""', re.sub(r"(?m)^\s*//.*", "", block))
    assert not re.findall(r"(?<!close\()\{", quoteless), "an open struct"
    assert "..." not in quoteless.replace("[...=~", "[=~")


@every
def test_full_case_has_every_parameter(definition: str) -> None:
    given = dict(_given(table(definition)["cases"]["full"]["properties"], parameters.tree(definition)))
    wanted = {path for path, _ in parameters.tree(definition).fields()}
    # Fields that exclude each other cannot be in one case.
    either = {"disruptionBudget.maxUnavailable"} & wanted
    assert wanted - given.keys() == either


@every
def test_every_choice_is_rendered(definition: str) -> None:
    seen: dict[str, set[object]] = {}
    for row in table(definition)["cases"].values():
        for path, value in _given(row.get("properties") or {}, parameters.tree(definition)):
            if isinstance(value, str):
                seen.setdefault(path, set()).add(value)
    for path, value in parameters.tree(definition).fields():
        choices = re.fullmatch(r'\*?"[^"]*"( \| \*?"[^"]*")+', value)
        if choices:
            assert set(re.findall(r'"([^"]*)"', value)) <= seen[path], path


@every
def test_every_limited_field_has_bounds(definition: str) -> None:
    """Types are limits too: all but the names of free maps are in `bounds`, with something that is refused."""
    bounds = {path.replace("/", "."): values for path, values in table(definition)["bounds"].items()}
    tree = parameters.tree(definition)
    levels = {level.path for level in tree.walk()}
    wanted = {path for path, _ in tree.fields() if path not in levels or path == "exclude.original/*"}
    named = {level.path for level in tree.walk() if level.pattern not in ("", "string")}
    missing = (wanted | named) - bounds.keys() - {"exclude.original/*"}
    assert not missing - {f"{path}.*" for path in levels if f"{path}.*" in levels}
    assert not bounds.keys() - wanted - levels
    assert all(values["refused"] for values in bounds.values())


@every
def test_every_rule_is_shown_refusing(definition: str) -> None:
    said = [words for row in table(definition)["refused"].values() for words in row["says"]]
    for pattern in _rules(definition):
        assert any(re.search(pattern, words) for words in said), pattern


def _rules(definition: str) -> Iterator[str]:
    """The messages of `errs`, with anything in place of what is filled in."""
    block = text(definition).split("\terrs: [", 1)[1]
    for message in re.findall(r'\{\s*("(?:[^"\\]|\\.)*")\s*\}', block.split("\n\t]\n")[0].split("]\n\n")[0]):
        parts = re.split(r"\\\((?:[^()]|\([^()]*\))*\)", message[1:-1])
        yield ".+".join(re.escape(part.replace('\\"', '"')) for part in parts)


@every
def test_every_message_is_shown(definition: str) -> None:
    shown = [row["message"] for row in table(definition)["status"].values()]
    policy = header(definition)["attributes"]["status"]["customStatus"]
    messages = re.findall(r'message: "((?:[^"\\]|\\.)*)"', policy)
    assert messages
    for message in messages:
        parts = re.split(r"\\\((?:[^()]|\([^()]*\))*\)", message)
        pattern = ".+".join(map(re.escape, parts))
        assert any(re.search(pattern, words) for words in shown), message


@every
def test_health_is_shown_both_ways(definition: str) -> None:
    """Also without a status, and with an empty list of conditions."""
    rows = table(definition)["status"]
    always = header(definition)["attributes"]["status"]["healthPolicy"].startswith("isHealth: true")
    always = always or definition in ("network-policy", "observability")
    assert {row["healthy"] for row in rows.values()} == ({True} if always else {True, False})
    assert always or ({"no status yet"} <= rows.keys() and rows.keys() & {"no conditions", "no parents"})


@every
def test_tables_have_no_key_twice(definition: str) -> None:
    """A key written twice would hide the first; YAML's own reader takes the last without a word."""
    node = yaml.compose((CASES / f"{definition}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            assert len(keys) == len(set(keys)), [key for key in keys if keys.count(key) > 1]
            stack += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            stack += node.value


def _given(properties: object, level: parameters.Level) -> Iterator[tuple[str, object]]:
    """(path, value) of what properties set, free names as `*`."""
    if not isinstance(properties, dict):
        return
    for name, value in properties.items():
        known = name if name in level.values else "*"
        path = f"{level.path}.{known}".lstrip(".")
        yield path, value
        if known in level.levels:
            yield from _given(value, level.levels[known])
