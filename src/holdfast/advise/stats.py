"""Figures over ledger rows: totals, averages, failures per model. Unknown values are left out, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import Struct

from holdfast.model.ledger import LedgerEntry, Tokens

UNKNOWN = "unknown"


class ModelStats(Struct, frozen=True, kw_only=True):
    """One model's sessions. `failure_rate` is per task, `session_failure_rate` per session; None without a base."""

    sessions: int
    tasks: int
    failed_tasks: int
    failed_sessions: int
    judged_sessions: int
    avg_cost: float | None
    known_costs: int
    total_cost: float | None
    avg_duration: float | None
    failure_rate: float | None
    session_failure_rate: float | None


class LedgerStats(Struct, frozen=True, kw_only=True):
    total_sessions: int
    avg_task_count: float | None
    avg_cost: float | None
    known_costs: int
    total_cost: float | None
    avg_duration_minutes: float | None
    total_tasks: int
    total_failed_tasks: int
    total_skipped_tasks: int
    failure_rate: float | None
    top_failures: list[tuple[str, int]]
    top_frameworks: list[tuple[str, int]]
    by_project_type: dict[str, int]
    by_agent: dict[str, int]
    by_kind: dict[str, int]
    by_outcome: dict[str, int]
    model_performance: dict[str, ModelStats]
    tokens: Tokens


def stats_of(entries: Sequence[LedgerEntry]) -> LedgerStats:
    tasks, failed = _tasks(entries)
    costs = [e.cost_usd for e in entries if e.cost_usd is not None]
    models: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        models.setdefault(entry.model or UNKNOWN, []).append(entry)
    return LedgerStats(
        total_sessions=len(entries),
        avg_task_count=_mean([float(e.tasks) for e in entries if e.tasks is not None]),
        avg_cost=_mean_cost(costs),
        known_costs=len(costs),
        total_cost=float(sum(costs)) if costs else None,
        avg_duration_minutes=_minutes(entries),
        total_tasks=tasks,
        total_failed_tasks=failed,
        total_skipped_tasks=_total(e.skipped for e in entries),
        failure_rate=failed / tasks if tasks else None,
        top_failures=_ranked(reason for e in entries for reason in e.failures),
        top_frameworks=_ranked(e.framework for e in entries if e.framework),
        by_project_type=dict(_ranked(e.project_type or UNKNOWN for e in entries)),
        by_agent=dict(_ranked(e.agent or UNKNOWN for e in entries)),
        by_kind=dict(_ranked(e.kind or UNKNOWN for e in entries)),
        by_outcome=dict(_ranked(e.outcome or UNKNOWN for e in entries)),
        model_performance={
            model: _model_stats(rows)
            for model, rows in sorted(models.items(), key=lambda item: (-len(item[1]), item[0]))
        },
        tokens=sum((e.tokens for e in entries if e.tokens is not None), Tokens()),
    )


def _model_stats(entries: Sequence[LedgerEntry]) -> ModelStats:
    judged = [e for e in entries if e.failed is not None]
    tasks, failed = _tasks(entries)
    costs = [e.cost_usd for e in entries if e.cost_usd is not None]
    failed_sessions = sum(1 for e in judged if e.failed)
    return ModelStats(
        sessions=len(entries),
        tasks=tasks,
        failed_tasks=failed,
        failed_sessions=failed_sessions,
        judged_sessions=len(judged),
        avg_cost=_mean_cost(costs),
        known_costs=len(costs),
        total_cost=float(sum(costs)) if costs else None,
        avg_duration=_minutes(entries),
        failure_rate=failed / tasks if tasks else None,
        session_failure_rate=failed_sessions / len(judged) if judged else None,
    )


def _tasks(entries: Sequence[LedgerEntry]) -> tuple[int, int]:
    """Tasks and failed ones, of the rows that know both: a rate needs one base."""
    known = [entry for entry in entries if entry.tasks is not None and entry.failed is not None]
    return _total(e.tasks for e in known), _total(e.failed for e in known)


def _total(values: Iterable[int | None]) -> int:
    return sum(value for value in values if value is not None)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _mean_cost(costs: Sequence[Decimal]) -> float | None:
    return float(sum(costs) / len(costs)) if costs else None


def _minutes(entries: Sequence[LedgerEntry]) -> float | None:
    return _mean([e.duration_s / 60 for e in entries if e.duration_s is not None])


def _ranked(values: Iterable[str]) -> list[tuple[str, int]]:
    """Most frequent first, ties by name: the same ledger always reads the same."""
    return sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
