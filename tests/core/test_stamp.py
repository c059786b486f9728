"""Stamps are totally ordered, their texts sort as they do, and what is too late is clamped without changing the order."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.core.stamp import (
    EARLIEST,
    LATEST,
    LEEWAY_MS,
    MOST_COUNTED,
    NEVER,
    Stamp,
    clamp,
    later_than,
    parse_stamp,
)

walls = st.integers(EARLIEST, LATEST) | st.integers(0, 3)
letters = st.text("abcdefghjkmnpqrstvwxyz0123456789", max_size=12)
stamps = st.builds(Stamp, walls, st.integers(0, MOST_COUNTED) | st.integers(0, 12), letters)
DAY_MS = 86_400_000


@given(stamps)
@example(NEVER)
@example(Stamp(LATEST, MOST_COUNTED, "z" * 12))
def test_a_stamp_comes_back_from_its_text(stamp: Stamp) -> None:
    assert parse_stamp(str(stamp)) == stamp


@given(stamps, stamps)
@example(Stamp(0, 9, "z"), Stamp(0, 10, "a"))
@example(Stamp(0, 99, ""), Stamp(0, 100, ""))
@example(Stamp(-1), Stamp(0))
def test_texts_sort_as_stamps_do(one: Stamp, other: Stamp) -> None:
    assert (one < other) == (str(one) < str(other))
    assert (one == other) == (str(one) == str(other))


@given(
    st.text(max_size=40)
    | stamps.map(str).flatmap(lambda text: st.sampled_from([text + "x", text[1:], f" {text}"]))
)
@example("20261118T162703.123-00-kfmt")
@example("20261118T162703.123-a1-kfmt")
@example("20261118T162703.123-0-KFMT")
@example("20261318T162703.123-0-kfmt")
@example("20261118T162703.123-0")
@example("\u0662\u0660261118T162703.123-0-kfmt")
def test_one_stamp_has_one_spelling(text: str) -> None:
    try:
        stamp = parse_stamp(text)
    except ValueError:
        return
    assert str(stamp) == text


def test_a_stamp_reads_as_a_time_in_utc() -> None:
    stamp = Stamp.of_time(datetime(2026, 11, 18, 16, 27, 3, 123_456, UTC))
    assert str(stamp._replace(machine="kfmt")) == "20261118T162703.123-0-kfmt"
    assert stamp.time == datetime(2026, 11, 18, 16, 27, 3, 123_000, UTC)


@pytest.mark.parametrize("seconds", [float("inf"), -float("inf"), float("nan"), 1e300, -1e300])
def test_what_no_calendar_has_is_still_a_stamp(seconds: float) -> None:
    assert parse_stamp(str(Stamp.of_seconds(seconds))) == Stamp.of_seconds(seconds)


@given(
    st.lists(st.builds(Stamp, st.integers(0, 9), st.integers(0, 3), letters), max_size=6),
    st.integers(0, 9),
    letters,
)
def test_a_new_stamp_is_later_than_all_that_were_seen(seen: list[Stamp], wall: int, machine: str) -> None:
    new = later_than(seen, wall, machine)
    assert all(stamp < new for stamp in seen)
    assert new.wall == max([wall, *(stamp.wall for stamp in seen)]) and new.machine == machine


@given(
    st.lists(st.builds(Stamp, st.integers(0, 9 * DAY_MS), st.integers(0, 3), letters), max_size=9),
    st.integers(0, 9 * DAY_MS),
)
def test_clamping_moves_only_what_is_too_late_and_keeps_the_order(stamps: list[Stamp], bound: int) -> None:
    used = clamp(stamps, bound, stamps)
    assert used.keys() == {stamp for stamp in stamps if stamp.wall > bound + LEEWAY_MS}
    assert all(stamp.wall == bound for stamp in used.values())
    late = sorted(used)
    assert [used[stamp] for stamp in late] == sorted(used[stamp] for stamp in late)
    assert len(set(used.values())) == len(late)
    earlier = [stamp for stamp in stamps if stamp.wall <= bound]
    assert not late or all(stamp < used[late[0]] for stamp in earlier)
