"""Merging with provenance, and the difference that KubeVela merges back."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sailplan.errors import SailplanError
from sailplan.layers import Stack, difference, same
from sailplan.model import Origin, Position


def origin(layer: str, line: int = 1) -> Origin:
    return Origin(layer, Position("file", line))


def kubevela(base: dict[str, Any], override: dict[str, Any]) -> dict[str, Any]:
    """KubeVela's merge (mergo with override, measured): maps deeply, lists and scalars replaced whole."""
    merged = deepcopy(base)
    for key, value in override.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = kubevela(merged[key], value)
        else:
            merged[key] = deepcopy(value)
    return merged


def test_maps_merge_deeply_and_lists_are_replaced() -> None:
    stack = Stack()
    stack.merge({"a": {"x": 1, "y": [1, 2]}, "b": 1}, lambda _: origin("model"))
    stack.merge({"a": {"y": [3], "z": 2}}, lambda _: origin("app"))
    assert stack.data == {"a": {"x": 1, "y": [3], "z": 2}, "b": 1}


def test_a_leaf_remembers_who_wrote_it_last_and_a_map_who_wrote_it_first() -> None:
    stack = Stack()
    stack.merge({"gpu": {"count": 1}}, lambda path: origin("model", len(path)))
    stack.merge({"gpu": {"count": 2}}, lambda path: origin("app", len(path)))
    assert stack.origins["gpu",] == origin("model", 1)
    assert stack.origins["gpu", "count"] == origin("app", 2)


def test_what_was_merged_is_not_shared() -> None:
    given_list = [1]
    stack = Stack()
    stack.merge({"a": given_list}, lambda _: origin("model"))
    twin = stack.copy()
    twin.merge({"a": [2], "b": 1}, lambda _: origin("app"))
    given_list.append(9)
    assert stack.data == {"a": [1]}
    assert "b" not in stack.data
    assert stack.origins["a",].layer == "model"


def test_put_makes_the_maps_on_the_way() -> None:
    stack = Stack()
    stack.put(("traits", "gpu", "count"), 2, origin("app"))
    assert stack.data == {"traits": {"gpu": {"count": 2}}}
    assert stack.origins["traits", "gpu"] == origin("app")


@pytest.mark.parametrize(
    ("base", "full", "expected"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 1, "y": 3}}, {"a": {"y": 3}}),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, {"a": [1, 2, 3]}),
        # Python says 1 == True == 1.0; CUE and JSON do not.
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": 1}, {"a": 1.0}, {"a": 1.0}),
        ({"a": [1]}, {"a": [True]}, {"a": [True]}),
        ({"a": {}}, {"a": {"b": {}}}, {"a": {"b": {}}}),
        ({}, {"a": {}}, {"a": {}}),
        ({"a": "x"}, {"a": ""}, {"a": ""}),
        ({"a": 3}, {"a": 0}, {"a": 0}),
        ({"a": [1]}, {"a": []}, {"a": []}),
    ],
)
def test_difference(base: dict[str, Any], full: dict[str, Any], expected: dict[str, Any]) -> None:
    assert difference(base, full) == expected
    assert same(kubevela(base, expected), full)


def test_a_key_that_would_have_to_go_is_a_bug() -> None:
    with pytest.raises(SailplanError, match="cannot remove b"):
        difference({"a": 1, "b": 2}, {"a": 1})


SCALARS = st.one_of(st.integers(-2, 2), st.booleans(), st.sampled_from(["", "a", "b"]), st.floats(0, 1))
VALUES = st.recursive(
    SCALARS | st.lists(SCALARS, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
MAPS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


@given(MAPS, MAPS)
def test_base_and_override_make_the_full_merge(base: dict[str, Any], more: dict[str, Any]) -> None:
    """R04: whatever a layer adds or changes, KubeVela's merge of base and override gives exactly the full one."""
    full = kubevela(base, more)
    if _removes(base, full):  # A map replaced by a scalar: layers of one schema never do that.
        return
    assert same(kubevela(base, difference(base, full)), full)


def _removes(base: Any, full: Any) -> bool:
    if isinstance(base, dict) != isinstance(full, dict):
        return True
    return isinstance(base, dict) and any(_removes(base[key], full[key]) for key in base)
