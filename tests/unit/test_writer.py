"""YAML out: nothing is retyped, the bytes are stable, and a person can read it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sailplan.errors import SailplanError
from sailplan.writer import dump, dump_all, dump_json

RETYPED = [
    *("y", "N", "yes", "on", "Off", "true", "null", "~", "", "=", "<<", "nan", ".inf", "-.INF"),
    *("5e10", "12e45", "1e3", "0o17", "012", "0x1f", "0b1", "1_000", "1:30", "1.", ".5", "+1", "2001-01-01"),
    *(
        "# not a comment",
        "a: b",
        "- a",
        "[a]",
        "{a}",
        "&a",
        "*a",
        "!a",
        "%a",
        "@a",
        "`a",
        "|",
        ">",
        "?",
        "'",
        '"',
        "\\",
    ),
    *(
        "a b ",
        " a",
        "a\tb",
        "a\nb",
        "a\nb\n",
        "\n",
        "\n\na",
        "a \nb",
        " a\nb",
        "---\na",
        "a\r\nb",
        "#!/bin/sh\nset -eu\n",
    ),
    *("é", "😀", "\u2028", "\x7f", "\ufeff", "\x00", "\x85", "\ud7ff"),
]


@pytest.mark.parametrize("text", RETYPED)
@pytest.mark.parametrize("blocks", [False, True])
def test_a_string_stays_the_string_it_is(text: str, blocks: bool) -> None:
    """R28: as a value, in a list, behind a dash, and as a key."""
    for data in ({"k": text}, [text], [[text]], {"a": [{"b": text, "c": 1}]}, {text: {"k": text}}):
        assert yaml.safe_load(dump(data, blocks=blocks)) == data


def test_every_string_value_is_quoted() -> None:
    assert dump({"a": "plain", "b": ["x"], "c": 1}) == 'a: "plain"\nb:\n  - "x"\nc: 1\n'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (-3, "-3"),
        (10**20, "100000000000000000000"),
        (0.92, "0.92"),
        (16.0, "16.0"),
        (1e-5, "0.00001"),
        (1e22, "10000000000000000000000.0"),
        (True, "true"),
        (None, "null"),
        ({}, "{}"),
        ([], "[]"),
    ],
)
def test_other_scalars(value: Any, text: str) -> None:
    assert dump({"k": value}) == f"k: {text}\n"
    assert yaml.safe_load(dump({"k": value})) == {"k": value}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), object(), {1: "a"}, b"x"])
def test_what_cannot_be_said_is_refused(value: Any) -> None:
    with pytest.raises(SailplanError, match="as YAML"):
        dump({"k": value})


def test_shape() -> None:
    data = {"a": {"b": [{"c": "x", "d": ["y", []]}, ["z", {"e": {}}]]}, "f.g/h-i": "j", "on": "k", "1": "l"}
    assert dump(data) == (
        'a:\n  b:\n    - c: "x"\n      d:\n        - "y"\n        - []\n    - - "z"\n      - e: {}\n'
        'f.g/h-i: "j"\n"on": "k"\n"1": "l"\n'
    )


def test_blocks_are_for_people() -> None:
    script = "#!/bin/sh\nset -eu\n\necho hi\n"
    assert dump({"s": script}, blocks=True) == "s: |\n  #!/bin/sh\n  set -eu\n\n  echo hi\n"
    assert dump({"s": "a\nb"}, blocks=True) == "s: |-\n  a\n  b\n"
    assert dump({"s": "a\n\n"}, blocks=True) == "s: |+\n  a\n\n"


def test_comments() -> None:
    said = {("a", "b"): "here", ("l", 0): "there", ("a",): ""}
    text = dump({"a": {"b": 1}, "l": ["x"]}, comment=lambda path: said.get(path, ""))
    assert text == 'a:\n  b: 1  # here\nl:\n  - "x"  # there\n'


def test_a_stream_of_documents() -> None:
    text = dump_all([{"a": "1"}, {"b": "2"}])
    assert list(yaml.safe_load_all(text)) == [{"a": "1"}, {"b": "2"}]
    assert text.startswith("---\n")


def test_json_keeps_text() -> None:
    assert dump_json({"a": "é"}) == '{\n  "a": "é"\n}\n'


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(RETYPED)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=20
)


@given(VALUES, st.booleans())
def test_any_plain_data_comes_back(data: Any, blocks: bool) -> None:
    assert yaml.safe_load(dump(data, blocks=blocks)) == data
    assert yaml.load(dump(data, blocks=blocks), Loader=yaml.CSafeLoader) == data
