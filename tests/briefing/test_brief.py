"""A brief: decisions with their reasons and what was turned down, facts, questions and dead ends, each with its source."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.decided import AMENDED, CAUSE, DOCK, FIVE, KEPT, PRINTER, REDIS, RELEASED, THREE, Decided

from holdfast.briefing.brief import brief
from holdfast.core.tokens import count_tokens
from holdfast.model.memory import Passage

SUBJECT = "print jobs of the label spooler"


@pytest.fixture
def decided(repo: Path) -> Decided:
    return Decided(repo)


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.promise("W15")
def test_a_subject_is_told_what_was_decided_turned_down_and_found_with_its_source(decided: Decided) -> None:
    text = brief(decided.machine, decided.project, SUBJECT).text
    decisions = section(text, "Decisions")
    place = f"(session {PRINTER[:8]}, later on this: session {AMENDED[:8]})"
    assert f"### 2026-03-02 · make the label spooler survive a wifi outage {place}" in decisions
    assert f"- {KEPT.rstrip('.')} (you, {Passage(text=KEPT).id})" in decisions
    assert f"- not: {REDIS.rstrip('.')} (agent, {Passage(text=REDIS).id})" in decisions
    assert f"Should a parked job be printed after a restart? → {RELEASED.rstrip('.')}" in decisions
    assert CAUSE.rstrip(".") in section(text, "Findings")
    assert "Dock doors" not in text and "badge" not in text.casefold()


@pytest.mark.promise("W15", "W5")
def test_the_newest_comes_first_and_what_was_replaced_stands_by_itself(decided: Decided) -> None:
    text = brief(decided.machine, decided.project, SUBJECT).text
    decisions = section(text, "Decisions")
    assert decisions.index(FIVE.rstrip(".")) < decisions.index(KEPT.rstrip("."))
    assert THREE.rstrip(".") not in decisions
    replaced = section(text, "No longer holds").strip()
    assert replaced.startswith(
        f"- was (until 2026-03-20): {THREE.rstrip('.')} (you, session {PRINTER[:8]}, D-"
    )


@pytest.mark.promise("W15")
def test_facts_questions_dead_ends_steps_and_commits_about_it_are_in_it(
    decided: Decided, holdfast: Holdfast, repo: Path
) -> None:
    holdfast(
        "fact", "add", "The label spooler listens on port 9143", "--evidence", "LISTEN 9143 spooler", check=0
    )
    holdfast("fact", "add", "The canteen opens at seven", "--evidence", "opens 07:00", check=0)
    holdfast("ask", "Who may purge the print jobs of the label spooler?", "--keep", check=None)
    holdfast("ask", "--keep", "Who may purge the print jobs of the label spooler?", check=None)
    holdfast("todo", "add", "Measure how long a label spooler job waits", check=0)
    holdfast(
        "decide",
        "The label spooler never prints two jobs at once",
        "--because",
        "the printer mixes them up",
        check=0,
    )
    message = (
        "Spooler: cap the queue\n\nA label spooler holds at most 400 print jobs, because the handhelds have 2 GB and "
        "swapping stopped a whole shift. Do not raise it without new hardware.\n"
    )
    for command in (
        ["config", "user.email", "ada@example.org"],
        ["commit", "--quiet", "--allow-empty", "-m", message],
    ):
        subprocess.run(["git", "-C", str(repo), *command], check=True)
    text = brief(decided.machine, decided.project, "label spooler print jobs").text
    assert "port 9143 (LISTEN 9143 spooler)" in section(text, "Verified facts") and "canteen" not in text
    assert "Who may purge the print jobs" in section(text, "Open questions")
    assert "Measure how long a label spooler job waits" in section(text, "Next steps")
    assert "never prints two jobs at once; because: the printer mixes them up (you, " in section(
        text, "Decisions"
    )
    quoted = section(text, "From commits and documents")
    assert "at most 400 print jobs" in quoted and "(Ada Example, " in quoted and ", git " in quoted


@pytest.mark.promise("W15")
@pytest.mark.parametrize("budget", [100, 150, 400, 4000])
def test_a_brief_keeps_its_budget(decided: Decided, budget: int) -> None:
    result = brief(decided.machine, decided.project, SUBJECT, budget)
    assert count_tokens(result.text) == result.tokens <= budget
    assert result.sections and result.sections[0].name == "decisions"


def test_a_subject_of_which_nothing_is_known_gets_one_clear_line(
    decided: Decided, holdfast: Holdfast
) -> None:
    result = brief(decided.machine, decided.project, "chocolate cake recipe")
    assert (result.sections, result.nothing) == ((), "Nothing matches")
    said = holdfast("search", "--brief", "chocolate cake recipe", check=0)
    assert (said.stdout, said.stderr.strip()) == ("", "Nothing matches: chocolate cake recipe")


def test_where_little_fits_the_brief_says_so_first(decided: Decided) -> None:
    result = brief(decided.machine, decided.project, "midnight ferry timetable")
    if result.sections:
        assert result.weak and "Weak evidence" in result.text.split("\n")[2]


def test_as_json_each_line_has_its_source_and_status(decided: Decided, holdfast: Holdfast) -> None:
    said = holdfast("search", "--brief", SUBJECT, "--json", check=0).json()
    assert set(said) == {"subject", "budget", "tokens", "weak", "sections", "text"}
    lines = {line["id"]: line for part in said["sections"] for line in part["lines"]}
    kept = lines[Passage(text=KEPT).id]
    assert (kept["session"], kept["by"], kept["status"], kept["date"][:10]) == (
        PRINTER,
        "user",
        "agreed",
        "2026-03-02",
    )
    path, number = kept["path"], kept["line"]
    assert path.endswith("decisions/2026-03.md")
    text = (decided.project.memory / path.removeprefix(".holdfast/local/")).read_text(encoding="utf-8")
    assert KEPT in text.split("\n")[number - 1]
    assert lines[Passage(text=REDIS).id]["status"] == "rejected"
    replaced = lines[Passage(text=THREE).id]
    assert (replaced["status"], replaced["until"][:10], replaced["replaced_by"]) == (
        "superseded",
        "2026-03-20",
        AMENDED,
    )
    assert AMENDED in {line["session"] for line in lines.values()} and DOCK not in str(lines)


def test_options_of_hits_and_of_briefs_do_not_mix(decided: Decided, holdfast: Holdfast) -> None:
    assert (
        "--kind cannot be combined with --brief"
        in holdfast("search", "--brief", "x", "--kind", "fact", check=2).stderr
    )
    assert "--budget needs --brief" in holdfast("search", "spooler", "--budget", "300", check=2).stderr
    assert (
        "--budget must be 100 or more" in holdfast("search", "--brief", "x", "--budget", "5", check=2).stderr
    )


def test_a_project_without_memory_has_no_brief(repo: Path, holdfast: Holdfast) -> None:
    assert "Nothing is remembered here yet" in holdfast("search", "--brief", "spooler", check=0).stderr
    assert not (repo / ".holdfast").exists()
