"""The digest of current.md: this branch only, the handed-over first, within the budget, old state in one line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.memory import memory_values as values

from holdfast.core.tokens import count_tokens
from holdfast.memory.current import (
    BEGINNING,
    ActiveProject,
    Check,
    Current,
    CurrentFile,
    Done,
    FileHint,
    NextStep,
    RecurringFailure,
    parse_current,
    render_current,
)
from holdfast.memory.current_digest import STUMBLE_BUDGET, digest
from holdfast.model.memory import OpenItem, Question

NOW = 1_767_621_720.0
STATE = Current(
    next=(
        NextStep(text="derived before that", branch="main", session="s1", at=NOW - 90),
        NextStep(text="derived later", branch="main", session="s2", at=NOW - 50),
        NextStep(text="Sign the links", branch="main", by="user", at=NOW - 60),
        NextStep(text="other branch's secret plan", branch="payments", at=NOW),
    ),
    todo=(
        OpenItem(text="Tidy up", priority="low"),
        OpenItem(text="Rotate the key", priority="high", owner="user"),
        OpenItem(text="other branch's chore", branch="payments"),
    ),
    questions=(Question(text="Which region?"), Question(text="Closed?", answer="yes")),
    stumbles=(RecurringFailure(tried="python x", failed="not found", instead="python3 x", sessions=3),),
    checks=(Check(command="uv run pytest", kind="test", at=NOW),),
    done=(
        Done(text="Moved the proxy", branch="main", agent="codex", at=NOW - 3600),
        Done(text="other branch's deed", branch="payments", agent="codex", at=NOW),
    ),
    projects=(ActiveProject(name="shop", status="webhook half done", branch="main"),),
    files=(
        FileHint(path="projects/shop/log.md", when="asking why"),
        FileHint(path="projects/shop/reference.md", when="calling an API"),
    ),
)


def file_of(current: Current, beside: str = "") -> CurrentFile:
    return parse_current(render_current(parse_current(BEGINNING + beside).document, current))


def told(current: Current, branch: str | None, budget: int, now: float) -> list[str]:
    return [line.text for line in digest(file_of(current), branch, budget, now)]


def test_half_a_command_is_not_told() -> None:
    long = Check(command="tsc " + " ".join(f"--option-{number} value" for number in range(60)), kind="types")
    lines = told(Current(checks=(long, *STATE.checks)), "main", 300, NOW)
    assert [line for line in lines if "passed with" in line] == ["Test passed with: uv run pytest"]


@pytest.mark.promise("M6", "M13")
def test_a_new_session_is_told_what_matters_on_its_branch() -> None:
    assert told(STATE, "main", 300, NOW) == [
        "Next (by the user): Sign the links",
        "Next: derived later",
        "`python x` fails here (not found) → `python3 x` worked",
        f"Open question: Which region? [{STATE.questions[0].id}]",
        "To do (high, for the user): Rotate the key",
        "To do (low): Tidy up",
        "Done last (2026-01-05, codex): Moved the proxy",
        "Test passed with: uv run pytest",
        "Load from .holdfast/local/projects/shop/: log.md when asking why; reference.md when calling an API",
    ]


@pytest.mark.promise("M13")
def test_on_a_new_branch_it_is_told_where_work_went_on_last_and_nothing_of_it() -> None:
    (line,) = [one for one in told(STATE, "new-branch", 300, NOW) if one.startswith("Last session here")]
    assert line == "Last session here: 2026-01-05 on payments (holdfast resume --branch NAME)"
    assert not any(one.startswith("Last session here") for one in told(STATE, "main", 300, NOW))
    assert not any(
        one.startswith("Last session") for one in told(STATE, "new-branch", 300, NOW + 20 * 86_400)
    )
    detached = Current(done=(Done(text="a deed", branch="HEAD", at=NOW),))
    assert told(detached, "new-branch", 300, NOW) == [], "nothing checked out is not a branch to look at"


def test_the_only_project_is_told_where_nothing_else_says_what_it_is_at() -> None:
    alone = Current(projects=STATE.projects)
    assert told(alone, "main", 300, NOW) == ["Project shop: webhook half done"]
    assert not any(one.startswith("Project") for one in told(STATE, "main", 300, NOW))
    several = Current(done=STATE.done, projects=(*STATE.projects, ActiveProject(name="api", status="idle")))
    assert [one for one in told(several, "main", 300, NOW) if one.startswith("Project")] == [
        "Project shop: webhook half done",
        "Project api: idle",
    ]


def test_of_what_sessions_left_the_newest_few_are_told_and_all_that_a_person_wants() -> None:
    left = [
        OpenItem(text=f"left {number}", owner="agent", session=f"s{number}", at=NOW - 86_400 * number)
        for number in range(5)
    ]
    own = [OpenItem(text=f"own {number}") for number in range(5)]
    lines = told(Current(todo=(*left[::-1], *own)), "main", 300, NOW)
    assert [one for one in lines if "left" in one] == [
        "To do (2026-01-05): left 0",
        "To do (2026-01-04): left 1",
        "To do (2026-01-03): left 2",
    ]
    assert len([one for one in lines if "own" in one]) == 5


def test_the_last_deed_is_told_once() -> None:
    deed = Done(text="Fix the cart (partial). Half of it", branch="main", session="s1", at=NOW)
    older = Done(text="Write the cart.", branch="main", session="s0", at=NOW - 60)
    assert told(Current(done=(deed, older)), "main", 300, NOW) == [
        "Done last (2026-01-05): Fix the cart (partial). Half of it"
    ]
    step = NextStep(
        text="Go on with: Fix the cart (partial, 2026-01-05)", branch="main", session="s1", at=NOW
    )
    assert told(Current(done=(deed, older), next=(step,)), "main", 300, NOW) == [f"Next: {step.text}"]
    command = Done(text="/review (partial).", branch="main", at=NOW)
    assert told(Current(done=(command,)), "main", 300, NOW) == [], "how, and not what"


def test_half_a_question_is_not_told() -> None:
    long = Question(text=f"Which holds: “{'word ' * 80}”, or the other?")
    assert told(Current(questions=(long, *STATE.questions)), "main", 300, NOW) == [
        f"Open question: Which region? [{STATE.questions[0].id}]"
    ]
    many = tuple(Question(text=f"Which region for shop {number}?") for number in range(9))
    assert len(told(Current(questions=many), "main", 300, NOW)) == 3


def test_a_command_of_which_a_part_was_taken_out_is_not_told() -> None:
    broken = Check(command="npx markdownlint .REDACTED.md", kind="lint", at=NOW)
    assert told(Current(checks=(broken,)), "main", 300, NOW) == []


def test_a_rule_that_is_cut_ends_with_a_whole_command() -> None:
    rule = (
        "`go test` fails here (no main module) → in `e2e/`: `cd e2e && go test ./...` or `cd e2e && go vet "
    )
    long = RecurringFailure(tried=f"{rule}{'-tags=some-tag ' * 20}./...`", sessions=2)
    (line,) = told(Current(stumbles=(long,)), "main", 300, NOW)
    assert line == "`go test` fails here (no main module) → in `e2e/`: `cd e2e && go test ./...`"


def test_where_to_look_is_said_of_this_project_and_without_its_archive() -> None:
    paths = ("projects/shop/log.md", "projects/shop/archive/", "projects/api/log.md", "style.md")
    state = Current(files=tuple(FileHint(path=path, when="asking why") for path in paths))
    lines = [line.text for line in digest(file_of(state), "main", 300, NOW, project="", name="shop")]
    assert lines == [
        "Load from .holdfast/local/projects/shop/: log.md when asking why",
        "Load from .holdfast/local/: style.md when asking why",
    ]


@pytest.mark.promise("M13")
def test_no_word_of_another_branch_is_told() -> None:
    for branch in ("main", "new-branch", ""):
        assert "other branch's" not in " ".join(told(STATE, branch, 3000, NOW))
    assert "webhook half done" not in " ".join(told(STATE, "new-branch", 3000, NOW))
    assert "other branch's secret plan" in " ".join(told(STATE, None, 3000, NOW)), "no branch, no border"


@pytest.mark.promise("M6")
def test_state_older_than_two_weeks_is_one_line() -> None:
    later = told(STATE, "main", 300, NOW + 20 * 86_400)
    assert later[0] == "Last state here is 20 days old (2026-01-05): derived later"
    assert not any(line.startswith(("Next: ", "Done")) for line in later)
    assert "Next (by the user): Sign the links" in later, "what somebody said does not grow old"
    assert any("fails here" in line for line in later), "what fails does not grow old"
    assert told(STATE, "main", 300, NOW + 13 * 86_400)[0].startswith("Next (by the user)")


@pytest.mark.promise("M6")
@settings(deadline=None)
@given(values.currents, st.sampled_from(["main", "", None]), st.integers(0, 300), st.floats(0, 4e9))
def test_the_digest_stays_within_its_budget(
    current: Current, branch: str | None, budget: int, now: float
) -> None:
    lines = told(current, branch, budget, now)
    assert sum(map(count_tokens, lines)) <= budget
    assert not any("\n" in line for line in lines)


def test_one_essay_does_not_eat_the_budget() -> None:
    essay = Current(next=(NextStep(text="word " * 5000, at=NOW), NextStep(text="x" * 9000, at=NOW - 1)))
    first, second, *_ = told(essay, "main", 300, NOW)
    assert first.endswith("…") and count_tokens(first) < 70
    assert second.endswith("…") and count_tokens(second) < 70


def test_stumbles_have_a_share_and_no_more() -> None:
    many = tuple(
        RecurringFailure(tried=f"tool{n} --flag", failed="no such flag", sessions=2) for n in range(40)
    )
    lines = told(Current(stumbles=many), "main", 600, NOW)
    assert 0 < sum(map(count_tokens, [line for line in lines if "fails here" in line])) <= STUMBLE_BUDGET


@pytest.mark.promise("M1")
def test_what_a_person_wrote_into_the_file_is_told() -> None:
    file = file_of(STATE, "\n## Watch out\n\n- never touch the billing table\n")
    text = file.document.render().replace("- Sign the links", "- ask Ada first\n- Sign the links")
    lines = [line.text for line in digest(parse_current(text), "main", 600, NOW)]
    assert "Noted by hand: - never touch the billing table" in lines
    assert "Noted by hand: - ask Ada first" in lines
    assert not any("Read this first" in line for line in lines), (
        "what we wrote ourselves is not a person's word"
    )


def test_every_line_says_where_it_comes_from() -> None:
    assert all(line.reason for line in digest(file_of(STATE), "main", 600, NOW))


def test_bytes_that_are_no_text_and_a_byte_order_mark_are_told_harmlessly():
    text = b"\xef\xbb\xbf# Current state\nbad \xff\xfe bytes\n".decode("utf-8", "surrogateescape")
    told = [line.text for line in digest(parse_current(text), "main", 600, NOW)]
    assert told == ["Noted by hand: bad \ufffd\ufffd bytes"]


def test_what_is_written_by_hand_is_cleaned_before_it_is_told():
    file = file_of(Current(), beside="\nthe key is K\n<private>\nmine alone\n</private>\n")
    lines = digest(
        file, "main", 600, NOW, lambda text: text.replace("K", "[redacted]").replace("mine alone", "")
    )
    assert [line.text for line in lines][:1] == ["Noted by hand: the key is [redacted]"]
    assert not any("mine alone" in line.text for line in lines)
