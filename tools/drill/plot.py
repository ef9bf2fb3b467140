"""One plot as SVG: lines over time, with marks for events. Numbers in, text out; no script, nothing fetched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from drill.model import Event, Series

COLOURS = ("#0b62a4", "#c9540a", "#2a7f3b", "#8e3fa8", "#a11d33", "#5a5a5a", "#00857c", "#8a6d00")
"""Distinct on white, also for most people who see fewer colours; dashes tell lines of one colour apart."""

_DASHES = ("", "6 3", "2 3")
_WIDTH, _HEIGHT = 860, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 16, 34, 40
_TEXT = 'font-family="system-ui, sans-serif" font-size="11" fill="#444"'
_STEPS = ("replicas", "pods")
"""What units begin with whose values stay where they are until they jump."""


def svg(unit: str, series: Sequence[Series], events: Sequence[Event], seconds: float) -> str:
    """Draw series of one unit.

    Args:
        unit: stands above the axis of values.
        series: at least one; points that are not finite are left out.
        events: become numbered marks, in the order given.
        seconds: length of the axis of time, at least.
    """
    points = [point for one in series for point in _finite(one)]
    longest = max([seconds, 1.0, *(at for at, _ in points)])
    low, high, step = scale([value for _, value in points])
    frame = _Frame(longest, low, high)
    title = ", ".join(one.name for one in series)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" xmlns="http://www.w3.org/2000/svg" {_TEXT}>',
        f"<title>{escape(title)} ({escape(unit)}) over seconds</title>",
        *_grid(frame, step),
        f'<text x="4" y="12" font-weight="600">{escape(unit)}</text>',
        *(_mark(frame, event, place) for place, event in enumerate(events, 1)),
        *(_line(frame, one, place, one.unit.startswith(_STEPS)) for place, one in enumerate(series)),
        "</svg>",
    ]
    return "\n".join(parts)


def legend(series: Sequence[Series]) -> str:
    """The names of lines beside a piece of each."""
    rows = []
    for place, one in enumerate(series):
        colour, dash = style(place)
        piece = f'<svg class="key" viewBox="0 0 28 8"><line x1="1" y1="4" x2="27" y2="4" stroke="{colour}"'
        last = _finite(one)[-1:]
        value = f" (last: {last[0][1]:.3g})" if last else " (no points)"
        rows.append(f'<li>{piece} stroke-dasharray="{dash}"/></svg> {escape(one.name)}{value}</li>')
    return f'<ul class="legend">{"".join(rows)}</ul>'


def style(place: int) -> tuple[str, str]:
    """Colour and dashes of a line."""
    return COLOURS[place % len(COLOURS)], _DASHES[place // len(COLOURS) % len(_DASHES)]


def scale(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the ends of an axis that holds all values and zero, and the distance of its lines: 1, 2, 5 times 10^n."""
    low, high = min([0.0, *values]), max([0.0, *values])
    if high == low:
        high = low + 1.0
    step = nice((high - low) / 4)
    return math.floor(low / step) * step, math.ceil(high / step) * step, step


def nice(rough: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


class _Frame:
    """From seconds and values to places in the picture."""

    def __init__(self, seconds: float, low: float, high: float) -> None:
        self.seconds, self.low, self.high = seconds, low, high

    def x(self, at: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * min(max(at, 0.0), self.seconds) / self.seconds, 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share, 1)


def _grid(frame: _Frame, step: float) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for count in range(round((frame.high - frame.low) / step) + 1):
        value = frame.low + count * step
        y = frame.y(value)
        parts.append(f'<line stroke="#ddd" x1="{_LEFT}" y1="{y}" x2="{right}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{value:.6g}</text>')
    every = nice(frame.seconds / 8)
    for count in range(int(frame.seconds / every + 1e-9) + 1):
        x = frame.x(count * every)
        parts.append(f'<line stroke="#999" x1="{x}" y1="{bottom}" x2="{x}" y2="{bottom + 4}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 17}" text-anchor="middle">{count * every:.6g}</text>')
    parts.append(f'<text x="{right}" y="{_HEIGHT - 4}" text-anchor="end">seconds</text>')
    return parts


def _mark(frame: _Frame, event: Event, place: int) -> str:
    x = frame.x(event.at)
    line = f'<line stroke="#999" stroke-dasharray="3 3" x1="{x}" y1="{_TOP}" x2="{x}" y2="{_HEIGHT - _BOTTOM}"/>'
    label = f'<text x="{x}" y="{_TOP - 5}" text-anchor="middle" fill="#777">{place}</text>'
    return f"<g><title>{escape(event.text)}</title>{line}{label}</g>"


def _line(frame: _Frame, series: Series, place: int, steps: bool) -> str:
    found = [(frame.x(at), frame.y(value)) for at, value in _finite(series)]
    if not found:
        return ""
    colour, dash = style(place)
    first, *rest = found
    # A lone point has no line, so each line begins with a dot.
    dot = f'<circle cx="{first[0]}" cy="{first[1]}" r="2" fill="{colour}"/>'
    path = f"M{first[0]} {first[1]}" + "".join(f"H{x}V{y}" if steps else f"L{x} {y}" for x, y in rest)
    drawn = f'<path fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}" d="{path}"/>'
    return f"<g><title>{escape(series.name)}</title>{drawn}{dot}</g>"


def _finite(series: Series) -> list[tuple[float, float]]:
    return [(at, value) for at, value in series.points if math.isfinite(at) and math.isfinite(value)]
