"""Results as text for a terminal, as JSON for programs, and as one HTML page (see page.py)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from drill.model import Figure, Result

_GREEN, _RED, _PLAIN = "\033[32m", "\033[31m", "\033[0m"


def text(results: Sequence[Result], colour: bool = False) -> str:
    """One block a scenario: its verdict, then a line a figure, with what was promised in brackets."""
    blocks = [_block(result, colour) for result in results]
    return "\n".join([*blocks, f"{_verdict(all_ok(results), colour)}: {_count(results)}\n"])


def all_ok(results: Sequence[Result]) -> bool:
    """Whether there are results and all of them are as promised."""
    return bool(results) and all(result.ok for result in results)


def data(results: Sequence[Result]) -> dict[str, Any]:
    """The same as plain data; points of series are lists of [seconds, value]."""
    return {
        "ok": all_ok(results),
        "seconds": round(sum(result.seconds for result in results), 1),
        "scenarios": [{"ok": result.ok, **asdict(result)} for result in results],
    }


def as_json(results: Sequence[Result]) -> str:
    """JSON text; numbers that JSON cannot write (infinite, none) become null."""
    return json.dumps(_finite(data(results)), indent=2, allow_nan=False) + "\n"


def number(value: float | int | str) -> str:
    """A value as people read it: three significant digits, whole numbers whole."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (value == value and abs(value) < 1e15 and value == int(value)):
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def said(figure: Figure) -> str:
    """Value and unit."""
    return f"{number(figure.value)} {figure.unit}".rstrip()


def _block(result: Result, colour: bool) -> str:
    head = f"{_verdict(result.ok, colour)}  {result.scenario}: {result.title} ({result.seconds:.0f} s)\n"
    width = max((len(figure.name) for figure in result.figures), default=0)
    return head + "".join(_line(figure, width, colour) for figure in result.figures)


def _line(figure: Figure, width: int, colour: bool) -> str:
    promised = f"   ({figure.expected})" if figure.expected else ""
    first, *more = said(figure).splitlines() or [""]
    rest = "".join(f"        {line}\n" for line in more)
    return f"  {_verdict(figure.ok, colour)}  {figure.name.ljust(width)}   {first}{promised}\n{rest}"


def _verdict(ok: bool, colour: bool) -> str:
    word = "ok  " if ok else "FAIL"
    return f"{_GREEN if ok else _RED}{word}{_PLAIN}" if colour else word


def _count(results: Sequence[Result]) -> str:
    figures = [figure for result in results for figure in result.figures]
    bad = sum(not figure.ok for figure in figures)
    seconds = sum(result.seconds for result in results)
    held = f"{len(figures)} figures" if not bad else f"{bad} of {len(figures)} figures are not as promised"
    return f"{len(results)} scenarios, {held}, {seconds:.0f} s"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
