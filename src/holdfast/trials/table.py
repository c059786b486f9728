"""Compares the arms of an experiment: for each task as the RFC's table does, and over all tasks, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import exp, log, sqrt

from msgspec import Struct

from holdfast.ledger.stats import cumulated
from holdfast.ledger.tally import wilson
from holdfast.trials.session import Result
from holdfast.trials.taskfile import Experiment, Task

MEASURES: tuple[tuple[str, Callable[[Result], float | None]], ...] = (
    ("tokens", lambda result: result.tokens),
    ("calls", lambda result: result.calls),
    ("turns", lambda result: result.turns),
    ("cost", lambda result: result.cost_usd),
    ("time", lambda result: result.seconds or None),
)
_HOW = (
    "warm / cold − 1, as a ratio of geometric means over pairs in which both have the value; interval: Student's t "
    "over the logarithms, 95%; over all tasks a task counts once"
)


class Change(Struct, frozen=True, kw_only=True):
    """How much warm differs from cold: −0.3 is 30% less. No interval from fewer than two pairs (or tasks)."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int


class Arm(Struct, frozen=True, kw_only=True):
    """The sessions of one arm. `passed` of `n`; what they took on average, over those that have the value."""

    n: int
    passed: int
    means: dict[str, float | None]


class Line(Struct, frozen=True, kw_only=True):
    """A task. `wins` of `pairs`: warm passed and took fewer tokens, or passed where cold did not.

    Pairs in which both passed and the tokens are not known are not among them.
    """

    task: str
    kind: str
    cold: Arm
    warm: Arm
    changes: tuple[Change, ...]
    wins: int
    pairs: int
    outcomes: dict[str, int]


class Table(Struct, frozen=True, kw_only=True):
    lines: tuple[Line, ...]
    overall: tuple[Change, ...]
    wins: int
    pairs: int
    wins_low: float | None
    wins_high: float | None
    passed_cold: int
    passed_warm: int
    formula: str = _HOW


def table_of(experiment: Experiment, results: Sequence[Result]) -> Table:
    lines = tuple(
        _line(task, [result for result in results if result.task == task.name]) for task in experiment.tasks
    )
    wins, pairs = sum(line.wins for line in lines), sum(line.pairs for line in lines)
    low, high = wilson(wins / pairs, pairs) if pairs else (None, None)
    return Table(
        lines=lines,
        overall=tuple(
            _change(name, [log(1 + change.value) for line in lines for change in line.changes
                           if change.measure == name and change.value is not None])
            for name, _ in MEASURES
        ),
        wins=wins,
        pairs=pairs,
        wins_low=low,
        wins_high=high,
        passed_cold=sum(line.cold.passed for line in lines),
        passed_warm=sum(line.warm.passed for line in lines),
    )  # fmt: skip


def _line(task: Task, results: Sequence[Result]) -> Line:
    pairs = [(cold, warm) for cold, warm in _pairs(results)]
    outcomes: dict[str, int] = {}
    for result in results:
        outcomes[result.outcome] = outcomes.get(result.outcome, 0) + 1
    return Line(
        task=task.name,
        kind=task.kind,
        cold=_arm(result for result in results if not result.warm),
        warm=_arm(result for result in results if result.warm),
        changes=tuple(_change(name, _logs(pairs, measure)) for name, measure in MEASURES),
        wins=sum(_wins(cold, warm) for cold, warm in pairs),
        pairs=sum(_is_decided(cold, warm) for cold, warm in pairs),
        outcomes=outcomes,
    )


def _pairs(results: Iterable[Result]) -> list[tuple[Result, Result]]:
    by_run: dict[int, dict[bool, Result]] = {}
    for result in results:
        by_run.setdefault(result.run, {})[result.warm] = result
    return [(both[False], both[True]) for _, both in sorted(by_run.items()) if len(both) == 2]


def _arm(results: Iterable[Result]) -> Arm:
    every = list(results)
    means: dict[str, float | None] = {}
    for name, measure in MEASURES:
        values = [value for result in every if (value := measure(result)) is not None]
        means[name] = sum(values) / len(values) if values else None
    return Arm(n=len(every), passed=sum(result.success for result in every), means=means)


def _is_decided(cold: Result, warm: Result) -> bool:
    """Whether a pair has a winner: without tokens nobody knows which of two that passed took less."""
    return not (cold.success and warm.success) or (cold.tokens is not None and warm.tokens is not None)


def _wins(cold: Result, warm: Result) -> bool:
    if not (warm.success and cold.success):
        return warm.success
    return warm.tokens is not None and cold.tokens is not None and warm.tokens < cold.tokens


def _logs(pairs: Iterable[tuple[Result, Result]], measure: Callable[[Result], float | None]) -> list[float]:
    """The logarithms of warm / cold; a session that never got to work is not compared with one that did."""
    values = [
        (measure(cold), measure(warm))
        for cold, warm in pairs
        if "not set up" not in (cold.outcome, warm.outcome)
    ]
    return [log(warm / cold) for cold, warm in values if cold and warm]


def _change(measure: str, logs: Sequence[float]) -> Change:
    n = len(logs)
    if not n:
        return Change(measure=measure, value=None, low=None, high=None, n=0)
    mean = sum(logs) / n
    if n < 2:
        return Change(measure=measure, value=exp(mean) - 1, low=None, high=None, n=n)
    half = t_quantile(n - 1) * sqrt(sum((value - mean) ** 2 for value in logs) / (n - 1) / n)
    return Change(
        measure=measure,
        value=exp(mean) - 1,
        low=exp(mean - half) - 1,
        high=exp(min(mean + half, 50)) - 1,
        n=n,
    )


def t_quantile(degrees: int) -> float:
    """The value that Student's t exceeds in 2.5% of cases."""
    low, high = 0.0, 1_000.0
    for _ in range(60):
        middle = (low + high) / 2
        beyond = cumulated(degrees / (degrees + middle**2), degrees / 2, 0.5) / 2
        low, high = (middle, high) if beyond > 0.025 else (low, middle)
    return (low + high) / 2
