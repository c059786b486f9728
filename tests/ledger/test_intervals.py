"""Figures and differences: what they are for known values, and what they never are for any."""

from __future__ import annotations

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ledger.stats import rate_shift, share, shift, spread
from holdfast.ledger.tally import Clusters


def failures(tasks: int, failed: int, sessions: int) -> Clusters:
    clusters = Clusters()
    clusters.tasks, clusters.failed, clusters.sessions = tasks, failed, sessions
    return clusters


VALUES = st.lists(st.floats(0, 1e9), min_size=5, max_size=30)


def test_a_spread_leaves_out_what_is_unknown_and_says_over_how_many_it_is() -> None:
    found = spread([1.0, None, 3.0, 8.0, float("nan"), -1.0], "dollars")
    assert (found.value, found.mean, found.total, found.n) == (3.0, 4.0, 12.0, 3)


def test_a_share_of_nothing_is_not_zero() -> None:
    assert share(0, 0, "x", "none yet").value is None
    assert share(0, 0, "x", "none yet").note == "none yet"
    assert share(1, 4, "x").value == 0.25


def test_four_sessions_on_one_side_say_nothing() -> None:
    assert shift([1.0] * 4, [2.0] * 100) is None
    assert shift([1.0, 1.0, 1.0, 1.0, None], [2.0] * 100) is None


def test_the_interval_of_five_and_five_is_the_tables_one() -> None:
    # Mann–Whitney, 5 and 5, 95%: the third smallest and the third largest of the 25 differences.
    one, other = [1.0, 2.0, 4.0, 8.0, 16.0], [100.0, 120.0, 140.0, 160.0, 180.0]
    differences = sorted(a - b for a in one for b in other)
    found = shift(one, other)
    assert found is not None
    assert (found.low, found.value, found.high) == (differences[2], differences[12], differences[22])
    assert (found.n, found.n_with, found.n_without) == (10, 5, 5)


def test_large_groups_are_thinned_and_keep_their_difference() -> None:
    one = [float(n % 1000) for n in range(4000)]
    found = shift([value + 50 for value in one], one)
    assert found is not None
    assert found.value == pytest.approx(50, abs=5)
    assert 20 < found.low < 50 < found.high < 80


@given(VALUES, VALUES)
def test_a_difference_lies_within_its_interval_and_turns_with_its_groups(
    one: list[float], other: list[float]
) -> None:
    found, turned = shift(one, other), shift(other, one)
    assert found is not None and turned is not None
    assert found.low <= found.value <= found.high
    assert (turned.low, turned.high) == (-found.high, -found.low)
    assert found == shift(list(reversed(one)), other), "the order of sessions does not matter"


@given(*[st.integers(5, 60)] * 2, *[st.floats(0, 1)] * 2)
def test_a_difference_of_rates_is_never_beyond_all_and_nothing(
    sessions: int, others: int, one: float, other: float
) -> None:
    found = rate_shift(
        failures(3 * sessions, int(3 * sessions * one), sessions),
        failures(2 * others, int(2 * others * other), others),
    )
    assert found is not None
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert all(map(isfinite, (found.low, found.value, found.high)))


def test_no_failures_on_either_side_is_no_certainty() -> None:
    found = rate_shift(failures(10, 0, 5), failures(10, 0, 5))
    assert found is not None
    assert found.value == 0 and found.low < -0.2 and found.high > 0.2
