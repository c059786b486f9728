"""Figures over a ledger's columns: totals, averages and failure rates, in all and per group.

Unknown values are left out, and counted; what is impossible is left out as well. One pass over each column, and the
standard library only: ten thousand rows are counted before anything larger could be loaded.
"""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal, localcontext
from math import sqrt

from holdfast.core.model_names import undated

TYPE_CHECKING = False


Z95 = 1.959964


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Wilson's interval: it stays within 0 and 1, and is informative even without failures."""
    centre = (rate + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * sqrt(rate * (1 - rate) / n + Z95**2 / (4 * n * n))
    return max(centre - half, 0.0), min(centre + half, 1.0)


class Clusters:
    """Sums over sessions (tasks and failed ones), enough for the interval of a rate whose tasks fail together."""

    __slots__ = ("bases", "failed", "failed_squared", "products", "sessions", "tasks", "tasks_squared")

    def __init__(self) -> None:
        self.sessions = 0
        self.bases = 0  # sessions that have a task at all
        self.tasks = 0
        self.failed = 0
        self.tasks_squared = 0
        self.failed_squared = 0
        self.products = 0

    def add(self, tasks: int, failed: int, times: int = 1) -> None:
        """Adds a session, or several with the same values."""
        self.sessions += times
        self.bases += times * (tasks > 0)
        self.tasks += times * tasks
        self.failed += times * failed
        self.tasks_squared += times * tasks * tasks
        self.failed_squared += times * failed * failed
        self.products += times * tasks * failed

    def join(self, other: Clusters) -> None:
        for name in Clusters.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def interval(self) -> tuple[float, float, float] | None:
        """The rate of failed tasks with its interval; None without a task.

        Tasks of one session are not independent: they count for as many as their spread over sessions shows.
        """
        if self.tasks <= 0:
            return None
        rate = min(max(self.failed / self.tasks, 0.0), 1.0)
        return rate, *wilson(rate, max(self._effective(rate), 1.0))

    def _effective(self, rate: float) -> float:
        """How many independent tasks these are worth: at most all, at least what they are if sessions fail as a whole.

        That least is taken where there are few sessions, or none or all failed, so that the spread says nothing.
        Few sessions show their spread poorly, which Student's distribution allows for.
        """
        least = self.tasks**2 / self.tasks_squared
        if self.bases < 5 or rate in (0.0, 1.0):
            return least
        squares = self.failed_squared - 2 * rate * self.products + rate * rate * self.tasks_squared
        variance = self.bases / (self.bases - 1) * squares / self.tasks**2
        worth = rate * (1 - rate) / variance if variance > 0 else least
        return min(max(worth, least), self.tasks) * (Z95 / student(self.bases - 1)) ** 2


def student(freedom: int) -> float:
    """The replacement of 1.96 if the spread is estimated from few values (Cornish and Fisher's expansion)."""
    z = Z95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    Columns = Mapping[str, Sequence[Any]]
    Figures = dict[str, Any]

UNKNOWN = "unknown"
# What rows are grouped by, and the field that holds it.
FIELD_OF = {
    "model": "model",
    "framework": "framework",
    "type": "project_type",
    "kind": "kind",
    "complexity": "complexity",
    "topic": "goal",
    "agent": "agent",
    "month": "timestamp",
    "week": "timestamp",
    "day": "timestamp",
}
_PERIODS = ("month", "week", "day")
_TOKENS = ("input", "output", "cache_read", "cache_write")
_ORDERED = {"trivial": 0, "simple": 1, "moderate": 2, "complex": 3}
_EXACT = 200  # digits: any cells add up without rounding, in any order


class _Tally:
    """Sums over the rows of one group."""

    __slots__ = (
        "clusters",
        "cost",
        "costs",
        "durations",
        "failed_sessions",
        "incomplete",
        "seconds",
        "sessions",
        "tasks",
        *("with_tasks", "contradictions"),
    )

    def __init__(self) -> None:
        self.sessions = 0
        self.costs = 0
        self.cost = Decimal(0)
        self.durations = 0
        self.seconds = 0
        self.with_tasks = 0
        self.tasks = 0
        self.failed_sessions = 0
        self.incomplete = 0  # sessions whose transcript lacks usage: cost is a lower bound
        self.contradictions = 0  # sessions whose tasks cannot be so
        self.clusters = Clusters()

    def add(self, tasks: int | None, failed: int | None, times: int) -> None:
        """`times` sessions with these tasks; rates are over rows that say both numbers."""
        self.sessions += times
        self.contradictions += times * _contradict(tasks, failed)
        if tasks is None or tasks < 0:
            return
        self.with_tasks += times
        self.tasks += times * tasks
        if failed is not None and 0 <= failed <= tasks:
            self.clusters.add(tasks, failed, times)
            self.failed_sessions += times * (failed > 0)

    def join(self, other: _Tally) -> None:
        self.clusters.join(other.clusters)
        for name in _Tally.__slots__[1:]:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def _tallies(keys: Sequence[str], columns: Columns) -> dict[str, _Tally]:
    groups = {key: _Tally() for key in set(keys)}
    combinations = Counter(zip(keys, columns["tasks"], columns["failed"], strict=True))
    for (key, tasks, failed), times in combinations.items():
        groups[key].add(tasks, failed, times)
    for key, costs in _possible(keys, columns["cost_usd"]).items():
        groups[key].costs, groups[key].cost = len(costs), sum(costs, Decimal(0))
    for key, seconds in _possible(keys, columns["duration_s"]).items():
        groups[key].durations, groups[key].seconds = len(seconds), sum(seconds)
    for key, usage in zip(keys, columns.get("usage") or (), strict=False):
        groups[key].incomplete += bool(usage)
    return groups


def _possible(keys: Sequence[str], values: Sequence[Any]) -> dict[str, list[Any]]:
    """The values of each group that are known and not below zero."""
    values_by_key: dict[str, list[Any]] = {key: [] for key in set(keys)}
    for key, value in zip(keys, values, strict=True):
        if value is not None:
            values_by_key[key].append(value)
    for key, values_of_key in values_by_key.items():
        if values_of_key and min(values_of_key) < 0:
            values_by_key[key] = [value for value in values_of_key if value >= 0]
    return values_by_key


def figures_of(columns: Columns) -> Figures:
    """All figures of a ledger, in the order in which they are shown."""
    with localcontext(Context(prec=_EXACT)):
        models = _tallies(_model_names(columns["model"]), columns)
        whole = _Tally()
        for tally in models.values():
            whole.join(tally)
        rate, low, high = whole.clusters.interval() or (None, None, None)
        failed, judged = whole.failed_sessions, whole.clusters.sessions
        return {
            "total_sessions": whole.sessions,
            "avg_task_count": _mean(whole.tasks, whole.with_tasks),
            "avg_cost": _mean(whole.cost, whole.costs),
            "known_costs": whole.costs,
            "total_cost": float(whole.cost) if whole.costs else None,
            "avg_duration_minutes": _minutes(whole),
            "total_tasks": whole.clusters.tasks,
            "total_failed_tasks": whole.clusters.failed,
            "avg_failed_tasks": _mean(whole.clusters.failed, judged),
            "total_skipped_tasks": sum(filter(None, columns["skipped"])),
            "failure_rate": rate,
            "failure_interval": None if low is None else (low, high),
            "failed_sessions": failed,
            "judged_sessions": judged,
            "session_failure_rate": failed / judged if judged else None,
            "session_failure_interval": wilson(failed / judged, judged) if judged else None,
            "top_failures": _reasons(columns["failures"]),
            "top_frameworks": _in_order(_count(columns["framework"], "")),
            "by_project_type": _counted(columns["project_type"]),
            "by_agent": _counted(columns["agent"]),
            "by_kind": _counted(columns["kind"]),
            "by_outcome": _counted(columns["outcome"]),
            "model_performance": _performance(models),
            "tokens": {name: sum(filter(None, columns[f"tokens.{name}"])) for name in _TOKENS},
            "incomplete_usage": sum(1 for usage in columns["usage"] if usage),
            "trivial_sessions": columns["complexity"].count("trivial"),
            "impossible_rows": _impossible(columns, whole),
        }


def groups_of(columns: Columns, by: str) -> dict[str, Figures]:
    """The figures of each group. A session has several topics and counts for each of them."""
    values = columns[FIELD_OF[by]]
    if by == "topic":
        rows = [
            (topic, row) for row, goal in enumerate(values) for topic in dict.fromkeys(goal) or (UNKNOWN,)
        ]
        keys = [topic for topic, _ in rows]
        needed = ("tasks", "failed", "cost_usd", "duration_s", "usage")
        columns = {name: [columns[name][row] for _, row in rows] for name in needed if name in columns}
    else:
        keys = (
            _in_periods(values, by)
            if by in _PERIODS
            else _model_names(values)
            if by == "model"
            else _named(values)
        )
    with localcontext(Context(prec=_EXACT)):
        groups = _performance(_tallies(keys, columns))
    if by in _PERIODS:
        return dict(sorted(groups.items()))
    if by == "complexity":
        return dict(sorted(groups.items(), key=lambda item: (_ORDERED.get(item[0], 9), item[0])))
    return groups


def maturity(sessions: int) -> str:
    """How far the figures can be trusted, by how many there are."""
    if sessions < 10:
        number = f"{sessions} session{'s' if sessions != 1 else ''}"
        return f"{number}: mostly noise; wait for 10 before drawing conclusions."
    if sessions < 50:
        return f"{sessions} sessions: a first impression; patterns show from about 50."
    if sessions < 100:
        return f"{sessions} sessions: patterns begin to hold; they are steady from about 100."
    return f"{sessions} sessions: enough for steady rates."


def _performance(groups: Mapping[str, _Tally]) -> dict[str, Figures]:
    ordered = sorted(groups.items(), key=lambda item: (-item[1].sessions, item[0]))
    return {name: _group(tally) for name, tally in ordered}


def _group(tally: _Tally) -> Figures:
    rate, low, high = tally.clusters.interval() or (None, None, None)
    failed, judged = tally.failed_sessions, tally.clusters.sessions
    return {
        "sessions": tally.sessions,
        "tasks": tally.clusters.tasks,
        "failed_tasks": tally.clusters.failed,
        "failed_sessions": failed,
        "judged_sessions": judged,
        "avg_cost": _mean(tally.cost, tally.costs),
        "known_costs": tally.costs,
        "incomplete_usage": tally.incomplete,
        "total_cost": float(tally.cost) if tally.costs else None,
        "avg_duration": _minutes(tally),
        "failure_rate": rate,
        "failure_interval": None if low is None else (low, high),
        "session_failure_rate": failed / judged if judged else None,
        "session_failure_interval": wilson(failed / judged, judged) if judged else None,
    }


def _impossible(columns: Columns, whole: _Tally) -> int:
    """Rows with more failures than tasks or with a negative value: typing errors."""
    fields = ("tasks", "failed", "cost_usd", "duration_s")
    known_costs, known_durations = (whole.sessions - columns[name].count(None) for name in fields[2:])
    if (known_costs, known_durations) == (whole.costs, whole.durations):
        return whole.contradictions
    return sum(
        _contradict(tasks, failed) or _or_zero(cost) < 0 or _or_zero(seconds) < 0
        for tasks, failed, cost, seconds in zip(*[columns[name] for name in fields], strict=True)
    )


def _contradict(tasks: int | None, failed: int | None) -> bool:
    both = tasks is not None and failed is not None
    return (tasks or 0) < 0 or (failed or 0) < 0 or (both and not 0 <= failed <= tasks)  # type: ignore[operator]


def _or_zero(value: Any) -> Any:
    return value or 0


def _mean(total: int | Decimal, n: int) -> float | None:
    return float(total / n) if n else None


def _minutes(tally: _Tally) -> float | None:
    return tally.seconds / 60 / tally.durations if tally.durations else None


def _named(values: Iterable[str | None]) -> list[str]:
    return [value or UNKNOWN for value in values]


def _model_names(values: Iterable[str | None]) -> list[str]:
    """Dated and undated names of one model are one group."""
    return [undated(value) if value else UNKNOWN for value in values]


def _in_periods(times: Iterable[datetime | None], by: str) -> list[str]:
    """The month, the Monday of the week, or the day of each time."""
    return [_period_of(time, by) if time else UNKNOWN for time in times]


def _period_of(time: datetime, by: str) -> str:
    if by == "month":
        return month_of(time)
    date = time.date()
    return (
        type(date).fromordinal(max(date.toordinal() - (date.weekday() if by == "week" else 0), 1)).isoformat()
    )


def month_of(time: datetime) -> str:
    """`2026-03`; strftime would leave the zeros of early years out."""
    return f"{time.year:04d}-{time.month:02d}"


def _reasons(failures: Iterable[tuple[str, ...]]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for reasons, times in Counter(failures).items():
        for reason in reasons:
            counts[reason] += times
    return _in_order(counts)


def _counted(values: Iterable[str | None]) -> dict[str, int]:
    return dict(_in_order(_count(values, UNKNOWN)))


def _count(values: Iterable[str | None], unknown: str) -> Counter[str]:
    """How often each value of a column comes; those without one under `unknown`, or left out."""
    counts: Counter[str | None] = Counter(values)
    missing = counts.pop(None, 0) + counts.pop("", 0)
    named_counts: Counter[str] = Counter({value: n for value, n in counts.items() if value})
    if missing and unknown:
        named_counts[unknown] += missing
    return named_counts


def _in_order(counts: Counter[str]) -> list[tuple[str, int]]:
    """Most frequent first, ties by name: the same ledger always reads the same."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
