"""Rules about the files of a checkout: definitions, and what is generated from them."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

import pytest

from sailplan import generated, newtrait, parameters, rules
from unit.catalogs import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "definitions", tmp_path / "definitions")
    shutil.copytree(ROOT / "catalog", tmp_path / "catalog")
    return tmp_path


def change(root: Path, name: str, old: str, new: str) -> None:
    path = root / "definitions" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def said(root: Path) -> dict[str, str]:
    return {found.id: found.message for found in rules.checkout(root)}


def test_the_repository_has_nothing_to_say() -> None:
    assert rules.checkout(ROOT) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "rule", "words"),
    [
        ("trait/gpu.cue", "version: ", "versoin: ", "SP601", "the version of gpu is none"),
        ("trait/gpu.cue", '"1.0.0"', '"1.0"', "SP601", "the version of gpu is 1.0"),
        ("trait/gpu.cue", '"1.0.0"', '"v1.0.0"', "SP601", "the version of gpu is v1.0.0"),
        (
            "trait/gpu.cue",
            '"gpu": {',
            '"gpus": {',
            "SP602",
            "the file is gpu.cue, and the definition in it is named gpus",
        ),
        ("trait/gpu.cue", '"list"', '"vela/kube"', "SP603", "gpu imports vela/kube"),
        ("trait/gpu.cue", '"list"', '"example.org/pkg"', "SP603", "gpu imports example.org/pkg"),
        (
            "trait/gpu.cue",
            'type: "trait"',
            'type: "component"',
            "SP604",
            "in the folder of trait and says type component",
        ),
        ("trait/prefix-cache.cue", "parameter: close({", "parameter: ({", "SP605", "a level of the parameter"),
        ("component/vllm-model.cue", "model: close({", "model: ({", "SP605", "a level of the parameter of vllm-model"),
        ("trait/kv-offload.cue", "sizeGB:", "sizeGiB:", "SP901", "not what its sources make"),
    ],
)
def test_what_is_wrong_is_said(checkout: Path, name: str, old: str, new: str, rule: str, words: str) -> None:
    change(checkout, name, old, new)
    if rule in ("SP601", "SP602", "SP603", "SP604"):
        # These look at text: the definition need not be readable, so they are asked by themselves.
        found = {found.id: found.message for found in rules.RULES[rule].findings(checkout)}
    else:
        found = said(checkout)
    assert words in found[rule]


def test_one_name_is_one_definition(checkout: Path) -> None:
    shutil.copy(checkout / "definitions/trait/gpu.cue", checkout / "definitions/component/gpu.cue")
    found = [found for found in rules.checkout(checkout) if found.id == "SP608"]
    assert [(one.position.file, one.given) for one in found] == [("definitions/component/gpu.cue", "gpu")]
    assert found[0].message == "definitions/trait/gpu.cue is named gpu too, and this one is not looked at"


def test_names_that_differ_in_dashes_only_stay_apart(checkout: Path) -> None:
    """Each is itself in what is generated, though one takes a number where the other takes text."""
    for name, note, given in (("foo-1", "*1 | int", "2"), ("foo1", '*"on" | string', '"off"')):
        for path, text in newtrait.files(name).items():
            (checkout / path).parent.mkdir(parents=True, exist_ok=True)
            said = note if path.endswith(".cue") else given
            (checkout / path).write_text(re.sub("note: .*", f"note: {said}", text), encoding="utf-8")
    generated.write(checkout)
    kinds = [generated.json_schema(name, checkout)["properties"]["note"]["type"] for name in ("foo-1", "foo1")]
    assert kinds == ["integer", "string"]
    assert rules.checkout(checkout) == []


def test_every_name_has_a_title_of_its_own() -> None:
    names = ["".join(("a", *rest)) for size in range(5) for rest in itertools.product("ab1-", repeat=size)]
    assert len({parameters.title(name) for name in names}) == len(names)
    assert parameters.title("prefix-cache") == "#PrefixCacheParameters"


def test_a_new_definition_wants_its_files(checkout: Path) -> None:
    text = (ROOT / "definitions/trait/prefix-cache.cue").read_text(encoding="utf-8")
    (checkout / "definitions/trait/other.cue").write_text(
        text.replace('"prefix-cache": {', "other: {"), encoding="utf-8"
    )
    assert said(checkout) == {"SP901": "the file is missing"} or "SP901" in said(checkout)
