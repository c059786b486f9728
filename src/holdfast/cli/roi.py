"""`holdfast ledger roi`: what memory saved; each figure has its n and, on request, its formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.core.errors import HoldfastError
from holdfast.flows.roi import roi
from holdfast.ledger.holdout import Effect, Report
from holdfast.ledger.roi import OBSERVED, Compression, Injected, Lines, Questions, Roi, Sessions, Stage
from holdfast.ledger.rows import read_ledger, rows
from holdfast.ledger.stats import FEWEST_FOR_DIFFERENCE as FEWEST
from holdfast.ledger.stats import RATE_SHIFT, SHIFT, Difference, Figure, Spread
from holdfast.store.project import Project
from holdfast.terminal import output
from holdfast.terminal.options import Machine, Namespace, flag, moment_from, since
from holdfast.terminal.output import EMPTY, counted

DESCRIPTION = """Shows what memory saved, by counting: sessions with and without it, its cost, what it stores, and
which questions and dead ends came up again. Each figure shows its n; --how explains how it was counted. Nothing is
estimated."""
EXAMPLES = """examples:
  holdfast ledger roi                         the figures of this project
  holdfast ledger roi --how                   the same, each with how it was counted
  holdfast ledger roi --since 2026-03-01      only sessions from that day on
  holdfast ledger roi --json                  for scripts: every figure has value, n and formula
"""

NOT_ENOUGH = f"not enough sessions yet: {FEWEST} of each are needed"
RE_EXPLAINING = (
    "An earlier session already knew this share of what a session opened or ran into. Known files grow with every "
    "session, so the first share rises by itself; repeated dead ends are pure loss."
)
_LABEL = 28
NONE = "–"
_GROUP = 20


OPTIONS = (
    since("sessions"),
    flag("--how", "show how each figure was counted"),
    flag("--json", "the figures as JSON, each with its formula"),
)


def run(options: Namespace, machine: Machine) -> None:
    report = roi(machine.project(), moment_from(options.since))
    if options.json:
        output.show_json(report)
    elif _empty(report):
        output.line(_nothing(machine.project(), options.since))
    else:
        _Page(how=options.how).show(report)


def _nothing(project: Project, since: str | None) -> str:
    """Why there is nothing to count: rows without a record have a cost, but neither files nor injections."""
    try:
        by_hand = len(rows(read_ledger(project)))
    except HoldfastError:
        by_hand = 0  # the ledger's own commands complain of it
    if not by_hand:
        return EMPTY
    if since is not None:
        return f"No sessions since {since}."
    return (
        f"{counted(by_hand, 'session')} in the ledger, none of them from a transcript on this machine, so there is"
        " nothing to compare. holdfast import reads what your agents recorded; holdfast ledger stats shows "
        "figures for all rows."
    )


def _empty(found: Roi) -> bool:
    groups = (found.sessions.with_memory, found.sessions.without_memory)
    return (
        not (sum(group.sessions.n for group in groups) + found.injected.tokens.n)
        and not any(lines.n for lines in found.lines)
        and not any(s.n for s in found.re_explaining)
    )


class _Page:
    """The figures, each with how it was counted where that is asked for."""

    def __init__(self, *, how: bool) -> None:
        self._explains = how

    def show(self, found: Roi) -> None:
        self._show_sessions(found.sessions)
        if found.holdout is not None:
            self._show_holdout(found.holdout)
        self._show_injected(found.injected, found.continued)
        self._show_lines(found.lines)
        self._show_compression(found.compression)
        self._show_questions(found.questions)
        self._show_stages(found.re_explaining)
        # Where there is a difference to misread, the observation was said beside it.
        notes = [note for note in found.notes if note != OBSERVED or found.sessions.difference is None]
        if notes:
            output.section("Notes")
            for note in notes:
                output.aside(note, 2)
        if not self._explains:
            output.line()
            output.aside("holdfast ledger roi --how explains how each figure was counted.")

    def _show_sessions(self, found: Sessions) -> None:
        with_memory, without_memory, apart = found.with_memory, found.without_memory, found.difference
        output.heading("Sessions".ljust(_LABEL) + f"{'with memory':>{_GROUP}}{'without':>{_GROUP}}")
        _pair("counted", f"{with_memory.sessions.n:,}", f"{without_memory.sessions.n:,}")
        self._how(f"with: {with_memory.sessions.formula}")
        self._how(f"without: {without_memory.sessions.formula}")
        for name, field, formatter in (
            ("cost", "cost", _dollars),
            ("active time", "minutes", "{:,.1f} min".format),
            ("tokens", "tokens", _amount),
            ("files opened but not changed", "opened", "{:,.1f}".format),
        ):
            spreads = getattr(with_memory, field), getattr(without_memory, field)
            self._show_spreads(name, *spreads, getattr(apart, field, None), formatter)
        failures, failures_without = with_memory.failures, without_memory.failures
        _pair(
            "failure rate per task",
            _with_n(failures.value, failures.n, _percent),
            _with_n(failures_without.value, failures_without.n, _percent),
        )
        if apart and apart.failures:
            self._show_difference(apart.failures, _points)
        self._how(failures.formula)
        if apart is None:
            counts = f"{with_memory.sessions.n} with, {without_memory.sessions.n} without"
            output.line(f"  {'difference':<{_LABEL - 2}}{NOT_ENOUGH} ({counts})")
            return
        self._how(f"differences: {SHIFT}")
        if apart.failures:
            self._how(f"of rates: {RATE_SHIFT}")
        output.aside(OBSERVED, 2)

    def _show_holdout(self, found: Report) -> None:
        output.section("Holdout: sessions drawn at random to see no memory")
        drawn = f"{counted(found.told + found.held, 'session')}, {found.held} of them held out"
        output.line(f"  {'drawn and captured':<{_LABEL - 2}}{drawn}")
        for effect in found.effects:
            output.line(f"  {effect.name:<{_LABEL - 2}}{_effect(effect)}")
            self._how(effect.formula)
        self._how(found.method)
        output.aside(found.verdict, 2)

    def _show_spreads(
        self,
        name: str,
        one: Spread,
        other: Spread,
        difference: Difference | None,
        shown: Callable[[float], str],
    ) -> None:
        _pair(f"{name}, median", _with_n(one.value, one.n, shown), _with_n(other.value, other.n, shown))
        if self._explains:
            _pair("  mean", _value(one.mean, shown) or NONE, _value(other.mean, shown) or NONE)
        if difference is not None:
            self._show_difference(difference, shown)
        self._how(one.formula)

    def _show_difference(self, difference: Difference, shown: Callable[[float], str]) -> None:
        """The unit is said once, after the last number, so that the line fits a terminal."""
        value, low, high = (
            _signed(number, shown) for number in (difference.value, difference.low, difference.high)
        )
        unit = high[high.index(" ") :] if " " in high else ""
        clear = "" if difference.low > 0 or difference.high < 0 else "; may be chance"
        interval = f"95%: {low.removesuffix(unit)} to {high}{clear}"
        output.line(f"  {'  difference':<{_LABEL - 2}}{value.removesuffix(unit)} ({interval})")

    def _show_injected(self, found: Injected, continued: Figure) -> None:
        output.section("What the memory cost")
        self._figure(
            "tokens injected",
            _value(found.tokens.value, _amount),
            found.tokens.n,
            "sessions",
            found.tokens.formula,
        )
        each = found.per_session
        if each.n:
            means = f"{_value(each.value, _amount)} median, {_value(each.mean, _amount)} mean"
            self._figure("per session", means, each.n, "sessions", each.formula)
            share = found.share
            text = _value(share.value, _percent) or share.note
            self._figure("share of input", text, share.n, "sessions", share.formula)
        output.section("Sessions that continued from memory")
        text = f"{continued.value} of {continued.n}" if continued.value is not None else continued.note
        output.line(f"  {text}")
        self._how(continued.formula)

    def _show_lines(self, lines: Sequence[Lines]) -> None:
        output.section("What is stored".ljust(_LABEL) + f"{'lines':>10}{'files':>8}")
        for row in lines:
            output.line(f"  {row.category:<{_LABEL - 2}}{row.value:>10,}{row.files:>8,}")
            self._how(row.formula)
        total, files = sum(row.value for row in lines), sum(row.files for row in lines)
        output.line(f"  {'total':<{_LABEL - 2}}{total:>10,}{files:>8,}")

    def _show_compression(self, found: Compression) -> None:
        output.section("Compression")
        for name, figure, noun in (
            ("transcripts read", found.transcripts, "files"),
            ("memory kept", found.kept, "files"),
            ("shown to a session", found.told, "sessions"),
        ):
            self._figure(name, _value(figure.value, _bytes) or figure.note, figure.n, noun, figure.formula)
        for name, figure, noun in (
            ("read : kept", found.ratio, "files"),
            ("read : shown", found.told_ratio, "sessions"),
        ):
            value = _value(figure.value, _times) or figure.note
            self._figure(name, value, figure.n if figure.value is not None else 0, noun, figure.formula)

    def _show_questions(self, found: Questions) -> None:
        output.section("Questions")
        for name, figure, noun in (
            ("answered from memory", found.offered, "repeats"),
            ("asked again anyway", found.asked_again, "asked"),
        ):
            self._figure(name, _value(figure.value, _amount), figure.n, noun, figure.formula)

    def _show_stages(self, stages: Sequence[Stage]) -> None:
        output.section(
            "Re-explaining".ljust(_LABEL) + f"{'files opened again':>{_GROUP}}{'dead ends again':>{_GROUP}}"
        )
        for stage in stages:
            if stage.files.value is None and stage.dead_ends.value is None and stage.files.note:
                output.line(f"  {'sessions ' + stage.sessions:<{_LABEL - 2}}{stage.files.note}")
                continue
            cells = [
                _with_n(figure.value, figure.n, _percent) if figure.value is not None else "none"
                for figure in (stage.files, stage.dead_ends)
            ]
            _pair(f"sessions {stage.sessions}", *cells)
        self._how(f"files: {stages[0].files.formula}")
        self._how(f"dead ends: {stages[0].dead_ends.formula}")
        if self._explains:
            output.aside(RE_EXPLAINING, 4)

    def _how(self, formula: str) -> None:
        if self._explains:
            output.aside(f"= {formula}", 4)

    def _figure(self, name: str, value: str, n: int, noun: str, formula: str) -> None:
        base = f"   n={n:,} {noun[:-1] if n == 1 and noun.endswith('s') else noun}" if n else ""
        output.line(f"  {name:<{_LABEL - 2}}{value}{base}")
        self._how(formula)


def _effect(effect: Effect) -> str:
    if effect.value is None or effect.low is None or effect.high is None:
        return effect.note
    shown = _points if effect.scale == "points" else _percent
    value, low, high = (_signed(number, shown) for number in (effect.value, effect.low, effect.high))
    return f"{value} (95%: {low.removesuffix(' points')} to {high}; n={effect.n_told + effect.n_held:,})"


def _pair(name: str, one: str, other: str) -> None:
    output.line(f"  {name:<{_LABEL - 2}}{one:>{_GROUP}}{other:>{_GROUP}}".rstrip())


def _with_n(value: float | None, n: int, shown: Callable[[float], str]) -> str:
    return f"{shown(value)} (n={n:,})" if value is not None else NONE


def _value(value: float | None, shown: Callable[[float], str]) -> str:
    return shown(value) if value is not None else ""


def _signed(value: float, shown: Callable[[float], str]) -> str:
    return f"{'−' if value < 0 else '+' if value > 0 else ''}{shown(abs(value))}"


def _dollars(value: float) -> str:
    return f"${value:,.4f}" if 0 < value < 0.01 else f"${value:,.2f}"


def _amount(value: float) -> str:
    return f"{round(value):,}"


def _times(value: float) -> str:
    return f"{value:,.{1 if value < 100 else 0}f} : 1"


def _percent(value: float) -> str:
    return "less than 0.1%" if 0 < value < 0.0005 else f"{value:.1%}"


def _points(value: float) -> str:
    return f"{100 * value:.1f} points"


def _bytes(value: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"
