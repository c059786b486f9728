"""The report as one HTML page that needs nothing else: no script, no network, plots drawn as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from holdfast.advise.report import Report
from holdfast.cli.amounts import short_model
from holdfast.cli.ledger_report import MOST_MONTHS, sections
from holdfast.cli.output import cut

WIDTH, ROW, LEFT = 640, 26, 220
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1d2733;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid #dde3ea}li{margin:.2rem 0}
svg text{font:12px system-ui,sans-serif;fill:#1d2733}.bar{fill:#3a7ca5}.bad{fill:#c2553f}.range{stroke:#1d2733}
.line{fill:none;stroke:#3a7ca5;stroke-width:2}.grid{stroke:#dde3ea}footer{color:#66727f;margin-top:2rem}
@media(prefers-color-scheme:dark){body{background:#14191f;color:#e4e9ee}svg text{fill:#e4e9ee}.range{stroke:#e4e9ee}
h2,.grid{border-color:#333c46;stroke:#333c46}}
"""


def page(report: Report) -> str:
    parts = [f"<h1>Usage patterns ({report.sessions} session{'s' if report.sessions != 1 else ''})</h1>"]
    for title, lines in sections(report):
        parts.append(f"<h2>{escape(title)}</h2>{_plot(title, report)}")
        parts.append("<ul>" + "".join(f"<li>{escape(_without_bar(line))}</li>" for line in lines) + "</ul>")
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>holdfast: usage patterns</title><style>{_STYLE}</style></head>\n<body>\n{body}\n"
        f"<footer>{escape(report.maturity)} Ranges hold the true rate 95 times of 100.</footer>\n</body></html>\n"
    )


def _without_bar(line: str) -> str:
    return " ".join("".join(" " if "\u2580" <= sign <= "\u259f" else sign for sign in line).split())


def _plot(title: str, report: Report) -> str:
    if title == "Task Complexity Distribution":
        return _bars([(one.level, one.share, f"{one.share:.0%}") for one in report.complexity])
    if title == "Common Failure Patterns":
        rows = [
            (one.topic, one.failure.value or 0.0, one.failure.low, one.failure.high) for one in report.topics
        ]
        return _rates(rows)
    if title == "Tasks That Fail, by Framework and Model":
        pairs = [one for one in report.pairings if one.sessions >= 2][:12]
        return _rates(
            [
                (
                    f"{p.framework} × {short_model(p.model)}",
                    p.failure.value or 0.0,
                    p.failure.low,
                    p.failure.high,
                )
                for p in pairs
            ]
        )
    if title == "Month by Month" and len(report.trend) > 1:
        return _trend(
            [(one.month, one.total_cost or 0.0, one.sessions) for one in report.trend[-MOST_MONTHS:]]
        )
    return ""


def _bars(rows: Sequence[tuple[str, float, str]]) -> str:
    most = max((value for _, value, _ in rows), default=0) or 1
    room = WIDTH - LEFT - 60
    drawn = "".join(
        f'<text x="{LEFT - 8}" y="{n * ROW + 17}" text-anchor="end">{escape(cut(name, 32))}</text>'
        f'<rect class="bar" x="{LEFT}" y="{n * ROW + 5}" width="{value / most * room:.1f}" height="{ROW - 9}" rx="2"/>'
        f'<text x="{LEFT + value / most * room + 6:.1f}" y="{n * ROW + 17}">{escape(label)}</text>'
        for n, (name, value, label) in enumerate(rows)
    )
    return _svg(len(rows) * ROW, drawn)


def _rates(rows: Sequence[tuple[str, float, float | None, float | None]]) -> str:
    """Failure rates with the range that holds each."""
    most = max([0.1, *(high or value for _, value, _, high in rows)])
    room = WIDTH - LEFT - 60

    def place(value: float) -> float:
        return LEFT + value / most * room

    drawn = []
    for n, (name, value, low, high) in enumerate(rows):
        middle = n * ROW + ROW / 2
        drawn.append(
            f'<text x="{LEFT - 8}" y="{n * ROW + 17}" text-anchor="end">{escape(cut(name, 32))}</text>'
            f'<rect class="bad" x="{LEFT}" y="{n * ROW + 7}" width="{place(value) - LEFT:.1f}" height="{ROW - 13}"/>'
        )
        if low is not None and high is not None:
            drawn.append(
                f'<line class="range" x1="{place(low):.1f}" x2="{place(high):.1f}" y1="{middle}" y2="{middle}"/>'
            )
        drawn.append(f'<text x="{place(high or value) + 6:.1f}" y="{n * ROW + 17}">{value:.0%}</text>')
    return _svg(len(rows) * ROW, "".join(drawn))


def _trend(rows: Sequence[tuple[str, float, int]]) -> str:
    """What each month cost, as a line."""
    height, left, bottom = 180, 60, 30
    most = max((cost for _, cost, _ in rows), default=0) or 1
    step = (WIDTH - left - 30) / max(len(rows) - 1, 1)
    points = [
        (left + n * step, 10 + (height - bottom - 10) * (1 - cost / most))
        for n, (_, cost, _) in enumerate(rows)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    every = max(len(rows) // 8, 1)
    labels = "".join(
        f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{escape(month)}</text>'
        for n, ((x, _), (month, _, _)) in enumerate(zip(points, rows, strict=True))
        if n % every == 0
    )
    dots = "".join(
        f'<circle class="bar" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(month)}: ${cost:,.2f}, {sessions} sessions'
        "</title></circle>"
        for (x, y), (month, cost, sessions) in zip(points, rows, strict=True)
    )
    axis = (
        f'<line class="grid" x1="{left}" x2="{WIDTH - 30}" y1="{height - bottom}" y2="{height - bottom}"/>'
        f'<text x="{left - 8}" y="16" text-anchor="end">${most:,.2f}</text>'
        f'<text x="{left - 8}" y="{height - bottom}" text-anchor="end">$0</text>'
    )
    return _svg(height, f'{axis}<polyline class="line" points="{line}"/>{dots}{labels}')


def _svg(height: float, drawn: str) -> str:
    if not drawn:
        return ""
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" width="100%" role="img">{drawn}</svg>'
