"""Who names a day in a question is told what was done on it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.command import Holdfast

from holdfast.briefing.recall import recall
from holdfast.briefing.search import search
from holdfast.memory.log import render_beginning, render_entry
from holdfast.model.memory import Decision, Finding, LogEntry
from holdfast.store.machine import Machine

NOW = datetime(2026, 11, 18, 18, 0, tzinfo=UTC)
DAYS = {
    "s-friday": ("2026-11-13T10:00:00+00:00", "Moved the mail queue to another host"),
    "s-named": ("2026-09-05T20:00:00+00:00", "Show the last interaction of the year, by week"),
    "s-monday": ("2026-11-16T10:00:00+00:00", "Wrote the invoice template"),
    "s-morning": ("2026-11-17T09:00:00+00:00", "Fixed the login page of the shop"),
    "s-evening": ("2026-11-17T20:00:00+00:00", "Raised the limits of the queue"),
    "s-older": ("2026-10-03T20:00:00+00:00", "Login page drawn for the first time"),
}


@pytest.fixture
def machine(home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(cwd=repo)
    machine.now = lambda: NOW  # type: ignore[method-assign]
    project = machine.project()
    project.prepare()
    folder = project.memory / "projects" / project.title
    folder.mkdir(parents=True, exist_ok=True)
    log = render_beginning(project.title)
    for session, (moment, context) in DAYS.items():
        at = datetime.fromisoformat(moment).timestamp()
        log += render_entry(
            LogEntry(
                session=session,
                agent="codex",
                at=at,
                context=context,
                decisions=(
                    Decision(text=f"Keep a note of {session} for later readers", session=session, at=at),
                ),
                findings=(
                    Finding(text=f"The build of {session} takes four minutes", session=session, at=at),
                ),
            )
        )
    (folder / "log.md").write_text(log, encoding="utf-8")
    return machine


def sessions(machine: Machine, query: str, k: int = 5) -> list[str]:
    found = [hit.id for hit in search(machine, machine.project(), query, k)]
    return [id.removeprefix("session:") for id in found if id.startswith("session:")]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what did we do yesterday", ["s-evening", "s-morning"]),
        ("2026-11-13", ["s-friday"]),
        ("3 October", ["s-older"]),
        ("last week", ["s-friday"]),
        ("since Monday", ["s-evening", "s-morning", "s-monday"]),
    ],
)
def test_a_day_or_period_is_answered_by_its_sessions_newest_first(
    machine: Machine, query: str, first: list[str]
) -> None:
    assert sessions(machine, query) == first
    hits = search(machine, machine.project(), query, 5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].id.startswith("session:") and "dated " in hits[0].why


def test_a_subject_and_a_day_prefer_that_day(machine: Machine) -> None:
    assert sessions(machine, "the login page")[0] in ("s-morning", "s-older")
    assert sessions(machine, "the login page in October")[:2] == ["s-older", "s-morning"]
    assert sessions(machine, "the login page yesterday")[:2] == ["s-morning", "s-older"]


def test_a_day_of_which_nothing_is_known_changes_nothing(machine: Machine) -> None:
    plain, dated = (sessions(machine, query) for query in ("the login page", "the login page 2 days ago"))
    assert plain[:2] == dated[:2] and sessions(machine, "2025-01-01") == []


@pytest.mark.parametrize(
    "query", ["what did we do last year", "last month of 2025-12", "the week 60 days ago"]
)
def test_words_for_a_time_of_which_nothing_is_known_are_no_subject(machine: Machine, query: str) -> None:
    found = search(machine, machine.project(), query, 5)
    assert found == [] and recall(machine, machine.project(), query).lines == ()


def test_recall_tells_what_was_done_on_a_day(machine: Machine) -> None:
    told = recall(machine, machine.project(), "what did we do yesterday?").text
    assert "Raised the limits" in told and "Fixed the login page" in told and "invoice" not in told
    assert recall(machine, machine.project(), "what do you think?").lines == ()


def test_a_person_is_told_of_which_day_nothing_is_known(holdfast: Holdfast, machine: Machine) -> None:
    done = holdfast("search", "2025-01-01", check=0)
    assert done.stdout == "" and "Nothing here is dated 2025-01-01." in done.stderr
    shown = holdfast("search", "2026-11-13", check=0).stdout
    assert "Nothing here is dated 2025-01-01." in holdfast("recall", "2025-01-01", check=0).stderr
    assert "Moved the mail queue" in shown and "dated 2026-11-13" in shown
