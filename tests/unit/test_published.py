"""Publishing, without a hub: what may be published, what narrows a parameter, and what counts as the same content."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from sailplan.compatible import source
from sailplan.narrowed import narrowed
from sailplan.publish import Change, action, refusal
from sailplan.published import Published, content, parsed


def definition(version: str = "1.0.0", template: str = "parameter: {}", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "TraitDefinition",
        "metadata": {"name": "some", "annotations": {"definition.oam.dev/description": "Some"}},
        "spec": {"version": version, "schematic": {"cue": {"template": template}}, **spec},
    }


def held(live: str = "", *versions: str) -> Published:
    return Published(
        definition(live) if live else None, {one: definition(one) for one in versions or ([live] * bool(live))}
    )


class TestContent:
    def test_what_servers_add_or_leave_out_does_not_count(self) -> None:
        ours = definition(podDisruptive=False)
        theirs = definition(definitionRef={"name": ""})
        theirs["metadata"] |= {"uid": "1", "labels": {"trait.oam.dev/name": "some"}}
        theirs["metadata"]["annotations"]["oam.dev/kubevela-version"] = "v1.11.0"
        theirs["status"] = {"latestRevision": {"name": "some-v1.0.0"}}
        assert content(ours) == content(theirs)

    @pytest.mark.parametrize(
        "other",
        [
            definition(template="parameter: {a: int}"),
            definition(podDisruptive=True),
            {**definition(), "metadata": {"name": "some", "annotations": {"definition.oam.dev/description": "Other"}}},
        ],
    )
    def test_what_we_write_counts(self, other: dict[str, Any]) -> None:
        assert content(other) != content(definition())


class TestRefusal:
    def test_a_new_definition_and_a_higher_version_may_be_published(self) -> None:
        assert refusal(definition(), Published(None)) is None
        assert refusal(definition("1.1.0"), held("1.0.0")) is None
        assert refusal(definition("1.0.0"), held("1.0.0")) is None

    @pytest.mark.parametrize("version", ["", "1.0", "v1.0.0", "1.0.0-rc.1", "01.0.0"])
    def test_versions_are_three_numbers(self, version: str) -> None:
        found = refusal(definition(version), Published(None))
        assert found is not None
        assert found[0] == "SP701"

    def test_somebody_elses_definition_is_left_alone(self) -> None:
        found = refusal(definition(), Published(definition("", template="parameter: {theirs: int}")))
        assert found is not None
        assert found[0] == "SP702"

    def test_a_published_version_never_changes(self) -> None:
        found = refusal(definition("1.0.0", "parameter: {a: int}"), held("1.1.0", "1.0.0", "1.1.0"))
        assert found is not None
        assert found[0] == "SP703"
        assert "1.1.0" in found[2]

    def test_versions_only_go_up(self) -> None:
        found = refusal(definition("1.0.5"), held("1.1.0"))
        assert found is not None
        assert found[0] == "SP704"

    def test_versions_compare_as_numbers(self) -> None:
        assert refusal(definition("1.10.0"), held("1.9.0")) is None
        assert held("1.9.0", "1.9.0", "1.10.0").newest == "1.10.0"
        assert parsed("1.10.0") > parsed("1.9.0")


class TestAction:
    @pytest.mark.parametrize(
        ("version", "hub", "wanted"),
        [
            ("1.0.0", Published(None), "create"),
            ("1.0.0", held("1.0.0"), "unchanged"),
            ("1.1.0", held("1.0.0"), "update"),
            ("1.0.0", held("1.1.0", "1.0.0", "1.1.0"), "older"),
        ],
    )
    def test_follows_from_versions(self, version: str, hub: Published, wanted: str) -> None:
        assert action(definition(version), hub) == wanted

    def test_a_live_definition_that_was_changed_by_hand_is_restored(self) -> None:
        changed = Published(definition(template="parameter: {by: hand}"), {"1.0.0": definition()})
        assert refusal(definition(), changed) is None
        assert action(definition(), changed) == "restore"
        change = Change("some", "TraitDefinition", "definitions/trait/some.cue", "restore", definition(), changed)
        assert "by hand" in change.title
        assert any(line.startswith("-") and "by: hand" in line for line in change.lines)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 1, "maximum": 8},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "name": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"y": {"type": "string"}}}},
        "deep": {"type": "object", "properties": {"z": {"type": "string"}}, "additionalProperties": False},
    },
    "additionalProperties": False,
}


def changed(*path: str, **values: Any) -> dict[str, Any]:
    made: dict[str, Any] = deepcopy(SCHEMA)
    inner = made
    for step in path:
        inner = inner[step]
    for key, value in values.items():
        if value is None:
            del inner[key]
        else:
            inner[key] = value
    return made


class TestNarrowed:
    @pytest.mark.parametrize(
        "wider",
        [
            SCHEMA,
            changed("properties", more={"type": "string"}),
            changed("properties", "count", maximum=16),
            changed("properties", "count", minimum=None),
            changed("properties", "count", type="number"),
            changed("properties", "mode", enum=["a", "b", "c"]),
            changed("properties", "name", description="said better"),
        ],
    )
    def test_what_takes_more_is_welcome(self, wider: dict[str, Any]) -> None:
        assert narrowed(SCHEMA, wider) == []

    @pytest.mark.parametrize(
        ("tighter", "line"),
        [
            (changed("properties", name=None), "name is gone"),
            (changed("properties", "deep", "properties", z=None), "deep.z is gone"),
            (changed(required=["name"]), "name is now required"),
            (changed("properties", "count", maximum=4), "count: maximum was 8 and is 4"),
            (changed("properties", "count", exclusiveMinimum=2), "count: exclusiveMinimum was none and is 2"),
            (changed("properties", "count", type="string"), "count was integer and is string"),
            (changed("properties", "mode", enum=["a"]), "mode no longer takes b"),
            (changed("properties", "name", enum=["x"]), "name now takes x only"),
            (changed("properties", "name", pattern="^x$"), "name must now look like ^x$"),
            (
                changed("properties", "list", "items", "properties", "x", minimum=1),
                "list[].x: minimum was none and is 1",
            ),
            (
                changed("properties", "map", "additionalProperties", "properties", "y", type="integer"),
                "map.NAME.y was string and is integer",
            ),
        ],
    )
    def test_what_takes_less_is_named(self, tighter: dict[str, Any], line: str) -> None:
        assert narrowed(SCHEMA, tighter) == [line]


def test_a_hubs_template_reads_as_a_definition_file_does() -> None:
    made = source(definition(template='import (\n\t"list"\n)\nimport "strings"\nparameter: {}\n'))
    assert made == 'import (\n\t"list"\n)\nimport "strings"\ntemplate: {\nparameter: {}\n\n}\n'
