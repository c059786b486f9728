"""Charts drawn on the server as SVG: bars, stacked columns, a heat map of days, rates with intervals, sparklines.

Each has its unit, labels at what it draws, and the table behind it, also as CSV. Places are percentages and sizes
pixels, so that a chart fills any width while its letters keep their size. Colours are classes of page.css.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta

from markupsafe import Markup, escape
from msgspec import Struct

from holdfast.core.wording import counted, cut
from holdfast.guard.inert import inert

HEIGHT = 200  # of the columns, with their labels
_TOP, _BOTTOM = 22, 20  # room for labels above and below
_ROW = 26  # of a chart with a line for each item
_MOST_LABELS = 8  # below columns
_COLOURS = 6
_BESIDE = " · "
_CELL, _GAP = 12, 3  # of the heat map
_TICKS = (0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # where the scale of rates may end
_DAYS = ("Mon", "", "Wed", "", "Fri", "", "")


class Chart(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    unit: str
    svg: Markup
    columns: Sequence[str | tuple[str, str]]  # as `parts.table` takes them
    rows: Sequence[Sequence[str]]

    @property
    def csv(self) -> str:
        names = [column if isinstance(column, str) else column[0] for column in self.columns]
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(
            [inert(cell, "csv") for cell in line] for line in [names, *self.rows]
        )
        return out.getvalue()


class Bar(Struct, frozen=True, kw_only=True):
    """A value with its label, and the value as people read it."""

    label: str
    value: float
    shown: str
    url: str = ""


class Stack(Struct, frozen=True, kw_only=True):
    """A column: the value of each series, in the order of the series."""

    label: str
    values: Sequence[float]
    url: str = ""


class Rate(Struct, frozen=True, kw_only=True):
    """A share with the interval in which it lies, and the number of cases that it rests on."""

    label: str
    low: float
    value: float
    high: float
    n: int
    url: str = ""


def bars(id: str, title: str, items: Sequence[Bar], *, unit: str, what: str = "") -> Chart:
    """A line for each item, the label before the bar and the value at its end.

    `unit` and what is shown may name several figures, with ` · ` between them: the first is drawn, each has a column.
    """
    top = max((item.value for item in items), default=0.0) or 1.0
    lines: list[Markup] = []
    for number, item in enumerate(items):
        y = number * _ROW
        width = 58 * item.value / top
        label: Markup = escape(cut(item.label, 32))
        bar = Markup(
            '<rect class="c1" x="28%" y="{}" width="{}%" height="12" rx="2"><title>{}: {}</title></rect>'
        ).format(y + 6, _round(width), item.label, item.shown)
        if item.url:
            label = Markup('<a href="{}">{}</a>').format(item.url, label)
            bar = _linked(item.url, f"{item.label}: {item.shown}", bar)
        lines.append(
            Markup(
                '<text class="strong" x="0" y="{}">{}</text>{}<text x="{}%" y="{}" dx="6">{}</text>'
            ).format(
                y + 16,
                label,
                bar,
                _round(28 + width),
                y + 16,
                item.shown,
            )
        )
    return Chart(
        id=id,
        title=title,
        unit=unit,
        svg=_svg(
            title,
            [f"{item.label} {item.shown}" for item in items],
            len(items) * _ROW + 4,
            lines,
            role=_role(items),
        ),
        columns=[what or "Name", *((_sentence(one) or "Value", "right") for one in unit.split(_BESIDE))],
        rows=[[item.label, *item.shown.split(_BESIDE)] for item in items],
    )


def columns(
    id: str,
    title: str,
    stacks: Sequence[Stack],
    *,
    unit: str,
    write: Callable[[float], str],
    series: Sequence[str] = (),
    what: str = "Day",
) -> Chart:
    """A column for each day (or week …), in it a part for each series; `write` makes a value readable.

    The highest and the last column say their value; every column says it to the pointer, and the table has all.
    """
    sums = [sum(stack.values) for stack in stacks]
    top = max(sums, default=0.0) or 1.0
    room = HEIGHT - _TOP - _BOTTOM
    width = 100 / max(len(stacks), 1)
    bar = min(width * 0.78, 5)
    highest = sums.index(max(sums)) if sums else -1
    lines = [_axis(HEIGHT - _BOTTOM)]
    for number, stack in enumerate(stacks):
        x, y = number * width + (width - bar) / 2, float(HEIGHT - _BOTTOM)
        for place, value in enumerate(stack.values):
            height = room * value / top
            if height <= 0:
                continue
            y -= height
            gap = 1 if place and height > 2 else 0
            lines.append(
                Markup('<rect class="c{}" x="{}%" y="{}" width="{}%" height="{}"/>').format(
                    place % _COLOURS + 1, _round(x), _round(y), _round(bar), _round(height - gap)
                )
            )
        middle = number * width + width / 2
        hit = Markup(
            '<rect class="hit" x="{}%" y="0" width="{}%" height="{}"><title>{}: {}</title></rect>'
        ).format(_round(number * width), _round(width), HEIGHT, stack.label, write(sums[number]))
        leads = stack.url and sums[number]
        lines.append(_linked(stack.url, f"{stack.label}: {write(sums[number])}", hit) if leads else hit)
        if sums[number] and number in (highest, len(stacks) - 1):
            lines.append(_text(middle, y - 6, write(sums[number]), "strong", edge=True))
        if number % -(-len(stacks) // _MOST_LABELS) == 0:
            lines.append(_text(middle, HEIGHT - 5, stack.label, "faint", edge=True))
    names = list(series) or [_sentence(unit) or "Value"]
    return Chart(
        id=id,
        title=title,
        unit=unit,
        svg=_svg(
            title,
            [f"{stack.label} {write(value)}" for stack, value in zip(stacks, sums, strict=True)],
            HEIGHT,
            lines,
            role=_role(stacks),
        )
        + _legend(series),
        columns=[what, *((name, "right") for name in names), *([("Sum", "right")] if len(names) > 1 else [])],
        rows=[
            [stack.label, *map(write, stack.values), *([write(value)] if len(names) > 1 else [])]
            for stack, value in zip(stacks, sums, strict=True)
        ],
    )


def heat(
    id: str,
    title: str,
    days: Mapping[date, int],
    *,
    unit: str,
    until: date,
    weeks: int = 53,
    url: Callable[[date], str] | None = None,
    marked: date | None = None,
    more: Callable[[date], str] | None = None,
) -> Chart:
    """A square for each day, a column for each week, as dark as the day is busy.

    `url` is where a busy day leads, `more` what else is said of it.
    """
    first = until - timedelta(days=until.weekday(), weeks=weeks - 1)
    busiest = max([days[day] for day in days if first <= day <= until], default=0) or 1
    lines: list[Markup] = []
    for row, name in enumerate(_DAYS):
        if name:
            lines.append(
                Markup('<text class="faint" x="0" y="{}">{}</text>').format(_heat_y(row) + _CELL - 2, name)
            )
    month = ""
    for week in range(weeks):
        monday = first + timedelta(weeks=week)
        x = 30 + week * (_CELL + _GAP)
        if f"{monday:%b}" != month and week < weeks - 2:
            month = f"{monday:%b}"
            lines.append(Markup('<text class="faint" x="{}" y="10">{}</text>').format(x, month))
        for row in range(7):
            day = monday + timedelta(days=row)
            if day > until:
                break
            count = days.get(day, 0)
            label = f"{_date(day)}: {counted(count, unit.removesuffix('s'))}"
            if more is not None and count:
                label += f", {more(day)}"
            shade = 0 if not count else min(4, 1 + (count * 4 - 1) // (busiest + 1))
            square = Markup(
                '<rect class="h{}{}" x="{}" y="{}" width="{}" height="{}" rx="2"><title>{}</title></rect>'
            ).format(
                shade,
                " marked" if day == marked else "",
                x,
                _heat_y(row),
                _CELL,
                _CELL,
                label,
            )
            if url is not None and count:  # not in the tab order: the form beside it reaches every day
                square = Markup('<a href="{}" tabindex="-1" aria-label="{}">{}</a>').format(
                    url(day), label, square
                )
            lines.append(square)
    busy = sorted((day for day in days if days[day] and first <= day <= until), reverse=True)
    width = 30 + weeks * (_CELL + _GAP)
    return Chart(
        id=id,
        title=title,
        unit=f"{unit} a day",
        svg=Markup('<div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div>').format(
            title,
            _svg(
                title,
                [f"at most {busiest} {unit} a day"],
                _heat_y(7),
                lines,
                width=f"{width}px",
                role="img" if url is None else "group",  # what is one image can hold no links
            ),
        ),
        columns=["Day", (_sentence(unit), "right")],
        rows=[[day.isoformat(), f"{days[day]:,}"] for day in busy],
    )


def rates(id: str, title: str, items: Sequence[Rate], *, unit: str = "", what: str = "Name") -> Chart:
    """A line for each item: a dot for its rate, a line for the interval in which it lies, and what it rests on."""
    highest = max((item.high for item in items), default=1.0)
    top = next((tick for tick in _TICKS if tick >= highest), 1.0)

    def place(value: float) -> float:
        return _round(30 + 44 * value / top)

    height = len(items) * _ROW + 22
    lines = [
        Markup('<line class="axis" x1="{0}%" x2="{0}%" y1="0" y2="{1}"/>').format(place(share), height - 18)
        + _text(place(share), height - 4, f"{share:.0%}", "faint")
        for share in (0.0, top / 2, top)
    ]
    for number, item in enumerate(items):
        y = number * _ROW + 12
        label: Markup = escape(cut(item.label, 32))
        if item.url:
            label = Markup('<a href="{}">{}</a>').format(item.url, label)
        lines.append(
            Markup(
                '<text class="strong" x="0" y="{}">{}</text>'
                '<line class="whisker" x1="{}%" x2="{}%" y1="{}" y2="{}"/>'
                '<circle class="c1" cx="{}%" cy="{}" r="4.5"><title>{}</title></circle>'
                '<text x="100%" y="{}" text-anchor="end">{}</text>'
            ).format(
                y + 4,
                label,
                place(item.low),
                place(item.high),
                y,
                y,
                place(item.value),
                y,
                f"{item.label}: {_rate(item)}",
                y + 4,
                _rate(item),
            )
        )
    return Chart(
        id=id,
        title=title,
        unit=unit,
        svg=_svg(title, [f"{item.label} {_rate(item)}" for item in items], height, lines, role=_role(items)),
        columns=[what, ("Rate", "right"), ("From", "right"), ("To", "right"), ("n", "right")],
        rows=[
            [item.label, f"{item.value:.1%}", f"{item.low:.1%}", f"{item.high:.1%}", f"{item.n:,}"]
            for item in items
        ],
    )


def spark(values: Sequence[float], label: str) -> Markup:
    """A small line without axes, for a cell; `label` says in words what it shows."""
    top = max(values, default=0.0) or 1.0
    step = 100 / max(len(values) - 1, 1)
    points = " ".join(f"{_round(n * step)},{_round(22 - 20 * value / top)}" for n, value in enumerate(values))
    return Markup(
        '<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<polyline class="trend" vector-effect="non-scaling-stroke" points="{}"/></svg>'
    ).format(label, points)


def _rate(item: Rate) -> str:
    return f"{item.value:.0%} ({item.low * 100:.0f}–{item.high:.0%}), n {item.n:,}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _heat_y(row: int) -> int:
    return 16 + row * (_CELL + _GAP)


def _date(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B %Y}"


def _legend(series: Sequence[str]) -> Markup:
    if not series:
        return Markup("")
    entry = Markup(
        '<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="c{}" width="10" height="10" rx="2"/></svg>'
        "{}</li>"
    )
    entries = Markup("").join(entry.format(number % _COLOURS + 1, name) for number, name in enumerate(series))
    return Markup('<ul class="legend">{}</ul>').format(entries)


def _axis(y: int) -> Markup:
    return Markup('<line class="axis" x1="0" x2="100%" y1="{0}" y2="{0}"/>').format(y)


def _text(x: float, y: float, text: str, kind: str, *, edge: bool = False) -> Markup:
    """A text around x; with `edge` it stays inside of the drawing at its two ends."""
    anchor = "start" if edge and x < 4 else "end" if edge and x > 96 else "middle"
    at = 0.0 if anchor == "start" else 100.0 if anchor == "end" else _round(x)
    return Markup('<text class="{}" x="{}%" y="{}" text-anchor="{}">{}</text>').format(
        kind, at, _round(y), anchor, text
    )


def _svg(
    title: str,
    said: Sequence[str],
    height: int,
    lines: Sequence[Markup],
    *,
    width: str = "100%",
    role: str = "img",
) -> Markup:
    label = f"{title}: {'; '.join(said[:12])}{'; and more in the table' if len(said) > 12 else ''}"
    return Markup('<svg width="{}" height="{}" role="{}" aria-label="{}">{}</svg>').format(
        width, height, role, label, Markup("").join(lines)
    )


def _linked(url: str, label: str, mark: Markup) -> Markup:
    """A mark that leads to what it counts; not in the tab order, because the filters beside it reach the same."""
    return Markup('<a href="{}" tabindex="-1" aria-label="{}">{}</a>').format(url, label, mark)


def _role(marks: Sequence[Bar] | Sequence[Stack] | Sequence[Rate]) -> str:
    """What is one image can hold no links."""
    return "group" if any(mark.url for mark in marks) else "img"


def _round(value: float) -> float:
    return round(value, 2)
