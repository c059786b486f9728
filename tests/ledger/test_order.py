"""Which row of a session counts: the one with the latest stamp, in whatever order the lines come and whoever clamped them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.core.stamp import LEEWAY_MS, Stamp
from holdfast.ledger.intake import captured, clamped, corrections, end_of_transcript, stamp_of
from holdfast.ledger.markdown import current, parse_ledger, render_beginning, render_row
from holdfast.ledger.order import clamped_cell, used_stamp
from holdfast.ledger.store import missing_rows, row_of
from holdfast.model.ledger import LedgerEntry, Outcome

TIME = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
NOW = Stamp.of_time(TIME).wall
IN_2099 = TIME.replace(year=2099)
DAY_MS = 86_400_000

moments = st.integers(-2, 2).map(lambda days: TIME + timedelta(days=days, microseconds=days % 2))
stamps = st.builds(
    Stamp,
    st.integers(-2, 2).map(lambda days: NOW + days * DAY_MS),
    st.integers(0, 2),
    st.sampled_from(["aaaa", "bbbb"]),
)
cells = st.one_of(
    st.none(),
    stamps.map(str),
    st.tuples(stamps, st.none() | stamps.map(str)).map(lambda pair: clamped_cell(*pair)),
    st.just("by hand"),
)


@st.composite
def ledgers(draw: st.DrawFn) -> list[LedgerEntry]:
    """Rows of a few sessions, some of them several times and clamped differently. Equal rows say the same."""
    rows = draw(
        st.lists(
            st.builds(
                LedgerEntry,
                session=st.sampled_from(["a", "b"]),
                clock=cells,
                recorded=moments,
                outcome=st.sampled_from(["done", "failed", None]),
            ),
            max_size=7,
        )
    )
    numbers = {key: number for number, key in enumerate(dict.fromkeys(map(row_of, rows)))}
    return [replace(row, tasks=numbers[row_of(row)]) for row in rows]


def winners(rows: list[LedgerEntry]) -> dict[str, int | None]:
    return {row.session: row.tasks for row in current(rows)}


@pytest.mark.promise("L5")
@settings(deadline=None)
@given(ledgers(), st.randoms(use_true_random=False))
def test_any_order_of_the_lines_gives_the_same_rows(rows: list[LedgerEntry], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert winners(shuffled) == winners(rows)
    assert winners([*rows, *shuffled]) == winners(rows)


@settings(deadline=None)
@given(ledgers(), ledgers(), ledgers())
def test_ledgers_can_be_merged_in_any_order_and_more_than_once(
    one: list[LedgerEntry], two: list[LedgerEntry], three: list[LedgerEntry]
) -> None:
    content = {key: number for number, key in enumerate(dict.fromkeys(map(row_of, [*one, *two, *three])))}
    parts = [[replace(row, tasks=content[row_of(row)]) for row in part] for part in (one, two, three)]
    results = []
    for order in permutations(parts):
        merged: list[LedgerEntry] = []
        for part in (*order, order[0]):
            merged += missing_rows(part, merged)
        results.append(winners(merged))
    assert all(result == results[0] for result in results)


@settings(deadline=None)
@given(ledgers(), st.integers(-3, 3))
def test_clamping_keeps_the_order_of_what_came_in_and_is_done_once(
    rows: list[LedgerEntry], days: int
) -> None:
    bound = NOW + days * DAY_MS
    once = clamped(rows, bound)
    assert all(stamp_of(row).wall <= bound + LEEWAY_MS for row in once)
    assert [row_of(row) for row in once] == [row_of(row) for row in rows]
    assert clamped(once, bound) == once
    for before, after in zip(rows, once, strict=True):
        assert (after == before) == (stamp_of(before).wall <= bound + LEEWAY_MS)
    corrected = [*rows, *corrections(rows, bound)]
    assert corrections(corrected, bound) == []


def test_a_row_recorded_in_2099_counts_until_it_is_clamped_and_then_like_any_other() -> None:
    bad = LedgerEntry(session="a", tasks=1, recorded=IN_2099)
    good = LedgerEntry(session="a", tasks=2, recorded=TIME + timedelta(hours=1))
    assert current([bad, good]) == [bad]
    (correction,) = corrections([bad], NOW)
    assert used_stamp(correction.clock, correction.recorded).time == TIME
    assert replace(correction, clock=None) == bad
    assert current([bad, good, correction]) == current([correction, bad, good]) == [good]


def test_without_a_stamp_the_time_of_recording_is_the_stamp() -> None:
    stamped = LedgerEntry(session="a", tasks=1, recorded=TIME, clock=str(Stamp(NOW, 0, "kfmt")))
    older = LedgerEntry(session="a", tasks=2, recorded=TIME - timedelta(seconds=1))
    newer = LedgerEntry(session="a", tasks=3, recorded=TIME + timedelta(seconds=1))
    assert current([stamped, older]) == [stamped]
    assert current([newer, stamped]) == [newer]


def test_rows_that_say_nothing_of_when_they_were_written_count_by_their_place() -> None:
    seed = "| Session | Tasks |\n|---|---|\n| a | 1 |\n| a | 2 |\n| a | 3 |\n"
    (row,) = current(parse_ledger(seed.encode(), "ledger.md").entries)
    assert row.tasks == 3


def test_a_tombstone_is_final_whatever_its_stamp() -> None:
    row = LedgerEntry(session="a", recorded=IN_2099, clock=str(Stamp(NOW, 3, "kfmt")))
    assert current([LedgerEntry(session="a", outcome=Outcome.FORGOTTEN), row]) == []


def test_the_column_comes_last_and_an_older_reader_finds_its_own_columns_where_they_were() -> None:
    row = LedgerEntry(session="a", recorded=TIME, clock="20260304T050607.000-0-kfmt")
    text = render_beginning() + render_row(row) + "\n"
    assert text.splitlines()[3].endswith("| Recorded | Usage | Clock |")
    assert parse_ledger(text.encode(), "ledger.md").entries == [row]


# --- captured rows -------------------------------------------------------------------------------------


def row(stamp: Stamp | None, **fields: object) -> LedgerEntry:
    return LedgerEntry(session="a", clock=None if stamp is None else str(stamp), recorded=TIME, **fields)  # type: ignore[arg-type]


def test_who_read_further_counts_and_not_who_read_later() -> None:
    theirs = row(Stamp(NOW, 0, "bbbb"))
    assert captured(row(None), [theirs], NOW - 1, None, "aaaa") is None
    further = captured(row(None), [theirs], NOW + 1, None, "aaaa")
    assert further is not None and stamp_of(further) == Stamp(NOW + 1, 0, "aaaa")


def test_reading_the_same_lines_again_gives_a_later_row_on_any_machine() -> None:
    ours, theirs = row(Stamp(NOW, 0, "aaaa")), row(Stamp(NOW, 4, "zzzz"))
    again = captured(row(None), [ours, theirs], NOW, None, "aaaa")
    assert again is not None and stamp_of(again) == Stamp(NOW, 5, "aaaa")


def test_a_session_that_goes_on_under_an_earlier_clock_still_counts_further() -> None:
    ours = row(Stamp(NOW, 0, "aaaa"))
    later = captured(row(None), [ours], NOW - DAY_MS, None, "aaaa")
    assert later is not None and stamp_of(later) == Stamp(NOW, 1, "aaaa")


def test_a_row_of_an_older_version_is_replaced_by_what_is_read_after_the_upgrade() -> None:
    old = LedgerEntry(session="a", recorded=TIME + timedelta(days=1))
    new = captured(row(None), [old], NOW, None, "aaaa")
    assert new is not None and stamp_of(new) > stamp_of(old)


@pytest.mark.parametrize(
    ("ended", "changed", "expected"),
    [
        (NOW / 1000 - 60, [], (NOW - 60_000, None)),
        (NOW / 1000 + 30, [], (NOW + 30_000, None)),  # clocks differ by that much
        (4e9, [NOW * 10**6 - 10**9], (NOW - 1000, 4_000_000_000_000)),
        (4e9, [5 * 10**18], (NOW, 4_000_000_000_000)),  # the file's time is in the future too
        (4e9, [], (NOW, 4_000_000_000_000)),
        (None, [NOW * 10**6 - 10**9], (NOW - 1000, None)),
    ],
)
def test_a_transcript_ended_when_it_says_unless_that_is_to_come(
    ended: float | None, changed: list[int], expected: tuple[int, int | None]
) -> None:
    assert end_of_transcript(ended, changed, NOW) == expected
