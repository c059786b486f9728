"""Rates carry what they rest on: within 0 and 1, inside their interval, and honest about sessions that fail as one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ledger.stats import Belief, at_least, cumulated, quantile, rate_of_tasks
from holdfast.ledger.tally import Clusters, wilson

rows = st.lists(
    st.integers(0, 40).flatmap(lambda tasks: st.tuples(st.just(tasks), st.integers(0, tasks))), max_size=40
)


def clusters(pairs: list[tuple[int, int]]) -> Clusters:
    made = Clusters()
    for tasks, failed in pairs:
        made.add(tasks, failed)
    return made


@pytest.mark.promise("L8")
@given(rows)
def test_a_rate_lies_within_its_interval_and_both_within_0_and_1(pairs: list[tuple[int, int]]) -> None:
    rate = rate_of_tasks(clusters(pairs))
    if not sum(tasks for tasks, _ in pairs):
        assert rate.value is rate.low is rate.high is None
        return
    assert rate.value is not None and rate.low is not None and rate.high is not None
    assert 0 <= rate.low <= rate.value + 1e-9 and rate.value - 1e-9 <= rate.high <= 1


@given(rows, rows)
def test_sums_over_two_parts_joined_are_the_sums_over_the_whole(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    joined = clusters(one)
    joined.join(clusters(other))
    whole = clusters(one + other)
    assert all(getattr(joined, name) == getattr(whole, name) for name in Clusters.__slots__)


@given(st.integers(0, 500), st.integers(1, 500))
def test_a_rate_over_sessions_is_within_its_interval(failed: int, more: int) -> None:
    rate = failed / (failed + more)
    low, high = wilson(rate, failed + more)
    assert 0 <= low <= rate + 1e-9 and rate - 1e-9 <= high <= 1


def test_no_failure_in_eight_sessions_does_not_rule_failures_out() -> None:
    assert wilson(0, 8) == (0, pytest.approx(0.3244, abs=1e-4))


def test_tasks_of_one_session_say_less_than_tasks_of_many() -> None:
    many = rate_of_tasks(clusters([(1, 0)] * 80 + [(1, 1)] * 20))
    few = rate_of_tasks(clusters([(10, 0)] * 8 + [(10, 10)] * 2))
    assert many.value == few.value == 0.2
    assert few.high is not None and many.high is not None and few.high - 0.2 > 2 * (many.high - 0.2)


def test_one_long_session_does_not_outweigh_all_others_in_what_is_known() -> None:
    """A hundred tasks of one session that went well are one session that went well."""
    rate = rate_of_tasks(clusters([(100, 0), (1, 0), (1, 0), (1, 0)]))
    assert rate.high is not None and rate.high > 0.7


def test_sessions_without_a_task_add_nothing_to_a_rate_of_tasks() -> None:
    assert rate_of_tasks(clusters([(4, 1)] * 6)) == rate_of_tasks(clusters([(4, 1)] * 6 + [(0, 0)] * 50))


def test_the_interval_holds_the_true_rate_about_95_times_of_100() -> None:
    """Sessions of uneven length whose tasks fail together, of which only the rate is asked."""
    rng = random.Random(8)
    held, worlds, true, together = 0, 600, 0.15, 0.3
    for _ in range(worlds):
        pairs = []
        for _ in range(15):
            tasks = 1 + int(rng.expovariate(0.3))
            own = rng.betavariate(true * (1 - together) / together, (1 - true) * (1 - together) / together)
            pairs.append((tasks, sum(rng.random() < own for _ in range(tasks))))
        rate = rate_of_tasks(clusters(pairs))
        held += rate.low is not None and rate.high is not None and rate.low <= true <= rate.high
    assert 0.91 <= held / worlds <= 0.99


@given(st.floats(0.3, 60), st.floats(0.3, 60), st.floats(0.01, 0.99))
def test_a_belief_knows_below_which_rate_a_share_of_it_lies(a: float, b: float, share: float) -> None:
    belief = Belief(a, b)
    assert cumulated(belief.below(share), a, b) == pytest.approx(share, abs=1e-3)
    low, high = belief.interval()
    assert 0 <= low <= high <= 1


def test_how_odd_a_group_is_follows_the_binomial_distribution() -> None:
    assert at_least(2, 5, 0.1) == pytest.approx(0.08146, abs=1e-5)
    assert at_least(0, 5, 0.1) == 1 and at_least(6, 5, 0.1) == 0


def test_quantiles_lie_between_neighbours() -> None:
    assert quantile([1, 2, 3, 4, 5], 0.5) == 3
    assert quantile([4, 1], 0.9) == pytest.approx(3.7)
    assert quantile([], 0.5) is None
    assert wilson(0.5, 1e9)[0] == pytest.approx(0.5, abs=1e-3)
