"""`ledger stats` without the application says what it says with it, whatever a ledger file holds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cli.test_ledger_figures import write_ledger
from tests.command import Holdfast
from tests.ledger.ledgers import session, twelve_sessions

from holdfast.core.errors import LedgerError
from holdfast.core.stamp import Stamp
from holdfast.ledger import tables
from holdfast.ledger.columns import FIGURES, counted, joined, read_columns
from holdfast.ledger.markdown import current, parse_ledger, render_beginning, render_row, render_table
from holdfast.ledger.stats import columns_of
from holdfast.ledger.store import missing_rows
from holdfast.ledger.tally import FIELD_OF, figures_of, groups_of
from holdfast.model.ledger import LedgerEntry, Outcome, Tokens

START = datetime(2026, 1, 1, tzinfo=UTC)
names = (
    st.sampled_from(["react", "go", "", "a|b", "back\\slash", "-", "?", "ünï", "\u200b", " x "]) | st.none()
)
counts = st.none() | st.integers(-2, 9)
times = st.none() | st.integers(-3, 3).map(lambda days: START + timedelta(days=days))
stamps = st.builds(
    Stamp, st.integers(0, 3).map(lambda day: day * 86_400_000), st.integers(0, 2), st.sampled_from(["", "ab"])
)
clocks = st.one_of(
    stamps.map(str),
    st.tuples(stamps, st.just("") | stamps.map(str)).map(lambda cell: f"{cell[0]}<{cell[1]}"),
    st.just("x"),
)
rows = st.builds(
    LedgerEntry,
    session=st.sampled_from(["a", "b", "c", "d", "-", "e|f", "g\\h"]),
    model=names,
    tasks=counts,
    failed=counts,
    cost_usd=st.none() | st.decimals(-1, 50, places=4) | st.just(Decimal("0.000000000001")),
    duration_s=st.none() | st.integers(-5, 100_000),
    framework=names,
    goal=st.lists(st.sampled_from(["auth", "tests", "a|b", "x\\y"]), max_size=3).map(tuple),
    timestamp=times,
    agent=names,
    kind=names,
    skipped=counts,
    project_type=names,
    failures=st.lists(st.sampled_from(["timeout", "test_failure"]), max_size=2).map(tuple),
    complexity=st.none() | st.sampled_from(["simple", "odd"]),
    tokens=st.none() | st.builds(Tokens, *[st.integers(0, 10**7)] * 4),
    commits=counts,
    outcome=st.none() | st.sampled_from(["done", "failed", Outcome.FORGOTTEN]),
    recorded=times,
    clock=st.none() | clocks,
)
# What hands, merges and accidents leave between rows, and what they do to one.
between = st.sampled_from(
    [
        "",
        "prose",
        "<<<<<<< HEAD",
        "=======",
        ">>>>>>> other",
        "|---|---|",
        "| Session | Cost |\n|---|:--|\n| z | $1 |",
        "| Name | Size |\n|---|---|\n| z | 1 |",
        render_table().rstrip("\n"),
        "<!-- holdfast ledger, format 1: more -->",
        "| torn | row",
        "| a |",
        "\\",
    ]
)
slips = st.sampled_from(
    [
        lambda line: line.replace("$", "", 1),
        lambda line: line.replace("| $", "|  $ ", 1),
        lambda line: line.replace("Z |", " |", 1),
        lambda line: line.replace("Z |", "+02:00 |", 1),
        lambda line: line.replace("min", " minutes", 1),
        lambda line: line.replace(" | ", " | | ", 1),
        lambda line: line[:-1],
        lambda line: f"  {line} ",
        lambda line: line.replace("1", "1_0"),
        lambda line: line.replace("1", "1,000"),
        lambda line: line.replace("0", "x"),
        lambda line: line.replace("h ", "h 1h "),
        lambda line: line.replace("s |", "s 4min |"),
    ]
)
lines = st.one_of(
    rows.map(render_row),
    rows.map(render_row),
    rows.map(render_row),
    st.tuples(rows, slips).map(lambda pair: pair[1](render_row(pair[0]))),
    between,
)
files = st.tuples(
    st.sampled_from(
        [render_beginning(), "", "| Session | Cost |\n|---|---|\n", "\ufeff" + render_beginning()]
    ),
    st.lists(lines, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
).map(lambda parts: (parts[0] + "".join(f"{line}\n" for line in parts[1])).replace("\n", parts[2]).encode())


def by_entries(shown: bytes | None, own: bytes) -> tuple[list[LedgerEntry], list[str]]:
    """As `ProjectLedger.read` joins two files."""
    mine = parse_ledger(own, "ledger.md")
    if shown is None:
        return current(mine.entries), [problem.message for problem in mine.problems]
    theirs = parse_ledger(shown, "ledger.md")
    entries = [*theirs.entries, *missing_rows(mine.entries, theirs.entries)]
    return current(entries), [problem.message for problem in (*theirs.problems, *mine.problems)]


@pytest.mark.promise("L8")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.none() | files, files)
@example(None, b"")
@example(None, render_beginning().encode())
def test_columns_say_what_entries_say_of_any_ledger(shown: bytes | None, own: bytes) -> None:
    try:
        entries, problems = by_entries(shown, own)
    except LedgerError as error:
        with pytest.raises(LedgerError, match=r".*") as raised:
            read_columns(own, "ledger.md")
            read_columns(shown or b"", "ledger.md")
        assert str(raised.value) == str(error)
        return
    fields = tuple(dict.fromkeys((*FIGURES, *FIELD_OF.values())))
    columns, complaints = read_columns(own, "ledger.md", fields)
    if shown is not None:
        theirs, first = read_columns(shown, "ledger.md", fields)
        columns, complaints = joined(theirs, columns), [*first, *complaints]
    columns = counted(columns)
    assert [problem.message for problem in complaints] == problems
    assert sorted(columns["session"]) == sorted(entry.session for entry in entries)
    assert figures_of(columns) == figures_of(columns_of(entries))
    for by in FIELD_OF:
        assert groups_of(columns, by) == groups_of(columns_of(entries, by), by)


def plainly(entries: Sequence[LedgerEntry]) -> dict[str, object]:
    """Some of the figures, counted row by row."""
    judged = [
        (e.tasks, e.failed)
        for e in entries
        if e.tasks is not None and e.failed is not None and 0 <= e.failed <= e.tasks
    ]
    costs = [e.cost_usd for e in entries if e.cost_usd is not None and e.cost_usd >= 0]
    odd = [
        e
        for e in entries
        if min(e.tasks or 0, e.failed or 0, e.cost_usd or 0, e.duration_s or 0) < 0
        or (e.tasks is not None and e.failed is not None and not 0 <= e.failed <= e.tasks)
    ]
    return {
        "total_sessions": len(entries),
        "total_tasks": sum(tasks for tasks, _ in judged),
        "total_failed_tasks": sum(failed for _, failed in judged),
        "failed_sessions": sum(failed > 0 for _, failed in judged),
        "judged_sessions": len(judged),
        "known_costs": len(costs),
        "total_cost": float(sum(costs)) if costs else None,
        "impossible_rows": len(odd),
    }


@given(st.lists(rows, max_size=20))
def test_figures_are_what_counting_row_by_row_gives(entries: list[LedgerEntry]) -> None:
    figures = figures_of(columns_of(entries))
    expected = plainly(entries)
    assert {name: figures[name] for name in expected} == expected


WITH_APPLICATION = ("-n", "999999")  # a filter that lets everything through


@pytest.mark.parametrize("options", [(), ("--json",), ("--by", "topic"), ("--by", "month", "--json")])
def test_a_user_sees_the_same_bytes_with_and_without_the_application(
    holdfast: Holdfast, repo: Path, options: tuple[str, ...]
) -> None:
    holdfast("ledger", "add", "--session", "own", "--cost", "0.5", check=0)
    rows = [*twelve_sessions(), session(session="c9d0e1f2", tasks=9, failed=9), session(outcome="forgotten")]
    path = write_ledger_in_its_place(repo, rows)
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write("| by hand | 3 |\n<<<<<<< HEAD\n")
    quick = holdfast("ledger", "stats", *options, check=0)
    whole = holdfast("ledger", "stats", *options, *WITH_APPLICATION, check=0)
    assert (quick.stdout, quick.stderr) == (whole.stdout, whole.stderr)
    assert "warning" in quick.stderr and quick.stdout


def write_ledger_in_its_place(repo: Path, rows: Sequence[LedgerEntry]) -> Path:
    (repo / ".holdfast" / "ledger.md").unlink(missing_ok=True)
    return write_ledger(repo, rows)


def loaded_by(repo: Path, *words: str) -> set[str]:
    program = (
        "import sys\nfrom holdfast.cli.main import main\n"
        f"assert main({list(words)!r}) == 0\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=repo,
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    return set(done.stderr.split())


def test_figures_of_a_whole_ledger_need_nothing_large(holdfast: Holdfast, repo: Path) -> None:
    holdfast("ledger", "add", "--session", "one", "--cost", "0.5", "--duration", "8min 3s", check=0)
    heavy = {"msgspec", "argparse", "typing", "re", "json", "pathlib", "holdfast.store.machine"}
    assert loaded_by(repo, "ledger", "stats") & heavy == set()
    assert "holdfast.store.machine" in loaded_by(repo, "ledger", "stats", *WITH_APPLICATION)


@pytest.mark.parametrize(
    "words", [["--by", "nothing"], ["--nonsense"], ["elsewhere"], ["--since", "tomorrow"]]
)
def test_what_it_does_not_understand_the_application_answers(
    holdfast: Holdfast, repo: Path, words: list[str]
) -> None:
    holdfast("ledger", "add", "--session", "one", check=0)
    done = holdfast("ledger", "stats", *words)
    assert done.returncode in (1, 2) and done.stdout == "" and "Traceback" not in done.stderr


def test_a_hand_edit_that_keeps_size_and_time_is_seen(holdfast: Holdfast, repo: Path) -> None:
    holdfast("ledger", "add", "--session", "one", "--tasks", "5", "--failed", "1", check=0)
    (path,) = (Path(os.environ["HOME"]) / ".holdfast" / "projects").glob("*/ledger.md")
    assert "1 of 5 tasks" in holdfast("ledger", "stats", check=0).stdout
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"| 5 | 1 |", b"| 5 | 3 |"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "3 of 5 tasks" in holdfast("ledger", "stats", check=0).stdout


def test_a_large_ledger_is_read_in_pieces_as_if_at_once() -> None:
    rows = [
        replace(
            session(),
            session=f"s{number}",
            tasks=number % 7,
            failed=number % 3,
            cost_usd=Decimal(number) / 100,
        )
        for number in range(4000)
    ]
    text = render_beginning() + "".join(f"{render_row(row)}\n" for row in rows)
    half = len(text) // 2
    cut = text.index("\n", half) + 1
    data = (text[:cut] + render_table() + text[cut:]).encode()
    assert len(data) > 3 * tables._PIECE
    found = parse_ledger(data, "ledger.md")
    assert len(found.entries) == 4000 and found.problems == []
    raw = data.split(b"\n")
    assert all(
        entry.session.encode() in raw[number - 1]
        for entry, number in zip(found.entries, found.lines, strict=True)
    )
    columns, problems = read_columns(data, "ledger.md")
    assert problems == [] and figures_of(columns) == figures_of(columns_of(found.entries))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files, st.integers(1, 400))
def test_where_pieces_end_makes_no_difference(data: bytes, size: int) -> None:
    def read() -> object:
        try:
            return parse_ledger(data, "ledger.md")
        except LedgerError as error:
            return str(error)

    whole, usual = read(), tables._PIECE
    try:
        tables._PIECE = size
        assert read() == whole
    finally:
        tables._PIECE = usual
