"""Claude Code's files as they really are: what repeats is counted once, and who speaks is told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import (
    CWD,
    SESSION,
    START,
    ClaudeFile,
    Registry,
    claude_usage,
    digest_of,
    read_claude,
    session_of,
    text_block,
)

from holdfast.agents.claude_code.reader import ClaudeCode
from holdfast.model.events import (
    AgentTurn,
    ApiFailure,
    Began,
    Compaction,
    Interruption,
    Tick,
    TodoList,
    ToolCall,
    ToolResult,
    UsageReport,
    UserTurn,
)
from holdfast.sessions.reducer import settle_responses
from holdfast.store.machine import Places

pytestmark = pytest.mark.promise("C1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


@pytest.fixture
def file() -> ClaudeFile:
    return ClaudeFile()


def totals(path: Path, **options: Any) -> tuple[int, int, int, int]:
    """Input, output, cache reads and cache writes as the ledger will count them."""
    digest = digest_of(read_claude(path, **options).events)
    settle_responses(digest, 0)
    used = [total.usage for total in digest.usage]
    return (
        sum(usage.input for usage in used),
        sum(usage.output for usage in used),
        sum(usage.cache_read for usage in used),
        sum(usage.cache_write for usage in used),
    )


def prompts(path: Path) -> list[str]:
    return [f"{turn.command} {turn.text}".strip() for turn in read_claude(path).of(UserTurn)]


# --- where it began ---------------------------------------------------------------------------------------


def test_the_first_line_of_the_conversation_says_session_directory_branch_and_version(
    file: ClaudeFile, path: Path
) -> None:
    file.snapshot()
    file.user(0, "add a basket")
    (began,) = read_claude(file.save(path)).of(Began)
    assert (began.session, began.cwd, began.branch, began.version) == (SESSION, CWD, "main", "2.1.39")
    assert (began.at, began.parent, began.headless, began.provider) == (START, "", False, "anthropic")


def test_a_changed_branch_is_said_again_and_the_session_stays_one(file: ClaudeFile, path: Path) -> None:
    file.user(0, "add a basket")
    file.common["gitBranch"] = "basket"
    file.user(5, "and a till")
    reading = read_claude(file.save(path))
    assert [began.branch for began in reading.of(Began)] == ["main", "basket"]
    assert digest_of(reading.events).branch == "basket"


def test_a_run_without_a_person_is_headless(path: Path) -> None:
    file = ClaudeFile(entrypoint="sdk-cli")
    file.user(0, "List the files, please.")
    assert read_claude(file.save(path)).of(Began)[0].headless


def test_sessions_are_looked_for_where_the_configuration_says(tmp_path: Path) -> None:
    importer = ClaudeCode()
    usual = importer.roots(Places(tmp_path, {}))
    assert list(usual) == [tmp_path / ".claude/projects", tmp_path / ".config/claude/projects"]
    moved = importer.roots(Places(tmp_path, {"CLAUDE_CONFIG_DIR": "/a,/b"}))
    assert list(moved) == [Path("/a/projects"), Path("/b/projects")]


def test_a_file_of_nothing_but_notes_belongs_to_no_session(file: ClaudeFile, path: Path) -> None:
    file.summary("A title of some other session")
    file.snapshot()
    reading = read_claude(file.save(path))
    assert reading.events == []
    assert reading.warnings == []
    assert digest_of(reading.events).empty


# --- usage: gotchas 1 to 3 --------------------------------------------------------------------------------


@pytest.mark.promise("L17")
def test_usage_repeated_on_every_block_of_a_response_counts_once(file: ClaudeFile, path: Path) -> None:
    file.user(0, "add a basket")
    usage = claude_usage(3, 50, read=1000, write=200, write_1h=150)
    tool = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": f"{CWD}/a.py"}}
    file.assistant(2, [{"type": "thinking", "thinking": "…"}, text_block("I look."), tool], usage=usage)
    reading = read_claude(file.save(path))
    assert len(reading.of(UsageReport)) == 3
    assert totals(path) == (3, 50, 1000, 200)
    (response,) = digest_of(reading.events).open_responses.values()
    assert response.usage.cache_write_1h == 150


@pytest.mark.promise("L17")
@pytest.mark.parametrize("outputs", [(1, 90, 40), (90, 40, 1), (1, 40, 90)])
def test_of_repeats_that_differ_the_largest_output_counts(
    file: ClaudeFile, path: Path, outputs: tuple[int, ...]
) -> None:
    for output in outputs:
        file.assistant(1, "a", id="msg_1", request="req_1", usage=claude_usage(5, output))
    file.save(path)
    assert totals(path)[:2] == (5, 90)


@pytest.mark.promise("L17")
def test_without_a_request_id_the_message_id_tells_responses_apart(file: ClaudeFile, path: Path) -> None:
    file.assistant(1, [text_block("a"), text_block("b")], id="msg_1", request=None, usage=claude_usage(5, 7))
    file.assistant(2, "c", id="msg_2", request=None, usage=claude_usage(5, 7))
    file.save(path)
    assert totals(path)[1] == 14


@pytest.mark.promise("L17")
def test_one_message_id_under_two_requests_is_two_responses(file: ClaudeFile, path: Path) -> None:
    for request in ("req_1", "req_2"):
        file.assistant(1, "a", id="msg_1", request=request, usage=claude_usage(5, 7))
    file.save(path)
    assert totals(path)[1] == 14


@pytest.mark.promise("L17")
def test_a_response_without_any_id_is_still_counted(file: ClaudeFile, path: Path) -> None:
    file.assistant(1, "a", id=None, request=None, usage=claude_usage(5, 7))
    file.assistant(2, "b", id=None, request=None, usage=claude_usage(5, 7))
    file.save(path)
    assert totals(path)[:2] == (10, 14)


@pytest.mark.promise("L17", "C2")
def test_a_copied_history_is_counted_once_over_all_files(tmp_path: Path) -> None:
    first = ClaudeFile()
    first.user(0, "add a basket")
    first.assistant(2, "Done.", usage=claude_usage(5, 100))
    second = ClaudeFile("5e9f", prefix="v")
    second.copied_from(first)
    second.user(1000, "now a till")
    second.assistant(1002, "Done too.", usage=claude_usage(5, 11))
    registry = Registry()
    one, two = first.save(tmp_path / "one.jsonl"), second.save(tmp_path / "two.jsonl")
    assert totals(one, claims=registry.source("one"))[1] == 100
    again = read_claude(two, claims=registry.source("two"))
    assert [turn.text for turn in again.of(UserTurn)] == ["now a till"]
    assert [report.usage.output for report in again.of(UsageReport)] == [11]


@pytest.mark.promise("L17", "C2")
def test_a_response_copied_under_new_line_ids_is_still_the_same_response(tmp_path: Path) -> None:
    registry = Registry()
    for name in ("one", "two"):
        file = ClaudeFile(prefix=name)
        file.assistant(1, "a", id="msg_1", request="req_1", usage=claude_usage(5, 100))
        file.save(tmp_path / name)
    assert totals(tmp_path / "one", claims=registry.source("one"))[1] == 100
    assert totals(tmp_path / "two", claims=registry.source("two"))[1] == 0


@pytest.mark.promise("C2")
def test_the_time_of_a_copied_history_is_not_spent_again(tmp_path: Path) -> None:
    first = ClaudeFile()
    first.user(0, "add a basket")
    first.progress(20)
    first.assistant(40, "Done.")
    second = ClaudeFile("5e9f", prefix="v")
    second.copied_from(first)
    second.user(9000, "now a till")
    second.progress(9030)
    second.assistant(9060, "Done too.")
    registry = Registry()
    read_claude(first.save(tmp_path / "one.jsonl"), claims=registry.source("one"))
    copy = read_claude(second.save(tmp_path / "two.jsonl"), claims=registry.source("two"))
    digest = digest_of(copy.events)
    assert (digest.first_at, digest.last_at) == (START + 9000, START + 9060)


def test_progress_after_a_line_that_this_file_repeats_itself_still_takes_time(
    file: ClaudeFile, path: Path
) -> None:
    file.user(0, "add a basket", uuid="same")
    file.user(0, "add a basket", uuid="same")
    file.progress(100)
    reading = read_claude(file.save(path))
    assert len(reading.of(UserTurn)) == 1
    assert [tick.at for tick in reading.of(Tick)] == [START + 100]


def test_a_made_up_message_of_the_client_is_no_response(file: ClaudeFile, path: Path) -> None:
    file.assistant(1, "No response requested.", model="<synthetic>", usage=claude_usage(0, 0))
    reading = read_claude(file.save(path))
    assert reading.of(UsageReport, AgentTurn) == []


# --- who speaks: gotcha 12 --------------------------------------------------------------------------------


def test_a_person_s_words_are_a_turn(file: ClaudeFile, path: Path) -> None:
    file.user(0, "  add a basket\n")
    file.user(1, [text_block("and here is a picture"), {"type": "image", "source": {"data": "…"}}])
    file.user(2, "by hand", origin={"kind": "human"}, promptSource="typed")
    file.save(path)
    assert prompts(path) == ["add a basket", "and here is a picture", "by hand"]


@pytest.mark.parametrize("name", ["clear", "compact", "model", "exit", "usage", "mcp"])
def test_a_command_that_the_client_answers_itself_is_no_turn(file: ClaudeFile, path: Path, name: str) -> None:
    file.user(0, "<local-command-caveat>Caveat: local commands follow.</local-command-caveat>", isMeta=True)
    file.command(0, name)
    file.user(0, "<local-command-stdout>Set model to something</local-command-stdout>")
    file.save(path)
    assert prompts(path) == []


def test_a_command_of_the_project_is_a_turn_with_its_arguments(file: ClaudeFile, path: Path) -> None:
    file.command(0, "review-basket", "https://example.org/pull/7")
    file.user(0, "The whole text of the command, expanded.", isMeta=True)
    file.command(5, "ship")
    (first, second) = read_claude(file.save(path)).of(UserTurn)
    assert (first.command, first.text) == ("/review-basket", "https://example.org/pull/7")
    assert (second.command, second.text) == ("/ship", "")


def test_a_command_whose_message_stands_before_its_name_is_read_the_same(
    file: ClaudeFile, path: Path
) -> None:
    file.user(
        0,
        "<command-message>plugin:plan</command-message>\n<command-name>/plugin:plan</command-name>\n"
        "<command-args>a short plan</command-args>",
    )
    file.save(path)
    assert prompts(path) == ["/plugin:plan a short plan"]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Base directory for this skill: /skills/x", {"isMeta": True}),
        ("Base directory for this skill: /skills/x", {"sourceToolUseID": "toolu_1"}),
        ("Only shown in the transcript", {"isVisibleInTranscriptOnly": True}),
        ("<task-notification>\n<status>completed</status></task-notification>", {}),
        ("A background task ended", {"origin": {"kind": "task-notification"}}),
        ("<system-reminder>\nhook additional context: remember this\n</system-reminder>", {}),
        ("<user-prompt-submit-hook>remember this</user-prompt-submit-hook>", {}),
        ("<bash-input>git branch -v</bash-input>", {}),
        ("<bash-stdout>* main</bash-stdout><bash-stderr></bash-stderr>", {}),
        ("<local-command-stdout>Catch you later!</local-command-stdout>", {}),
        ("<ide_opened_file>The user opened the file /a.py in the IDE.</ide_opened_file>", {}),
    ],
)
def test_a_user_line_that_nobody_typed_is_no_turn(
    file: ClaudeFile, path: Path, text: str, fields: dict[str, Any]
) -> None:
    file.user(3, text, **fields)
    reading = read_claude(file.save(path))
    assert reading.of(UserTurn) == []
    assert reading.warnings == []


def test_what_the_editor_wraps_around_words_is_taken_off(file: ClaudeFile, path: Path) -> None:
    file.user(
        0,
        [
            text_block("<ide_opened_file>The user opened /a.py.</ide_opened_file>"),
            text_block("<ide_selection>lines 2 to 3 of /a.py</ide_selection>"),
            text_block("rename this <b>class</b>"),
        ],
    )
    file.save(path)
    assert prompts(path) == ["rename this <b>class</b>"]


def test_a_reminder_that_was_cut_off_takes_the_rest_with_it(file: ClaudeFile, path: Path) -> None:
    file.user(0, "add a basket\n<system-reminder>never closed")
    file.save(path)
    assert prompts(path) == ["add a basket"]


def test_hook_context_in_attachments_is_no_turn(file: ClaudeFile, path: Path) -> None:
    file.attachment(0, {"type": "hook_additional_context", "content": ["remember this"], "hookName": "Start"})
    file.attachment(0, {"type": "skill_listing", "content": "- a skill", "isInitial": True})
    assert read_claude(file.save(path)).of(UserTurn) == []


def test_words_typed_while_the_agent_worked_are_a_turn(file: ClaudeFile, path: Path) -> None:
    file.queue(0, "enqueue", "use decimals")
    file.attachment(1, {"type": "queued_command", "prompt": "use decimals", "commandMode": "prompt"})
    file.attachment(2, {"type": "queued_command", "prompt": [text_block("and round half even")]})
    file.attachment(3, {"type": "queued_command", "prompt": "<task-notification>done</task-notification>"})
    file.save(path)
    assert prompts(path) == ["use decimals", "and round half even"]


def test_a_compaction_summary_is_a_compaction_and_no_words_of_a_person(file: ClaudeFile, path: Path) -> None:
    file.user(0, "add a basket")
    file.compact(100, "This session is being continued from a previous conversation. We added a basket.")
    file.user(110, "now a till")
    reading = read_claude(file.save(path))
    assert [turn.text for turn in reading.of(UserTurn)] == ["add a basket", "now a till"]
    (compaction,) = reading.of(Compaction)
    assert compaction.summary.endswith("We added a basket.")


@pytest.mark.parametrize("for_tool", [False, True])
def test_an_interruption_is_no_words(file: ClaudeFile, path: Path, for_tool: bool) -> None:
    file.user(0, "add a basket")
    file.interrupt(9, for_tool=for_tool)
    reading = read_claude(file.save(path))
    assert [event.at for event in reading.of(Interruption)] == [START + 9]
    assert len(reading.of(UserTurn)) == 1


# --- tools: gotchas 10 and 12 -----------------------------------------------------------------------------


def test_a_tool_call_says_what_it_does_and_to_what(file: ClaudeFile, path: Path) -> None:
    file.call(0, "Bash", {"command": "ls -l", "description": "List"})
    file.call(1, "Edit", {"file_path": f"{CWD}/a.py", "old_string": "a", "new_string": "b"})
    file.call(2, "NotebookEdit", {"notebook_path": f"{CWD}/n.ipynb"})
    file.call(3, "Grep", {"pattern": "def .*", "path": CWD})
    file.call(4, "ExitPlanMode", {"plan": "1. do it"})
    file.call(5, "Task", {"description": "look around", "prompt": "…", "subagent_type": "Explore"})
    file.call(6, "mcp__mem__recall", {"query": "deploy"})
    calls = read_claude(file.save(path)).of(ToolCall)
    assert [(call.action, call.target) for call in calls] == [
        ("shell", "ls -l"),
        ("edit", f"{CWD}/a.py"),
        ("edit", f"{CWD}/n.ipynb"),
        ("search", "def .*"),
        ("plan", "1. do it"),
        ("agent", "look around"),
        ("other", "deploy"),
    ]
    assert [call.paths for call in calls[:3]] == [(), (f"{CWD}/a.py",), (f"{CWD}/n.ipynb",)]


@pytest.mark.parametrize(
    "details",
    [
        {"stdout": "ok", "stderr": "", "interrupted": False},
        "Error: anything",
        [{"type": "text", "text": "ok"}],
        None,
    ],
    ids=["dict", "str", "list", "absent"],
)
def test_a_result_is_read_whatever_the_client_stores_beside_it(
    file: ClaudeFile, path: Path, details: Any
) -> None:
    call = file.call(0, "Bash", {"command": "make"})
    file.result(1, call, "ok", details=details)
    reading = read_claude(file.save(path))
    (result,) = reading.of(ToolResult)
    assert (result.ok, result.text, result.exit_code) == (True, "ok", None)
    assert reading.warnings == []


def test_a_result_of_blocks_is_its_texts(file: ClaudeFile, path: Path) -> None:
    call = file.call(0, "Bash", {"command": "make"})
    file.result(1, call, [text_block("one"), {"type": "image", "source": {}}, text_block("two")])
    assert read_claude(file.save(path)).of(ToolResult)[0].text == "one\ntwo"


def test_a_long_result_that_was_offloaded_still_ends_its_call(file: ClaudeFile, path: Path) -> None:
    call = file.call(0, "Bash", {"command": "make"})
    file.result(1, call, "<persisted-output>\nOutput too large (23.8KB). Full output saved to: /x.txt\n")
    (result,) = read_claude(file.save(path)).of(ToolResult)
    assert result.ok
    assert result.text.startswith("<persisted-output>")


def test_a_long_output_keeps_its_head_and_its_tail(file: ClaudeFile, path: Path) -> None:
    call = file.call(0, "Bash", {"command": "make"})
    file.result(1, call, "first line\n" + "x" * 100_000 + "\nlast line")
    text = read_claude(file.save(path)).of(ToolResult)[0].text
    assert text.startswith("first line")
    assert text.endswith("last line")
    assert len(text) < 5_000


def test_what_a_file_holds_is_not_kept(file: ClaudeFile, path: Path) -> None:
    call = file.call(0, "Read", {"file_path": f"{CWD}/a.py"})
    file.result(1, call, "     1→print('hello')")
    assert read_claude(file.save(path)).of(ToolResult)[0].text == ""


@pytest.mark.promise("L7")
@pytest.mark.parametrize(
    ("text", "exit_code", "rejected", "own_fault"),
    [
        ("Exit code 2\nmake: *** no rule", 2, False, False),
        ("<tool_use_error>File has not been read yet. Read it first.</tool_use_error>", None, False, True),
        (
            "<tool_use_error>String to replace not found in file.\nString: a</tool_use_error>",
            None,
            False,
            True,
        ),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", None, False, True),
        ("<tool_use_error>File does not exist.</tool_use_error>", None, False, True),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected.",
            None,
            True,
            False,
        ),
        ("The user doesn't want to take this action right now. STOP what you are doing.", None, True, False),
        ("Error: getaddrinfo ENOTFOUND example.org", None, False, False),
    ],
)
def test_an_error_flag_is_not_yet_a_failure(
    file: ClaudeFile, path: Path, text: str, exit_code: int | None, rejected: bool, own_fault: bool
) -> None:
    call = file.call(0, "Bash", {"command": "make"})
    file.result(1, call, text, error=True, details=f"Error: {text}")
    (result,) = read_claude(file.save(path)).of(ToolResult)
    assert result.ok is False
    assert (result.exit_code, result.rejected, result.own_fault) == (exit_code, rejected, own_fault)


@pytest.mark.promise("L7")
def test_a_tool_that_refused_the_agent_proves_nothing(file: ClaudeFile, path: Path) -> None:
    file.user(0, "fix the basket")
    file.edit(1, f"{CWD}/basket.py")
    file.run(3, "pytest -q", "3 passed in 0.1s")
    call = file.call(5, "Bash", {"command": "pytest -q tests/other"})
    file.result(6, call, "<tool_use_error>Sibling tool call errored</tool_use_error>", error=True)
    file.assistant(7, "All tests pass.")
    session = session_of(ClaudeCode(), file.save(path))
    assert session.failed_calls == 0
    assert [(task.status, task.reason) for task in session.tasks] == [("done", "")]


def test_a_rejection_with_words_steers_the_work(file: ClaudeFile, path: Path) -> None:
    file.user(0, "add a basket")
    call = file.call(1, "Edit", {"file_path": f"{CWD}/a.py"})
    file.reject(5, call, said="use a dict\nplease")
    reading = read_claude(file.save(path))
    (_, feedback) = reading.of(UserTurn)
    assert (feedback.text, feedback.feedback) == ("use a dict\nplease", True)
    digest = digest_of(reading.events)
    assert len(digest.turns) == 1
    assert digest.turns[0].feedback == ["use a dict\nplease"]
    assert not digest.turns[0].rejected


def test_a_rejection_without_words_stops_the_work(file: ClaudeFile, path: Path) -> None:
    file.user(0, "add a basket")
    file.reject(5, file.call(1, "Edit", {"file_path": f"{CWD}/a.py"}))
    digest = digest_of(read_claude(file.save(path)).events)
    assert digest.turns[0].rejected
    assert digest.turns[0].edits == 0
    assert digest.files == {"a.py": (1, 0)}


def test_an_error_of_the_service_is_told_and_is_not_the_agent_s_word(file: ClaudeFile, path: Path) -> None:
    file.user(0, "add a basket")
    file.api_error(3, "API Error: 529 overloaded_error")
    reading = read_claude(file.save(path))
    (failure,) = reading.of(ApiFailure)
    assert failure.text == "API Error: 529 overloaded_error"
    assert reading.of(AgentTurn, UsageReport) == []


def test_retries_of_the_client_take_time_and_nothing_else(file: ClaudeFile, path: Path) -> None:
    file.user(0, "add a basket")
    file.system(30, "api_error", retryAttempt=1, error={"status": 529})
    file.system(60, "turn_duration", durationMs=60_000)
    reading = read_claude(file.save(path))
    assert reading.of(ApiFailure) == []
    assert [tick.at - START for tick in reading.of(Tick)] == [30, 60]


# --- lists of tasks ---------------------------------------------------------------------------------------


@pytest.mark.promise("C3")
def test_a_to_do_list_is_read_as_it_stands(file: ClaudeFile, path: Path) -> None:
    todos = [
        {"content": "Write it", "status": "completed", "activeForm": "Writing it"},
        {"content": "Test it", "status": "in_progress", "activeForm": "Testing it"},
        {"content": "Ship it", "status": "pending", "activeForm": "Shipping it"},
        {"content": " ", "status": "pending"},
        "not an item",
    ]
    file.call(0, "TodoWrite", {"todos": todos})
    (listed,) = read_claude(file.save(path)).of(TodoList)
    assert [(item.text, item.status) for item in listed.items] == [
        ("Write it", "completed"),
        ("Test it", "in_progress"),
        ("Ship it", "pending"),
    ]


@pytest.mark.promise("C3")
def test_single_tasks_are_gathered_into_a_list(file: ClaudeFile, path: Path) -> None:
    for number, subject in enumerate(["Write it", "Test it"], start=1):
        call = file.call(number, "TaskCreate", {"subject": subject, "description": "…", "activeForm": "…"})
        file.result(number, call, f"Task #{number} created successfully: {subject}")
    call = file.call(5, "TaskUpdate", {"taskId": "1", "status": "completed"})
    file.result(5, call, "Updated task #1 status")
    file.call(6, "TaskUpdate", {"taskId": "2", "status": "deleted"})
    file.call(7, "TaskUpdate", {"taskId": "99", "status": "completed"})
    lists = read_claude(file.save(path)).of(TodoList)
    assert [[(item.text, item.status) for item in listed.items] for listed in lists] == [
        [("Write it", "pending")],
        [("Write it", "pending"), ("Test it", "pending")],
        [("Write it", "completed"), ("Test it", "pending")],
        [("Write it", "completed")],
    ]


# --- subagents --------------------------------------------------------------------------------------------


def test_a_subagent_s_file_joins_its_parent(tmp_path: Path) -> None:
    main = ClaudeFile()
    main.user(0, "add a basket")
    call = main.call(1, "Task", {"description": "look", "prompt": "look around", "subagent_type": "Explore"})
    main.result(60, call, [text_block("It is in a.py.")])
    main.assistant(61, "It is there.", usage=claude_usage(1, 100))
    sub = ClaudeFile(agent="a1b2c3")
    sub.user(2, "look around")
    sub.run(3, "ls")
    sub.assistant(59, "It is in a.py.", usage=claude_usage(1, 1000), model="claude-haiku-4-5-20251001")
    importer = ClaudeCode()
    own = read_claude(sub.save(tmp_path / f"{SESSION}/subagents/agent-a1b2c3.jsonl"))
    assert own.of(UserTurn, AgentTurn) == []
    assert [(began.session, began.parent) for began in own.of(Began)] == [(f"{SESSION}/a1b2c3", SESSION)]
    session = session_of(importer, main.save(tmp_path / f"{SESSION}.jsonl"), *tmp_path.glob("*/*/*.jsonl"))
    assert session.session == SESSION
    assert session.subagents == 1
    assert session.prompts == ("add a basket",)
    assert session.tool_calls == 2
    assert session.active_s == 61
    assert {model.model: model.usage.output for model in session.models} == {
        "claude-haiku-4-5-20251001": 1000,
        "claude-opus-4-5-20251101": 140,
    }
    assert session.final_message == "It is there."


@pytest.mark.parametrize("agent", ["", "a1b2c3"])
def test_a_side_branch_within_the_main_file_counts_and_does_not_speak(
    file: ClaudeFile, path: Path, agent: str
) -> None:
    file.user(0, "add a basket")
    main = dict(file.common)
    file.common |= {"isSidechain": True, "gitBranch": "worktree-1", **({"agentId": agent} if agent else {})}
    file.user(1, "look around")
    file.run(2, "ls")
    file.assistant(9, "It is in a.py.", usage=claude_usage(1, 1000))
    file.common = main
    file.assistant(10, "It is there.")
    reading = read_claude(file.save(path))
    assert [turn.text for turn in reading.of(UserTurn)] == ["add a basket"]
    assert [turn.text for turn in reading.of(AgentTurn)] == ["It is there."]
    digest = digest_of(reading.events)
    assert (digest.session, digest.parent, digest.branch) == (SESSION, "", "main")
    assert digest.tool_calls == 1
    settle_responses(digest, 0)
    assert sum(total.usage.output for total in digest.usage) == 1040


# --- recognition: gotcha 14 -------------------------------------------------------------------------------


def test_content_is_recognised_whatever_the_file_is_called(file: ClaudeFile, path: Path) -> None:
    file.snapshot()
    file.user(0, "add a basket")
    assert ClaudeCode().recognise(Path("session-gemini.txt"), file.data())


@pytest.mark.parametrize(
    "line",
    [
        {"type": "summary", "summary": "x", "leafUuid": "y"},
        {"type": "last-prompt", "lastPrompt": "x", "sessionId": SESSION},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION},
    ],
)
def test_a_file_that_opens_with_notes_is_recognised(line: dict[str, Any]) -> None:
    assert ClaudeCode().recognise(Path("x"), json.dumps(line).encode() + b"\n")


def test_a_first_line_longer_than_the_head_is_recognised(file: ClaudeFile) -> None:
    file.user(0, "x" * 200_000)
    assert ClaudeCode().recognise(Path("x"), file.data()[:65_536])


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n\n",
        b"null\n",
        b'{"type":"user","message":"hi"}\n',
        b'{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","messages":[]}\n',
        b'[{"sessionId":"s","uuid":"u","type":"user"}]',
        b"# a chat\n\n#### hello\n",
    ],
)
def test_other_content_is_not_recognised(head: bytes) -> None:
    assert not ClaudeCode().recognise(Path(f"{SESSION}.jsonl"), head)
