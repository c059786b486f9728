"""How the report looks: on a terminal with small bars, as markdown, and as one HTML page with plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.guard.inert import inert
from holdfast.ledger.report import FEWEST, LedgerReport, Month, Pairing, report_of
from holdfast.ledger.stats import Rate
from holdfast.ledger.tally import UNKNOWN
from holdfast.model.ledger import LedgerEntry
from holdfast.terminal import output
from holdfast.terminal.output import counted, decimal, dollars, percent, plural, short_model

BAR = 24
MOST_NAMED = 36  # letters of a name, so that its figures fit beside it
MOST_PAIRINGS = 12
MOST_MONTHS = 24
MOST_LABELS = 4  # of months under the line: as many as a telephone has room for
_FULL, _PARTS = "█", " ▏▎▍▌▋▊▉"
_STYLE = """
:root{color-scheme:light dark;--ink:#1d2733;--paper:#fff;--faint:#5b6773;--rule:#dde3ea;--bar:#3a7ca5;--bad:#c2553f}
@media(prefers-color-scheme:dark){
:root{--ink:#e4e9ee;--paper:#14191f;--faint:#9aa6b2;--rule:#333c46;--bar:#5b9fca;--bad:#dd7560}}
body{font:15px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:var(--ink);
background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid var(--rule)}
ul{padding-left:1.2rem}li{margin:.2rem 0}
figure{margin:.8rem 0}figcaption,footer{color:var(--faint);font-size:.87rem}footer{margin-top:2rem}
.rows{display:grid;grid-template-columns:fit-content(16rem) minmax(9rem,1fr) fit-content(22rem);gap:.35rem .8rem;
align-items:center;font-size:.87rem;margin-bottom:.5rem}.row{display:contents}.name{text-align:right}
svg{display:block;width:100%;overflow:visible}svg text{font:12px system-ui,sans-serif;fill:var(--ink)}
.bar{fill:var(--bar)}.bad{fill:var(--bad)}.range,.end{stroke:var(--ink)}.grid{stroke:var(--rule)}
.line{fill:none;stroke:var(--bar);stroke-width:2;vector-effect:non-scaling-stroke}
@media(max-width:44rem){.rows,.row{display:block}.row{margin:.8rem 0}.name,.value{display:block;text-align:left}
.name{font-weight:600}}
"""


def show_report(rows: Sequence[LedgerEntry], form: str, nothing: str, *, as_json: bool) -> None:
    report = report_of(rows)
    if as_json:
        output.show_json(report)
    elif form == "html":
        output.write(page(report))
    elif not rows:
        output.line(nothing)
    elif form == "md":
        output.write("".join(f"{line}\n" for line in markdown(report)))
    else:
        _show(report)


def _show(report: LedgerReport) -> None:
    output.heading(f"Your usage patterns ({plural(report.sessions, 'session')})")
    for title, lines in sections(report):
        output.section(title)
        for line in lines:
            output.item(line)
    output.line()
    output.item(report.maturity, 0)


def markdown(report: LedgerReport) -> Iterator[str]:
    yield f"# Usage patterns ({plural(report.sessions, 'session')})"
    for title, lines in sections(report):
        yield f"\n## {title}\n"
        yield from (f"- {inert(line.strip(), 'md')}" for line in lines)
    yield f"\n{report.maturity}"


def page(report: LedgerReport) -> str:
    """One HTML page that needs nothing else: no script, no network, plots drawn as SVG."""
    parts = [f"<h1>Usage patterns ({plural(report.sessions, 'session')})</h1>"]
    for title, lines in sections(report):
        content = _plot(title, report) or f"<ul>{''.join(f'<li>{_html(line)}</li>' for line in lines)}</ul>"
        parts.append(f"<h2>{_html(title)}</h2>\n{content}")
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>holdfast: usage patterns</title><style>{_STYLE}</style></head>\n<body>\n{body}\n"
        f"<footer>{_html(report.maturity)}</footer>\n</body></html>\n"
    )


def sections(report: LedgerReport) -> Iterator[tuple[str, list[str]]]:
    """Title and lines of each part that has any."""
    parts = (
        ("Most Productive Model", _productive(report)),
        ("Task Complexity Distribution", _complexity(report)),
        ("Common Failure Patterns", _topics(report)),
        ("Why Tasks Fail, by Language", _reasons(report)),
        ("Refusals by Model", _refusals(report)),
        ("Tasks That Fail, by Framework and Model", _pairings(report)),
        ("Month by Month", _trend(report)),
    )
    return ((title, lines) for title, lines in parts if lines)


def rate(of: Rate) -> str:
    """`12% of 25 tasks [5%–30%]`."""
    if of.value is None:
        return "no task judged"
    bounds = f" [{of.low:.0%}–{of.high:.0%}]" if of.low is not None and of.high is not None else ""
    return f"{percent(of.value)} of {counted(of.n, 'task')}{bounds}"


def bar(share: float, width: int = BAR) -> str:
    """A bar of eighths of a character; any share above 0 is visible."""
    eighths = max(round(share * width * 8), 1 if share > 0 else 0)
    return _FULL * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")


def _productive(report: LedgerReport) -> list[str]:
    lines = []
    for best in report.most_productive:
        if best.model is not None:
            notes = (
                f"{rate(best.failure)} failed",
                f"{dollars(best.avg_cost)} avg" if best.avg_cost is not None else "",
                plural(best.sessions, "session"),
                _short_note(best.note),
            )
            if best.note.startswith("not clearly ahead"):
                lines.append(
                    f"no clear winner for {best.project_type} projects: {short_model(best.model)} "
                    f"({', '.join(filter(None, notes))})"
                )
                continue
            lines.append(
                f"{short_model(best.model)} for {best.project_type} projects ({', '.join(filter(None, notes))})"
            )
    if unclear := [best.project_type for best in report.most_productive if best.model is None]:
        types = f"{', '.join(unclear[:8])}{' …' if len(unclear) > 8 else ''}"
        lines.append(f"not enough evidence for {types} (no model has {FEWEST} judged sessions there)")
    return lines


def _short_note(note: str) -> str:
    """The note without the release date of the model that it ends with."""
    text, of, model = note.rpartition(" of ")
    return f"{text}{of}{short_model(model)}" if of else note


def _minutes(average: float | None) -> str:
    return "under 1min" if average is not None and average < 1 else f"{decimal(average, 0)}min"


def _complexity(report: LedgerReport) -> list[str]:
    return [
        f"{level.level + ':':<10}{level.share:>4.0%}  {bar(level.share):<{BAR}}  "
        f"(avg {_minutes(level.avg_minutes)}, {dollars(level.avg_cost)}, n={level.sessions})"
        for level in report.complexity
    ]


def _topics(report: LedgerReport) -> list[str]:
    if report.topics:
        return [f"{topic.topic}: {rate(topic.failure)} failed; {topic.advice}" for topic in report.topics]
    if not report.topics_looked_at:
        return ["no topic has enough sessions yet"]
    number = plural(report.topics_looked_at, "topic")
    return [f"none of {number} fails clearly more or less often than the others"]


def _reasons(report: LedgerReport) -> list[str]:
    return [
        f"{failing.project_type if failing.project_type != UNKNOWN else 'language unknown'}: "
        + ", ".join(
            f"{share:.0%} {reason.replace('_', ' ')} ({n})" for reason, n, share in failing.reasons[:4]
        )
        for failing in report.reasons
    ]


def _refusals(report: LedgerReport) -> list[str]:
    return [
        f"{short_model(refused.model)}: {refused.refusals} in {counted(refused.sessions, 'session')}"
        for refused in report.refusals
    ]


def _pairings(report: LedgerReport) -> list[str]:
    pairings = [(output.cut(name, MOST_NAMED), pair) for name, pair in _shown_pairings(report)]
    width = max((len(name) for name, _ in pairings), default=0)
    return [f"{name:<{width}}  {pair.sessions:>3} sessions  {rate(pair.failure)}" for name, pair in pairings]


def _shown_pairings(report: LedgerReport) -> list[tuple[str, Pairing]]:
    pairs = [pair for pair in report.pairings if pair.sessions >= 2][:MOST_PAIRINGS]
    return [(f"{pair.framework} × {short_model(pair.model)}", pair) for pair in pairs]


def _trend(report: LedgerReport) -> list[str]:
    months, before = _shown_months(report)
    most = max((month.sessions for month in months), default=1)
    lines = [f"earlier  {plural(before, 'session')}"] if before else []
    empty: list[str] = []
    for month in months:
        if not month.sessions:
            empty.append(month.month)
            continue
        if empty and lines:  # there is nothing to report before the first session
            lines.append(f"{empty[0]}{f' to {empty[-1]}' if len(empty) > 1 else ''}  no session")
        empty = []
        lines.append(f"{month.month}  {bar(month.sessions / most):<{BAR}}  {_month(month)}")
    return lines


def _shown_months(report: LedgerReport) -> tuple[list[Month], int]:
    """The latest months, and how many sessions came before them."""
    earlier = report.trend[:-MOST_MONTHS]
    return list(report.trend[-MOST_MONTHS:]), sum(month.sessions for month in earlier)


def _month(month: Month) -> str:
    cost = "cost unknown" if month.total_cost is None else dollars(month.total_cost)
    failing = month.failure.value
    failed = "no task judged" if failing is None else f"{percent(failing)} of tasks failed"
    return f"{plural(month.sessions, 'session')}, {cost}, {failed}"


def _plot(title: str, report: LedgerReport) -> str:
    """A part as a plot; '' where text is better."""
    if title == "Task Complexity Distribution":
        return _complexity_plot(report)
    if title == "Common Failure Patterns":
        return _rates(
            [
                (topic.topic, topic.failure, f"{rate(topic.failure)}: {topic.advice}")
                for topic in report.topics
            ]
        )
    if title == "Tasks That Fail, by Framework and Model":
        return _rates(
            [
                (name, pair.failure, f"{rate(pair.failure)}, {plural(pair.sessions, 'session')}")
                for name, pair in _shown_pairings(report)
            ]
        )
    return _months_plot(report) if title == "Month by Month" else ""


def _complexity_plot(report: LedgerReport) -> str:
    most = max((level.share for level in report.complexity), default=0) or 1
    rows = [
        _row(
            level.level,
            _bar(level.share / most),
            f"{level.share:.0%}, avg {_minutes(level.avg_minutes)}, {dollars(level.avg_cost)}, n={level.sessions}",
        )
        for level in report.complexity
    ]
    return _figure("Sessions by complexity, with average time and cost.", rows)


def _rates(rows: Sequence[tuple[str, Rate, str]]) -> str:
    most = max([0.1, *(of.high or of.value or 0.0 for _, of, _ in rows)])
    drawn = []
    for name, of, label in rows:
        bar = f'<rect class="bad" x="0" y="5" width="{_percent((of.value or 0.0) / most)}" height="10"/>'
        if of.low is not None and of.high is not None:
            low, high = _percent(of.low / most), _percent(of.high / most)
            bar += f'<line class="range" x1="{low}" x2="{high}" y1="10" y2="10"/>'
            bar += "".join(f'<line class="end" x1="{x}" x2="{x}" y1="6" y2="14"/>' for x in (low, high))
        drawn.append(_row(name, bar, label))
    return _figure("Bars are failure rates; lines are 95% intervals.", drawn)


def _months_plot(report: LedgerReport) -> str:
    months, before = _shown_months(report)
    while months and not months[0].sessions:  # there is nothing to report before the first session
        del months[0]
    most = max((month.sessions for month in months), default=0) or 1
    rows = [_row("earlier", "", plural(before, "session"))] if before else []
    rows += [
        _row(month.month, _bar(month.sessions / most), _month(month) if month.sessions else "no session")
        for month in months
    ]
    line = _line([(month.month, month.total_cost or 0.0) for month in months]) if len(months) > 1 else ""
    return line + _figure("Sessions of each month.", rows)


def _line(costs: Sequence[tuple[str, float]]) -> str:
    """What each month cost. The line is stretched to the window; its dots and letters only move."""
    most = max(cost for _, cost in costs) or 1
    places = [(100 * n / (len(costs) - 1), 100 * (1 - cost / most)) for n, (_, cost) in enumerate(costs)]
    points = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
    dots = "".join(
        f'<circle class="bar" cx="{x:.2f}%" cy="{y:.2f}%" r="3">'
        f"<title>{_html(month)}: {dollars(cost)}</title></circle>"
        for (x, y), (month, cost) in zip(places, costs, strict=True)
    )
    every = -(-len(costs) // MOST_LABELS)
    labels = "".join(
        f'<text x="{x:.2f}%" y="160" text-anchor="{"start" if n == 0 else "end" if n == len(costs) - 1 else "middle"}">'
        f"{_html(month)}</text>"
        for n, ((x, _), (month, _)) in enumerate(zip(places, costs, strict=True))
        if n % every == 0
    )
    drawn = (
        '<svg height="170" role="img" aria-label="cost by month">'
        '<line class="grid" x1="0" x2="100%" y1="140" y2="140"/>'
        '<svg x="1%" y="10" width="98%" height="130">'
        '<svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%">'
        f'<polyline class="line" points="{points}"/></svg>{dots}</svg>'
        f'<svg x="1%" width="98%">{labels}</svg></svg>'
    )
    caption = f"What each month cost, up to {dollars(most)}."
    return f"<figure>{drawn}<figcaption>{_html(caption)}</figcaption></figure>"


def _html(text: str) -> str:
    return inert(text, "html")


def _row(name: str, drawn: str, label: str) -> str:
    return (
        f'<div class="row"><span class="name">{_html(name)}</span>'
        f'<svg height="20" aria-hidden="true">{drawn}</svg><span class="value">{_html(label)}</span></div>'
    )


def _bar(share: float) -> str:
    return f'<rect class="bar" x="0" y="3" width="{_percent(share)}" height="14" rx="2"/>'


def _figure(caption: str, rows: Sequence[str]) -> str:
    drawn = f'<div class="rows">{"".join(rows)}</div><figcaption>{_html(caption)}</figcaption>'
    return f"<figure>{drawn}</figure>" if rows else ""


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"
