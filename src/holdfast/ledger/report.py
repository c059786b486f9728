"""Computes the ledger report: the best models, the complexity of the work, failures, and the trend.

Every statement carries its n; what too few sessions say is left out or said to be unsettled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from math import sqrt
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from holdfast.ledger.similar import not_interrupted
from holdfast.ledger.stats import (
    Belief,
    Rate,
    at_least,
    columns_of,
    grouped,
    judged,
    task_rate,
    with_undated_models,
)
from holdfast.ledger.tally import UNKNOWN, figures_of, maturity, month_of
from holdfast.model.ledger import Complexity, FailureReason, LedgerEntry

if TYPE_CHECKING:
    from holdfast.ledger.tally import Figures

FEWEST = 5  # sessions, below which a group or a topic says nothing
DOUBT = 4.0  # sessions' worth of the overall rate that each group begins with
Z_SURE = 1.2816  # 9 chances of 10
MOST_GAP = 240  # months from the first to the last, beyond which a clock was wrong
MOST_TOPICS = 12
ODD = (
    0.1  # the probability of so many failures by chance, from which on a topic counts as worse than the rest
)
ODDLY_WELL = 0.05  # the same for a topic that never failed
# Words that occur in goals of every kind and so name no topic.
_WORDS = """
add added all also app bug change changes check clean code continue create current debug delete done error errors
everything failing file files find finish fix fixed get help implement implementation improve issue issues keep list
look main make move need new next old open pass please project read remove rename repo run set setup should show start
still stuff support task tasks thing things try update use used using want way work working works write
"""
_GENERIC = frozenset(_WORDS.split())
_ADVICE = {
    FailureReason.TEST_FAILURE: "run the tests before calling it done",
    FailureReason.SYNTAX_ERROR: "compile or lint after each edit",
    FailureReason.TIMEOUT: "split it, or give it more time",
    FailureReason.DEPENDENCY_ERROR: "check dependencies and versions first",
    FailureReason.LLM_REFUSAL: "explain what it is for, or use another model",
    FailureReason.USER_REJECTED: "agree on the approach first",
    FailureReason.TOOL_ERROR: "read the tool's message before retrying",
    FailureReason.API_ERROR: "not caused by the work, so retry later",
    FailureReason.INTERRUPTED: "take smaller steps",
}


class BestModel(Struct, frozen=True, kw_only=True):
    """The most productive model for a type of project; None if there are too few sessions."""

    project_type: str
    model: str | None
    sessions: int
    failure: Rate
    avg_cost: float | None
    note: str = ""


class Level(Struct, frozen=True, kw_only=True):
    level: str
    sessions: int
    share: float
    avg_minutes: float | None
    avg_cost: float | None


class FailureReasons(Struct, frozen=True, kw_only=True):
    """Why tasks fail in projects of one type: reason, how often, which share."""

    project_type: str
    failed: int
    reasons: tuple[tuple[str, int, float], ...]


class Refusals(Struct, frozen=True, kw_only=True):
    model: str
    refusals: int
    sessions: int


class Pairing(Struct, frozen=True, kw_only=True):
    framework: str
    model: str
    sessions: int
    failure: Rate
    avg_cost: float | None


class Month(Struct, frozen=True, kw_only=True):
    month: str
    sessions: int
    total_cost: float | None
    avg_cost: float | None
    failure: Rate


class Topic(Struct, frozen=True, kw_only=True):
    topic: str
    sessions: int
    failure: Rate
    advice: str


class LedgerReport(Struct, frozen=True, kw_only=True):
    sessions: int
    maturity: str
    failure: Rate
    most_productive: tuple[BestModel, ...]
    complexity: tuple[Level, ...]
    topics: tuple[Topic, ...]
    reasons: tuple[FailureReasons, ...]
    refusals: tuple[Refusals, ...]
    pairings: tuple[Pairing, ...]
    trend: tuple[Month, ...]
    topics_looked_at: int = 0


def report_of(entries: Sequence[LedgerEntry]) -> LedgerReport:
    entries = with_undated_models(entries)
    uninterrupted = [_without_interruptions(entry) for entry in entries]
    topics, looked_at = topics_of(uninterrupted)
    return LedgerReport(
        sessions=len(entries),
        maturity=maturity(len(entries)),
        failure=task_rate(entries),
        most_productive=_most_productive(uninterrupted),
        complexity=_complexity(entries),
        topics=topics,
        reasons=_reasons(entries),
        refusals=_refusals(entries),
        pairings=_pairings(uninterrupted),
        trend=_trend(entries),
        topics_looked_at=looked_at,
    )


def _without_interruptions(entry: LedgerEntry) -> LedgerEntry:
    """For judging models and topics: a task that the user interrupted is no failure of theirs."""
    if not entry.failed or FailureReason.INTERRUPTED not in entry.failures:
        return entry
    reasons = tuple(reason for reason in entry.failures if reason != FailureReason.INTERRUPTED)
    return replace(entry, failed=not_interrupted(entry), failures=reasons)


def topics_of(entries: Sequence[LedgerEntry]) -> tuple[tuple[Topic, ...], int]:
    """Topics that fail more often than the rest or, unexpectedly, never; the worst first. And how many were tested."""
    judged_entries = [entry for entry in entries if entry.tasks and judged(entry)]
    if not judged_entries:
        return (), 0
    share = sum((entry.failed or 0) > 0 for entry in judged_entries) / len(judged_entries)
    # A language or framework is no topic: it has figures of its own.
    named = {name for entry in judged_entries for name in (entry.project_type, entry.framework) if name}
    subjects = {topic: rows for topic, rows in _subjects(judged_entries).items() if topic not in named}
    bad, good = [], []
    for topic, rows in subjects.items():
        rate, lost = task_rate(rows), sum((entry.failed or 0) > 0 for entry in rows)
        if lost > 1 and at_least(lost, len(rows), share) <= ODD:
            bad.append(Topic(topic=topic, sessions=len(rows), failure=rate, advice=_advice(rows)))
        elif not lost and (1 - share) ** len(rows) <= ODDLY_WELL:
            good.append(Topic(topic=topic, sessions=len(rows), failure=rate, advice=_goes_well(rows)))
    bad.sort(key=lambda one: (-(one.failure.value or 0.0), -one.failure.n, one.topic))
    good.sort(key=lambda one: (-one.failure.n, one.topic))
    return (*bad[:MOST_TOPICS], *good[: MOST_TOPICS // 3]), len(subjects)


def _subjects(entries: Sequence[LedgerEntry]) -> dict[str, list[LedgerEntry]]:
    """Rows by keyword and by pair of neighbours; a keyword that nearly always has one neighbour counts as the pair."""
    groups: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        pairs = [
            f"{first_word} {second_word}"
            for first_word, second_word in zip(entry.goal, entry.goal[1:], strict=False)
        ]
        for topic in dict.fromkeys((*entry.goal, *pairs)):
            groups[topic].append(entry)
    frequent = {
        topic: rows
        for topic, rows in groups.items()
        if len(rows) >= FEWEST and not _GENERIC.issuperset(topic.split(" "))
    }
    covered = {
        word
        for pair, rows in frequent.items()
        if " " in pair
        for word in pair.split(" ")
        if len(rows) >= 0.8 * len(frequent.get(word, ()))
    }
    return {topic: rows for topic, rows in frequent.items() if topic not in covered}


def _advice(rows: Sequence[LedgerEntry]) -> str:
    reasons = Counter(reason for entry in rows for reason in entry.failures)
    for reason, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        if reason in _ADVICE and 2 * n >= sum(reasons.values()):
            return f"always verify (mostly {reason.replace('_', ' ')}): {_ADVICE[FailureReason(reason)]}"
    return "always verify"


def _goes_well(rows: Sequence[LedgerEntry]) -> str:
    models = Counter(entry.model for entry in rows if entry.model)
    model, n = models.most_common(1)[0] if models else ("", 0)
    return f"goes well, mostly with {model}" if n and 2 * n >= len(rows) else "goes well"


def _ranked(values: Iterable[str]) -> list[tuple[str, int]]:
    """Most frequent first, ties by name: the same ledger always reads the same."""
    return sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))


def _by(entries: Sequence[LedgerEntry], key: Callable[[LedgerEntry], str]) -> dict[str, list[LedgerEntry]]:
    groups: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def _most_productive(entries: Sequence[LedgerEntry]) -> tuple[BestModel, ...]:
    """The model with the lowest estimated failure rate, the cheaper one among equals."""
    best_models = []
    for name, rows in _by([e for e in entries if e.project_type], lambda e: e.project_type or "").items():
        models = {model: figures for model, figures in grouped(rows, "model").items() if model != UNKNOWN}
        comparable = {
            model: figures for model, figures in models.items() if figures["judged_sessions"] >= FEWEST
        }
        if not comparable:
            note = f"no model has {FEWEST} judged sessions here yet"
            best_models.append(BestModel(project_type=name, model=None, sessions=len(rows), failure=task_rate(rows),
                                   avg_cost=None, note=note))  # fmt: skip
            continue
        overall = figures_of(columns_of(rows))["session_failure_rate"] or 0.0
        ordered = sorted(comparable, key=lambda one: _productive_order(one, comparable[one], overall))
        model, figures = ordered[0], comparable[ordered[0]]
        best_models.append(
            BestModel(
                project_type=name,
                model=model,
                sessions=figures["sessions"],
                failure=task_rate([entry for entry in rows if entry.model == model]),
                avg_cost=figures["avg_cost"],
                note=_lead_note(ordered, comparable, overall),
            )
        )
    return tuple(best_models)


def _productive_order(model: str, own: Figures, overall: float) -> tuple[float, float, str]:
    cost = own["avg_cost"] if own["avg_cost"] is not None else float("inf")
    return round(_belief(own, overall).mean, 3), cost, model


def _belief(own: Figures, overall: float) -> Belief:
    return Belief(
        own["failed_sessions"] + DOUBT * overall + 0.01,
        own["judged_sessions"] - own["failed_sessions"] + DOUBT * (1 - overall) + 0.01,
    )


def _lead_note(ordered: Sequence[str], known: dict[str, Figures], overall: float) -> str:
    """A note if the second model may be as good."""
    if len(ordered) == 1:
        return "the only one used often enough"
    first, second = (_belief(known[model], overall) for model in ordered[:2])
    distance = (second.mean - first.mean) / sqrt(first.variance + second.variance)
    return "" if distance >= Z_SURE else f"not clearly ahead of {ordered[1]}"


def _complexity(entries: Sequence[LedgerEntry]) -> tuple[Level, ...]:
    known = [entry for entry in entries if entry.complexity]
    groups = grouped(known, "complexity")
    return tuple(
        Level(
            level=level,
            sessions=row_figures["sessions"],
            share=row_figures["sessions"] / len(known),
            avg_minutes=row_figures["avg_duration"],
            avg_cost=row_figures["avg_cost"],
        )
        for level in [
            *map(str, Complexity),
            *(name for name in groups if name not in set(map(str, Complexity))),
        ]
        if (row_figures := groups.get(level))
    )


def _reasons(entries: Sequence[LedgerEntry]) -> tuple[FailureReasons, ...]:
    reasons_by_type = []
    for name, rows in _by(entries, lambda entry: entry.project_type or UNKNOWN).items():
        counts = _ranked(reason for entry in rows for reason in entry.failures)
        total = sum(n for _, n in counts)
        if total:
            shares = tuple((reason, n, n / total) for reason, n in counts)
            reasons_by_type.append(FailureReasons(project_type=name, failed=total, reasons=shares))
    return tuple(reasons_by_type)


def _refusals(entries: Sequence[LedgerEntry]) -> tuple[Refusals, ...]:
    refusals_by_model = []
    for model, rows in _by(entries, lambda entry: entry.model or UNKNOWN).items():
        refusals = sum(entry.failures.count(FailureReason.LLM_REFUSAL) for entry in rows)
        if refusals:
            refusals_by_model.append(Refusals(model=model, refusals=refusals, sessions=len(rows)))
    return tuple(sorted(refusals_by_model, key=lambda one: (-one.refusals / one.sessions, one.model)))


def _pairings(entries: Sequence[LedgerEntry]) -> tuple[Pairing, ...]:
    paired = [entry for entry in entries if entry.framework and entry.model]
    return tuple(
        Pairing(
            framework=framework,
            model=model,
            sessions=figures["sessions"],
            failure=task_rate([entry for entry in rows if entry.model == model]),
            avg_cost=figures["avg_cost"],
        )
        for framework, rows in _by(paired, lambda entry: entry.framework or "").items()
        for model, figures in grouped(rows, "model").items()
    )


def _trend(entries: Sequence[LedgerEntry]) -> tuple[Month, ...]:
    """Every month from the first to the last: one without a session is a month too."""
    dated = [entry for entry in entries if entry.timestamp]
    rows_of = _by(dated, lambda entry: month_of(entry.timestamp) if entry.timestamp else "")
    groups = grouped(dated, "month")
    return tuple(
        Month(
            month=month,
            sessions=groups[month]["sessions"] if month in groups else 0,
            total_cost=groups[month]["total_cost"] if month in groups else 0.0,
            avg_cost=groups[month]["avg_cost"] if month in groups else None,
            failure=task_rate(rows_of.get(month, ())),
        )
        for month in _months([entry.timestamp for entry in dated if entry.timestamp])
    )


def _months(times: Sequence[datetime]) -> list[str]:
    numbers = sorted({time.year * 12 + time.month - 1 for time in times})
    if numbers and numbers[-1] - numbers[0] <= MOST_GAP:
        numbers = list(range(numbers[0], numbers[-1] + 1))
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in numbers]
