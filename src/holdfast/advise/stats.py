"""Figures over ledger rows, as values with names: what `tally.py` counts over columns, for those who have entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Literal, get_args

from msgspec import Struct

from holdfast.advise.intervals import Clusters
from holdfast.advise.rates import Rate, rate_of_tasks
from holdfast.advise.tally import FIELD_OF, UNKNOWN, figures_of, groups_of, maturity
from holdfast.model.ledger import LedgerEntry, Tokens

__all__ = [
    "GROUPINGS",
    "UNKNOWN",
    "LedgerStats",
    "ModelStats",
    "columns_of",
    "grouped",
    "maturity",
    "stats_of",
]

Grouping = Literal["model", "framework", "type", "kind", "complexity", "topic", "agent", "month"]
GROUPINGS: tuple[str, ...] = get_args(Grouping)


class ModelStats(Struct, frozen=True, kw_only=True):
    """One group's sessions. `failure_rate` is per task, `session_failure_rate` per session; None without a base."""

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
    failure_interval: tuple[float, float] | None
    session_failure_rate: float | None
    session_failure_interval: tuple[float, float] | None


class LedgerStats(Struct, frozen=True, kw_only=True):
    total_sessions: int
    avg_task_count: float | None
    avg_cost: float | None
    known_costs: int
    total_cost: float | None
    avg_duration_minutes: float | None
    total_tasks: int
    total_failed_tasks: int
    avg_failed_tasks: float | None
    total_skipped_tasks: int
    failure_rate: float | None
    failure_interval: tuple[float, float] | None
    failed_sessions: int
    judged_sessions: int
    session_failure_rate: float | None
    session_failure_interval: tuple[float, float] | None
    top_failures: list[tuple[str, int]]
    top_frameworks: list[tuple[str, int]]
    by_project_type: dict[str, int]
    by_agent: dict[str, int]
    by_kind: dict[str, int]
    by_outcome: dict[str, int]
    model_performance: dict[str, ModelStats]
    tokens: Tokens
    impossible_rows: int = 0


def stats_of(entries: Sequence[LedgerEntry]) -> LedgerStats:
    figures = figures_of(columns_of(entries))
    models = {name: ModelStats(**own) for name, own in figures.pop("model_performance").items()}
    return LedgerStats(**{**figures, "tokens": Tokens(**figures["tokens"])}, model_performance=models)


def grouped(entries: Iterable[LedgerEntry], by: str) -> dict[str, ModelStats]:
    """The same figures for each group. A session has several topics (its keywords) and counts for each of them."""
    return {name: ModelStats(**own) for name, own in groups_of(columns_of(list(entries), by), by).items()}


_NUMBERS = ("tasks", "failed", "cost_usd", "duration_s")
_TEXTS = ("model", "framework", "failures", "skipped", "project_type", "agent", "kind", "outcome")


def columns_of(entries: Sequence[LedgerEntry], by: str | None = None) -> dict[str, list[Any]]:
    """The fields that figures are made of: all, or for groups their key alone."""
    names = (*_NUMBERS, *_TEXTS) if by is None else (*_NUMBERS, FIELD_OF[by])
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), entries)) for name in names}
    if by is None:
        known = [entry.tokens for entry in entries if entry.tokens is not None]
        for name in Tokens.__struct_fields__:
            columns[f"tokens.{name}"] = list(map(attrgetter(name), known))
    return columns


def judged(entry: LedgerEntry) -> bool:
    """Whether a row knows its tasks and how many failed, and both can be."""
    return entry.tasks is not None and entry.failed is not None and 0 <= entry.failed <= entry.tasks


def task_rate(entries: Sequence[LedgerEntry]) -> Rate:
    """Failed tasks of all, over the rows that know both and do not contradict themselves."""
    clusters = Clusters()
    for entry in entries:
        if judged(entry):
            clusters.add(entry.tasks or 0, entry.failed or 0)
    return rate_of_tasks(clusters)


def ranked(values: Iterable[str]) -> list[tuple[str, int]]:
    """Most frequent first, ties by name: the same ledger always reads the same."""
    return sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
