"""Figures over ledger rows: totals, averages, failure rates per model or per anything else a row says.

Unknown values are left out, and counted. One pass over the rows, so that a million of them take seconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import chain
from operator import attrgetter
from typing import Literal, get_args

from msgspec import Struct, field

from holdfast.advise.rates import Clusters, Rate, rate_of
from holdfast.model.ledger import LedgerEntry, Tokens

UNKNOWN = "unknown"
Grouping = Literal["model", "framework", "type", "kind", "complexity", "topic", "agent", "month"]
GROUPINGS: tuple[str, ...] = get_args(Grouping)
_ORDERED = {"trivial": 0, "simple": 1, "moderate": 2, "complex": 3}


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
    models: defaultdict[str, _Tally] = defaultdict(_Tally)
    for entry in entries:
        models[entry.model or UNKNOWN].add(entry)
    whole = _Tally()
    for tally in models.values():
        whole.join(tally)
    tasks, sessions = whole.clusters.rate(), rate_of(whole.failed_sessions, whole.clusters.sessions)
    return LedgerStats(
        total_sessions=whole.sessions,
        avg_task_count=_mean(whole.tasks, whole.with_tasks),
        avg_cost=_mean(whole.cost, whole.costs),
        known_costs=whole.costs,
        total_cost=float(whole.cost) if whole.costs else None,
        avg_duration_minutes=_minutes(whole),
        total_tasks=tasks.n,
        total_failed_tasks=tasks.failed,
        avg_failed_tasks=_mean(tasks.failed, whole.clusters.sessions),
        total_skipped_tasks=sum(entry.skipped or 0 for entry in entries),
        failure_rate=tasks.value,
        failure_interval=_interval(tasks),
        failed_sessions=whole.failed_sessions,
        judged_sessions=whole.clusters.sessions,
        session_failure_rate=sessions.value,
        session_failure_interval=_interval(sessions),
        top_failures=ranked(chain.from_iterable(map(attrgetter("failures"), entries))),
        top_frameworks=_in_order(_count(entries, "framework", "")),
        by_project_type=_counted(entries, "project_type"),
        by_agent=_counted(entries, "agent"),
        by_kind=_counted(entries, "kind"),
        by_outcome=_counted(entries, "outcome"),
        model_performance=_performance(models),
        tokens=_tokens(entries),
        impossible_rows=whole.impossible,
    )


def grouped(entries: Iterable[LedgerEntry], by: str) -> dict[str, ModelStats]:
    """The same figures for each group. A session has several topics (its keywords) and counts for each of them."""
    keys_of = _KEYS[by]
    groups: defaultdict[str, _Tally] = defaultdict(_Tally)
    for entry in entries:
        for key in keys_of(entry):
            groups[key].add(entry)
    found = _performance(groups)
    if by == "month":
        return dict(sorted(found.items()))
    if by == "complexity":
        return dict(sorted(found.items(), key=lambda item: (_ORDERED.get(item[0], 9), item[0])))
    return found


_KEYS: dict[str, Callable[[LedgerEntry], Iterable[str]]] = {
    "model": lambda entry: (entry.model or UNKNOWN,),
    "framework": lambda entry: (entry.framework or UNKNOWN,),
    "type": lambda entry: (entry.project_type or UNKNOWN,),
    "kind": lambda entry: (entry.kind or UNKNOWN,),
    "complexity": lambda entry: (entry.complexity or UNKNOWN,),
    "topic": lambda entry: dict.fromkeys(entry.goal) or (UNKNOWN,),
    "agent": lambda entry: (entry.agent or UNKNOWN,),
    "month": lambda entry: (f"{entry.timestamp:%Y-%m}" if entry.timestamp else UNKNOWN,),
}


def maturity(sessions: int) -> str:
    """How far the figures can be trusted, by how many there are."""
    if sessions < 10:
        number = f"{sessions} session{'s' if sessions != 1 else ''}"
        return f"{number}: mostly noise, wait for 10 before reading anything into it."
    if sessions < 50:
        return f"{sessions} sessions: a first impression; patterns show from about 50."
    if sessions < 100:
        return f"{sessions} sessions: patterns begin to hold; they are steady from about 100."
    return f"{sessions} sessions: enough for steady figures."


def judged(entry: LedgerEntry) -> bool:
    """Whether a row knows its tasks and how many failed, and both can be."""
    return entry.tasks is not None and entry.failed is not None and 0 <= entry.failed <= entry.tasks


def task_rate(entries: Sequence[LedgerEntry]) -> Rate:
    """Failed tasks of all, over the rows that know both and do not contradict themselves."""
    clusters = Clusters()
    for entry in entries:
        if judged(entry):
            clusters.add(entry.tasks or 0, entry.failed or 0)
    return clusters.rate()


class _Tally(Struct):
    """Running sums over the rows of one group. What is impossible is left out, as what is unknown is."""

    sessions: int = 0
    costs: int = 0
    cost: Decimal = Decimal(0)
    durations: int = 0
    seconds: int = 0
    with_tasks: int = 0
    tasks: int = 0
    failed_sessions: int = 0
    impossible: int = (
        0  # more failures than tasks, or less than nothing of something: a slip of somebody's hand
    )
    clusters: Clusters = field(default_factory=Clusters)

    def add(self, entry: LedgerEntry) -> None:
        self.sessions += 1
        cost, seconds, tasks, failed = entry.cost_usd, entry.duration_s, entry.tasks, entry.failed
        possible = True
        if cost is not None:
            if cost >= 0:
                self.costs += 1
                self.cost += cost
            else:
                possible = False
        if seconds is not None:
            if seconds >= 0:
                self.durations += 1
                self.seconds += seconds
            else:
                possible = False
        if tasks is not None:
            if tasks >= 0:
                self.with_tasks += 1
                self.tasks += tasks
            if failed is not None:  # a rate needs one base: rows that know both
                if 0 <= failed <= tasks:
                    self.clusters.add(tasks, failed)
                    self.failed_sessions += failed > 0
                else:
                    possible = False
        if not possible or (tasks or 0) < 0 or (failed or 0) < 0:
            self.impossible += 1

    def join(self, other: _Tally) -> None:
        self.clusters.join(other.clusters)
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_SUMS = tuple(name for name in _Tally.__struct_fields__ if name != "clusters")


def _performance(groups: dict[str, _Tally]) -> dict[str, ModelStats]:
    ordered = sorted(groups.items(), key=lambda item: (-item[1].sessions, item[0]))
    return {name: _model_stats(tally) for name, tally in ordered}


def _model_stats(tally: _Tally) -> ModelStats:
    tasks, sessions = tally.clusters.rate(), rate_of(tally.failed_sessions, tally.clusters.sessions)
    return ModelStats(
        sessions=tally.sessions,
        tasks=tasks.n,
        failed_tasks=tasks.failed,
        failed_sessions=tally.failed_sessions,
        judged_sessions=tally.clusters.sessions,
        avg_cost=_mean(tally.cost, tally.costs),
        known_costs=tally.costs,
        total_cost=float(tally.cost) if tally.costs else None,
        avg_duration=_minutes(tally),
        failure_rate=tasks.value,
        failure_interval=_interval(tasks),
        session_failure_rate=sessions.value,
        session_failure_interval=_interval(sessions),
    )


def _interval(rate: Rate) -> tuple[float, float] | None:
    return None if rate.low is None or rate.high is None else (rate.low, rate.high)


def _mean(total: int | Decimal, n: int) -> float | None:
    return float(total / n) if n else None


def _minutes(tally: _Tally) -> float | None:
    return tally.seconds / 60 / tally.durations if tally.durations else None


def _tokens(entries: Iterable[LedgerEntry]) -> Tokens:
    known = [entry.tokens for entry in entries if entry.tokens is not None]
    return Tokens(*[sum(map(attrgetter(name), known)) for name in Tokens.__struct_fields__])


def _counted(entries: Iterable[LedgerEntry], name: str) -> dict[str, int]:
    return dict(_in_order(_count(entries, name, UNKNOWN)))


def _count(entries: Iterable[LedgerEntry], name: str, unknown: str) -> Counter[str]:
    """How often each value of a column comes; those without one under `unknown`, or left out."""
    counts: Counter[str | None] = Counter(map(attrgetter(name), entries))
    missing = counts.pop(None, 0) + counts.pop("", 0)
    known: Counter[str] = Counter({value: n for value, n in counts.items() if value})
    if missing and unknown:
        known[unknown] += missing
    return known


def ranked(values: Iterable[str]) -> list[tuple[str, int]]:
    """Most frequent first, ties by name: the same ledger always reads the same."""
    return _in_order(Counter(values))


def _in_order(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
