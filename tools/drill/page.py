"""Results as one HTML page that needs nothing else: style inside, plots as SVG, no script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from drill import plot
from drill.model import Event, Figure, Result, Series
from drill.report import all_ok, said

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1c1c1c; background: #fff; max-width: 60rem;
       margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; }
table { border-collapse: collapse; width: 100%; margin: .8rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #e4e4e4; }
td.value { white-space: pre-wrap; font-variant-numeric: tabular-nums; }
.ok { color: #1d6b2c; font-weight: 600; } .bad { color: #a11d1d; font-weight: 600; }
svg { width: 100%; height: auto; display: block; } svg.key { width: 28px; height: 8px; display: inline-block; }
figure { margin: 1rem 0; } .legend { list-style: none; padding: 0; margin: .2rem 0; display: flex; flex-wrap: wrap;
         gap: .2rem 1.4rem; font-size: 13px; }
ol.events { font-size: 13px; color: #444; columns: 2; } .quiet { color: #555; }
"""


def html(results: Sequence[Result], about: str = "") -> str:
    """The page.

    Args:
        results: in the order in which they are shown.
        about: a line under the title: what was put under traffic.
    """
    head = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>sailplan drill</title>'
    verdict = _verdict(all_ok(results), "all figures as promised", "not everything is as promised")
    parts = [
        f"{head}\n<style>{_STYLE}</style></head><body>",
        f"<h1>sailplan drill: {verdict}</h1>",
        f'<p class="quiet">{escape(about)}</p>' if about else "",
        _overview(results),
        *(_section(result) for result in results),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _overview(results: Sequence[Result]) -> str:
    return f"<table>{''.join(map(_row, results))}</table>"


def _row(result: Result) -> str:
    name = escape(result.scenario)
    cells = (
        _verdict(result.ok, "ok", "fails"),
        f'<a href="#{name}">{name}</a>',
        escape(result.title),
        f"{result.seconds:.0f} s",
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _section(result: Result) -> str:
    name, title = escape(result.scenario), escape(result.title)
    verdict = _verdict(result.ok, "ok", "fails")
    return "\n".join(
        [
            f'<section id="{name}"><h2>{name}: {verdict}</h2>',
            f'<p class="quiet">{title} ({result.seconds:.0f} s)</p>',
            _figures(result.figures),
            *(_plot(unit, series, result) for unit, series in _by_unit(result.series).items()),
            _events(result.events),
            "</section>",
        ]
    )


def _figures(figures: Sequence[Figure]) -> str:
    rows = "".join(
        f"<tr><td>{_verdict(one.ok, 'ok', 'FAIL')}</td><td>{escape(one.name)}</td>"
        f'<td class="value">{escape(said(one))}</td><td>{escape(one.expected)}</td></tr>'
        for one in figures
    )
    return f"<table><tr><th></th><th>figure</th><th>measured</th><th>promised</th></tr>{rows}</table>"


def _by_unit(series: Sequence[Series]) -> dict[str, list[Series]]:
    found: dict[str, list[Series]] = {}
    for one in series:
        found.setdefault(one.unit, []).append(one)
    return found


def _plot(unit: str, series: Sequence[Series], result: Result) -> str:
    drawn = plot.svg(unit, series, result.events, result.seconds)
    return f"<figure>{drawn}\n<figcaption>{plot.legend(series)}</figcaption></figure>"


def _events(events: Sequence[Event]) -> str:
    if not events:
        return ""
    rows = "".join(f"<li>{one.at:.1f} s: {escape(one.text)}</li>" for one in events)
    return f'<ol class="events">{rows}</ol>'


def _verdict(ok: bool, good: str, bad: str) -> str:
    return f'<span class="{"ok" if ok else "bad"}">{good if ok else bad}</span>'
