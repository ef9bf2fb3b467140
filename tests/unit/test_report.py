"""Findings as text, JSON and GitHub annotations."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sailplan import report
from sailplan.findings import masked, shortened
from sailplan.model import Finding, Position

FULL = Finding(
    "SP101",
    "error",
    Position("catalog/a.yaml", 3, 5),
    "spec.gpus",
    "is too many: 50%\nsecond",
    "9",
    "1 to 8",
    "gpu",
    "write 8",
)
BARE = Finding("SP900", "warning", Position("b, c:d.yaml"), "", "odd")


def test_text() -> None:
    assert report.text([FULL, BARE]) == (
        "catalog/a.yaml:3:5: error SP101: spec.gpus: is too many: 50%\nsecond\n"
        "    given: 9\n    allowed: 1 to 8\n    did you mean: gpu\n    fix: write 8\n"
        "b, c:d.yaml: warning SP900: odd\n"
        "1 error, 1 warning\n"
    )
    assert report.text([]) == ""
    assert "\033[31merror\033[0m" in report.text([FULL], colour=True)


def test_the_nearest_name_is_said_once() -> None:
    asked = replace(FULL, fix="did you mean gpu?")
    assert report.text([asked]).count("did you mean") == 1
    assert report.github([asked]).count("did you mean") == 1
    assert report.plain([asked])[0]["fix"] == "did you mean gpu?"


def test_json_has_every_key() -> None:
    keys = ["id", "severity", "file", "line", "column", "field", "message", "given", "allowed", "nearest", "fix"]
    full, bare = report.plain([FULL, BARE])
    assert list(full) == keys
    assert list(bare) == keys
    assert (bare["file"], bare["line"], bare["fix"]) == ("b, c:d.yaml", 0, "")


def test_github_escapes_what_would_end_a_command() -> None:
    first, second = report.github([FULL, BARE]).splitlines()
    assert first.startswith(
        "::error file=catalog/a.yaml,line=3,col=5,title=SP101::spec.gpus: is too many: 50%25%0Asecond%0A"
    )
    assert second == "::warning file=b%2C c%3Ad.yaml,title=SP900::odd"


def test_summary() -> None:
    assert report.summary([FULL, FULL, BARE]) == "2 errors, 1 warning"
    assert report.summary([]) == "no findings"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://ann:s3cret@host/v1", "https://***@host/v1"),
        ("https://s3cret@host", "https://***@host"),
        ("http://ann:s3c/r@t:9@host:99999", "http://***@host:99999"),
        ("http://ann:s3c ret@host", "http://***@host"),
        ("ann:s3cret@r.example/x", "***@r.example/x"),
        ('"http://ann:s3cret@host"', '"http://***@host"'),
        ("http://host:8080/v1", "http://host:8080/v1"),
        ("http://h:80/v1?key=s3cret", "http://h:80/v1?***"),
        ("see http://h?s3cret, says", "see http://h?*** says"),
        ("host/v1?a=b&api_key=s3cret&c=d", "host/v1?a=b&api_key=***&c=d"),
        ("http://ann:s3c?ret@host", "http://***@host"),
        ("http://h/?mail=a@b&token=s3cret", "http://***@b&token=***"),
        ("what? it is a key=value", "what? it is a key=value"),
        ("r.example:5000/a/b:1@sha256:12", "r.example:5000/a/b:1@sha256:12"),
        ("vllm-model@v1.0.0", "vllm-model@v1.0.0"),
        ("scope:a b@c", "scope:a b@c"),
    ],
)
def test_user_and_password_of_a_url_are_not_shown(given: str, shown: str) -> None:
    assert masked(given) == shown
    field = f"spec.{given}.x"
    found = replace(FULL, field=field, message=f"url {given} is no url", given=given, nearest=given, fix=f"not {given}")
    for text in (report.text([found]), report.github([found]), json.dumps(report.plain([found]))):
        assert ("s3c" in text) == ("s3c" in shown)


def test_a_password_is_masked_before_a_long_value_is_cut() -> None:
    assert shortened(f"https://ann:{'s3cret' * 30}@host/v1") == "https://***@host/v1"
