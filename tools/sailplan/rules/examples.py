"""SP708: the example of each definition, which is its document, its quick start and a test input in one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sailplan.catalog import PARAMETERS, definition_files
from sailplan.files import read_all
from sailplan.findings import dotted
from sailplan.model import Document, Position
from sailplan.model import Path as ValuePath
from sailplan.rules.registry import Problem, Problems, checkout_rule
from sailplan.yamltext import Positions, parse

FOLDER = "definitions/examples"


@dataclass(frozen=True, slots=True)
class _Use:
    """The parameters that an example gives to a definition, and where in it they stand."""

    definition: str
    example: Document
    path: ValuePath
    properties: Mapping[str, Any]


@checkout_rule("SP708", "example missing, or one that does not render")
def example(root: Path) -> Problems:
    """It is the first thing that people copy."""
    uses: list[_Use] = []
    for name in definition_files(root):
        found = _read(root, f"{FOLDER}/{name}.yaml")
        if isinstance(found, Document):
            own = list(_uses(found))
            uses += own
            if name not in {use.definition for use in own}:
                yield Problem(
                    Position(found.file), "spec", f"nothing in it is a {name}", fix=f"show how {name} is used"
                )
        else:
            yield from found
    yield from _refused(root, uses)


def _read(root: Path, file: str) -> Document | list[Problem]:
    """The Application in an example, or what is wrong with the file as a whole."""
    path = root / file
    if not path.exists() and not path.is_symlink():
        return [Problem(Position(file), "", "the definition has no example", fix="write one")]
    texts, wrong = read_all(root, [path])
    parsed, odd = parse(texts[path], file) if texts else ([], [])
    if wrong or odd:
        return [Problem(one.position, one.field, one.message, one.given, fix=one.fix) for one in (*wrong, *odd)]
    if len(parsed) != 1:
        return [Problem(Position(file), "", f"the file holds {len(parsed)} documents; one Application is wanted")]
    data = parsed[0].data
    spec = data.get("spec") if isinstance(data, Mapping) and data.get("kind") == "Application" else None
    parts = spec.get("components") if isinstance(spec, Mapping) else None
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        return [Problem(Position(file, 1, 1), "", "this is no Application with spec.components", allowed="Application")]
    return Document("Application", path.stem, file, data, Positions(texts[path], 0))


def _uses(example: Document) -> Iterator[_Use]:
    """Everything in an Application that has a type: components, traits, policies and steps, in any depth."""

    def walk(value: Any, path: ValuePath) -> Iterator[_Use]:
        if isinstance(value, Mapping):
            given = value.get("properties", {})
            if isinstance(value.get("type"), str) and isinstance(given, Mapping):
                yield _Use(value["type"].partition("@")[0], example, (*path, "properties"), given)
            for key, inner in value.items():
                yield from walk(inner, (*path, key)) if key != "properties" else ()
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from walk(inner, (*path, index))

    return walk(example.spec, ("spec",))


def _refused(root: Path, uses: Sequence[_Use]) -> Problems:
    """What the parameters of the definitions do not take."""
    from sailplan import generated, parameters
    from sailplan.remembered import Remembered
    from sailplan.toolbox import cue

    texts = parameters.of(root)
    left = {f"u{number}": use for number, use in enumerate(uses) if use.definition in texts}
    wanted = "".join(f"\t{key}?: {parameters.title(use.definition)}\n" for key, use in left.items())
    schema = {
        parameters.FILE: parameters.package(texts),
        "examples.cue": f"package catalog\n#Examples: {{\n{wanted}}}\n",
    }
    remembered = Remembered("examples", [cue.identity(), *schema.values()])
    whole = _data(left)
    if whole in remembered:
        return
    made = generated.generate(root)
    # A mistake of one sort hides those of another: go on with the others until all is well.
    while refusals := cue.vet(schema, "#Examples", _data(left)):
        for key in dict.fromkeys(str(refusal.path[0]) for refusal in refusals):
            own = [cue.Refusal(one.path[1:], one.messages) for one in refusals if one.path[0] == key]
            use = left.pop(key)
            yield from _explained(use, own, json.loads(made[f"{PARAMETERS}/{use.definition}.json"]))
    if len(left) == len(json.loads(whole)):
        remembered.add([whole])


def _data(uses: Mapping[str, _Use]) -> str:
    return json.dumps({key: use.properties for key, use in uses.items()})


def _explained(use: _Use, refusals: Sequence[Any], schema: Mapping[str, Any]) -> Problems:
    from sailplan.wording import explain

    depth = len(use.path)
    places = {path[depth:]: at for path, at in use.example.positions.items() if path[:depth] == use.path}
    alone = Document(use.definition, use.definition, use.example.file, use.properties, places)
    for one in explain(alone, refusals, {**schema.get("$defs", {}), use.definition: schema}):
        field = ".".join(filter(None, (dotted(use.path), one.field)))
        at = one.position if one.position.line else use.example.at(*use.path)
        yield Problem(at, field, one.message, one.given, one.allowed, one.nearest, one.fix)
