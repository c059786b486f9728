"""`ledger stats`, `report`, `export`, `recommend`, `similar`, `alerts` as a user and a script meet them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.agents.builders import ClaudeFile, claude_usage
from tests.cli.test_terminal import on_terminal
from tests.command import Holdfast
from tests.hooks.enabled import Enabled
from tests.ledger.ledgers import CLAUDE, GPT, fails, session, sessions, twelve_sessions

from holdfast.flows.capture import capture
from holdfast.ledger.markdown import columns_for, render_beginning, render_row
from holdfast.model.ledger import LedgerEntry, Tokens
from holdfast.store.installation import how_to_add


def write_ledger(repo: Path, entries: Sequence[LedgerEntry]) -> Path:
    columns = columns_for(entries)
    text = render_beginning(columns) + "".join(f"{render_row(entry, columns)}\n" for entry in entries)
    path = repo / ".holdfast" / "ledger.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


# --- stats ---------------------------------------------------------------------------------------------


@pytest.mark.promise("L16")
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (3, "3 sessions: mostly noise"),
        (49, "first impression"),
        (50, "patterns begin to hold"),
        (100, "steady"),
    ],
)
def test_stats_and_report_say_how_far_they_can_be_trusted(
    holdfast: Holdfast, repo: Path, number: int, words: str
) -> None:
    write_ledger(repo, sessions(number))
    for verb in ("stats", "report"):
        assert words in " ".join(holdfast("ledger", verb, check=0).stdout.split())
        assert words in holdfast("ledger", verb, "--json", check=0).json()["maturity"]


@pytest.mark.promise("L8")
def test_stats_are_laid_out_as_the_seed_shows_them(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(repo, twelve_sessions())
    text = holdfast("ledger", "stats", check=0).stdout
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "Ledger Statistics (12 sessions)"
    places = [
        lines.index(line)
        for line in (
            "Top Frameworks",
            "react 5 sessions",
            "go 4 sessions",
            "python 3 sessions",
            "Average per Session",
        )
    ]
    assert places == sorted(places)
    assert lines[2].startswith("Models Used Sessions Avg cost")
    assert lines[3].startswith(f"{CLAUDE} 8 $0.14 7.5min 3/36 8.3% [") and "2/8 25.0% [" in lines[3]
    assert lines[4].startswith(f"{GPT} 4 $0.09 5.5min 1/14 7.1% [") and "1/4 25.0% [" in lines[4]
    assert "Tasks: 4.2 | Cost: $0.12 | Duration: 6.8min" in lines
    assert any(line.startswith("Failed Tasks: 0.3 (8.0% failure rate: 4 of 50 tasks [") for line in lines)
    assert "12 sessions: a first impression; patterns show from about 50." in lines


@pytest.mark.promise("L8")
def test_the_seeds_names_are_the_names_in_json(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(repo, twelve_sessions())
    stats = holdfast("ledger", "stats", "--json", "--by", "framework", check=0).json()
    for name in [
        "total_sessions",
        "avg_task_count",
        "avg_cost",
        "avg_duration_minutes",
        "total_failed_tasks",
        "top_failures",
        "top_frameworks",
        "by_project_type",
        "model_performance",
    ]:
        assert name in stats
    assert {"sessions", "avg_cost", "avg_duration", "failure_rate"} <= set(stats["model_performance"][CLAUDE])
    assert stats["by"] == "framework" and stats["groups"]["go"]["sessions"] == 4
    assert "first impression" in stats["maturity"]


@pytest.mark.parametrize(
    "by", ["model", "framework", "type", "kind", "complexity", "topic", "agent", "month"]
)
def test_stats_by_anything_a_row_says(holdfast: Holdfast, repo: Path, by: str) -> None:
    write_ledger(repo, twelve_sessions())
    lines = holdfast("ledger", "stats", "--by", by, check=0).stdout.splitlines()
    assert "Sessions" in lines[0] and "Tasks failed" in lines[0] and len(lines) >= 3


def test_filters_narrow_the_figures(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(repo, twelve_sessions())

    def number(*arguments: str) -> int:
        return int(holdfast("ledger", "stats", "--json", *arguments, check=0).json()["total_sessions"])

    assert number("--model", "claude") == 8 and number("--framework", "Go") == 4
    assert number("--goal", "rate limiting") == 2 and number("--since", "2026-01-14") == 3
    assert number("--agent", "nobody") == 0
    assert "No session matches" in holdfast("ledger", "stats", "--agent", "nobody", check=0).stdout


@pytest.mark.promise("L8")
def test_a_team_sees_the_ledgers_of_many_repositories_as_one(
    holdfast: Holdfast, make_repo: Callable[[str], Path], tmp_path: Path
) -> None:
    one, other, rows = make_repo("one"), make_repo("other"), twelve_sessions()
    write_ledger(one, rows[:7])
    path = write_ledger(other, rows[5:])  # two sessions are in both, and count once
    stats = holdfast("ledger", "stats", one, path, "--json", check=0).json()
    assert stats["total_sessions"] == 12 and stats["total_tasks"] == 50
    assert "12 sessions" in holdfast("ledger", "report", one, other, check=0).stdout
    gone = holdfast("ledger", "stats", one, tmp_path / "nowhere", check=1)
    assert "no ledger here" in gone.stderr and "nowhere" in gone.stderr and gone.stdout == ""
    empty = make_repo("empty")
    assert "Name a ledger.md" in holdfast("ledger", "stats", empty, check=1).stderr


def test_rows_that_a_hand_has_made_impossible_are_left_out_and_said(holdfast: Holdfast, repo: Path) -> None:
    future = datetime.now(UTC) + timedelta(days=4000)
    rows = [
        *twelve_sessions(),
        session(model=CLAUDE, tasks=3, failed=9, cost_usd=Decimal("0.14")),
        session(model=CLAUDE, tasks=1, failed=0, cost_usd=Decimal("-5"), timestamp=future),
    ]
    write_ledger(repo, rows)
    text = holdfast("ledger", "stats", check=0).stdout
    assert "2 rows with impossible figures" in text and "$0.14" in text
    stats = holdfast("ledger", "stats", "--json", check=0).json()
    assert stats["impossible_rows"] == 2 and stats["total_tasks"] == 51 and stats["total_failed_tasks"] == 4
    for arguments in (["ledger", "report"], ["recommend", "auth"], ["similar", "auth"], ["ledger", "export"]):
        assert holdfast(*arguments, check=0).stdout


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [LedgerEntry(session="only")],
        [LedgerEntry(session="same", tasks=1, failed=0), LedgerEntry(session="same", tasks=2, failed=1)],
        sessions(12, model="m", tasks=2, failed=0),
    ],
    ids=["empty", "one row", "one id twice", "no cost known"],
)
def test_every_view_has_an_answer_to_a_ledger_of_little(
    holdfast: Holdfast, repo: Path, entries: list[LedgerEntry]
) -> None:
    write_ledger(repo, entries)
    for arguments in (
        ["ledger", "stats"],
        ["ledger", "stats", "--by", "month"],
        ["ledger", "report"],
        ["ledger", "report", "--format", "md"],
        ["ledger", "report", "--format", "html"],
        ["recommend", "fix the parser"],
        ["similar", "fix the parser"],
        ["alerts"],
    ):
        done = holdfast(*arguments, check=0)
        assert done.stdout.strip() and done.stderr == "" and "$0.00" not in done.stdout
        assert "nan" not in done.stdout.lower().split() and "None" not in done.stdout
    stats = holdfast("ledger", "stats", "--json", check=0).json()
    assert stats["total_sessions"] == len({entry.session for entry in entries}) and stats["avg_cost"] is None


# --- report --------------------------------------------------------------------------------------------


def rows_with_patterns() -> list[LedgerEntry]:
    rows = [
        *fails(sessions(6, goal=("database", "migrations"), tasks=5, failed=0, model=GPT), 4),
        *sessions(
            44, goal=("parser",), tasks=3, failed=0, model=CLAUDE, project_type="go", cost_usd=Decimal("0.14")
        ),
    ]
    return [replace(e, complexity="simple", framework="react", duration_s=300) for e in rows]


@pytest.mark.promise("L9")
def test_the_report_has_the_seeds_parts(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(repo, rows_with_patterns())
    text = holdfast("ledger", "report", check=0).stdout
    assert f"{CLAUDE} for go projects (0.0% of 132 tasks" in text and "$0.14 avg" in text
    assert "simple:   100%" in text and "avg 5min" in text
    assert "database migrations: 13.3% of 30 tasks" in text and "always verify" in text
    assert f"react × {GPT}" in text and "Month by Month" in text
    assert "50 sessions: patterns begin to hold" in text
    markdown = holdfast("ledger", "report", "--format", "md", check=0).stdout
    assert (
        markdown.startswith("# Usage patterns (50 sessions)\n")
        and "\n## Common Failure Patterns\n\n- " in markdown
    )


def test_a_report_without_a_pattern_says_so(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(repo, sessions(20, goal=("parser",), tasks=3, failed=0))
    assert "none of 1 topic fails clearly more or less often" in holdfast("ledger", "report", check=0).stdout


def test_months_without_a_session_are_told_in_a_line(holdfast: Holdfast, repo: Path) -> None:
    months = [
        datetime(2025, 3, 1, tzinfo=UTC),
        datetime(2025, 7, 1, tzinfo=UTC),
        datetime(2025, 9, 1, tzinfo=UTC),
    ]
    write_ledger(repo, [session(timestamp=at) for at in months])
    text = holdfast("ledger", "report", check=0).stdout
    told = [line.split("  ")[1] for line in text.splitlines() if line.startswith("  2025-")]
    assert told == ["2025-03", "2025-04 to 2025-06", "2025-07", "2025-08", "2025-09"]
    assert "2025-08  no session" in text and "1 session, cost unknown, no task judged" in text


class _Page(HTMLParser):
    """Notes what an HTML page opens, closes and loads."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.loads += [
            f"{name}={value}" for name, value in attrs if name in ("src", "href", "onload", "onclick")
        ]
        if tag not in ("meta", "line", "rect", "circle", "polyline", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()


@pytest.mark.promise("L9")
def test_the_html_report_is_one_page_with_plots_that_loads_and_runs_nothing(
    holdfast: Holdfast, repo: Path
) -> None:
    hostile = "<script>alert(1)</script>"
    rows = [replace(e, framework=hostile, model=hostile) for e in rows_with_patterns()]
    rows += sessions(3, timestamp=datetime(2025, 3, 1, tzinfo=UTC), cost_usd=Decimal(2))
    write_ledger(repo, rows)
    text = holdfast("ledger", "report", "--format", "html", check=0).stdout
    page = _Page()
    page.feed(text)
    assert page.open == [] and page.loads == [] and "script" not in page.seen
    assert page.seen.count("svg") >= 3 and "<script>" not in text
    assert "prefers-color-scheme:dark" in text and "database migrations" in text


# --- export --------------------------------------------------------------------------------------------


@pytest.mark.promise("L13")
def test_rows_are_exported_to_a_pipe_or_a_file(holdfast: Holdfast, repo: Path, tmp_path: Path) -> None:
    write_ledger(repo, twelve_sessions())
    rows = list(csv.DictReader(io.StringIO(holdfast("ledger", "export", check=0).stdout)))
    assert len(rows) == 12 and rows[0]["goal"] == "refactor auth middleware" and rows[0]["cost_usd"] == "0.12"
    lines = holdfast("ledger", "export", "--format", "jsonl", "--model", "gpt", check=0).stdout.splitlines()
    assert [json.loads(line)["model"] for line in lines] == [GPT] * 4
    done = holdfast("ledger", "export", "--format", "openmetrics", "-o", tmp_path / "m.prom", check=0)
    assert done.stdout == "" and "12 sessions written to" in done.stderr
    metrics = (tmp_path / "m.prom").read_text(encoding="utf-8")
    assert 'holdfast_sessions_total{project="shop",agent="unknown",model="gpt-4-turbo"' in metrics
    holdfast("ledger", "export", "--format", "parquet", "-o", tmp_path / "l.parquet", check=0)
    assert (tmp_path / "l.parquet").read_bytes()[:4] == b"PAR1"
    board = holdfast("ledger", "export", "--format", "grafana", check=0).json()
    assert board["panels"] and board["title"]
    missing = holdfast("ledger", "export", "-o", tmp_path / "no" / "where.csv", check=2)
    assert "there is no such folder. Create it first." in missing.stderr and not (tmp_path / "no").exists()


def test_without_duckdb_parquet_says_what_to_install(repo: Path, tmp_path: Path, home: Path) -> None:
    write_ledger(repo, twelve_sessions())
    program = "import sys; sys.modules['duckdb'] = None\nfrom holdfast.cli.main import main\nsys.exit(main())"
    command = [sys.executable, "-c", program, "ledger", "export", "--format", "parquet"]
    done = subprocess.run(
        command, cwd=repo, capture_output=True, encoding="utf-8", check=False, env={**os.environ}
    )
    assert done.returncode == 2 and f"Run `{how_to_add('analytics')}`." in done.stderr and done.stdout == ""


# --- recommend, similar --------------------------------------------------------------------------------


@pytest.mark.promise("L10")
def test_a_recommendation_in_a_sentence_with_what_it_rests_on(holdfast: Holdfast, repo: Path) -> None:
    payment = {"goal": ("payment", "processing"), "kind": "refactor", "tasks": 4, "failed": 0}
    rows = [
        *sessions(8, model=CLAUDE, cost_usd=Decimal("0.20"), duration_s=600, **payment),
        *fails(sessions(6, model=GPT, cost_usd=Decimal("0.09"), duration_s=300, **payment), 4),
        *sessions(2, cost_usd=Decimal("0.09")),
    ]
    write_ledger(repo, rows)
    goal = "Refactor the payment processing module"
    text = holdfast("recommend", goal, check=0).stdout
    assert text.startswith(f"Recommendation: {CLAUDE} (higher cost, lower risk, against {GPT}): fails ")
    assert "14 judged sessions, 2 more without a known model or result" in text
    assert "Based on these and other sessions" in text and "payment processing" in text
    told = holdfast("recommend", goal, "--json", check=0).json()
    assert told["model"] == CLAUDE and told["better_than"] == [GPT] and told["not_told_apart"] == []
    assert told["candidates"][0]["sessions"] == 8 and told["like"][0]["why"].startswith("shares payment")
    assert told["goal"]["words"] == ["refactor", "payment", "processing", "module"] and told["left_out"] == 2
    # GPT-4 costs half and fails so often that a success costs about the same.
    cost = holdfast("recommend", goal, "--objective", "cost", "--json", check=0).json()
    assert (
        cost["objective"] == "cost"
        and cost["model"] is None
        and cost["sentence"].startswith("No clear difference")
    )


def test_advice_that_cannot_be_given_says_what_is_missing(holdfast: Holdfast, repo: Path) -> None:
    text = holdfast("recommend", "anything at all", check=0).stdout
    assert text.startswith(
        "Not enough evidence: 0 sessions with a known model and result, at least 10 are needed."
    )
    assert "holdfast ledger recommend" in holdfast("recommend", "  ", check=2).stderr
    assert "holdfast ledger similar" in holdfast("similar", "", check=2).stderr


@pytest.mark.promise("L11")
def test_similar_sessions_come_with_how_they_ended(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(
        repo, [*twelve_sessions(), session(goal=("rate", "limiting"), outcome="failed", tasks=2, failed=1)]
    )
    text = holdfast("similar", "Add rate limiting to the gateway", check=0).stdout
    found = {line.split()[0]: line for line in text.splitlines()[1:]}
    assert list(found)[:2] == ["e5f6g7h8", "m3n4o5p6"]
    assert "1 (test_failure)" in found["m3n4o5p6"] and "$0.08" in found["m3n4o5p6"]
    assert "shares add, rate, limiting" in text and " failed " in text and "celery" not in text
    rows = holdfast("similar", "Add rate limiting to the gateway", "--json", "-n", "2", check=0).json()
    assert (
        len(rows) == 2 and rows[0]["session"] == "e5f6g7h8" and 0 < rows[1]["score"] <= rows[0]["score"] <= 1
    )
    assert "No similar sessions among 13." in holdfast("similar", "zebra", check=0).stdout


# --- alerts --------------------------------------------------------------------------------------------


def recent(number: int, cost: str, **fields: object) -> list[LedgerEntry]:
    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    at = max(now - timedelta(minutes=5), midnight)  # five minutes ago may have been yesterday
    return sessions(number, kind="bugfix", cost_usd=Decimal(cost), timestamp=at, **fields)


def test_alerts_exit_with_3_when_a_session_is_beyond_its_like(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(repo, recent(10, "0.10"))
    assert "No unusual sessions" in holdfast("alerts", check=0).stdout
    write_ledger(repo, [*recent(10, "0.10"), *recent(1, "4.00", session="dear")])
    done = holdfast("alerts", check=3)
    assert "dear: $4.00 in all; 9 of 10 bugfix sessions stay under $0.10" in done.stdout
    told = holdfast("alerts", "--json", check=3).json()
    assert [one["session"] for one in told["alerts"]] == ["dear"] and told["sessions"] == 11
    old = datetime(2025, 1, 1, tzinfo=UTC)
    write_ledger(repo, [replace(e, timestamp=old) for e in (*recent(10, "0.10"), *recent(1, "4.00"))])
    assert "No unusual sessions" in holdfast("alerts", check=0).stdout


@pytest.mark.promise("L12")
def test_a_session_that_goes_on_is_watched_until_it_ends(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    enabled = Enabled(repo)
    write_ledger(repo, recent(10, "0.0001", duration_s=20))
    transcript = ClaudeFile("running", str(repo))
    transcript.user(0, "Fix the login bug")
    transcript.assistant(60, "Looking.", usage=claude_usage(400_000, 9000))
    path = transcript.save(tmp_path / "running.jsonl")
    letter = {"format": 1, "host": "claude-code", "session": "running", "transcript": str(path), "process": 0}
    letter |= {"cwd": str(repo), "time": datetime.now(UTC).timestamp()}
    inbox = enabled.memory / "inbox"
    inbox.mkdir(exist_ok=True)
    (inbox / "running.1-1.json").write_text(json.dumps({**letter, "event": "Stop"}), encoding="utf-8")
    capture(enabled.machine, enabled.project)
    told = holdfast("alerts", check=3).stdout
    assert (
        "running “Fix the login bug” (running): $" in told
        and "so far; 9 of 10 bugfix sessions stay under $0.0001" in told
    )
    assert "stay under 20s" in told and "running" not in holdfast("ledger", check=0).stdout
    found = [(one["session"], one["live"]) for one in holdfast("alerts", "--json", check=3).json()["alerts"]]
    assert set(found) == {("running", True)}
    (inbox / "running.2-1.json").write_text(json.dumps({**letter, "event": "SessionEnd"}), encoding="utf-8")
    capture(enabled.machine, enabled.project)
    assert "(running)" not in holdfast("alerts").stdout and "running" in holdfast("ledger", check=0).stdout


def test_budgets_stand_in_the_personal_configuration(holdfast: Holdfast, repo: Path, home: Path) -> None:
    write_ledger(repo, recent(4, "0.50"))
    config = home / ".holdfast" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("budget_day = 1.5\nbudget_month = 100\n", encoding="utf-8")
    done = holdfast("alerts", check=3)
    assert "budget: $2.00 spent in" in done.stdout and "the budget of a day is $1.50" in done.stdout
    assert "month" not in done.stdout
    config.write_text("budget_day = 2\n", encoding="utf-8")
    holdfast("alerts", check=0)
    config.write_text('budget_day = "lots"\n', encoding="utf-8")
    wrong = holdfast("alerts")
    assert wrong.returncode in (1, 2) and "budget_day" in wrong.stderr


# --- on a terminal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 160])
def test_figures_fit_a_terminal(repo: Path, holdfast: Holdfast, width: int) -> None:
    long = [
        replace(e, model=f"provider/some-very-long-model-name-{n % 3}")
        for n, e in enumerate(rows_with_patterns())
    ]
    write_ledger(repo, [replace(e, tokens=Tokens(10**9)) for e in long])
    for arguments in (
        ["ledger", "stats"],
        ["ledger", "report"],
        ["ledger", "recommend", "parser"],
        ["ledger", "similar", "parser"],
    ):
        _, sent = on_terminal(arguments, repo, width)
        lines = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", sent).decode().splitlines()
        assert any(line.strip() for line in lines)
        assert [line for line in lines if len(line) > width] == []


# --- hostile input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["ledger"], ["ledger", "stats"], ["ledger", "report"]])
def test_filters_that_choose_nothing_are_not_taken_for_an_empty_ledger(
    holdfast: Holdfast, repo: Path, words: list[str]
) -> None:
    write_ledger(repo, twelve_sessions())
    text = holdfast(*words, "--model", "nobody", check=0).stdout
    assert text == "No session matches. holdfast ledger shows all.\n"


def test_a_file_that_is_no_ledger_is_not_said_to_be_in_the_way(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    other = tmp_path / "notes.md"
    other.write_text("just notes\n", encoding="utf-8")
    for words in (["ledger", "stats"], ["ledger", "report"], ["similar", "login"], ["ledger", "merge"]):
        done = holdfast(*words, other, check=1)
        assert done.stderr == (
            f"holdfast: {other}: no table with a Session column. "
            "Name a ledger.md, or a repository with .holdfast/ledger.md.\n"
        )


def test_clocks_of_any_year_are_written_in_full(holdfast: Holdfast, repo: Path) -> None:
    years = (1, 219, 2999, 9999)
    write_ledger(repo, [session(timestamp=datetime(year, 1, 2, tzinfo=UTC), tasks=1) for year in years])
    for words in (["ledger", "stats", "--by", "month"], ["ledger", "report"], ["ledger"]):
        text = holdfast(*words, check=0).stdout
        assert all(f"{year:04d}-01" in text for year in years)


def test_an_amount_too_small_to_be_written_is_not_nothing(holdfast: Holdfast, repo: Path) -> None:
    write_ledger(repo, [session(cost_usd=Decimal("0.0000001"))])
    assert "<$0.0001" in holdfast("ledger", "stats", check=0).stdout


def test_the_newest_session_is_called_last_and_only_what_must_be_given_is_missing(
    holdfast: Holdfast, repo: Path
) -> None:
    for number in range(2):
        holdfast("ledger", "add", "--session", f"s{number}", "--goal", f"goal {number}", check=0)
    assert holdfast("ledger", "show", "last", "--json", check=0).json()["session"] == "s1"
    said = holdfast("ledger", "recommend", check=2).stderr
    assert "GOAL is missing" in said and "DIR is missing" not in said
