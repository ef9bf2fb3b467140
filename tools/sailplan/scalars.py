"""What an unquoted YAML scalar means, and which ones are refused because readers disagree about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from sailplan.findings import shortened

_WORDS = frozenset(["y", "Y", "n", "N", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"])
_KNOWN: dict[str, bool | None] = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_KNOWN |= dict.fromkeys(("", "~", "null", "Null", "NULL"))

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]+$")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:$|[Tt \t])")
_NUMBERLIKE = re.compile(
    r"""[-+]?(?:
        0[0-7_]+ | 0[oO][0-7_]+ | 0[xX][0-9a-fA-F_]+ | 0[bB][01_]+      # octal, hexadecimal, binary
      | [0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?                  # 5e10, 1_000, 5.
      | \.[0-9_]+(?:[eE][-+]?[0-9]+)?                                   # .5
      | [0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?                     # 1:30, base sixty
      | \.(?:inf|Inf|INF)
    )$ | \.(?:nan|NaN|NAN)$""",
    re.VERBOSE,
)
MAX_DIGITS = 18
"""More digits do not fit an int64, and Go's readers turn them into a float."""

_STARTS = frozenset("0123456789+-.yYnNoOtTfF~")
"""First characters of everything that is not plainly text; the others need no look."""


@dataclass(frozen=True, slots=True)
class Plain:
    """An unquoted scalar: its value, and when readers disagree about it, what is wrong and what to write."""

    value: Any
    problem: str = ""
    fix: str = ""


@lru_cache(maxsize=4096)
def plain(text: str) -> Plain:
    """Read an unquoted scalar: true, false, nothing, a decimal number, or text."""
    if text and text[0] not in _STARTS:
        return Plain(text)
    if text in _KNOWN:
        return Plain(_KNOWN[text])
    if text in _WORDS:
        meant = "true" if text[0] in "yY" or text in ("on", "On", "ON") else "false"
        return _refused(text, f"{text} without quotes, which some readers take for {meant}", meant)
    if len(text) <= MAX_DIGITS and _INT.match(text):
        return Plain(int(text))
    if len(text) <= MAX_DIGITS and _FLOAT.match(text):
        return Plain(float(text))
    return _number_or_text(text)


def _number_or_text(text: str) -> Plain:
    if _DATE.match(text):
        return _refused(text, f"{text} without quotes, which is a date to some readers")
    if _NUMBERLIKE.match(text):
        problem = f"{shortened(text, 40)} without quotes, a number that readers take differently"
        meant, quoted = _decimal(text), f'"{shortened(text)}"'
        if meant:
            return Plain(text, problem, f"write {meant}, or {quoted} in quotes for text")
        fix = f"write it in quotes: {quoted}; a number is a decimal one of at most {MAX_DIGITS} characters"
        return Plain(text, problem, fix)
    return Plain(text)


def _refused(text: str, problem: str, meant: str = "") -> Plain:
    other = f", or {meant} if that is meant" if meant else ""
    return Plain(text, problem, f'write it in quotes: "{shortened(text)}"{other}')


def _decimal(text: str) -> str:
    """The usual way to write a number, where there is one that all readers take alike; "" where there is none."""
    try:
        number = Decimal(text.replace("_", ""))
    except InvalidOperation:
        return ""
    # A leading 0 may mean octal. Exponents are looked at before they are written out: 1e999999999 is no long number.
    if not number.is_finite() or re.match(r"[-+]?0[0-9]", text) or abs(number.adjusted()) > MAX_DIGITS:
        return ""
    plain = f"{number.normalize():f}"
    return plain if len(plain) <= MAX_DIGITS else ""
