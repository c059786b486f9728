"""Rows for other programs come back whole: csv, jsonl, OpenMetrics and Parquet, whatever a cell holds."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from holdfast.guard.hidden_text import visible
from holdfast.ledger.cells import render_time
from holdfast.ledger.export import exported, to_csv, to_jsonl, to_openmetrics
from holdfast.ledger.export_columns import COLUMNS, NAMES, flat
from holdfast.model.ledger import LedgerEntry, Tokens

HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    "'=1",
    "'",
    '"',
    'a"b',
    "a,b",
]
HOSTILE += [
    "a\nb",
    "a\r\nb",
    "\0",
    "\\",
    "\\n",
    "{}",
    "ü",
    "日本",
    "\u202e",
    "😀",
    "\ud800",
    "",
    " ",
    "# EOF",
    "}",
]

texts = st.sampled_from(HOSTILE) | st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
words = st.text(st.characters(codec="utf-8", exclude_characters=" \0"), min_size=1, max_size=6)
counts = st.none() | st.integers(0, 10**6) | st.sampled_from([2**63, -(2**64), 10**20])
moments = st.none() | st.datetimes(timezones=st.just(UTC))
entries = st.builds(
    LedgerEntry,
    session=texts.filter(bool),
    model=st.none() | texts,
    tasks=counts,
    failed=counts,
    cost_usd=st.none() | st.decimals(0, 10**7, places=6),
    duration_s=counts,
    framework=st.none() | texts,
    goal=st.lists(words, max_size=4).map(tuple),
    timestamp=moments,
    agent=st.none() | texts,
    kind=st.none() | texts,
    project_type=st.none() | texts,
    failures=st.lists(words, max_size=2).map(tuple),
    tokens=st.none() | st.builds(Tokens, *[st.integers(0, 10**15)] * 4),
    recorded=moments,
)
ONE = LedgerEntry(
    session="a1",
    model="claude",
    tasks=5,
    cost_usd=Decimal("0.004"),
    goal=("auth", "jwt"),
    timestamp=datetime(2026, 1, 2, tzinfo=UTC),
)


def read_csv(text: str) -> list[dict[str, str]]:
    """As a reader does that knows the one rule: an apostrophe in front is ours."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert tuple(rows[0]) == NAMES
    return [
        dict(zip(NAMES, [cell[1:] if cell.startswith("'") else cell for cell in row], strict=True))
        for row in rows[1:]
    ]


@pytest.mark.promise("L13")
@given(st.lists(entries, max_size=5))
@example([LedgerEntry(session=text, model=text) for text in HOSTILE if text])
def test_csv_comes_back_and_holds_nothing_that_a_spreadsheet_would_run(rows: list[LedgerEntry]) -> None:
    text = "".join(to_csv(rows))
    for row in csv.reader(io.StringIO(text, newline="")):
        assert not any(
            cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝")) and not _number(cell)
            for cell in row
        )
    for entry, row in zip(rows, read_csv(text), strict=True):
        for name, value in flat(entry).items():
            assert row[name] == visible(_as_text(value)), "hidden characters are shown as escapes"


def _number(cell: str) -> bool:
    try:
        return bool(Decimal(cell) <= 0)
    except ArithmeticError:
        return False


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(value)
    if isinstance(value, datetime):
        return render_time(value)
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    return "" if value is None else str(value)


@pytest.mark.promise("L13")
@given(st.lists(entries, max_size=5))
def test_jsonl_comes_back_a_row_a_line(rows: list[LedgerEntry]) -> None:
    lines = "".join(to_jsonl(rows)).split("\n")
    assert lines.pop() == "" and len(lines) == len(rows)
    for entry, line in zip(rows, lines, strict=True):
        row = json.loads(line)
        expected = flat(entry)
        for name in ("timestamp", "recorded"):
            expected[name] = render_time(expected[name]) or None
        assert row == expected and tuple(row) == NAMES


@pytest.mark.promise("L13")
@given(st.lists(entries, max_size=5), texts)
@example([LedgerEntry(session=text, model=text, kind=text) for text in HOSTILE if text], 'a"b\nc')
@settings(max_examples=60, deadline=None)
def test_openmetrics_is_read_by_a_real_parser_and_adds_up(rows: list[LedgerEntry], project: str) -> None:
    text = b"".join(exported(rows, "openmetrics", project)).decode()
    assert text.endswith("# EOF\n")
    sums: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(text):
        assert family.type == "counter" and family.documentation
        for sample in family.samples:
            assert set(sample.labels) == {"project", "agent", "model", "kind", "project_type"}
            sums[family.name] += sample.value
    assert sums["holdfast_sessions"] == len(rows)
    assert sums["holdfast_cost_usd"] == pytest.approx(
        float(sum((e.cost_usd or 0 for e in rows), Decimal(0))), abs=1e-4
    )
    assert sums["holdfast_sessions_of_unknown_cost"] == sum(e.cost_usd is None for e in rows)


def test_large_and_small_amounts_keep_their_digits_in_openmetrics() -> None:
    rows: Sequence[LedgerEntry] = [
        LedgerEntry(
            session="a", cost_usd=Decimal("123456.789012"), tokens=Tokens(987_654_321_012_345, 0, 0, 0)
        ),
        LedgerEntry(session="b", model="m", cost_usd=Decimal("0.000004")),
    ]
    text = "".join(to_openmetrics(rows, "p"))
    assert " 123456.789012\n" in text and " 987654321012345\n" in text and " 0.000004\n" in text


def read_parquet(data: bytes, folder: Path) -> tuple[tuple[str, ...], list[dict[str, object]]]:
    path = folder / "rows.parquet"
    path.write_bytes(data)
    times = ", ".join(f"epoch_us({name}) AS {name}" for name in ("timestamp", "recorded"))
    with duckdb.connect() as database:
        found = database.execute(f"SELECT * REPLACE ({times}) FROM read_parquet('{path}')")
        names = tuple(column[0] for column in found.description)
        return names, [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def microseconds(moment: datetime | None) -> int | None:
    return (
        None if moment is None else (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    )


@pytest.mark.promise("L13")
@given(rows=st.lists(entries, max_size=5))
@example(rows=[LedgerEntry(session=text, model=text, goal=(text,)) for text in HOSTILE if text])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parquet_is_read_back_with_its_types(rows: list[LedgerEntry], tmp_path: Path) -> None:
    names, found = read_parquet(b"".join(exported(rows, "parquet", "p")), tmp_path)
    assert names == NAMES
    expected = [flat(entry) for entry in rows]
    for row in expected:
        row |= {name: microseconds(row[name]) for name in ("timestamp", "recorded")}
    assert found == expected


def test_a_parquet_file_of_no_row_has_its_columns(tmp_path: Path) -> None:
    assert read_parquet(b"".join(exported([], "parquet", "p")), tmp_path) == (NAMES, [])


def test_parquet_has_times_in_utc_and_counts_as_integers(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    path.write_bytes(b"".join(exported([ONE], "parquet", "p")))
    with duckdb.connect() as database:
        described = database.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    types = {name: kind for name, kind, *_ in described}
    assert [types[name] for name in ("session", "timestamp", "goal", "tasks", "cost_usd")] == [
        "VARCHAR",
        "TIMESTAMP WITH TIME ZONE",
        "VARCHAR[]",
        "BIGINT",
        "DOUBLE",
    ]


def test_columns_are_what_they_have_always_been() -> None:
    """Only ever added to, at the end: dashboards rely on them."""
    assert NAMES[:23] == (
        "session", "timestamp", "recorded", "agent", "provider", "model", "kind", "complexity", "project_type",
        "framework", "goal", "tasks", "failed", "skipped", "failures", "outcome", "commits", "cost_usd", "duration_s",
        "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens",
    )  # fmt: skip
    assert all(about for _, _, about in COLUMNS) and tuple(flat(ONE)) == NAMES


def test_csv_reads_as_a_person_would_write_it() -> None:
    row = read_csv("".join(to_csv([ONE])))[0]
    assert (row["cost_usd"], row["goal"], row["timestamp"], row["failed"]) == (
        "0.004",
        "auth jwt",
        "2026-01-02T00:00:00Z",
        "",
    )


@pytest.mark.promise("L13")
def test_the_grafana_dashboard_asks_for_metrics_that_are_exported() -> None:
    import re

    board = json.loads(b"".join(exported([], "grafana", "p")))
    asked = set(re.findall(r"holdfast_\w+", json.dumps(board["panels"])))
    text = "".join(to_openmetrics([ONE], "p"))
    given = set(re.findall(r"# TYPE (\w+) ", text))
    assert asked and {name.removesuffix("_total") for name in asked} <= given
