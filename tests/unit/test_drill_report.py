"""Results of drills as text, JSON and a page; nothing is started."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from drill import page, plot, report
from drill.model import Event, Figure, Result, Series

GOOD = Result(
    "canary",
    "Shares & names",
    12.5,
    (Figure("share of <sql>", 9.8, "%", "8 to 12 %"), Figure("unknown model", "404 no such <model>", "", "404")),
    (
        Series("share", "%", ((0.0, 9.0), (1.0, math.nan), (2.0, 11.0))),
        Series("weight", "%", ((0.0, 10.0), (12.0, 10.0))),
        Series("ready", "replicas", ((0.0, 1.0), (6.0, 2.0))),
        Series("nothing", "requests a second"),
    ),
    (Event(1.5, "promoted to 50 % & more"), Event(99.0, "after the end")),
)
BAD = Result("engine", "Boots", 3.0, (Figure("metrics", "vllm:gone\nvllm:lost", "", "all", ok=False),))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "line", "circle", "path"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_result_without_figures_has_shown_nothing() -> None:
    assert not Result("x", "y", 1.0).ok
    assert not report.all_ok([])
    assert GOOD.ok
    assert not BAD.ok


def test_text_says_what_was_measured_and_what_was_promised() -> None:
    text = report.text([GOOD, BAD])
    assert "ok    canary: Shares & names (12 s)" in text
    assert re.search(r"  ok    share of <sql> +9\.8 %   \(8 to 12 %\)", text)
    assert re.search(r"  FAIL  metrics +vllm:gone   \(all\)\n +vllm:lost", text)
    assert text.endswith("FAIL: 2 scenarios, 1 of 3 figures are not as promised, 16 s\n")
    assert "\033" not in text
    assert "\033[31mFAIL" in report.text([BAD], colour=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (9.87654, "9.88"),
        (1234.5, "1234"),
        (0.0004, "0.0004"),
        ("word", "word"),
        (math.inf, "inf"),
    ],
)
def test_numbers_are_as_people_read_them(value: float | str, text: str) -> None:
    assert report.number(value) == text


def test_json_is_json_even_with_numbers_that_json_has_not() -> None:
    data = json.loads(report.as_json([GOOD, BAD]))
    assert [one["scenario"] for one in data["scenarios"]] == ["canary", "engine"]
    assert data["ok"] is False
    assert data["seconds"] == 15.5
    assert data["scenarios"][0]["series"][0]["points"][1] == [1.0, None]


def test_the_page_needs_nothing_else_and_is_closed_properly() -> None:
    text = page.html([GOOD, BAD], "inference-fleet <1>")
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(tags.seen)
    assert not re.search(r"(?:src|href)=\"(?!#)", text)
    assert "url(" not in text
    assert "<sql>" not in text
    assert "share of &lt;sql&gt;" in text
    assert "inference-fleet &lt;1&gt;" in text
    assert "promoted to 50 % &amp; more" in text


def test_series_of_one_unit_share_a_plot() -> None:
    text = page.html([GOOD])
    assert text.count("<figure>") == 3
    assert text.count('class="key"') == 4


def test_plots_are_well_formed_and_inside_their_frame() -> None:
    drawn = plot.svg("%", GOOD.series[:2], GOOD.events, GOOD.seconds)
    tree = ET.fromstring(drawn)
    _, _, width, height = map(float, tree.attrib["viewBox"].split())
    for element in tree.iter():
        for name, most in (("x", width), ("x1", width), ("x2", width), ("y", height), ("y1", height), ("y2", height)):
            if name in element.attrib:
                assert 0 <= float(element.attrib[name]) <= most
    assert "nan" not in drawn


def test_replicas_are_drawn_as_steps() -> None:
    assert re.search(r'd="M[\d. ]+H[\d.]+V', plot.svg("replicas", GOOD.series[2:3], (), 10.0))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (0, 1, 0.5)),
        ([0.0], (0, 1, 0.5)),
        ([100.0], (0, 100, 50)),
        ([-3.0, 3.0], (-4, 4, 2)),
        ([0.003], (0, 0.003, 0.001)),
    ],
)
def test_axes_have_round_numbers(values: list[float], expected: tuple[float, float, float]) -> None:
    assert plot.scale(values) == pytest.approx(expected)


def test_every_line_of_many_looks_different() -> None:
    assert len({plot.style(place) for place in range(20)}) == 20
