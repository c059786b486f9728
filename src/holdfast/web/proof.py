"""The screen Proof: whether memory helps, by this project's own past, by its holdout, and by an experiment."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from msgspec import Struct

from holdfast.backtest.last import last_report
from holdfast.backtest.report import BacktestReport, Tally
from holdfast.backtest.words import HOW, cost_line, in_time, name_of, sentences, sides
from holdfast.flows.holdout import arms, effect
from holdfast.flows.roi import session_records
from holdfast.ledger.holdout import Effect, Report
from holdfast.ledger.tally import wilson
from holdfast.store.switches import switches_of
from holdfast.web.charts import Chart, Rate, rates
from holdfast.web.contract import Page, Request, Route, Screen

_NEEDS = (
    ("remedy", "Failures"),
    ("question", "Questions"),
    ("decision", "Decisions"),
    ("file", "Files"),
    ("command", "Commands"),
)
_COUNTS = ("Spoke", "Tokens", "Lines", "Used", "Wrong")
_SHORT = {
    "this memory": "This memory",
    "another project's memory": "Another project's",
    "the same lines": "Told to another session",
    "a list of the latest commands and files": "List of the latest",
}
VERDICTS = {"used": ("used", "good"), "unused": ("not used", "plain"), "wrong": ("wrong", "bad")}


class Side(Struct, frozen=True):
    """A row of the table: this memory, or what it is compared with."""

    name: str
    tally: Tally
    needs: tuple[str, ...]


def show(request: Request) -> Page:
    # The report lies in the cache of the machine, which no topic names.
    report = last_report(request.machine, request.project)
    held = request.kept("holdout", lambda: _holdout(request), "sessions", "hooks")
    tested = request.page(report.tested[::-1]) if report else None
    return Page(
        "proof.html",
        title="Proof",
        report=report,
        made=datetime.fromtimestamp(report.made, UTC) if report else None,
        verdict=verdict(report) if report else "",
        sentences=sentences(report) if report else [],
        cost=cost_line(report) if report else "",
        sides=_sides(report) if report else [],
        columns=["Told by", *((name, "right") for name in (*_COUNTS, *(name for _, name in _NEEDS)))],
        page_url=lambda number: request.url("proof", page=number) + "#each",
        charts=_charts(report) if report else [],
        tested=tested,
        verdicts=VERDICTS,
        name_of=name_of,
        how=HOW,
        holdout=held,
        share=switches_of(request.project).held_share,
        effects=[(one.name, effect_text(one)) for one in held.effects] if held else [],
    )


def _holdout(request: Request) -> Report | None:
    """Most projects have none, and need not read their sessions for it."""
    project = request.project
    if not (arms(project) or switches_of(project).holdout):
        return None
    return effect(project, session_records(project))


def verdict(report: BacktestReport) -> str:
    """What the comparison says, in a sentence that a newcomer understands; careful where the intervals meet."""
    memory, other = report.memory, report.shuffled
    if not memory.lines:
        return "Memory would have shown nothing here, so there is nothing to judge."
    used = memory.used / memory.lines
    chance = other.used / other.lines if other.lines else 0.0
    share = f"{used:.0%} of its lines were used, against {chance:.0%} if the same lines go to other sessions"
    if used > chance and _least_difference(memory, other) > 0:
        first = f"It helps somewhat: {share}."
    elif used > chance:
        first = f"It may help: {share}, but with {memory.lines:,} lines that can be chance."
    else:
        first = f"No clear benefit: {share}."
    return first


def _least_difference(memory: Tally, other: Tally) -> float:
    """The lower end of the 95% interval of the difference of two shares, after Newcombe (1998), method 10."""
    if not other.lines:
        return 0.0
    own, chance = memory.used / memory.lines, other.used / other.lines
    low, high = wilson(own, memory.lines)[0], wilson(chance, other.lines)[1]
    return own - chance - math.hypot(own - low, high - chance)


def _sides(report: BacktestReport) -> list[Side]:
    return [
        Side(name, tally, tuple(in_time(tally.needs.get(kind)) for kind, _ in _NEEDS))
        for name, tally in sides(report)
    ]


def _charts(report: BacktestReport) -> list[Chart]:
    """How much was used, beside what it is compared with, and whether it grows with what memory knows."""
    compared = [
        _rate(_SHORT.get(name.partition(" (")[0].partition(",")[0], name), tally.used, tally.lines)
        for name, tally in sides(report)
        if tally.lines
    ]
    charts = [
        rates("used", "Lines used afterwards", compared, unit="share of lines, 95% interval", what="Told by")
    ]
    grown = [
        _rate(f"Sessions {one.first}–{one.last}", one.tally.used, one.tally.lines)
        for one in report.stretches
        if one.tally.lines
    ]
    if len(grown) > 1:
        charts.append(
            rates("grown", "As memory grows", grown, unit="share of lines used, 95% interval", what="Part")
        )
    return [chart for chart in charts if chart.rows]


def _rate(label: str, part: int, whole: int) -> Rate:
    low, high = wilson(part / whole, whole)
    return Rate(label=label, low=low, value=part / whole, high=high, n=whole)


def effect_text(one: Effect) -> str:
    """An effect with its interval; why there is none, while it is too early."""
    if one.value is None or one.low is None or one.high is None:
        return one.note
    unit = " points" if one.scale == "points" else "%"
    value, low, high = (f"{100 * number:+.1f}".replace("-", "−") for number in (one.value, one.low, one.high))
    return f"{value}{unit} ({low} to {high}, n = {one.n_told + one.n_held:,})"


SCREEN = Screen("proof", "Proof", "p", "link", (Route("/proof", show),))
