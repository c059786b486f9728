"""Entries survive the trip through markdown; other people's ledgers are read; broken rows are reported."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.core.errors import LedgerError, UsageError
from holdfast.ledger import cells as ledger_values
from holdfast.ledger.markdown import (
    COLUMNS,
    FORMAT,
    LedgerFile,
    columns_for,
    current,
    parse_ledger,
    render_beginning,
    render_row,
    render_table,
)
from holdfast.model.ledger import LedgerEntry, Outcome, Tokens

SEED = """\
| Session | Model | Tasks | Failed | Cost | Duration | Framework | Goal |
|------------|--------------------|-------|--------|-------|----------|-----------|-------------------------|
| a1b2c3d4 | claude-3.5-sonnet | 5 | 1 | $0.12 | 8min | react | refactor auth middleware |
| e5f6g7h8 | gpt-4-turbo | 3 | 0 | $0.08 | 4min | go | add rate limiting |
| i9j0k1l2 | claude-3.5-sonnet | 7 | 2 | $0.21 | 12min | python | implement celery tasks |
"""
SEED_SIX = """\
| Session | Model | Tasks | Failed | Cost | Duration |
|---------|-------|-------|--------|------|----------|
| a1b2c3 | claude | 5 | 1 | $0.12| 8min |
"""
TIME = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def whole(*entries: LedgerEntry) -> str:
    columns = columns_for(entries)
    return render_beginning(columns) + "".join(f"{render_row(entry, columns)}\n" for entry in entries)


def parse(text: str) -> LedgerFile:
    return parse_ledger(text.encode(), "ledger.md")


# --- round trip ----------------------------------------------------------------------------------------

words = st.sampled_from(
    [*COLUMNS, "", "?", "-", "unknown", "---", ":-:", "\\e", "|", "a|b", " ", "forgotten"]
)
texts = st.one_of(st.text(st.characters(codec=None, exclude_categories=()), max_size=12), words)
numbers = st.none() | st.integers(-(10**20), 10**20)
times = st.none() | st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-9))])
)
counts = st.integers(0, 10**12)
costs = st.none() | st.decimals(allow_nan=False, allow_infinity=False, places=6) | st.just(Decimal("1E+3"))
lists = st.lists(texts, max_size=4).map(tuple)
entries = st.builds(
    LedgerEntry,
    session=texts,
    model=st.none() | texts,
    tasks=numbers,
    failed=numbers,
    cost_usd=costs,
    duration_s=numbers,
    framework=st.none() | texts,
    goal=lists,
    timestamp=times,
    agent=st.none() | texts,
    provider=st.none() | texts,
    kind=st.none() | texts,
    skipped=numbers,
    project_type=st.none() | texts,
    failures=lists,
    complexity=st.none() | texts,
    tokens=st.none() | st.builds(Tokens, counts, counts, counts, counts),
    commits=numbers,
    outcome=st.none() | texts,
    recorded=times,
    clock=st.none() | texts,
)


def headers_as_values() -> LedgerEntry:
    return LedgerEntry(session="Session", model="Model", goal=("Goal",), agent="---", kind="|")


@pytest.mark.promise("L3")
@settings(deadline=None)
@given(st.lists(entries, min_size=1, max_size=4))
@example([headers_as_values(), LedgerEntry(session="---"), LedgerEntry(session="")])
def test_entries_come_back_from_their_rows(written: list[LedgerEntry]) -> None:
    found = parse(whole(*written))
    assert found.problems == []
    assert found.entries == written
    assert found.lines == list(range(6, 6 + len(written)))
    assert (found.format, found.read_only) == (FORMAT, False)


_HAND_MADE = """$0.12 $1 $.5 $1,234.50 ? -3 8min 8min_12s 8min_8min 1h_5min 12s_8min 100h 1m 45_s 0 007 1,000 +4 x
2026-03-04T05:06:07Z 2026-03-04 a__b é_é"""
cells = st.sampled_from(["", "1_0", "a\tb", *(cell.replace("_", " ") for cell in _HAND_MADE.split())])


@settings(deadline=None)
@given(st.lists(st.tuples(*[cells] * 6), min_size=1, max_size=6))
def test_rows_read_all_at_once_are_what_they_are_one_by_one(made: list[tuple[str, ...]]) -> None:
    """The quick way takes only what the careful one would read the same; an escape leads to the careful one."""
    head = "<!-- holdfast ledger, format 1 -->\n| Session | Tasks | Cost | Duration | Goal | Time |\n|---|---|---|---|---|---|\n"
    rows = "".join(f"| {' | '.join(row)} |\n" for row in made)
    quick, careful = parse(head + rows), parse(head + rows + "| a\\\\b |  |  |  |  |  |\n")
    assert careful.entries[-1].session == "a\\b"
    assert quick.entries == careful.entries[:-1] and quick.lines == careful.lines[:-1]
    assert quick.problems == careful.problems


@pytest.mark.promise("L3", "L4")
@settings(deadline=None)
@given(entries, st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
@example(LedgerEntry(session="a"), [("Session", "b"), ("x", ""), ("x", "2"), ("", "3"), ("MODEL", "4")])
def test_columns_we_do_not_know_travel_with_the_entry(
    entry: LedgerEntry, extra: list[tuple[str, str]]
) -> None:
    entry = msgspec.structs.replace(entry, extra=tuple(extra))
    found = parse(whole(entry))
    assert found.problems == []
    assert found.entries == [entry]


@pytest.mark.promise("L3")
def test_every_field_of_an_entry_has_a_column() -> None:
    full = LedgerEntry(
        session="s",
        model="m",
        tasks=1,
        failed=2,
        cost_usd=Decimal("0.004"),
        duration_s=492,
        framework="f",
        goal=("g", "h"),
        timestamp=TIME,
        agent="a",
        provider="p",
        kind="k",
        skipped=3,
        project_type="t",
        failures=("timeout", "x"),
        complexity="c",
        tokens=Tokens(4, 5, 6, 7),
        commits=8,
        outcome="done",
        recorded=TIME,
        usage="incomplete",
        clock="20260304T050607.000-0-kfmt",
    )
    assert None not in [getattr(full, field) for field in full.__struct_fields__]
    assert render_row(full) == (
        "| s | m | 1 | 2 | $0.004 | 8min 12s | f | g h | 2026-03-04T05:06:07Z | a | p | k | 3 | t"
        " | timeout, x | c | 4 | 5 | 6 | 7 | 8 | done | 2026-03-04T05:06:07Z | incomplete"
        " | 20260304T050607.000-0-kfmt |"
    )
    assert parse(whole(full)).entries == [full]


@pytest.mark.promise("L3")
def test_unknown_is_an_empty_cell_and_a_cost_says_so() -> None:
    assert render_row(LedgerEntry(session="s")) == "| s |  |  |  | ? |" + "  |" * 20


@pytest.mark.promise("L3")
def test_the_file_begins_with_the_seeds_columns_and_reads_as_markdown() -> None:
    markdown_it = pytest.importorskip("markdown_it")
    html = (
        markdown_it.MarkdownIt("commonmark")
        .enable("table")
        .render(whole(LedgerEntry(session="a|b", model="x\\|y"), LedgerEntry(session="end\\")))
    )
    assert "<h1>Session ledger</h1>" in html
    assert html.count("<table>") == 1
    assert [cell.split("</th>")[0] for cell in html.split("<th>")[1:9]] == [
        "Session",
        "Model",
        "Tasks",
        "Failed",
        "Cost",
        "Duration",
        "Framework",
        "Goal",
    ]
    assert html.count("<td>") == 2 * len(COLUMNS)


@pytest.mark.promise("L3")
@pytest.mark.parametrize(
    ("cost", "cell"),
    [
        ("0.12", "$0.12"),
        ("0.004", "$0.004"),
        ("12.345678", "$12.345678"),
        ("1E-6", "$0.000001"),
        ("1E+3", "$1000.00"),
        ("0", "$0.00"),
        ("0.10000", "$0.10"),
        ("-2.5", "-$2.50"),
        ("NaN", "?"),
    ],
)
def test_costs_are_exact_and_plain(cost: str, cell: str) -> None:
    assert ledger_values.render_cost(Decimal(cost)) == cell
    if cell != "?":
        assert ledger_values.parse_cost(cell) == Decimal(cost)


@pytest.mark.parametrize(
    ("cell", "cost"), [("0.12", "0.12"), ("$1,234.50", "1234.5"), ("$ 3", "3"), ("$.5", ".5")]
)
def test_costs_of_other_hands_are_read(cell: str, cost: str) -> None:
    assert ledger_values.parse_cost(cell) == Decimal(cost)


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("45s", 45),
        ("8min", 480),
        ("8min 12s", 492),
        ("1h 5min", 3900),
        ("0s", 0),
        ("8m12s", 492),
        ("1h2m", 3720),
        ("1h2m0s", 3720),
        ("90s", 90),
        ("8 min", 480),
        ("6.5min", 390),
        ("1.5s", 2),
        ("2 hours 1 minute", 7260),
        ("-45s", -45),
    ],
)
def test_durations_are_read_in_our_form_and_gos(cell: str, seconds: int) -> None:
    assert ledger_values.parse_duration(cell) == seconds


def test_times_keep_the_precision_they_have() -> None:
    assert ledger_values.render_time(TIME) == "2026-03-04T05:06:07Z"
    assert ledger_values.render_time(TIME.replace(microsecond=120_000)) == "2026-03-04T05:06:07.120Z"
    assert ledger_values.render_time(TIME.replace(microsecond=1)) == "2026-03-04T05:06:07.000001Z"
    assert ledger_values.render_time(TIME.replace(tzinfo=None)) == "2026-03-04T05:06:07Z"
    assert ledger_values.parse_time("2026-03-04 06:06:07+01:00") == TIME
    assert ledger_values.parse_time("2026-03-04") == datetime(2026, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize("cell", ["", "?", "-", "unknown", "Unknown"])
def test_numbers_may_be_unknown_in_several_words(cell: str) -> None:
    assert ledger_values.parse_number(cell) is None
    assert ledger_values.parse_cost(cell) is None
    assert ledger_values.parse_duration(cell) is None
    assert ledger_values.parse_time(cell) is None


def test_a_value_without_a_column_is_refused_not_lost() -> None:
    with pytest.raises(UsageError, match="no column 'x'"):
        render_row(LedgerEntry(session="s", extra=(("x", "1"),)))


# --- foreign files -------------------------------------------------------------------------------------


@pytest.mark.promise("L4")
def test_the_seeds_ledger_is_read() -> None:
    found = parse(SEED)
    assert found.problems == []
    assert found.format is None and found.header is not None
    assert found.format is None
    assert found.entries[0] == LedgerEntry(
        session="a1b2c3d4",
        model="claude-3.5-sonnet",
        tasks=5,
        failed=1,
        cost_usd=Decimal("0.12"),
        duration_s=480,
        framework="react",
        goal=("refactor", "auth", "middleware"),
    )
    assert [entry.session for entry in found.entries] == ["a1b2c3d4", "e5f6g7h8", "i9j0k1l2"]


@pytest.mark.promise("L4")
def test_the_seeds_six_column_example_is_read() -> None:
    found = parse(SEED_SIX)
    assert found.problems == []
    assert found.entries == [
        LedgerEntry(
            session="a1b2c3", model="claude", tasks=5, failed=1, cost_usd=Decimal("0.12"), duration_s=480
        )
    ]


@pytest.mark.promise("L4")
def test_a_foreign_table_is_read_by_markdowns_rules_not_ours() -> None:
    text = "| session | MODEL | Notes |\n|-|-|-|\n"
    text += "| a | C:\\new\\|x | b\\e |\n| b | ? | - |\n| c | m | open end\n"
    found = parse(text)
    assert found.problems == []
    assert [entry.model for entry in found.entries] == ["C:\\new|x", None, "m"]
    assert [entry.extra for entry in found.entries] == [(("Notes", "b\\e"),), (), (("Notes", "open end"),)]


@pytest.mark.promise("L4")
def test_each_header_governs_what_follows_it() -> None:
    ours = LedgerEntry(session="ours", model="a\nb", recorded=TIME)
    wide = LedgerEntry(session="wide", extra=(("Mood", "good"),))
    columns = columns_for([wide])
    text = (
        f"# Notes\n\nprose | with a pipe\n\n{SEED}\n{render_table()}{render_row(ours)}\n\nmore prose\n"
        f"{render_row(ours)}\n{render_table(columns)}{render_row(wide, columns)}\n"
    )
    found = parse(text)
    assert found.problems == []
    assert found.entries[3:] == [ours, ours, wide]
    assert found.header is not None and found.header.columns == columns
    assert found.format is not None
    assert [text.split("\n")[line - 1].split()[1] for line in found.lines] == [
        entry.session for entry in found.entries
    ]


@pytest.mark.promise("L4")
def test_crlf_and_bom_are_read() -> None:
    data = b"\xef\xbb\xbf" + whole(LedgerEntry(session="a", outcome="done")).replace("\n", "\r\n").encode()
    found = parse_ledger(data, "ledger.md")
    assert (found.problems, found.entries) == ([], [LedgerEntry(session="a", outcome="done")])


@pytest.mark.promise("L4")
def test_a_newer_format_is_read_and_marked_read_only() -> None:
    text = whole(LedgerEntry(session="a", extra=(("Mood", "x"),))).replace("format 1", "format 2")
    found = parse(text)
    assert found.entries == [LedgerEntry(session="a", extra=(("Mood", "x"),))]
    assert (found.format, found.read_only) == (2, True)


# --- broken files --------------------------------------------------------------------------------------


def broken(line: str) -> tuple[list[str], list[tuple[int, str]]]:
    """Put a line between two good rows of ours; what is read and what is reported."""
    text = render_beginning() + render_row(LedgerEntry(session="before")) + "\n" + line
    text += "\n" + render_row(LedgerEntry(session="after")) + "\n"
    found = parse(text)
    return [entry.session for entry in found.entries], [(item.line, item.code) for item in found.problems]


@pytest.mark.promise("L4")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("| a | b |", "cells"),
        ("|" * 40, "cells"),
        (render_row(LedgerEntry(session="a", recorded=TIME))[:-9], "torn"),
        (render_row(LedgerEntry(session="a")).replace("?", "cheap"), "value"),
        (render_row(LedgerEntry(session="a", tasks=5)).replace("5", "9" * 5000), "value"),
        (render_row(LedgerEntry(session="x")).replace("x", " "), "value"),
        (render_row(LedgerEntry(session="a", timestamp=TIME)).replace("2026", "soon"), "value"),
        ("| nul \0 |", "nul"),
        ("<<<<<<< HEAD", "conflict"),
    ],
)
def test_a_broken_row_is_one_problem_and_the_rest_is_read(line: str, code: str) -> None:
    assert broken(line) == (["before", "after"], [(7, code)])


@pytest.mark.promise("L4")
@pytest.mark.parametrize("line", ["", "prose", "- item", "|---|---|", "=======", "# title", "> quote"])
def test_what_is_no_row_is_no_problem(line: str) -> None:
    assert broken(line) == (["before", "after"], [])


@pytest.mark.promise("L4")
def test_a_problem_says_where_what_and_what_next() -> None:
    text = render_beginning() + "| a | b |\n" + render_row(LedgerEntry(session="a")).replace("?", "\x1b[2J")
    assert [problem.message for problem in parse(text).problems] == [
        f"ledger.md:6: 2 cells where the header has {len(COLUMNS)}. Fix the row, or run holdfast doctor.",
        'ledger.md:7: Cost "\\u001b[2J" cannot be read. Fix the row, or run holdfast doctor.',
    ]


@pytest.mark.promise("L4")
def test_bytes_that_are_no_utf8_spoil_their_row_alone() -> None:
    data = whole(LedgerEntry(session="a"), LedgerEntry(session="b"), LedgerEntry(session="c")).encode()
    found = parse_ledger(data.replace(b"| b |", b"| \xff\xfe |"), "ledger.md")
    assert [entry.session for entry in found.entries] == ["a", "c"]
    assert [(problem.line, problem.code) for problem in found.problems] == [(7, "utf8")]


@pytest.mark.promise("L4")
def test_each_conflict_marker_is_a_problem_and_both_sides_are_read() -> None:
    row = "{}\n".format
    text = whole(LedgerEntry(session="a"))
    text += "<<<<<<< HEAD\n" + row(render_row(LedgerEntry(session="b")))
    text += "||||||| base\n" + row(render_row(LedgerEntry(session="c")))
    text += "=======\n" + row(render_row(LedgerEntry(session="d"))) + ">>>>>>> topic\n"
    found = parse(text)
    assert [entry.session for entry in found.entries] == ["a", "b", "c", "d"]
    assert [(problem.line, problem.code) for problem in found.problems] == [
        (line, "conflict") for line in (7, 9, 11, 13)
    ]


@pytest.mark.promise("L4")
def test_rows_without_a_header_and_tables_of_something_else_are_reported() -> None:
    text = f"| lost |\n\n| Fruit | Colour |\n|---|---|\n| apple | red |\n| pear | green |\n\n{SEED}"
    found = parse(text)
    assert len(found.entries) == 3
    assert [(problem.line, problem.code) for problem in found.problems] == [
        (1, "no-header"),
        (5, "no-session-column"),
    ]


@pytest.mark.promise("L4")
@pytest.mark.parametrize(
    "data",
    [
        SEED.encode("utf-16"),
        SEED.encode("utf-16-le"),
        b"\x00" * 50,
        bytes(range(128, 256)) * 4,
        SEED.replace("claude", "clôde").replace("gpt", "gpté").encode("latin-1"),
        b"just a note\n",
        b"| Fruit |\n|---|\n| apple |\n",
    ],
)
def test_a_file_that_is_no_ledger_is_refused_with_what_to_do(data: bytes) -> None:
    with pytest.raises(LedgerError, match=r"^ledger\.md: .+\. Move it away"):
        parse_ledger(data, "ledger.md")


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"  \r\n"])
def test_an_empty_file_is_an_empty_ledger(data: bytes) -> None:
    assert parse_ledger(data, "ledger.md") == LedgerFile()


@pytest.mark.promise("F2")
def test_a_beginning_that_broke_off_anywhere_is_still_a_ledger() -> None:
    beginning = render_beginning()
    for cut in range(1, len(beginning)):
        found = parse(beginning[:cut])
        assert found.entries == []
        # Once the separator has begun the table is there; before, something is missing and said so.
        assert found.header is not None or found.problems


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=200), st.binary(max_size=60))
def test_no_bytes_whatever_break_the_parser(noise: bytes, more: bytes) -> None:
    beginning = whole(LedgerEntry(session="a")).encode()
    for data in (noise, SEED.encode() + noise, beginning + noise + b"\n" + more):
        try:
            parse_ledger(data, "ledger.md")
        except LedgerError:
            pass


# --- which row counts ----------------------------------------------------------------------------------


@pytest.mark.promise("L5")
def test_the_latest_recorded_row_of_a_session_counts_whatever_the_line_order() -> None:
    old = LedgerEntry(session="a", tasks=1, recorded=TIME)
    new = LedgerEntry(session="a", tasks=2, recorded=TIME + timedelta(seconds=1))
    unrecorded = LedgerEntry(session="a", tasks=3)
    assert current([old, new]) == current([new, old]) == current([new, unrecorded]) == [new]


@pytest.mark.promise("L5")
def test_of_rows_recorded_alike_the_later_line_counts() -> None:
    first = LedgerEntry(session="a", tasks=1, recorded=TIME)
    second = LedgerEntry(session="a", tasks=2, recorded=TIME)
    assert current([first, second]) == [second]
    seeds = [LedgerEntry(session="b", tasks=1), LedgerEntry(session="b", tasks=2)]
    assert current(seeds) == [seeds[1]]


@pytest.mark.promise("L5")
def test_a_forgotten_session_stays_forgotten() -> None:
    row = LedgerEntry(session="a", recorded=TIME)
    tombstone = LedgerEntry(session="a", outcome=Outcome.FORGOTTEN, recorded=TIME + timedelta(days=1))
    again = LedgerEntry(session="a", recorded=TIME + timedelta(days=2))
    other = LedgerEntry(session="b")
    assert current([row, tombstone, other, again]) == [other]


def test_entries_come_in_order_of_time_unknown_first() -> None:
    later = LedgerEntry(session="later", timestamp=TIME + timedelta(hours=1))
    early = LedgerEntry(session="early", timestamp=TIME)
    unknown = [LedgerEntry(session=name) for name in ("u1", "u2")]
    assert current([later, unknown[0], early, unknown[1]]) == [*unknown, early, later]
