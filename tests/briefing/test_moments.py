"""What is prepared for the moment of a tool call: which stumbles, which answers, and what is no longer true."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, to_builtins
from msgspec.structs import fields, replace

from holdfast.briefing.moments import Moment, remedy
from holdfast.briefing.start import briefings_of
from holdfast.core.shell_calls import calls
from holdfast.flows.questions import answer
from holdfast.hooks.moment import fits
from holdfast.memory.store import MemoryStore
from holdfast.model.events import DistilledSession
from holdfast.model.memory import DeadEnd, Fact, Harvest, Question
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine

pytestmark = pytest.mark.promise("M10")

DAY = 86_400.0
NOW = 1_790_000_000.0
STAT = DeadEnd(
    tried="gh pr diff 104 --stat", failed="unknown flag: --stat", instead="gh pr diff 104 --name-only", at=NOW
)
TESTS = DeadEnd(
    tried="make tests", failed="make: *** No rule to make target 'tests'.  Stop.", instead="make test", at=NOW
)


BLANK = {
    field.name: 0 if field.type is int else False if field.type is bool else "" if field.type is str else ()
    for field in fields(DistilledSession)
    if field.required
} | dict.fromkeys(("started", "ended", "active_s", "wall_s", "project_type", "framework"))


@pytest.fixture
def machine(repo: Path) -> Machine:
    return Machine(cwd=repo)


def kept(machine: Machine, *sessions: Harvest, verified: tuple[tuple[str, str], ...] = ()) -> None:
    """Sessions as a capture leaves them: one a day. In the last of them these checks passed."""
    machine.project().prepare()
    store = CaptureStore(machine.project().capture)
    try:
        with store.transaction():
            for number, harvest in enumerate(sessions):
                at = NOW + number * DAY
                own = {
                    "experience": {},
                    "session": f"s{number}",
                    "started": at,
                    "ended": at,
                    "harvest": to_builtins(harvest),
                }
                passed = verified if harvest is sessions[-1] else ()
                store.put_record(convert({**BLANK, **own, "verified": passed}, DistilledSession))
    finally:
        store.close()


def prepared(machine: Machine) -> list[Moment]:
    return list(briefings_of(machine, machine.project()).moments)


def recognised(end: DeadEnd, command: str, cwd: str = "/repo") -> bool:
    moment = remedy(end, "/repo")
    assert moment is not None
    row = {"rule": moment.rule, "token": moment.token, "needs": list(moment.needs), "place": moment.place}
    return any(call.words[0] == moment.key and fits(row, call, cwd, "/repo") for call in calls(command))


@pytest.mark.promise("S12")
@pytest.mark.parametrize(
    ("command", "same"),
    [
        ("gh pr diff 200 --stat", True),
        ("cd web && GH_TOKEN=x gh pr diff 200 --stat 2>&1 | tail -5", True),
        ("git status && gh pr diff --stat --color never 7", True),
        ("gh pr diff 200", False),
        ("git diff --stat", False),
        ("gh pr view 200 --stat", False),
        ("gh pr diff 200 --name-only", False),
        ("gh pr diff 200 | diffstat --stat", False),
        ("echo 'gh pr diff 200 --stat'", False),
    ],
)
def test_an_unknown_option_is_known_again_and_nothing_else(command: str, same: bool) -> None:
    assert recognised(STAT, command) is same


@pytest.mark.parametrize(
    ("command", "cwd", "same"),
    [
        ("make tests", "/repo", True),
        ("make -j4 tests | tail", "/repo", True),
        ("cd /repo && make tests", "/repo/web", True),
        ("cd web && make tests", "/repo", False),
        ("make tests", "/repo/web", False),
        ("make test", "/repo", False),
        ("make", "/repo", False),
    ],
)
def test_a_target_is_missing_where_it_was_missing(command: str, cwd: str, same: bool) -> None:
    assert recognised(TESTS, command, cwd) is same


def test_a_program_that_is_not_there_may_be_there_in_another_environment() -> None:
    end = DeadEnd(
        tried="pytest -q", failed="bash: pytest: command not found", instead="uv run pytest -q", at=NOW
    )
    assert recognised(end, "pytest tests/unit -x")
    assert not recognised(end, "source .venv/bin/activate && pytest -q")
    assert not recognised(end, "PATH=.venv/bin:$PATH pytest -q")
    assert not recognised(end, ".venv/bin/pytest -q")


def test_a_file_that_is_there_now_is_no_stumble(repo: Path) -> None:
    end = DeadEnd(
        tried="python scripts/chek.py",
        failed="can't open file 'scripts/chek.py'",
        instead="python scripts/check.py",
    )
    moment = remedy(end, str(repo))
    assert moment is not None and moment.rule == "path"
    row = {"rule": "path", "token": moment.token, "needs": list(moment.needs), "place": ""}
    (call,) = calls("python scripts/chek.py --all")
    assert fits(row, call, str(repo), str(repo))
    (repo / "scripts").mkdir()
    (repo / "scripts" / "chek.py").touch()
    assert not fits(row, call, str(repo), str(repo))


def test_where_a_folder_helped_only_the_other_folder_is_the_stumble() -> None:
    end = DeadEnd(
        tried="npm test", failed='npm error Missing script: "test"', instead="cd web && npm test", at=NOW
    )
    assert recognised(end, "npm test --silent")
    assert not recognised(end, "cd web && npm test")
    assert not recognised(end, "npm test", "/repo/web")


@pytest.mark.parametrize(
    "end",
    [
        replace(STAT, instead=""),
        replace(STAT, failed=""),
        replace(STAT, instead="gh pr diff 104 --name-only " + "x" * 300),
        replace(TESTS, instead="npm install, then make tests", tried="make tests"),
        DeadEnd(tried="src/shop.py", failed="no such file", instead="src/shop/core.py"),
        DeadEnd(tried="a && b", failed="unknown flag", instead="c"),
        DeadEnd(tried="", failed="x", instead="y"),
    ],
)
def test_of_some_dead_ends_no_remedy_can_be_told(end: DeadEnd) -> None:
    moment = remedy(end, "/repo")
    assert moment is None or not fits(
        {"rule": moment.rule, "token": moment.token, "needs": list(moment.needs), "place": moment.place},
        calls(end.instead.replace(", then ", ";"))[-1],
        "/repo",
        "/repo",
    )


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_a_remedy_is_never_told_to_itself(tried: str, failed: str, instead: str) -> None:
    moment = remedy(DeadEnd(tried=tried, failed=failed, instead=instead), "/repo")
    if moment is not None:
        row = {"rule": moment.rule, "token": moment.token, "needs": list(moment.needs), "place": moment.place}
        helped = [call for call in calls(instead) if call.words[0] == moment.key]
        assert not any(fits(row, call, "/repo", "/repo") for call in helped)


def test_the_line_says_what_failed_how_and_what_worked_with_its_source(machine: Machine) -> None:
    kept(machine, Harvest(dead_ends=(STAT,)))
    (moment,) = prepared(machine)
    assert moment.text == (
        "`gh pr diff 104 --stat` failed here before (unknown flag: --stat) → `gh pr diff 104 --name-only` worked "
        f"[{STAT.id}, s0, 2026-09-21]"
    )
    assert moment.reason == "failed once, known by the option --stat; last 2026-09-21 in session s0"
    assert (moment.tool, moment.key, moment.id) == ("Bash", "gh", STAT.id)


def test_what_failed_often_is_one_line_with_the_newest_remedy(machine: Machine) -> None:
    again = replace(STAT, tried="gh pr diff 7 --stat", instead="gh pr diff 7 | diffstat", at=NOW + DAY)
    kept(machine, Harvest(dead_ends=(STAT,)), Harvest(dead_ends=(again,)))
    (moment,) = prepared(machine)
    assert "diffstat" in moment.text and "in 2 sessions" in moment.reason


def test_what_worked_since_is_told_no_more(machine: Machine) -> None:
    works = Fact(text="`make tests` runs the tests", command="make tests", evidence="3 passed", at=NOW + DAY)
    kept(machine, Harvest(dead_ends=(TESTS, STAT)))
    assert len(prepared(machine)) == 2
    kept(machine, Harvest(dead_ends=(TESTS, STAT)), Harvest(facts=(works,)))
    assert [moment.key for moment in prepared(machine)] == ["gh"]


def test_a_check_that_passed_in_a_later_session_counts_as_well(machine: Machine) -> None:
    kept(machine, Harvest(dead_ends=(TESTS,)), Harvest(), verified=(("test", "make tests"),))
    assert prepared(machine) == []


def test_what_worked_before_it_failed_proves_nothing(machine: Machine) -> None:
    worked = Fact(text="`make tests` runs the tests", command="make tests", evidence="3 passed", at=NOW - DAY)
    kept(machine, Harvest(dead_ends=(TESTS,), facts=(worked,)))
    assert [moment.key for moment in prepared(machine)] == ["make"]


def test_what_was_once_the_remedy_and_fails_now_is_a_stumble_and_the_other_is_not(machine: Machine) -> None:
    back = DeadEnd(
        tried="make test",
        failed="make: *** No rule to make target 'test'.  Stop.",
        instead="make tests",
        at=NOW + DAY,
    )
    kept(machine, Harvest(dead_ends=(TESTS,)), Harvest(dead_ends=(back,)))
    (moment,) = prepared(machine)
    assert moment.token == "test"


def test_what_a_person_took_out_is_not_told(machine: Machine) -> None:
    another = replace(STAT, tried="gh pr diff 7 --stat", at=NOW + 60)
    kept(machine, Harvest(dead_ends=(STAT, another)))
    project = machine.project()
    MemoryStore(project, project.title).dismiss(STAT.id)
    assert prepared(machine) == []


def test_an_answered_question_is_prepared_with_its_answer(machine: Machine) -> None:
    answer(machine, "Which database do we use?", "Postgres 16", by="user")
    (moment,) = prepared(machine)
    assert moment.tool == "AskUserQuestion" and moment.key == "which database do we use"
    assert moment.text.startswith("Answered before: Which database do we use? → Postgres 16 (by user, 20")
    assert moment.text.endswith(f"[{moment.id}]") and moment.id.startswith("Q-")


def test_an_answer_about_how_to_go_on_is_not_given_again(machine: Machine) -> None:
    asked = (
        Question(text="What would you like to do with this ticket?", answer="Work on it", by="user", at=NOW),
        Question(text="Which region do we deploy to?", answer="Frankfurt", by="user", at=NOW),
    )
    kept(machine, Harvest(questions=tuple(replace(one, session="s0") for one in asked)))
    assert [moment.token for moment in prepared(machine)] == ["Frankfurt"]


def test_where_a_file_was_elsewhere_only_that_is_told() -> None:
    script = DeadEnd(
        tried="scripts/send.sh --to shop --body /tmp/body.z7I9.md",
        failed="bash: scripts/send.sh: No such file or directory",
        instead="tools/scripts/send.sh --to shop --body /tmp/body.z7I9.md",
        at=NOW,
    )
    moment = remedy(script, "/repo")
    assert moment is not None
    said = "`scripts/send.sh` failed here before (bash: scripts/send.sh: No such file or directory) → "
    assert moment.text.startswith(f"{said}`tools/scripts/send.sh` worked [X-")


def test_what_worked_with_a_file_of_the_moment_is_not_told_of_the_same_words() -> None:
    end = DeadEnd(tried="send report", failed="it went wrong", instead="send --file /tmp/x.md", at=NOW)
    assert remedy(end, "/repo") is None
    assert remedy(replace(end, instead="send --file docs/x.md"), "/repo") is not None


def test_a_file_that_cannot_be_read_costs_its_own_lines_only(machine: Machine) -> None:
    answer(machine, "Which database do we use?", "Postgres 16", by="user")
    kept(machine, Harvest(dead_ends=(STAT,)))
    project = machine.project()
    questions = project.memory / "projects" / project.title / "open-questions.md"
    questions.unlink()
    questions.mkdir()
    assert [moment.key for moment in prepared(machine)] == ["gh"]
