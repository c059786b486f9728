"""Ledgers of several clones: taken in once each, forgotten ones not at all; committed with a telling message."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.test_ledger_figures import write_ledger
from tests.command import Holdfast
from tests.ledger.ledgers import session, twelve_sessions

from holdfast.model.ledger import LedgerEntry


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repo), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def names(holdfast: Holdfast, cwd: Path) -> list[str]:
    return [row["session"] for row in holdfast("ledger", "--json", cwd=cwd, check=0).json()]


# --- merge ---------------------------------------------------------------------------------------------


@pytest.mark.promise("L1")
def test_rows_of_other_clones_are_taken_in_once(
    holdfast: Holdfast, repo: Path, make_repo: Callable[[str], Path]
) -> None:
    rows, one, other = twelve_sessions(), make_repo("one"), make_repo("other")
    write_ledger(repo, rows[:4])
    write_ledger(one, rows[2:9])
    write_ledger(other, rows[6:])
    done = holdfast("ledger", "merge", one, other / ".holdfast" / "ledger.md", check=0)
    assert done.stdout == "Merged 8 rows; 2 were already there. holdfast ledger shows them.\n"
    assert names(holdfast, repo) == [row.session for row in rows]
    again = holdfast("ledger", "merge", one, other, "--json", check=0).json()
    assert (again["added"], again["known"], again["forgotten"]) == (0, 10, 0) and len(again["files"]) == 2
    assert len(names(holdfast, repo)) == 12


def test_a_union_merged_file_with_rows_twice_counts_each_session_once(holdfast: Holdfast, repo: Path) -> None:
    rows = twelve_sessions()
    path = write_ledger(repo, [*rows, *rows[3:8], *rows])
    stats = holdfast("ledger", "stats", "--json", check=0).json()
    assert stats["total_sessions"] == 12 and stats["total_tasks"] == 50
    other = path.parent.parent / "copy.md"
    other.write_bytes(path.read_bytes())
    path.unlink()
    assert holdfast("ledger", "merge", other, "--json", check=0).json()["added"] == 12
    assert len(names(holdfast, repo)) == 12


def test_what_was_forgotten_on_either_side_stays_forgotten(
    holdfast: Holdfast, repo: Path, make_repo: Callable[[str], Path]
) -> None:
    there = make_repo("there")
    for name in ("kept", "mine-gone"):
        holdfast("ledger", "add", "--session", name, "--goal", f"about {name}", check=0)
    for name in ("kept-there", "mine-gone", "theirs-gone"):
        holdfast("ledger", "add", "--session", name, "--goal", f"secretword {name}", cwd=there, check=0)
    holdfast("forget", "--session", "mine-gone", "--yes", check=0)
    ledger = there / ".holdfast" / "ledger.md"
    tombstone = LedgerEntry(session="theirs-gone", outcome="forgotten")
    text = write_ledger(make_repo("tombs"), [tombstone, LedgerEntry(session="kept", outcome="forgotten")])
    taken = holdfast("ledger", "merge", ledger, text, "--json", check=0).json()
    assert taken["forgotten"] == 2
    assert names(holdfast, repo) == ["kept-there"]
    written = (repo / ".holdfast" / "ledger.md").read_text(encoding="utf-8")
    assert "mine-gone" not in [
        line.split("|")[1].strip() for line in written.splitlines() if "secretword" in line
    ]
    assert not any("secretword" in line and "theirs-gone" in line for line in written.splitlines())


def test_secrets_in_another_clones_rows_are_not_taken_over(
    holdfast: Holdfast, repo: Path, make_repo: Callable[[str], Path]
) -> None:
    key = "AKIA" + "Q7ZT4XW2N5M8K3JD"
    there = make_repo("there")
    write_ledger(there, [session(session="fine", model=f"model {key}"), session(session=key)])
    done = holdfast("ledger", "merge", there, check=0)
    assert "Merged 1 row;" in done.stdout and "looks like a secret" in done.stderr and key not in done.stderr
    assert key not in (repo / ".holdfast" / "ledger.md").read_text(encoding="utf-8")


def test_rows_that_cannot_be_read_are_warned_of_and_the_rest_is_taken(
    holdfast: Holdfast, repo: Path, make_repo: Callable[[str], Path], tmp_path: Path
) -> None:
    path = write_ledger(make_repo("there"), twelve_sessions())
    path.write_text(path.read_text(encoding="utf-8") + "| torn | row |\n", encoding="utf-8")
    done = holdfast("ledger", "merge", path, check=0)
    assert "Merged 12 rows" in done.stdout and "cells where the header has" in done.stderr
    missing = holdfast("ledger", "merge", path, tmp_path / "nowhere", check=1)
    assert "no ledger here" in missing.stderr
    assert "FILE is missing: ledger files" in holdfast("ledger", "merge", check=2).stderr


@pytest.mark.promise("L1")
def test_two_clones_that_both_worked_merge_in_git_and_read_right(
    holdfast: Holdfast, repo: Path, tmp_path: Path
) -> None:
    holdfast("ledger", "add", "--session", "before", check=0)
    holdfast("ledger", "share", check=0)
    git(repo, "commit", "--quiet", "-m", "share")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(repo), str(clone))
    holdfast("ledger", "add", "--session", "here", "--tasks", "2", check=0)
    holdfast("ledger", "commit", check=0)
    holdfast("ledger", "add", "--session", "there", "--tasks", "3", cwd=clone, check=0)
    holdfast("ledger", "add", "--session", "before", "--tasks", "4", cwd=clone, check=0)
    holdfast("ledger", "commit", cwd=clone, check=0)
    git(clone, "pull", "--quiet", "--no-rebase", "--no-edit")
    rows = {row["session"]: row["tasks"] for row in holdfast("ledger", "--json", cwd=clone, check=0).json()}
    assert rows == {"before": 4, "here": 2, "there": 3}


# --- commit --------------------------------------------------------------------------------------------


@pytest.fixture
def shared_ledger(holdfast: Holdfast, repo: Path) -> Path:
    (repo / "code.py").write_text("x = 1\n", encoding="utf-8")
    git(repo, "add", "code.py")
    git(repo, "commit", "--quiet", "-m", "code")
    holdfast("ledger", "share", check=0)
    git(repo, "commit", "--quiet", "-m", "share the ledger")
    return repo


def add_seed_row(holdfast: Holdfast, name: str = "a1b2c3d4", goal: str = "refactor auth middleware") -> None:
    holdfast(
        "ledger", "add", "--session", name, "--model", "claude-3.5", "--tasks", "5", "--cost", "0.12",
        "--goal", goal, check=0,
    )  # fmt: skip


@pytest.mark.promise("L15")
def test_the_ledger_is_committed_with_the_seeds_message_and_nothing_else_is(
    holdfast: Holdfast, shared_ledger: Path
) -> None:
    repo = shared_ledger
    add_seed_row(holdfast)
    (repo / "code.py").write_text("x = 2\n", encoding="utf-8")
    (repo / "staged.py").write_text("y = 1\n", encoding="utf-8")
    (repo / "loose.py").write_text("z = 1\n", encoding="utf-8")
    git(repo, "add", "staged.py")
    message = "Session: refactor auth middleware (claude-3.5, 5 tasks, $0.12)"
    assert holdfast("ledger", "commit", "--dry-run", check=0).stdout == f"{message}\n"
    assert git(repo, "log", "-1", "--format=%s") == "share the ledger\n"
    assert holdfast("ledger", "commit", check=0).stdout == f"{message}\n"
    assert git(repo, "log", "-1", "--format=%B").strip() == message
    assert git(repo, "show", "--name-only", "--format=", "HEAD").split() == [".holdfast/ledger.md"]
    assert git(repo, "status", "--porcelain").splitlines() == [" M code.py", "A  staged.py", "?? loose.py"]


@pytest.mark.promise("L15")
def test_nothing_new_is_said_and_committed_nowhere(holdfast: Holdfast, shared_ledger: Path) -> None:
    before = git(shared_ledger, "rev-parse", "HEAD")
    done = holdfast("ledger", "commit", check=2)
    assert "nothing new to commit" in done.stderr and done.stdout == ""
    assert git(shared_ledger, "rev-parse", "HEAD") == before


@pytest.mark.promise("L15")
def test_a_ledger_that_is_not_shared_is_not_committed(holdfast: Holdfast, repo: Path) -> None:
    add_seed_row(holdfast)
    done = holdfast("ledger", "commit", check=2)
    assert "holdfast ledger share" in done.stderr and git(repo, "status", "--porcelain") == ""


def test_several_sessions_get_a_line_each_and_what_is_unknown_says_so(
    holdfast: Holdfast, shared_ledger: Path
) -> None:
    add_seed_row(holdfast, "one")
    add_seed_row(holdfast, "two", "rate limiting")
    holdfast("ledger", "add", "--session", "three", "--tasks", "1", check=0)
    holdfast("ledger", "commit", check=0)
    body = git(shared_ledger, "log", "-1", "--format=%B").splitlines()
    assert body[:2] == ["Sessions: 3 more in the ledger", ""]
    assert set(filter(None, body[2:])) == {
        "Session: refactor auth middleware (claude-3.5, 5 tasks, $0.12)",
        "Session: rate limiting (claude-3.5, 5 tasks, $0.12)",
        "Session: no goal recorded (unknown model, 1 task, $?)",
    }
    holdfast("ledger", "add", "--session", "two", "--tasks", "9", check=0)
    assert holdfast("ledger", "commit", check=0).stdout == "Session ledger: rows corrected\n"


def test_a_hand_edited_goal_cannot_write_a_message_of_its_own(
    holdfast: Holdfast, shared_ledger: Path
) -> None:
    rows = [session(session="x", goal=("evil\n\nCo-authored-by:", "mallory"), model="m\nn", tasks=1)]
    path = shared_ledger / ".holdfast" / "ledger.md"
    made = write_ledger(shared_ledger / "..", rows)
    path.write_text(path.read_text(encoding="utf-8") + made.read_text(encoding="utf-8"), encoding="utf-8")
    holdfast("ledger", "commit", check=0)
    message = git(shared_ledger, "log", "-1", "--format=%B").strip()
    assert message == "Session: evil Co-authored-by: mallory (m n, 1 task, $?)"
