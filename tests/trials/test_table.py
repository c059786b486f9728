"""The table of an experiment: changes with intervals, wins, and what cannot be compared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.trials.session import Result
from holdfast.trials.table import t_quantile, table_of
from holdfast.trials.taskfile import Experiment, Task

pytestmark = pytest.mark.promise("S10", "P3")
TASKS = tuple(Task(name=name, kind="test", prompt="p", check="c") for name in ("one", "two"))
EXPERIMENT = Experiment(
    path="t", repository="r", commit="c", agent="command", model="m", runs=3, tasks=TASKS, budget_usd=1
)


def result(task: str, run: int, warm: bool, tokens: int | None, **more: Any) -> Result:
    values: dict[str, Any] = {"outcome": "passed", "seconds": 1.0, **more}
    return Result(key=f"{task}{run}{warm}", task=task, run=run, warm=warm, tokens=tokens, **values)


def pairs(task: str, *both: tuple[int | None, int | None]) -> list[Result]:
    return [result(task, run, warm, pair[warm]) for run, pair in enumerate(both, 1) for warm in (False, True)]


def test_a_task_that_takes_half_shows_half_and_wins() -> None:
    table = table_of(EXPERIMENT, pairs("one", (100, 50), (200, 100), (50, 25)))
    change = table.lines[0].changes[0]
    assert (change.measure, change.n) == ("tokens", 3) and change.value == pytest.approx(-0.5)
    assert change.low == pytest.approx(-0.5) and change.high == pytest.approx(-0.5)
    assert (table.wins, table.pairs, table.lines[0].wins) == (3, 3, 3)
    assert table.lines[1].changes[0].value is None and table.lines[1].pairs == 0


def test_over_all_tasks_a_task_counts_once_however_many_runs_it_had() -> None:
    table = table_of(EXPERIMENT, [*pairs("one", (100, 50), (100, 50), (100, 50)), *pairs("two", (100, 200))])
    overall = table.overall[0]
    assert overall.value == pytest.approx(0) and overall.n == 2
    assert overall.low is not None and overall.low < -0.9, "two tasks prove nothing"


def test_a_session_that_failed_wins_nothing_and_one_that_alone_passed_does() -> None:
    cold, warm = pairs("one", (100, 50))
    failed = result("one", 1, True, 50, outcome="failed")
    assert table_of(EXPERIMENT, [cold, failed]).wins == 0
    assert table_of(EXPERIMENT, [result("one", 1, False, 10, outcome="crashed"), warm]).wins == 1


def test_what_is_unknown_or_never_began_is_not_compared() -> None:
    unknown = pairs("one", (None, 50), (100, None))
    never = [result("one", 3, False, 100), result("one", 3, True, 1, outcome="not set up")]
    assert table_of(EXPERIMENT, [*unknown, *never]).lines[0].changes[0].n == 0
    assert table_of(EXPERIMENT, unknown).pairs == 0, "nobody knows who won"
    assert table_of(EXPERIMENT, []).wins_low is None
    alone = table_of(EXPERIMENT, pairs("one", (100, 50))[:1])
    assert alone.pairs == 0 and alone.lines[0].cold.n == 1


@pytest.mark.parametrize("degrees, value", [(1, 12.706), (2, 4.303), (5, 2.571), (30, 2.042), (1000, 1.962)])
def test_the_quantiles_of_students_t_are_those_of_the_tables(degrees: int, value: float) -> None:
    assert t_quantile(degrees) == pytest.approx(value, abs=0.001)


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**9)), min_size=2, max_size=6))
def test_the_value_is_within_its_interval(both: list[tuple[int, int]]) -> None:
    change = table_of(EXPERIMENT, pairs("one", *both)).lines[0].changes[0]
    assert change.value is not None and change.low is not None and change.high is not None
    assert -1 <= change.low <= change.value + 1e-9 and change.value <= change.high + 1e-9 * (1 + change.value)
