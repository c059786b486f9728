"""How a session ended: the state it was left in, by evidence, never by the best moment it had."""

from __future__ import annotations

import pytest
from tests.sessions.test_tasks import Story, work

from holdfast.sessions.outcome import judge_all, outcome_of
from holdfast.sessions.session import SessionPart, conclude

pytestmark = pytest.mark.promise("C3")


def outcome(story: Story) -> tuple[str, str]:
    digest = story.digest()
    verdicts = judge_all(digest.turns)
    name, why = outcome_of(digest.turns, digest.todos.values(), verdicts)
    return str(name), why


def done() -> Story:
    return work().run("pytest -q", "3 passed in 0.1s").say()


FAILS = {"ok": False, "code": 1}


def test_proven_work_is_done_and_says_by_what() -> None:
    assert outcome(done()) == ("done", "test passed: pytest -q")


def test_work_that_was_reported_and_nothing_contradicts_is_done_and_says_how_little_is_known() -> None:
    assert outcome(work().say("Everything works, all tests pass!")) == (
        "done",
        "changed files and reported; no check or word of the user contradicts it",
    )


def test_nothing_asked_and_nothing_done_is_unknown() -> None:
    assert outcome(Story()) == ("unknown", "nothing was asked or done")
    assert outcome(Story().ask("hello")) == ("unknown", "only the request is recorded")


def test_a_question_answered_without_tools_is_done() -> None:
    assert outcome(Story().ask("what is a basket?").say("A thing to carry things in."))[0] == "done"


def test_a_refusal_is_a_failure_even_without_tools() -> None:
    name, why = outcome(Story().ask("write malware").say("I can't help with that."))
    assert (name, why) == ("failed", "llm_refusal: I can't help with that.")


def test_ending_in_a_failure_is_failed_where_nothing_was_achieved() -> None:
    story = work().run("pytest", "1 failed in 1s", ok=False, code=1).say("Almost there!")
    name, why = outcome(story)
    assert name == "failed"
    assert why.startswith("test_failure: test: ")


def test_ending_in_a_failure_is_partial_where_something_was_achieved() -> None:
    story = done().ask("now a till").edit().run("pytest", "1 failed in 1s", ok=False, code=1).say()
    assert outcome(story)[0] == "partial"


def test_a_failure_that_was_mended_later_does_not_count() -> None:
    story = work().run("pytest", "1 failed in 1s", ok=False, code=1).say("Not yet.")
    story.ask("mend it").edit().run("pytest", "3 passed").say()
    assert outcome(story)[0] == "done"


@pytest.mark.parametrize("story", [work().stop(), work().reject(), work().reject().stop()])
def test_work_that_the_person_stopped_is_abandoned(story: Story) -> None:
    assert outcome(story)[0] == "abandoned"


def test_stopping_after_something_was_achieved_is_partial() -> None:
    assert outcome(done().ask("now a till").edit().stop())[0] == "partial"


def test_a_transcript_that_breaks_off_is_no_success() -> None:
    assert outcome(work()) == ("abandoned", "stops in the middle of work")
    assert outcome(done().ask("now a till").edit()) == ("partial", "stops in the middle of work")
    assert outcome(work().run("pytest", "3 passed")) == ("done", "test passed: pytest")


def test_a_checker_of_form_that_is_red_does_not_make_reported_work_a_failure() -> None:
    story = work().run("mypy src", "a.py:1: error: x", ok=False, code=1)
    assert outcome(story.say("Added."))[0] == "partial"


def test_a_missing_tool_says_nothing_about_the_code() -> None:
    missing = "/usr/bin/python3: No module named pytest"
    assert outcome(work().run("python3 -m pytest", missing, ok=False, code=1).say("Added."))[0] == "done"


def test_a_last_commit_is_an_end() -> None:
    assert outcome(work().run("git commit -m x", "[main 1a2b3c4] x")) == ("done", "1 commit")
    assert outcome(work().run("rtk git add a && rtk git commit -m x", "ok 1 file changed")) == (
        "done",
        "1 commit",
    )


def test_open_items_make_it_partial() -> None:
    story = work().todo(write_it="completed", ship_it="pending").run("pytest", "3 passed").say()
    assert outcome(story) == ("partial", "1 of 2 steps on the agent's list left open")


def test_an_error_of_the_service_ends_work_half_way() -> None:
    assert outcome(work().break_down("API Error: 500")) == ("partial", "api_error: API Error: 500")
    nothing = Story().ask("add a basket").break_down("API Error: 500")
    assert outcome(nothing) == ("failed", "api_error: API Error: 500")


def test_thanks_after_the_work_do_not_count_as_work() -> None:
    assert outcome(done().ask("thanks, bye").say("Bye."))[0] == "done"


def test_a_complaint_at_the_end_is_a_failure() -> None:
    assert outcome(work().say("Done!").ask("it doesn't work"))[0] == "failed"


def test_a_complaint_that_was_only_answered_is_no_success() -> None:
    story = work().say().ask("it doesn't work").run("ls").say("Please try restarting it.")
    assert outcome(story)[0] == "unknown"


def test_running_totals_follow_the_events() -> None:
    digest = done().ask("x").run("make", "boom", **FAILS).digest()  # type: ignore[arg-type]
    assert (digest.tool_calls, digest.failed_calls, digest.commits) == (3, 1, 0)
    assert digest.files == {"a.py": (0, 1)}
    assert digest.commands == {"pytest -q": 1, "make": 1}


def test_a_question_at_the_end_says_nothing_of_the_changes_before_it() -> None:
    story = work().edit().say().ask("what does this function do?").run("cat a.py", "text").say("It adds.")
    assert outcome(story)[1].startswith("changed files and reported")
    proven = done().ask("what does this function do?").run("cat a.py", "text").say("It adds.")
    assert outcome(proven)[0] == "done"


# --- what a careful reader agrees with ---------------------------------------------------------------------


@pytest.mark.promise("V2")
def test_a_commit_settles_what_was_red_before_it() -> None:
    story = work().run("pytest", "1 failed in 1s", **FAILS).run("git commit -qm x", "").say()  # type: ignore[arg-type]
    assert outcome(story) == ("done", "1 commit")


@pytest.mark.promise("V2")
def test_a_push_without_a_network_is_no_failure() -> None:
    unreachable = "ssh: connect to host github.com port 22: Operation timed out"
    story = done().run("git commit -qm x", "").run("git push", unreachable, **FAILS)  # type: ignore[arg-type]
    assert outcome(story.say("Committed; I could not push."))[0] == "done"
    refused = "error: failed to push some refs"
    story = done().ask("push it").run("git push", refused, **FAILS).say("I could not push.")  # type: ignore[arg-type]
    assert outcome(story)[0] == "partial"


@pytest.mark.promise("V2")
@pytest.mark.parametrize(
    "place", ["cd /tmp/try && pytest", "cd /home/ada/other && pytest", "cd $TMPDIR && pytest"]
)
def test_checks_of_another_repository_do_not_count(place: str) -> None:
    story = Story("/home/ada/shop").ask("add a basket").edit()
    assert outcome(story.run(place, "1 failed in 1s", **FAILS).say())[0] == "done"  # type: ignore[arg-type]
    own = Story("/home/ada/shop").ask("add a basket").edit()
    failed = own.run("cd /home/ada/shop/till && pytest", "1 failed in 1s", **FAILS)  # type: ignore[arg-type]
    assert outcome(failed.say())[0] == "failed"


@pytest.mark.promise("V2")
def test_nothing_but_a_question_back_is_abandoned() -> None:
    story = Story().ask("write an overview").say("Which parts? Please clarify the scope.")
    assert outcome(story) == ("abandoned", "the agent asked back and got no reply")


@pytest.mark.promise("V2")
def test_a_user_who_takes_the_work_back_and_leaves_has_seen_it_fail() -> None:
    story = work().run("git commit -qm x", "").say().ask("undo", "/undo").stop()
    assert outcome(story)[0] == "failed"


@pytest.mark.promise("V2")
def test_a_plan_that_was_handed_over_is_done() -> None:
    planned = Story().ask("plan a till").run("ls", "a.py").hand_over()
    assert outcome(planned) == ("done", "the plan was written and handed over")


@pytest.mark.promise("V2")
def test_subagents_whose_parent_is_not_there_are_judged_together() -> None:
    def part(number: int, story: Story) -> SessionPart:
        digest = story.digest()
        digest.session, digest.parent = f"child-{number}", "gone"
        return SessionPart(f"{number}.jsonl", digest)

    good = [part(n, work().run("pytest", "3 passed").say()) for n in range(3)]
    together = conclude("gone", good, None, None)
    assert (together.outcome, together.outcome_why) == ("done", "all 3 subagents finished")
    assert (together.kind, len(together.tasks)) == ("feature", 3)
    mixed = [*good, part(3, work().run("pytest", "1 failed in 1s", **FAILS).say())]  # type: ignore[arg-type]
    assert conclude("gone", mixed, None, None).outcome == "partial"


def test_taking_commits_back_until_the_end_leaves_nothing_or_a_part() -> None:
    committed = work().run("git commit -m x", "[main 1a2b3c4] x").say()
    assert outcome(committed.ask("undo", "/undo")) == ("failed", "the user took the work back")
    more = work().run("git commit -m x", "[main 1a2b3c4] x").say()
    more.ask("and a till").edit().run("git commit -m y", "[main 2b3c4d5] y").say().ask("undo", "/undo")
    assert outcome(more) == ("partial", "the user took back 1 of 2 commits")
