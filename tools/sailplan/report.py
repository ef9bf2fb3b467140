"""Findings as text for people, JSON for machines, and annotations for GitHub. One list, three ways to print it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sailplan.findings import masked
from sailplan.model import SEVERITIES, Finding

_COLOURS = {"error": "31", "warning": "33", "note": "36"}


def text(findings: Sequence[Finding], colour: bool = False) -> str:
    """A paragraph a finding, and how many there are; empty without any."""
    if not findings:
        return ""
    return "".join(_paragraph(found, colour) for found in _safe(findings)) + summary(findings) + "\n"


def summary(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`."""
    counts = [(severity, sum(found.severity == severity for found in findings)) for severity in SEVERITIES]
    return ", ".join(f"{count} {name}{'s' if count != 1 else ''}" for name, count in counts if count) or "no findings"


def plain(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """The list that `-o json` prints; the keys are always there, empty when there is nothing to say."""
    return [
        {
            "id": found.id,
            "severity": found.severity,
            "file": found.position.file,
            "line": found.position.line,
            "column": found.position.column,
            "field": found.field,
            "message": found.message,
            "given": found.given,
            "allowed": found.allowed,
            "nearest": found.nearest,
            "fix": found.fix,
        }
        for found in _safe(findings)
    ]


def github(findings: Sequence[Finding]) -> str:
    """Workflow commands that GitHub shows beside the line."""
    return "".join(f"{_annotation(found)}\n" for found in _safe(findings))


def _safe(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings without passwords; what CUE said of a value came as it was."""
    for found in findings:
        yield replace(
            found,
            field=masked(found.field),
            message=masked(found.message),
            given=masked(found.given),
            nearest=masked(found.nearest),
            fix=masked(found.fix),
        )


def _paragraph(found: Finding, colour: bool) -> str:
    severity = f"\033[{_COLOURS[found.severity]}m{found.severity}\033[0m" if colour else found.severity
    field = f"{found.field}: " if found.field else ""
    lines = [f"{found.position}: {severity} {found.id}: {field}{found.message}"]
    lines += [f"    {label}: {value}" for label, value in _details(found)]
    return "\n".join(lines) + "\n"


def _details(found: Finding) -> list[tuple[str, str]]:
    # The nearest name is said once: many fixes are nothing but that question.
    asked = found.fix == f"did you mean {found.nearest}?"
    details = [
        ("given", found.given),
        ("allowed", found.allowed),
        ("did you mean", found.nearest),
        ("fix", "" if asked else found.fix),
    ]
    return [(label, value) for label, value in details if value]


def _annotation(found: Finding) -> str:
    level = "notice" if found.severity == "note" else found.severity
    place = f"file={_property(found.position.file)}"
    if found.position.line:
        place += f",line={found.position.line},col={found.position.column}"
    said = [f"{found.field}: {found.message}" if found.field else found.message]
    said += [f"{label}: {value}" for label, value in _details(found)]
    return f"::{level} {place},title={_property(found.id)}::{_data(chr(10).join(said))}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
