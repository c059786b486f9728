"""How the report looks: on a terminal with small bars, as markdown, and as one HTML page with plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.advise.rates import Rate
from holdfast.advise.report import FEWEST, Report, report_of
from holdfast.advise.stats import UNKNOWN
from holdfast.cli import output
from holdfast.cli.amounts import EMPTY, counted, decimal, dollars, percent, short_model
from holdfast.model.ledger import LedgerEntry

BAR = 24
MOST_NAMED = 36  # letters, so that what is said of it fits beside it
MOST_PAIRINGS = 12
MOST_MONTHS = 24
_FULL, _PARTS = "█", " ▏▎▍▌▋▊▉"


def show_report(rows: Sequence[LedgerEntry], form: str, *, as_json: bool) -> None:
    report = report_of(rows)
    if as_json:
        output.show_json(report)
    elif form == "html":
        from holdfast.cli.report_html import page

        output.write(page(report))
    elif not rows:
        output.line(EMPTY)
    elif form == "md":
        output.write("".join(f"{line}\n" for line in markdown(report)))
    else:
        _show(report)


def _show(report: Report) -> None:
    number = f"{report.sessions} session{'s' if report.sessions != 1 else ''}"
    output.heading(f"Your usage patterns ({number})")
    for title, lines in sections(report):
        output.line()
        output.heading(title)
        for line in lines:
            output.item(line)
    output.line()
    output.item(report.maturity, 0)


def markdown(report: Report) -> Iterator[str]:
    yield f"# Usage patterns ({report.sessions} session{'s' if report.sessions != 1 else ''})"
    for title, lines in sections(report):
        yield f"\n## {title}\n"
        yield from (f"- {line.strip()}" for line in lines)
    yield f"\n{report.maturity}"


def sections(report: Report) -> Iterator[tuple[str, list[str]]]:
    """Title and lines of each part that has something to say."""
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
    return f"{percent(of.value)} of {of.n:,} task{'s' if of.n != 1 else ''}{bounds}"


def bar(share: float, width: int = BAR) -> str:
    """A bar of eighths of a character; whatever is there is seen."""
    eighths = max(round(share * width * 8), 1 if share > 0 else 0)
    return _FULL * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")


def _productive(report: Report) -> list[str]:
    lines = []
    for one in report.most_productive:
        if one.model is None:
            continue
        notes = [
            f"{rate(one.failure)} failed",
            f"{dollars(one.avg_cost)} avg" if one.avg_cost is not None else "",
        ]
        notes += [f"{one.sessions} session{'s' if one.sessions != 1 else ''}", _short_note(one.note)]
        lines.append(
            f"{short_model(one.model)} for {one.project_type} projects ({', '.join(filter(None, notes))})"
        )
    unclear = [one.project_type for one in report.most_productive if one.model is None]
    if unclear:
        few = f"no model has {FEWEST} judged sessions there"
        lines.append(
            f"not enough evidence for {', '.join(unclear[:8])}{' …' if len(unclear) > 8 else ''} ({few})"
        )
    return lines


def _short_note(note: str) -> str:
    """The note without the release date of the model that it ends with."""
    said, of, model = note.rpartition(" of ")
    return f"{said}{of}{short_model(model)}" if of else note


def _complexity(report: Report) -> list[str]:
    return [
        f"{level.level + ':':<10}{level.share:>4.0%}  {bar(level.share):<{BAR}}  "
        f"(avg {decimal(level.avg_minutes, 0)}min, {dollars(level.avg_cost)}, n={level.sessions})"
        for level in report.complexity
    ]


def _topics(report: Report) -> list[str]:
    if report.topics:
        return [f"{one.topic}: {rate(one.failure)} failed: {one.advice}" for one in report.topics]
    if not report.topics_looked_at:
        return ["no topic has come up in enough sessions yet"]
    number = f"{report.topics_looked_at} topic{'s' if report.topics_looked_at != 1 else ''}"
    return [f"none of {number} fails clearly more or less often than the rest"]


def _reasons(report: Report) -> list[str]:
    return [
        f"{one.project_type if one.project_type != UNKNOWN else 'language unknown'}: "
        + ", ".join(f"{share:.0%} {reason.replace('_', ' ')} ({n})" for reason, n, share in one.reasons[:4])
        for one in report.reasons
    ]


def _refusals(report: Report) -> list[str]:
    return [
        f"{short_model(one.model)}: {one.refusals} in {counted(one.sessions, 'session')}"
        for one in report.refusals
    ]


def _pairings(report: Report) -> list[str]:
    shown = [one for one in report.pairings if one.sessions >= 2][:MOST_PAIRINGS]
    names = [output.cut(f"{one.framework} × {short_model(one.model)}", MOST_NAMED) for one in shown]
    width = max(map(len, names), default=0)
    return [
        f"{name:<{width}}  {one.sessions:>3} sessions  {rate(one.failure)}"
        for name, one in zip(names, shown, strict=True)
    ]


def _trend(report: Report) -> list[str]:
    months = report.trend[-MOST_MONTHS:]
    most = max((one.sessions for one in months), default=1)
    before = earlier(report)
    lines = [f"earlier  {before} session{'s' if before != 1 else ''}"] if before else []
    empty: list[str] = []
    for one in months:
        if not one.sessions:
            empty.append(one.month)
            continue
        if empty and lines:  # before the first session there is nothing to tell
            lines.append(f"{empty[0]}{f' to {empty[-1]}' if len(empty) > 1 else ''}  no session")
        empty = []
        cost = "cost unknown" if one.total_cost is None else dollars(one.total_cost)
        number = f"{one.sessions} session{'s' if one.sessions != 1 else ''}"
        drawn = f"{bar(one.sessions / most):<{BAR}}"
        lines.append(f"{one.month}  {drawn}  {number}, {cost}, {_failing(one.failure)}")
    return lines


def earlier(report: Report) -> int:
    """Sessions of months before those that are shown."""
    return sum(one.sessions for one in report.trend[:-MOST_MONTHS])


def _failing(of: Rate) -> str:
    return "no task judged" if of.value is None else f"{percent(of.value)} of tasks failed"
