"""Rows of several machines: a wrong clock decides nothing for ever, and every clone shows the same rows."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import START, ClaudeFile
from tests.cli.test_ledger_figures import write_ledger
from tests.command import Holdfast

from holdfast.core.stamp import Stamp, parse_stamp
from holdfast.ledger.markdown import parse_ledger
from holdfast.model.ledger import LedgerEntry
from holdfast.store.machine import Machine

SESSION = "5e5510a0-58a4-4c4e-9b53-0d9f6b7e2a11"
IN_2099 = datetime(2099, 1, 1, tzinfo=UTC)
FIRST = datetime.fromtimestamp(START, UTC)


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repo), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


class Person:
    """One person's machine: a clone, a home, and a clock that may be wrong."""

    def __init__(self, holdfast: Holdfast, repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._holdfast, self.repo, self.home, self._monkeypatch = holdfast, repo, home, monkeypatch
        self.off = timedelta()

    def __call__(self, *arguments: str | Path, check: int | None = 0) -> Any:
        now = datetime.now(UTC) + self.off
        self._monkeypatch.setattr(Machine, "now", staticmethod(lambda: now))
        return self._holdfast(*arguments, cwd=self.repo, env={"HOLDFAST_HOME": str(self.home)}, check=check)

    def row(self, session: str = SESSION) -> Any:
        (row,) = [row for row in self("ledger", "list", "--json").json() if row["session"] == session]
        del row["title"]  # from the machine's own records, not from the ledger
        return row

    def commit(self, message: str) -> None:
        git(self.repo, "add", "--all", ".holdfast")
        git(self.repo, "commit", "--quiet", "--allow-empty", "--message", message)


@pytest.fixture
def ada(holdfast: Holdfast, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    return Person(holdfast, repo, tmp_path / "home-of-ada", monkeypatch)


@pytest.fixture
def bob(ada: Person, holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """A clone of Ada's repository, whose ledger is shared."""
    ada("ledger", "add", "--session", "shared", "--goal", "the first row")
    ada("ledger", "share")
    ada.commit("share the ledger")
    git(tmp_path, "clone", "--quiet", str(ada.repo), str(tmp_path / "clone-of-bob"))
    return Person(holdfast, tmp_path / "clone-of-bob", tmp_path / "home-of-bob", monkeypatch)


def exchange(ada: Person, bob: Person) -> None:
    """Both commit, and each merges the other's rows."""
    ada.commit("rows of ada")
    bob.commit("rows of bob")
    git(bob.repo, "pull", "--quiet", "--no-rebase", "--no-edit", str(ada.repo), "main")
    git(ada.repo, "pull", "--quiet", "--no-rebase", "--no-edit", str(bob.repo), "main")


WORK = ("add a basket to the shop", "write the manual of the till", "translate every receipt")


def transcript(repo: Path, path: Path, requests: int, begin: float = 0.0, cut: int | None = None) -> Path:
    """A session with a request a minute. With `cut` only the first lines of it are there."""
    file = ClaudeFile(SESSION, str(repo))
    for number in range(requests):
        file.user(begin + 60 * number, WORK[number])
        file.edit(begin + 60 * number + 5, f"{repo}/part{number}.py")
        file.assistant(begin + 60 * number + 10, "Done.")
    if cut is not None:
        file.lines = file.lines[:cut]
    return file.save(path / f"{SESSION}.jsonl")


# --- capture -------------------------------------------------------------------------------------------


def test_a_captured_row_is_stamped_with_the_end_of_its_transcript(ada: Person, tmp_path: Path) -> None:
    ada("import", transcript(ada.repo, tmp_path, 2))
    stamp = parse_stamp(ada.row()["clock"])
    assert stamp.time == FIRST + timedelta(seconds=70) and stamp.counter == 0 and len(stamp.machine) == 4
    assert ada("import", tmp_path / f"{SESSION}.jsonl").stdout.startswith("1 session: 0 added, 0 updated")
    ada("import", transcript(ada.repo, tmp_path, 3))
    assert parse_stamp(ada.row()["clock"]).time == FIRST + timedelta(seconds=130)
    assert ada.row()["tasks"] == 3


def test_a_machine_with_an_older_copy_of_a_transcript_changes_nothing(
    ada: Person, bob: Person, tmp_path: Path
) -> None:
    ada("import", transcript(ada.repo, tmp_path / "whole", 3))
    exchange(ada, bob)
    before = bob.row()
    done = bob("import", transcript(ada.repo, tmp_path / "older", 3, cut=4))
    assert done.stdout.startswith("1 session: 0 added, 0 updated, 1 unchanged")
    assert bob.row() == before and before["tasks"] == 3
    exchange(ada, bob)
    assert ada.row() == bob.row() == before


def test_a_session_that_goes_on_while_the_clock_is_put_back_keeps_its_last_row(
    ada: Person, tmp_path: Path
) -> None:
    ada("import", transcript(ada.repo, tmp_path, 2))
    file = ClaudeFile(SESSION, str(ada.repo), prefix="v")
    for at, work in ((-86_400, "paint the front door green"), (-86_300, "order fresh flour on mondays")):
        file.user(at, work)
        file.edit(at + 5, f"{ada.repo}/other{-at}.py")
        file.assistant(at + 10, "Done.")
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(path.read_bytes() + file.data())
    ada.off = -timedelta(days=300)
    ada("import", path)
    assert ada.row()["tasks"] > 2


def test_a_transcript_from_the_future_ends_when_its_file_was_written(ada: Person, tmp_path: Path) -> None:
    ahead = (IN_2099 - FIRST).total_seconds()
    path = transcript(ada.repo, tmp_path, 2, begin=ahead)
    written = datetime.now(UTC) - timedelta(hours=1)
    os.utime(path, (written.timestamp(), written.timestamp()))
    ada("import", path)
    row = ada.row()
    used, claimed = row["clock"].split("<")
    assert abs(parse_stamp(used).time - written) < timedelta(seconds=1)
    assert parse_stamp(claimed).time.year == 2099
    assert row["timestamp"][:4] == str(written.year) and row["duration_s"] == 70
    said = ada("doctor").stdout
    assert f"session {SESSION}" in said and "2099-01-01 00:01 UTC" in said
    (clamped,) = ada("doctor", "--json").json()["clamped_rows"]
    assert (clamped["session"], clamped["claimed"]) == (SESSION, "2099-01-01T00:01:10Z")
    assert clamped["used"][:13] == written.isoformat()[:13]
    ada("ledger", "add", "--session", SESSION, "--goal", "corrected by hand")
    assert ada.row()["goal"] == ["corrected"] or "corrected" in ada.row()["goal"]


def test_what_a_transcript_from_the_future_says_does_not_outlive_what_is_said_later(
    ada: Person, tmp_path: Path
) -> None:
    ahead = (IN_2099 - FIRST).total_seconds()
    ada("import", transcript(ada.repo, tmp_path, 1, begin=ahead))
    (entry,) = ada("log", "--json").json()
    assert not str(entry.get("at") or entry.get("time") or entry.get("date")).startswith("2099")
    memory = tmp_path / "home-of-ada" / "projects"
    texts = [path.read_text(encoding="utf-8") for path in memory.rglob("*.md") if path.name != "ledger.md"]
    assert texts and not any("2099" in text for text in texts)


# --- by hand -------------------------------------------------------------------------------------------


def test_amends_of_two_machines_off_by_days_count_in_the_order_in_which_they_were_seen(
    ada: Person, bob: Person
) -> None:
    """Bob's clock is three days behind: what he writes after he has seen Ada's row counts, and then hers again."""
    bob.off = -timedelta(days=3)
    for writer, reader, outcome in (
        (ada, bob, "partial"),
        (bob, ada, "failed"),
        (ada, bob, "done"),
        (bob, ada, "abandoned"),
    ):
        writer("ledger", "add", "--session", SESSION, "--outcome", outcome)
        exchange(ada, bob)
        assert writer.row()["outcome"] == reader.row()["outcome"] == outcome
        assert writer.row() == reader.row()


def test_amends_that_do_not_know_of_each_other_give_the_same_row_in_both_clones(
    ada: Person, bob: Person
) -> None:
    bob.off = timedelta(seconds=20)
    ada("ledger", "add", "--session", SESSION, "--outcome", "partial")
    bob("ledger", "add", "--session", SESSION, "--outcome", "failed")
    ada("ledger", "add", "--session", SESSION, "--outcome", "done")
    exchange(ada, bob)
    assert ada.row() == bob.row()


# --- rows of others ------------------------------------------------------------------------------------


def test_a_row_from_2099_in_a_shared_ledger_is_clamped_by_the_next_import(
    ada: Person, bob: Person, tmp_path: Path
) -> None:
    bob.off = IN_2099 - datetime.now(UTC)
    bob("ledger", "add", "--session", SESSION, "--outcome", "failed")
    exchange(ada, bob)
    assert ada.row()["outcome"] == "failed"
    assert "The next holdfast import" in ada("doctor").stdout
    ada("import", transcript(ada.repo, tmp_path, 1))
    assert ada.row()["outcome"] == "failed"  # its transcript ended long before Bob's row came in
    shared = (ada.repo / ".holdfast" / "ledger.md").read_bytes()
    ada("import", tmp_path / f"{SESSION}.jsonl")
    assert (ada.repo / ".holdfast" / "ledger.md").read_bytes() == shared
    (clamped,) = ada("doctor", "--json").json()["clamped_rows"]
    assert clamped["claimed"].startswith("2099") and not clamped["used"].startswith("2099")
    ada("ledger", "add", "--session", SESSION, "--outcome", "done")
    assert ada.row()["outcome"] == "done" and parse_stamp(ada.row()["clock"]).time.year < 2099
    bob.off = timedelta()
    exchange(ada, bob)
    assert bob.row() == ada.row()


def test_a_row_from_2099_in_a_ledger_of_an_older_version_is_clamped_on_merge(
    ada: Person, make_repo: Callable[[str], Path]
) -> None:
    other = make_repo("other")
    rows = [
        LedgerEntry(
            session=SESSION, outcome="failed", recorded=IN_2099 + timedelta(seconds=number), tasks=number
        )
        for number in range(3)
    ]
    path = write_ledger(other, rows)
    path.write_text(
        path.read_text().replace(" | Clock |", " |").replace("|---|\n", "|\n", 1).replace(" |  |\n", " |\n")
    )
    assert parse_ledger(path.read_bytes(), "ledger.md").entries == rows
    ada("ledger", "merge", path)
    assert ada.row()["tasks"] == 2  # the last of them still counts
    assert len(ada("doctor", "--json").json()["clamped_rows"]) == 3
    assert ada("ledger", "merge", path, "--json").json()["added"] == 0
    ada("ledger", "add", "--session", SESSION, "--outcome", "done")
    assert ada.row()["outcome"] == "done"


def test_rows_of_an_archive_are_no_later_than_the_archive(
    ada: Person,
    holdfast: Holdfast,
    tmp_path: Path,
    make_repo: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ada.off = IN_2099 - datetime.now(UTC)
    ada("ledger", "add", "--session", SESSION, "--outcome", "failed")
    ada.off = -timedelta(days=30)
    archive = tmp_path / "memory.tar.gz"
    ada("export", archive)
    with tarfile.open(archive) as opened:
        assert "manifest.json" in opened.getnames()
    for mode in ("--replace", "--merge"):
        bob = Person(holdfast, make_repo(f"bob{mode}"), tmp_path / f"home{mode}", monkeypatch)
        bob("ledger", "add", "--session", "own", "--goal", "own")
        bob("restore", archive, mode, "--trust", "--yes")
        made = datetime.now(UTC) - timedelta(days=30)
        stamp = parse_stamp(bob.row()["clock"].partition("<")[0])
        assert abs(stamp.time - made) < timedelta(hours=1), mode
        bob("ledger", "add", "--session", SESSION, "--outcome", "done")
        assert bob.row()["outcome"] == "done", mode


def test_a_union_merge_of_clones_that_were_upgraded_apart_keeps_every_row(
    ada: Person, bob: Person, tmp_path: Path
) -> None:
    """Both begin a table with the new column in a file that had none."""
    path = ada.repo / ".holdfast" / "ledger.md"
    text = path.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    old = [line.rsplit("|", 2)[0] + "|" for line in rows]
    path.write_text(
        "\n".join([*text.splitlines()[:3], old[0], "|---" * (old[0].count("|") - 1) + "|", *old[1:], ""])
    )
    ada.commit("as 0.1.0 wrote it")
    git(bob.repo, "pull", "--quiet", "--no-rebase", "--no-edit", str(ada.repo), "main")
    for person, name in ((ada, "of-ada"), (bob, "of-bob")):
        person("ledger", "add", "--session", name, "--outcome", "partial")
        person("ledger", "add", "--session", name, "--outcome", "done")
        person("ledger", "add", "--session", SESSION, "--outcome", "done", "--goal", name)
    exchange(ada, bob)
    assert ada("doctor").stdout.endswith("Everything is in order.\n")
    shown = ada("ledger", "list", "--json").json()
    assert {row["session"] for row in shown} == {"shared", "of-ada", "of-bob", SESSION}
    theirs = bob("ledger", "list", "--json").json()
    assert shown[1:] == theirs[1:]  # of the first, Ada's own ledger still has the stamp


def test_a_cell_that_is_no_stamp_costs_no_row_and_is_reported(ada: Person) -> None:
    ada("ledger", "add", "--session", SESSION, "--outcome", "done")
    path = ada.repo / ".holdfast" / "ledger.md"
    stamp = ada.row()["clock"]
    path.write_text(path.read_text(encoding="utf-8").replace(stamp, "yesterday"), encoding="utf-8")
    assert ada.row()["outcome"] == "done"
    assert f"the Clock cell of session {SESSION} is not a stamp" in ada("doctor", check=1).stdout


def test_a_clock_that_ran_ahead_is_reported_and_put_back_on_request(ada: Person) -> None:
    ada.off = IN_2099 - datetime.now(UTC)
    ada("ledger", "add", "--session", SESSION, "--outcome", "partial")
    ada.off = timedelta()
    said = ada("doctor").stdout
    assert "ahead of its clock" in said and "doctor --fix" in said
    ada("doctor", "--fix")
    assert "ahead of its clock" not in ada("doctor").stdout
    ada("ledger", "add", "--session", "another", "--outcome", "done")
    assert parse_stamp(ada.row("another")["clock"]) < Stamp.of_time(IN_2099)


def test_sixteen_processes_that_amend_one_session_lose_no_row_and_share_no_stamp(
    ada: Person, home: Path
) -> None:
    words = [sys.executable, "-m", "holdfast", "ledger", "add", "--session", SESSION, "--tasks"]
    ada("ledger", "add", "--session", SESSION, "--tasks", "0")
    env = {**os.environ, "HOLDFAST_HOME": str(ada.home)}
    writers = [subprocess.Popen([*words, str(n)], cwd=ada.repo, env=env) for n in range(1, 17)]
    assert [writer.wait() for writer in writers] == [0] * 16
    rows = parse_ledger((ada.repo / ".holdfast" / "ledger.md").read_bytes(), "ledger.md").entries
    stamps = {parse_stamp(row.clock or ""): row.tasks for row in rows}
    assert len(rows) == len(stamps) == 17
    assert ada.row()["tasks"] == stamps[max(stamps)]


# --- statements ----------------------------------------------------------------------------------------


def texts_of(person: Person) -> str:
    """All memory files but the ledger."""
    paths = sorted(path for path in (person.home / "projects").rglob("*.md") if path.name != "ledger.md")
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if "history" not in path.parts)


def test_an_answer_given_after_the_clock_was_put_back_is_the_later_one(ada: Person) -> None:
    ada("ask", "--keep", "Which region do we deploy to?")
    ada("answer", "Which region do we deploy to?", "eu-west-1")
    ada.off = -timedelta(days=100)
    ada("answer", "Which region do we deploy to?", "us-east-2")
    (question,) = ada("questions", "--json").json()
    assert question["answer"] == "us-east-2"
    assert question["answered_at"] >= question["at"]
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    assert question["answered_at"].startswith(today), "not a hundred days ago"


def test_what_an_archive_says_of_2099_is_as_old_as_its_arrival(
    ada: Person,
    holdfast: Holdfast,
    tmp_path: Path,
    make_repo: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ada.off = IN_2099 - datetime.now(UTC)
    ada("decide", "Receipts are sent as PDF", "--because", "the law")
    ada("fact", "add", "the port is 8080", "--evidence", "ss -ltn")
    ada("ask", "--keep", "Who owns the DNS zone?")
    ada("todo", "add", "Print the receipts")
    assert "2099" in texts_of(ada)
    ada.off = timedelta()
    ada("export", tmp_path / "memory.tar.gz")
    bob = Person(holdfast, make_repo("bobs"), tmp_path / "home-of-bob", monkeypatch)
    bob.off = timedelta(days=2)  # what is said here after the archive was made stays the later one
    bob("decide", "Invoices are sent as PDF", "--because", "the law")
    bob("restore", tmp_path / "memory.tar.gz", "--merge", "--trust", "--yes")
    said = texts_of(bob)
    assert "Receipts are sent as PDF" in said and "8080" in said and "DNS zone" in said
    assert "2099" not in said
    at = {row["text"]: row["at"] for row in bob("decide", "--list", "--json").json()}
    assert at["Receipts are sent as PDF"] < at["Invoices are sent as PDF"]


def test_a_date_of_2099_that_is_in_a_file_already_is_clamped_when_the_file_is_written(ada: Person) -> None:
    ada("fact", "add", "the port is 8080", "--evidence", "ss -ltn")
    (path,) = (ada.home / "projects").rglob("reference.md")
    year = str(datetime.now(UTC).year)
    path.write_text(path.read_text(encoding="utf-8").replace(f"{year}-", "2099-"), encoding="utf-8")
    ada("fact", "add", "the database is called shop", "--evidence", "psql -l")
    assert "2099" not in path.read_text(encoding="utf-8")
    assert "8080" in path.read_text(encoding="utf-8")
