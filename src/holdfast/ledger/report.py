"""The report over a ledger: which model earns its price where, how complex the work is, what fails, and the trend.

Every statement carries its n; what too few sessions say is left out or said to be unsettled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from math import sqrt

from msgspec import Struct

from holdfast.ledger.stats import (
    UNKNOWN,
    Belief,
    ModelStats,
    Rate,
    Topic,
    grouped,
    maturity,
    ranked,
    stats_of,
    task_rate,
    topics_of,
)
from holdfast.ledger.tally import month_of
from holdfast.model.ledger import Complexity, FailureReason, LedgerEntry

FEWEST = 5  # sessions, below which a group says nothing
DOUBT = 4.0  # sessions' worth of the overall rate that each group begins with
Z_SURE = 1.2816  # 9 chances of 10
MOST_GAP = 240  # months from the first to the last, beyond which a clock was wrong


class BestModel(Struct, frozen=True, kw_only=True):
    """The most productive model for a type of project; none where too few sessions tell."""

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


class Reasons(Struct, frozen=True, kw_only=True):
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


class Report(Struct, frozen=True, kw_only=True):
    sessions: int
    maturity: str
    failure: Rate
    most_productive: tuple[BestModel, ...]
    complexity: tuple[Level, ...]
    topics: tuple[Topic, ...]
    reasons: tuple[Reasons, ...]
    refusals: tuple[Refusals, ...]
    pairings: tuple[Pairing, ...]
    trend: tuple[Month, ...]
    topics_looked_at: int = 0


def report_of(entries: Sequence[LedgerEntry]) -> Report:
    topics, looked_at = topics_of(entries)
    return Report(
        sessions=len(entries),
        maturity=maturity(len(entries)),
        failure=task_rate(entries),
        most_productive=_most_productive(entries),
        complexity=_complexity(entries),
        topics=topics,
        reasons=_reasons(entries),
        refusals=_refusals(entries),
        pairings=_pairings(entries),
        trend=_trend(entries),
        topics_looked_at=looked_at,
    )


def _by(entries: Sequence[LedgerEntry], key: Callable[[LedgerEntry], str]) -> dict[str, list[LedgerEntry]]:
    groups: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def _most_productive(entries: Sequence[LedgerEntry]) -> tuple[BestModel, ...]:
    """The lowest failure rate that is believed, the cheaper one where they are alike."""
    found = []
    for name, rows in _by([e for e in entries if e.project_type], lambda e: e.project_type or "").items():
        models = {model: own for model, own in grouped(rows, "model").items() if model != UNKNOWN}
        known = {model: own for model, own in models.items() if own.judged_sessions >= FEWEST}
        if not known:
            note = f"no model has {FEWEST} judged sessions here yet"
            found.append(BestModel(project_type=name, model=None, sessions=len(rows), failure=task_rate(rows),
                                   avg_cost=None, note=note))  # fmt: skip
            continue
        overall = stats_of(rows).session_failure_rate or 0.0
        ordered = sorted(known, key=lambda one: _productive_order(one, known[one], overall))
        model, own = ordered[0], known[ordered[0]]
        found.append(
            BestModel(
                project_type=name,
                model=model,
                sessions=own.sessions,
                failure=task_rate([entry for entry in rows if entry.model == model]),
                avg_cost=own.avg_cost,
                note=_lead_note(ordered, known, overall),
            )
        )
    return tuple(found)


def _productive_order(model: str, own: ModelStats, overall: float) -> tuple[float, float, str]:
    cost = own.avg_cost if own.avg_cost is not None else float("inf")
    return round(_belief(own, overall).mean, 3), cost, model


def _belief(own: ModelStats, overall: float) -> Belief:
    return Belief(
        own.failed_sessions + DOUBT * overall + 0.01,
        own.judged_sessions - own.failed_sessions + DOUBT * (1 - overall) + 0.01,
    )


def _lead_note(ordered: Sequence[str], known: dict[str, ModelStats], overall: float) -> str:
    """A lead that the next one's sessions do not rule out is called what it is."""
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
            sessions=own.sessions,
            share=own.sessions / len(known),
            avg_minutes=own.avg_duration,
            avg_cost=own.avg_cost,
        )
        for level in [
            *map(str, Complexity),
            *(name for name in groups if name not in set(map(str, Complexity))),
        ]
        if (own := groups.get(level))
    )


def _reasons(entries: Sequence[LedgerEntry]) -> tuple[Reasons, ...]:
    found = []
    for name, rows in _by(entries, lambda entry: entry.project_type or UNKNOWN).items():
        counts = ranked(reason for entry in rows for reason in entry.failures)
        total = sum(n for _, n in counts)
        if total:
            shares = tuple((reason, n, n / total) for reason, n in counts)
            found.append(Reasons(project_type=name, failed=total, reasons=shares))
    return tuple(found)


def _refusals(entries: Sequence[LedgerEntry]) -> tuple[Refusals, ...]:
    found = []
    for model, rows in _by(entries, lambda entry: entry.model or UNKNOWN).items():
        refusals = sum(entry.failures.count(FailureReason.LLM_REFUSAL) for entry in rows)
        if refusals:
            found.append(Refusals(model=model, refusals=refusals, sessions=len(rows)))
    return tuple(sorted(found, key=lambda one: (-one.refusals / one.sessions, one.model)))


def _pairings(entries: Sequence[LedgerEntry]) -> tuple[Pairing, ...]:
    known = [entry for entry in entries if entry.framework and entry.model]
    return tuple(
        Pairing(
            framework=framework,
            model=model,
            sessions=own.sessions,
            failure=task_rate([entry for entry in rows if entry.model == model]),
            avg_cost=own.avg_cost,
        )
        for framework, rows in _by(known, lambda entry: entry.framework or "").items()
        for model, own in grouped(rows, "model").items()
    )


def _trend(entries: Sequence[LedgerEntry]) -> tuple[Month, ...]:
    """Every month from the first to the last: one without a session is a month too."""
    dated = [entry for entry in entries if entry.timestamp]
    rows_of = _by(dated, lambda entry: month_of(entry.timestamp) if entry.timestamp else "")
    groups = grouped(dated, "month")
    return tuple(
        Month(
            month=month,
            sessions=groups[month].sessions if month in groups else 0,
            total_cost=groups[month].total_cost if month in groups else 0.0,
            avg_cost=groups[month].avg_cost if month in groups else None,
            failure=task_rate(rows_of.get(month, ())),
        )
        for month in _months([entry.timestamp for entry in dated if entry.timestamp])
    )


def _months(times: Sequence[datetime]) -> list[str]:
    numbers = sorted({time.year * 12 + time.month - 1 for time in times})
    if numbers and numbers[-1] - numbers[0] <= MOST_GAP:
        numbers = list(range(numbers[0], numbers[-1] + 1))
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in numbers]
