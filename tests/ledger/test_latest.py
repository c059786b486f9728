"""SQL decides which row of a session counts as `ledger/order.py` does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from duckdb import DuckDBPyConnection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from holdfast.core.stamp import LATEST, MOST_COUNTED, Stamp
from holdfast.ledger.column_store import add_rows, create_table, open_database
from holdfast.ledger.latest import latest_places, latest_sql
from holdfast.ledger.order import clamped_cell, latest_rows
from holdfast.model.ledger import LedgerEntry

stamps = st.builds(
    Stamp,
    st.sampled_from([0, 1, 999, 1000, 1_790_000_000_123, LATEST]),
    st.sampled_from([0, 9, 10, 11, 99, 100, MOST_COUNTED]),
    st.sampled_from(["", "a", "kfmt", "z9"]),
)
no_stamps = st.sampled_from(
    ["", "x", "<", "20261399T000000.000-0-a", "20260101T250000.000-0-a", "20260101T000000.000-a05-a", "٣"]
)
cells = stamps.map(str) | st.builds(clamped_cell, stamps, stamps.map(str) | no_stamps) | no_stamps
rows = st.builds(
    LedgerEntry,
    session=st.sampled_from("abc"),
    clock=st.none() | cells,
    recorded=st.none()
    | st.sampled_from([datetime(2026, 1, 1, 0, 0, 0, us, UTC) for us in (0, 1, 999, 1000)])
    | st.datetimes(timezones=st.just(UTC)),
    outcome=st.none() | st.sampled_from(["done", "failed", "", "done", "failed", "partial", "forgotten"]),
)


@pytest.fixture(scope="module")
def database() -> Iterator[DuckDBPyConnection]:
    with open_database() as (opened, _):
        yield opened


@given(entries=st.lists(rows, max_size=8))
@example(
    entries=[LedgerEntry(session="a"), LedgerEntry(session="a", outcome="done"), LedgerEntry(session="a")]
)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_same_rows_count(database: DuckDBPyConnection, entries: list[LedgerEntry]) -> None:
    database.execute(
        "DROP TABLE IF EXISTS given; DROP TABLE IF EXISTS _repeated; DROP TABLE IF EXISTS _candidates; DROP TABLE IF EXISTS _replaced"
    )
    create_table(database, "given")
    add_rows(database, "given", entries, "p")
    columns = (
        [getattr(entry, name) for entry in entries] for name in ("session", "clock", "recorded", "outcome")
    )
    expected = sorted(latest_rows(*columns))
    assert _places(database, latest_sql("given", "place")) == expected
    condition = latest_places(database, "given")
    assert _places(database, f"SELECT place FROM given WHERE {condition}") == expected


def _places(database: DuckDBPyConnection, query: str) -> list[int]:
    return sorted(place for (place,) in database.execute(query).fetchall())
