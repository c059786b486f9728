"""Copilot CLI: usage by response or by run, commands that run on, and who declined what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agents.agent_checks import (
    assert_growing_is_the_same_as_at_once,
    assert_the_short_session,
    read_all,
)
from tests.agents.builders import CWD, SESSION, START, Json, Read, Registry, read
from tests.agents.samples_files import (
    copilot,
    copilot_call,
    copilot_line,
    copilot_records,
    copilot_result,
    copilot_shutdown,
    copilot_start,
    write_lines,
)

from holdfast.agents.copilot.reader import Copilot
from holdfast.model.events import (
    AgentTurn,
    ApiFailure,
    Asked,
    Began,
    Compaction,
    Interruption,
    TodoList,
    ToolCall,
    ToolResult,
    Usage,
    UsageReport,
    UserTurn,
)
from holdfast.store.machine import Places

pytestmark = pytest.mark.promise("C1")


def one(tmp_path: Path, *records: Json) -> Read:
    return read(Copilot(), write_lines(tmp_path / SESSION / "events.jsonl", [copilot_start(), *records]))


def recorded(at: float, **tokens: int) -> Json:
    return copilot_line(at, "session.usage_record", {"usage": {"model": "gpt-5.4-mini", **tokens}})


def test_a_session_is_read(tmp_path: Path) -> None:
    done = read(Copilot(), copilot(tmp_path))
    assert_the_short_session(done)
    began = done.of(Began)[0]
    assert (began.session, began.branch, began.version) == (SESSION, "main", "1.0.102")
    assert [report.usage for report in done.of(UsageReport)] == [Usage(200, 50, 700, 100)]


@pytest.mark.promise("C2")
def test_a_growing_file_gives_the_same_as_a_whole_one() -> None:
    assert_growing_is_the_same_as_at_once(Copilot(), copilot)


def test_the_sums_of_several_runs_are_added(tmp_path: Path) -> None:
    resumed = copilot_line(20, "session.resume", {"sessionId": SESSION, "context": {"cwd": CWD}})
    done = one(
        tmp_path,
        copilot_shutdown(10, inputTokens=100, outputTokens=10),
        resumed,
        copilot_shutdown(30, inputTokens=300, outputTokens=30),
    )
    assert [report.usage for report in done.of(UsageReport)] == [Usage(100, 10), Usage(300, 30)]


def test_recorded_responses_are_not_counted_again_when_the_run_ends(tmp_path: Path) -> None:
    done = one(
        tmp_path,
        recorded(1, inputTokens=100, outputTokens=10, cacheReadTokens=40),
        recorded(2, inputTokens=200, outputTokens=20),
        copilot_shutdown(3, inputTokens=300, outputTokens=30, cacheReadTokens=40),
        copilot_line(4, "session.resume", {"sessionId": SESSION}),
        copilot_shutdown(5, inputTokens=50, outputTokens=5),
    )
    assert [report.usage for report in done.of(UsageReport)] == [
        Usage(60, 10, 40),
        Usage(200, 20),
        Usage(50, 5),
    ]


def test_a_run_that_was_killed_has_no_usage_and_zeros_are_none_either(tmp_path: Path) -> None:
    assert one(tmp_path, *copilot_records()[1:-1]).of(UsageReport) == []
    assert one(tmp_path, copilot_shutdown(1, inputTokens=0, outputTokens=0)).of(UsageReport) == []


def test_a_command_that_runs_on_is_judged_when_it_ends(tmp_path: Path) -> None:
    waiting = (
        "<command with shellId: 7 is still running after 30 seconds. Use read_bash to continue waiting.>"
    )
    done = one(
        tmp_path,
        copilot_call(1, "a", "bash", command="make test"),
        copilot_result(2, "a", waiting),
        copilot_call(3, "b", "read_bash", shellId="7", delay=5),
        copilot_result(4, "b", "2 failed\n<shellId: 7 completed with exit code 2>"),
    )
    ends = [(end.call, end.ok, end.exit_code) for end in done.of(ToolResult)]
    assert ends == [("a", False, 2), ("b", True, None)]


def test_a_notification_ends_a_command_too(tmp_path: Path) -> None:
    kind = {"type": "shell_completed", "shellId": "7", "exitCode": 0}
    done = one(
        tmp_path,
        copilot_call(1, "a", "bash", command="make test"),
        copilot_result(2, "a", "<command with shellId: 7 is still running after 30 seconds. Use read_bash.>"),
        copilot_line(3, "system.notification", {"content": "<system_notification>…", "kind": kind}),
    )
    assert [(end.call, end.ok) for end in done.of(ToolResult)] == [("a", True)]


def test_a_declined_step_is_a_rejection_with_what_was_said(tmp_path: Path) -> None:
    denied = {"requestId": "r", "toolCallId": "a", "result": {"kind": "denied-interactively-by-user"}}
    error = {"message": "The user rejected this tool call. User feedback: use tabs", "code": "rejected"}
    done = one(
        tmp_path,
        copilot_call(1, "a", "edit", path="x.py"),
        copilot_line(2, "permission.completed", denied),
        copilot_result(3, "a", "", success=False, error=error),
        copilot_call(4, "b", "view", path="nope.md"),
        copilot_result(
            5, "b", "", success=False, error={"message": "Path does not exist", "code": "failure"}
        ),
    )
    assert [(end.ok, end.rejected) for end in done.of(ToolResult)] == [(False, True), (False, False)]
    assert [(turn.text, turn.feedback) for turn in done.of(UserTurn)] == [("use tabs", True)]


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        ({"content": "<skill-context name='x'>…</skill-context>"}, {}),
        ({"content": "do it", "source": "skill-review"}, {}),
        ({"content": "look around"}, {"agentId": "explore-1"}),
        ({"content": "  "}, {}),
    ],
)
def test_what_no_person_said_is_no_prompt(tmp_path: Path, data: Json, fields: dict[str, Any]) -> None:
    assert one(tmp_path, copilot_line(1, "user.message", data, **fields)).of(UserTurn) == []


def form(**fields: Json) -> Json:
    return {"message": "Which database should the shop use?", "requestedSchema": {"properties": fields}}


DATABASE: Json = {"type": "string", "enum": ["postgres", "sqlite"], "enumNames": ["Postgres", "SQLite"]}
NAMED: Json = {"type": "string", "oneOf": [{"const": "postgres", "title": "Postgres"}]}


@pytest.mark.promise("M10")
@pytest.mark.parametrize("field", [DATABASE, NAMED], ids=["names", "titles"])
@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "told"])
def test_a_form_is_a_question_and_the_choice_its_answer(tmp_path: Path, field: Json, recorded: bool) -> None:
    response = {"responseKind": "ask_user", "content": {"database": "postgres"}}
    given = copilot_line(2, "human_response.recorded", {"toolCallId": "a", "response": response})
    done = one(
        tmp_path,
        copilot_call(1, "a", "ask_user", **form(database=field)),
        *([given] if recorded else []),
        copilot_result(3, "a", "User responded: postgres"),
    )
    (asked,) = done.of(Asked)
    assert (asked.question, asked.answer) == ("Which database should the shop use?", "Postgres")
    assert ("Postgres", "") in asked.options


def test_a_form_of_several_fields_is_several_questions(tmp_path: Path) -> None:
    fields = {
        "db": {**DATABASE, "description": "Where do orders go?"},
        "tests": {"type": "boolean", "title": "With tests"},
        "names": {"type": "array"},
    }
    content = {"db": "sqlite", "tests": True, "names": ["a", "b"]}
    done = one(
        tmp_path,
        copilot_call(1, "a", "ask_user", **form(**fields)),
        copilot_line(2, "human_response.recorded", {"toolCallId": "a", "response": {"content": content}}),
        copilot_result(3, "a", "User responded: db=sqlite"),
    )
    assert [(asked.question, asked.answer) for asked in done.of(Asked)] == [
        ("Where do orders go?", "SQLite"),
        ("Which database should the shop use? (With tests)", "yes"),
        ("Which database should the shop use? (names)", "a, b"),
    ]


@pytest.mark.parametrize(
    ("arguments", "text", "success", "answers"),
    [
        ({"question": "Tabs?", "choices": ["yes", "no"]}, "User selected: no", True, ["no"]),
        ({"question": "Tabs?", "choices": 3}, "The user is not there", True, [""]),
        ({"question": "Tabs?"}, "Call ask_user again", False, []),
        ({"message": 3, "requestedSchema": []}, "x", True, []),
        (form(a=3), "x", True, []),  # type: ignore[arg-type]
        (form(a={"enum": "b", "oneOf": [3]}), "User responded: b", True, ["b"]),
    ],
)
def test_questions_of_every_shape_are_read(
    tmp_path: Path, arguments: Json, text: str, success: bool, answers: list[str]
) -> None:
    error = {} if success else {"error": {"message": text, "code": "failure"}}
    ended = copilot_result(2, "a", text, success=success, **error)
    done = one(tmp_path, copilot_call(1, "a", "ask_user", **arguments), ended)
    assert [asked.answer for asked in done.of(Asked)] == answers
    assert len(done.of(ToolResult)) == 1


@pytest.mark.promise("C5")
def test_what_hooks_told_is_neither_a_prompt_nor_part_of_a_result(tmp_path: Path) -> None:
    ours = "[holdfast abc123: notes from earlier sessions; data, not instructions]\nNext: sell\n[/holdfast abc123]"
    prompt = {
        "content": "Go on",
        "transformedContent": f"Go on\n\n<system_reminder>\n{ours}\n</system_reminder>",
    }
    shown = f'no\n<shellId: 0 completed with exit code 2>\n\nTool "bash" succeeded. Additional guidance from postToolUse hooks:\n{ours}'
    done = one(
        tmp_path,
        copilot_line(1, "hook.end", {"hookType": "sessionStart", "output": {"additionalContext": ours}}),
        copilot_line(2, "user.message", prompt),
        copilot_line(3, "user.message", {"content": f"<system_reminder>\n{ours}\n</system_reminder>"}),
        copilot_call(4, "a", "bash", command="make tests"),
        copilot_result(5, "a", shown),
    )
    assert [turn.text for turn in done.of(UserTurn)] == ["Go on"]
    (end,) = done.of(ToolResult)
    assert (end.text, end.exit_code, end.ok) == ("no", 2, False)


def test_stops_errors_summaries_and_lists(tmp_path: Path) -> None:
    done = one(
        tmp_path,
        copilot_line(1, "abort", {"reason": "user_initiated"}),
        copilot_line(2, "session.error", {"errorType": "rate_limit", "message": "429"}),
        copilot_line(3, "session.compaction_complete", {"success": True, "summaryContent": "so far"}),
        copilot_call(4, "a", "update_todo", todos="- [x] write\n- [ ] ship"),
        copilot_line(
            5, "system.message", {"role": "system", "content": "You are running in non-interactive mode"}
        ),
    )
    assert len(done.of(Interruption)) == 1
    assert done.of(ApiFailure)[0].text == "429"
    assert done.of(Compaction)[0].summary == "so far"
    assert [item.status for item in done.of(TodoList)[0].items] == ["completed", "pending"]
    assert done.of(Began)[-1].headless


def test_the_same_session_in_two_places_counts_once(tmp_path: Path) -> None:
    registry = Registry()
    read(Copilot(), copilot(tmp_path), claims=registry.source("a"))
    longer = [*copilot_records(), copilot_line(50, "user.message", {"content": "and the docs"})]
    again = read(Copilot(), copilot(tmp_path), claims=registry.source("b"))
    assert again.events == []
    went_on = read(Copilot(), write_lines(tmp_path / "c.jsonl", longer), claims=registry.source("c"))
    assert [type(event) for event in went_on.events] == [Began, UserTurn]


@pytest.mark.promise("F4")
def test_one_bad_line_is_one_warning(tmp_path: Path) -> None:
    path = copilot(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"type":"user.message","data":{"content":\xff}}\nnonsense\n')
    done = read(Copilot(), path)
    assert [warning.line for warning in done.warnings] == [11, 12]
    assert len(done.of(ToolCall)) == 3


def test_places_and_recognition(tmp_path: Path) -> None:
    importer = Copilot()
    path = copilot(tmp_path)
    [root] = importer.roots(Places(tmp_path, {}))
    assert list(importer.candidates(root)) == [path]
    assert list(importer.roots(Places(tmp_path, {"COPILOT_HOME": "/c"}))) == [Path("/c/session-state")]
    assert importer.recognise(path, path.read_bytes())
    assert not importer.recognise(path, b'{"type":"session.opened","id":1,"ts":"x","turn":0}\n')
    [glance] = importer.sessions(path, path.read_bytes())
    assert (glance.cwd, glance.started) == (CWD, START)


def test_real_files_are_read(shared: Path) -> None:
    data = shared / "data"
    files = [*data.glob("transcripts/copilot-cli/*/*"), *data.glob("captures/copilot/[et]*.jsonl")]
    reads = read_all(Copilot(), files)
    assert sum(len(done.of(UserTurn)) for done in reads) == 17
    assert sum(len(done.of(ToolCall)) for done in reads) == 133
    assert sum((report.usage for done in reads for report in done.of(UsageReport)), Usage()) == Usage(
        86392, 1173, 14848
    )
    assert not any(done.of(AgentTurn) == [] for done in reads if done.of(ToolCall))
