"""Active time caps idle gaps and counts parallel work once; complexity is what was really done."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.sessions.outcome import IDLE_SECONDS, active_seconds, add_to_spans, complexity_of, merge_spans

moments = st.lists(st.integers(0, 50_000), min_size=1, max_size=60)


def expected(times: list[int]) -> float:
    ordered = sorted(set(times))
    return sum(min(after - before, IDLE_SECONDS) for before, after in pairwise(ordered))


def spans_of(times: list[int]) -> list[tuple[float, float]]:
    spans: list[tuple[float, float]] = []
    for at in times:
        add_to_spans(spans, float(at))
    return spans


@given(moments)
def test_active_time_is_the_sum_of_capped_gaps_in_whatever_order_lines_come(times: list[int]) -> None:
    assert active_seconds(spans_of(times)) == expected(times)


@given(moments, st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_active_time_is_the_same_however_the_moments_are_spread_over_transcripts(
    times: list[int], where: list[int]
) -> None:
    files: list[list[int]] = [[], [], [], []]
    for at, number in zip(times, where, strict=False):
        files[number].append(at)
    spans = [span for file in files for span in spans_of(file)]
    assert active_seconds(spans) == expected(times)


@given(moments)
def test_spans_are_few_sorted_and_apart(times: list[int]) -> None:
    spans = spans_of(times)
    assert spans == sorted(spans) == merge_spans(spans)
    assert all(after[0] - before[1] > IDLE_SECONDS for before, after in pairwise(spans))


def test_no_moments_are_no_time() -> None:
    assert active_seconds([]) == 0
    assert active_seconds([(5.0, 5.0)]) == 0


def test_a_night_between_two_prompts_counts_five_minutes() -> None:
    assert active_seconds(spans_of([0, 60, 60 + 8 * 3600, 120 + 8 * 3600])) == 60 + 300 + 60


def test_parallel_work_is_not_counted_twice() -> None:
    assert active_seconds([(0.0, 100.0), (50.0, 120.0), (10.0, 20.0)]) == 120


@pytest.mark.parametrize(
    ("calls", "files", "tasks", "expected"),
    [
        (0, 0, 0, "trivial"),
        (8, 1, 1, "trivial"),
        (9, 0, 0, "simple"),
        (0, 2, 0, "simple"),
        (0, 0, 2, "simple"),
        (36, 0, 0, "moderate"),
        (0, 5, 0, "moderate"),
        (0, 0, 6, "moderate"),
        (121, 0, 0, "complex"),
        (0, 13, 0, "complex"),
        (0, 0, 13, "complex"),
    ],
)
def test_each_measure_alone_makes_work_hard(calls: int, files: int, tasks: int, expected: str) -> None:
    assert complexity_of(tool_calls=calls, edited_files=files, tasks=tasks) == expected
