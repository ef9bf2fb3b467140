"""A key misspelt anywhere is refused, and the finding names the key and the right one (house rule 3).

One test over everything: beside every key of every closed map in every preset, environment and intent of the
repository, and beside every parameter of every definition, a misspelt twin is planted, each in a document of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from sailplan import schema
from sailplan.model import Document, Path
from unit.catalogs import ROOT, repository


@dataclass(frozen=True)
class Planted:
    """A document with a misspelt key, and the right one."""

    document: Document
    path: Path
    right: str


def misspelt(key: str) -> str:
    """The key with two letters in the middle turned around, or with one more where that changes nothing."""
    middle = len(key) // 2
    turned = key[: middle - 1] + key[middle] + key[middle - 1] + key[middle + 1 :]
    return turned if turned != key and len(key) > 3 else f"{key}{key[-1]}"


class Closed:
    """Which maps of a document take only named keys, by its JSON Schema."""

    def __init__(self, kind: str) -> None:
        self.schema = schema.json_schema(kind, ROOT)

    def keys(self, data: Any) -> Iterator[Path]:
        """Paths of all keys in closed maps of a document."""
        yield from self._keys(data, self.schema, ())

    def parameters(self) -> Iterator[tuple[Path, str]]:
        """Every named key that the schema knows: the path of its map, and the key. Free maps get the entry `any`."""
        yield from self._parameters(self.schema, ())

    def _resolved(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in node:
            node = self.schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
        return node

    def _keys(self, data: Any, node: Mapping[str, Any], path: Path) -> Iterator[Path]:
        node = self._resolved(node)
        if isinstance(data, list):
            for index, item in enumerate(data):
                yield from self._keys(item, node.get("items", {}), (*path, index))
        if not isinstance(data, Mapping):
            return
        inner, others = node.get("properties", {}), node.get("additionalProperties", True)
        for key, value in data.items():
            if others is False:
                yield (*path, key)
            below = inner.get(key, others if isinstance(others, Mapping) else {})
            yield from self._keys(value, below, (*path, key))

    def _parameters(self, node: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
        node = self._resolved(node)
        parts = [self._resolved(part) for part in node.get("anyOf", ())] or [node]
        for part in parts:
            closed = part.get("additionalProperties") is False
            for key, below in part.get("properties", {}).items():
                if closed:
                    yield path, key
                yield from self._parameters(below, (*path, key))
            if isinstance(part.get("additionalProperties"), Mapping):
                yield from self._parameters(part["additionalProperties"], (*path, "any"))


COMPONENTS = {"vllm-model", "inference-api"}
"""Components that presets are made of; the others are delivered by Applications written by hand."""


def in_documents() -> Iterator[Planted]:
    """Every document of the repository, once for each of its keys."""
    kinds = {kind: Closed(kind) for kind in {document.kind for document in schema.documents(repository())}}
    for document in schema.documents(repository()):
        for path in kinds[document.kind].keys(document.data):
            yield planted(document, path[:-1], str(path[-1]))


def in_parameters() -> Iterator[Planted]:
    """A preset, once for each parameter of each definition, at each level."""
    model, edge = repository().models["qwen-coder"], repository().edges["llama32-1b"]
    for name in in_presets():
        base: Path = ("spec", "properties") if name in COMPONENTS else ("spec", "traits", name)
        for path, key in Closed(name).parameters():
            yield planted(edge if name == "inference-api" else model, (*base, *path), key)


def planted(document: Document, path: Path, right: str) -> Planted:
    data = deepcopy(dict(document.data))
    place: Any = data
    for key in path:
        place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
    wrong = misspelt(right)
    assert wrong not in place
    place[wrong] = place.get(right, {})
    return Planted(replace(document, data=data), (*path, wrong), right)


def refused(mutants: list[Planted]) -> None:
    """Every mutant has a finding that names the key and the right one."""
    by_file = [replace(one.document, file=f"mutant-{index}") for index, one in enumerate(mutants)]
    said = schema.validate_documents(ROOT, by_file)
    for index, one in enumerate(mutants):
        own = [found for found in said if found.position.file == f"mutant-{index}"]
        wrong = str(one.path[-1])
        naming = [found for found in own if found.id == "SP001" and found.given == wrong and wrong in found.message]
        assert naming, (one.path, own)
        assert naming[0].nearest == one.right, (one.path, naming)


def test_every_key_of_every_document() -> None:
    mutants = list(in_documents())
    assert len(mutants) > 600
    refused(mutants)


def in_presets() -> set[str]:
    """The definitions whose parameters presets give: two components, and traits. Steps are the composer's."""
    return {*COMPONENTS, *(path.stem for path in (ROOT / "definitions" / "trait").glob("*.cue"))}


def test_every_parameter_of_every_definition() -> None:
    mutants = list(in_parameters())
    found = {str(one.path[2]) for one in mutants if one.path[1] == "traits"} | COMPONENTS
    assert found == in_presets()
    assert len(mutants) > 140
    refused(mutants)


def test_every_parameter_is_in_the_files_that_presets_are_checked_by() -> None:
    """What the definitions take, and what presets may give, are the same names at every level."""
    for name in in_presets():
        model = schema.json_schema("Edge" if name == "inference-api" else "Model", ROOT)
        title = "".join(part.capitalize() for part in name.split("-")) + "Parameters"
        whole = {(*path, key) for path, key in Closed(name).parameters()}
        partial = Closed(name)
        partial.schema = {**model["$defs"][title], "$defs": model["$defs"]}
        assert {(*path, key) for path, key in partial.parameters()} == whole
        assert '"required":' not in json.dumps(model["$defs"][title])
