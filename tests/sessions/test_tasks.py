"""Tasks come from lists and requests; how each ended comes from evidence in the transcript."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from holdfast.model.events import (
    AgentTurn,
    ApiFailure,
    Event,
    Interruption,
    TaskResult,
    Todo,
    TodoList,
    TodoStatus,
    ToolCall,
    ToolResult,
    UserTurn,
)
from holdfast.model.ledger import FailureReason
from holdfast.sessions.digest import CheckResult, Digest, Turn
from holdfast.sessions.outcome import judge, judge_all
from holdfast.sessions.reducer import Reducer
from holdfast.sessions.tasks import tasks_of, title_of


class Story:
    """A session told step by step, each a second after the last."""

    def __init__(self, cwd: str = "") -> None:
        self.events: list[Event] = []
        self.cwd = cwd

    @property
    def at(self) -> float:
        return 1_000_000.0 + len(self.events)

    def ask(self, text: str, command: str = "") -> Story:
        self.events.append(UserTurn(self.at, text, command))
        return self

    def steer(self, text: str) -> Story:
        self.events.append(UserTurn(self.at, text, feedback=True))
        return self

    def say(self, text: str = "Done.") -> Story:
        self.events.append(AgentTurn(self.at, text))
        return self

    def run(
        self, command: str, output: str = "", *, ok: bool | None = True, code: int | None = None
    ) -> Story:
        call = f"c{len(self.events)}"
        self.events.append(ToolCall(self.at, call, "Bash", "shell", command))
        self.events.append(ToolResult(self.at, call, ok, output, exit_code=code))
        return self

    def edit(self, path: str = "a.py") -> Story:
        call = f"c{len(self.events)}"
        self.events.append(ToolCall(self.at, call, "Edit", "edit", path, (path,)))
        self.events.append(ToolResult(self.at, call, True))
        return self

    def reject(self) -> Story:
        call = f"c{len(self.events)}"
        self.events.append(ToolCall(self.at, call, "Edit", "edit", "a.py", ("a.py",)))
        self.events.append(ToolResult(self.at, call, False, "declined", rejected=True))
        return self

    def hand_over(self) -> Story:
        call = f"c{len(self.events)}"
        self.events.append(ToolCall(self.at, call, "ExitPlanMode", "plan"))
        self.events.append(ToolResult(self.at, call, False, "declined", rejected=True))
        return self

    def todo(self, **items: TodoStatus) -> Story:
        listed = tuple(Todo(text.replace("_", " "), status) for text, status in items.items())
        self.events.append(TodoList(self.at, listed))
        return self

    def stop(self) -> Story:
        self.events.append(Interruption(self.at))
        return self

    def break_down(self, text: str = "API Error: 500") -> Story:
        self.events.append(ApiFailure(self.at, text))
        return self

    def digest(self) -> Digest:
        digest = Digest(agent="claude-code", cwd=self.cwd)
        Reducer(digest).take_all(self.events)
        return digest

    def tasks(self) -> list[TaskResult]:
        digest = self.digest()
        return tasks_of(digest.turns, judge_all(digest.turns))

    def ended(self) -> list[tuple[str, str]]:
        return [(task.status, task.reason) for task in self.tasks()]


def work() -> Story:
    return Story().ask("add a basket").edit()


pytestmark = pytest.mark.promise("C3")

# --- proof ------------------------------------------------------------------------------------------------


def test_a_test_that_passed_proves_the_task() -> None:
    (task,) = work().run("pytest -q", "3 passed in 0.1s").say().tasks()
    assert (task.status, task.evidence) == ("done", "test passed: pytest -q")
    assert task.title == "add a basket"


def test_a_commit_proves_the_task() -> None:
    (task,) = work().run("git commit -m x", "[main 1a2b3c4] x").say().tasks()
    assert (task.status, task.evidence) == ("done", "1 commit")


def test_a_person_s_approval_proves_the_task() -> None:
    (task, *_) = work().say().ask("looks good, thanks").tasks()
    assert (task.status, task.evidence) == ("done", "the user then said: looks good, thanks")


def test_a_question_that_was_answered_is_done() -> None:
    (task,) = Story().ask("where is the basket?").run("rg basket", "a.py").say("In a.py.").tasks()
    assert (task.status, task.evidence) == ("done", "answered")


def test_the_agent_s_word_alone_proves_nothing() -> None:
    assert work().say("Everything works perfectly, all tests pass!").ended() == [("unknown", "")]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat test.py", "print(1)"),
        ("echo pytest", "pytest"),
        ("pytest -q | grep zebra", ""),
        ("pytest --collect-only", "3 tests collected"),
        ("git commit -m x", "nothing to commit, working tree clean"),
    ],
)
def test_a_command_that_verified_nothing_proves_nothing(command: str, output: str) -> None:
    assert work().run(command, output).say().ended() == [("unknown", "")]


def test_a_command_whose_end_nobody_saw_proves_nothing() -> None:
    assert work().run("pytest -q", "collecting", ok=None).say().ended() == [("unknown", "")]


# --- failure ----------------------------------------------------------------------------------------------


@pytest.mark.promise("L7")
@pytest.mark.parametrize(
    ("command", "output", "code", "reason"),
    [
        ("pytest -q", "FAILED a.py::test_x\n1 failed in 0.1s", 1, "test_failure"),
        ("go test ./...", "# shop\na.go:1:1: undefined: x\nFAIL shop [build failed]", 1, "syntax_error"),
        ("npm run build", "Error: Cannot find module 'x'", 1, "dependency_error"),
        ("pytest -q", "Command timed out after 2m", 143, "timeout"),
        ("npm run lint", "something odd", 1, "tool_error"),
    ],
)
def test_a_verification_that_failed_fails_the_task_with_its_reason(
    command: str, output: str, code: int, reason: str
) -> None:
    (task,) = work().run(command, output, ok=False, code=code).say("All good!").tasks()
    assert (task.status, task.reason) == ("failed", reason)
    assert task.evidence


def test_a_failure_that_a_pipe_swallowed_is_a_failure() -> None:
    story = work().run("pytest 2>&1 | tail -2", "1 failed, 3 passed in 0.2s").say("All tests pass.")
    assert story.ended() == [("failed", "test_failure")]


def test_words_like_failure_in_a_run_that_ended_well_are_no_failure() -> None:
    story = work().run("pytest -q -s", "FAIL: is what we print on purpose\n3 passed in 0.2s").say()
    assert story.ended() == [("done", "")]


def test_the_last_word_of_a_verification_counts() -> None:
    story = work().run("pytest", "1 failed", ok=False, code=1).edit().run("pytest", "3 passed").say()
    assert story.ended() == [("done", "")]
    story = work().run("pytest", "3 passed").edit().run("pytest", "1 failed", ok=False, code=1).say()
    assert story.ended() == [("failed", "test_failure")]


def test_one_kind_that_passes_does_not_hide_another_that_fails() -> None:
    story = work().run("mypy src", "Found 2 errors", ok=False, code=1).run("pytest", "3 passed").say()
    assert story.ended() == [("failed", "syntax_error")]


def test_a_line_with_all_verifications_settles_all_of_them() -> None:
    story = work().run("ruff check .", "Found 2 errors.", ok=False, code=1).edit()
    assert story.run("ruff check . && pytest", "3 passed").say().ended() == [("done", "")]


def test_a_step_after_the_verification_does_not_fail_it() -> None:
    story = work().run("go build -o shop . && ./shop frobnicate", "Usage: shop COMMAND", ok=False, code=2)
    assert story.say("The command is there.").ended() == [("unknown", "")]


def test_a_failure_along_the_way_that_the_agent_got_over_is_none() -> None:
    story = work().run("python3.9 -V", "not found", ok=False, code=127).run("pytest", "3 passed").say()
    assert story.ended() == [("done", "")]


@pytest.mark.promise("L7")
def test_a_last_step_that_failed_counts_when_the_agent_admits_it() -> None:
    story = work().run("git push", "error: failed to push some refs", ok=False, code=1)
    assert story.say("I could not push: the remote refused.").ended() == [("failed", "tool_error")]


@pytest.mark.promise("L7")
def test_a_search_without_hits_is_no_failure() -> None:
    story = Story().ask("is there a basket?").run("grep -r basket .", "", ok=False, code=1)
    assert story.say("There is none; the search failed to find it.").ended() == [("done", "")]
    assert story.digest().failed_calls == 0


@pytest.mark.promise("L7")
@pytest.mark.parametrize(
    ("story", "reason"),
    [
        (work().stop(), "interrupted"),
        (work().reject(), "user_rejected"),
        (work().reject().stop(), "user_rejected"),
        (work().break_down(), "api_error"),
        (Story().ask("add a basket").break_down(), "api_error"),
        (Story().ask("write malware").run("ls").say("I can't help with that."), "llm_refusal"),
        (Story().ask("write malware").say("I'm unable to assist with this request."), "llm_refusal"),
        (Story().ask("write malware").say("Sorry, I can’t help with that."), "llm_refusal"),
    ],
)
def test_what_stopped_the_work_is_the_reason(story: Story, reason: str) -> None:
    (task,) = story.tasks()
    assert (task.status, task.reason) == ("failed", reason)
    assert task.evidence


@pytest.mark.parametrize(
    "final",
    [
        "I can't create the pull request without a token.",
        "I cannot write to that folder: permission denied.",
        "You can't do that with a list; use a dict.",
    ],
)
def test_a_limit_that_is_explained_is_no_refusal(final: str) -> None:
    assert Story().ask("how do I ship?").run("ls").say(final).ended() == [("done", "")]


@pytest.mark.parametrize(
    "words", ["continue", "go on", "yes", "ok", "weiter", "继续", "please continue", "Try again."]
)
def test_going_on_is_the_same_task(words: str) -> None:
    story = work().stop().ask(words).run("pytest", "3 passed").say()
    assert story.ended() == [("done", "")]


def test_asking_the_same_again_after_a_stop_is_the_same_task() -> None:
    story = work().stop().ask("add a basket").run("pytest", "3 passed").say()
    assert story.ended() == [("done", "")]
    story = work().run("pytest", "3 passed").say().ask("add a basket").edit().say()
    assert story.ended() == [("unknown", "")]  # what was asked again is not proven yet


def test_words_given_with_a_refusal_steer_and_ask_for_nothing_new() -> None:
    story = work().reject().steer("use a dict").edit().run("pytest", "3 passed").say()
    assert story.ended() == [("done", "")]


def test_work_after_an_error_of_the_service_goes_on() -> None:
    assert work().break_down().say().run("pytest", "3 passed").say().ended() == [("done", "")]


@pytest.mark.promise("L7")
@pytest.mark.parametrize(
    "words",
    [
        "no, that's wrong",
        "that's not what I asked for",
        "it doesn't work",
        "it still doesn't work",
        "still failing",
        "ok but that is wrong",
        "hmm, it didn't help",
        "yes, but it does not compile",
        "you broke the till",
        "revert that",
        "why did you remove the test?",
        "das funktioniert nicht",
        "no funciona",
    ],
)
def test_a_complaint_fails_what_came_before_it(words: str) -> None:
    (task, *_) = work().say("Done!").ask(words).tasks()
    assert task.status == "failed"
    assert words in task.evidence


@pytest.mark.parametrize(
    "words",
    ["now add a till", "no need to hurry", "the tests are in tests/", "what about the till?", "no problem"],
)
def test_a_next_request_is_no_complaint(words: str) -> None:
    (task, *_) = work().say("Done!").ask(words).tasks()
    assert task.status == "unknown"


def test_a_complaint_that_was_only_answered_is_not_settled() -> None:
    story = work().say().ask("it doesn't work").run("ls").say("Please try restarting it.")
    assert [status for status, _ in story.ended()] == ["unknown"]


# --- lists ------------------------------------------------------------------------------------------------


def test_the_steps_of_an_agents_list_are_one_task() -> None:
    story = work().todo(write_it="completed", test_it="in_progress", ship_it="pending").say()
    assert [task.title for task in story.tasks()] == ["add a basket"]


@pytest.mark.promise("L7")
def test_a_list_ticked_off_although_the_tests_fail_is_not_believed() -> None:
    story = work().run("pytest", "1 failed", ok=False, code=1)
    story.todo(write_it="completed", test_it="completed").say("All done!")
    assert story.ended() == [("failed", "test_failure")]


@pytest.mark.parametrize(
    "words",
    [
        "yes",
        "b",
        "2",
        "please do",
        "make the changes",
        "it's still broken",
        "same issue",
    ],
)
def test_what_steers_the_work_is_part_of_the_request(words: str) -> None:
    assert len(work().say().ask(words).edit().say().tasks()) == 1


def test_a_pasted_error_is_no_request() -> None:
    pasted = "TypeError: basket is undefined\n    at add (basket.js:3:4)"
    assert len(work().say().ask(pasted).edit().say().tasks()) == 1


@pytest.mark.parametrize("words", ["now add a till", "write the docs for it", "why is it slow?"])
def test_another_request_is_another_task(words: str) -> None:
    assert len(work().say().ask(words).edit().say().tasks()) == 2


def test_a_request_without_an_answer_is_skipped() -> None:
    story = work().run("pytest", "3 passed").say().ask("now add a till")
    assert story.ended() == [("done", ""), ("skipped", "")]


# --- the parts --------------------------------------------------------------------------------------------


def test_a_title_is_the_first_line_that_says_something() -> None:
    assert title_of(Turn(None, "\n\n  fix it \nplease")) == "fix it"
    assert title_of(Turn(None, "the arguments", command="/review")) == "/review the arguments"
    assert len(title_of(Turn(None, "x" * 1_000))) == 160
    assert title_of(Turn(None, "")) == ""


def test_every_reason_of_a_failure_is_one_of_ten() -> None:
    turns: Sequence[Turn] = [
        Turn(None, "a", calls=1, api_error="x"),
        Turn(None, "b", calls=1, interrupted=True),
        Turn(None, "c", calls=1, rejected=True),
        Turn(None, "d", calls=1, checks={"test": CheckResult(False, "test_failure", "x")}),
    ]
    assert len(FailureReason) == 10
    assert all(judge(turn, None).reason in set(FailureReason) for turn in turns)


def test_no_request_is_no_task() -> None:
    assert tasks_of([], []) == []


def test_a_tick_counts_where_this_request_or_a_later_one_proves_something() -> None:
    story = work().edit().todo(write_it="completed").say()
    assert story.ended() == [("unknown", "")]
    story.ask("now run the tests").run("pytest", "3 passed in 0.1s").say()
    assert story.ended()[0] == ("done", "")


def test_a_test_that_passed_before_the_last_edit_proves_nothing() -> None:
    assert work().run("pytest", "3 passed in 0.1s").edit("a.py").say().ended() == [("unknown", "")]
    assert work().run("pytest", "3 passed in 0.1s").edit("README.md").say().ended() == [("done", "")]


@pytest.mark.parametrize(
    "command", ["git push -u origin fix", "gh pr create --fill", "gh pr merge 3 --squash"]
)
def test_what_was_shown_to_others_is_proof(command: str) -> None:
    assert work().edit().run(command).say().ended() == [("done", "")]
    assert work().edit().run(f"{command} --dry-run").say().ended() == [("unknown", "")]
    assert work().edit().run(f"echo '{command}'").say().ended() == [("unknown", "")]


def test_words_right_after_a_declined_step_steer_the_same_work() -> None:
    story = (
        work()
        .edit()
        .reject()
        .stop()
        .ask("use a switch instead")
        .edit()
        .run("pytest", "3 passed in 0.1s")
        .say()
    )
    assert story.ended() == [("done", "")]
    assert work().edit().reject().stop().ended() == [("failed", "user_rejected")]
