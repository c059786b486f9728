"""Codex's rollouts as they really are: running totals, forks that replay, verdicts in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import (
    CWD,
    START,
    CodexFile,
    Registry,
    codex_usage,
    digest_of,
    exited,
    patch_of,
    read_codex,
    session_of,
    still_running,
    uuid7,
)

from holdfast.agents.codex.reader import Codex
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
    Usage,
    UsageReport,
    UserTurn,
)
from holdfast.sessions.digest import Digest
from holdfast.store.machine import Places

pytestmark = pytest.mark.promise("C1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rollout-2026-03-02T09-00-00.jsonl"


@pytest.fixture
def file() -> CodexFile:
    return CodexFile()


def digest(path: Path, **options: Any) -> Digest:
    return digest_of(read_codex(path, **options).events, "codex")


def used(path: Path, **options: Any) -> Usage:
    total = Usage()
    for report in read_codex(path, **options).of(UsageReport):
        total = total + report.usage
    return total


# --- where it began ---------------------------------------------------------------------------------------


def test_the_first_line_says_session_directory_branch_version_and_provider(
    file: CodexFile, path: Path
) -> None:
    (began,) = read_codex(file.save(path)).of(Began)
    assert (began.session, began.cwd, began.branch, began.version) == (file.session, CWD, "main", "0.144.2")
    assert (began.provider, began.headless, began.parent, began.at) == ("openai", False, "", START)


@pytest.mark.parametrize("fields", [{"originator": "codex_exec"}, {"source": "exec"}])
def test_a_run_without_a_person_is_headless(path: Path, fields: dict[str, Any]) -> None:
    file = CodexFile(**fields)
    assert read_codex(file.save(path)).of(Began)[0].headless


def test_a_meta_line_with_hardly_anything_in_it_is_enough(path: Path) -> None:
    file = CodexFile(meta=False)
    file.line(0, "session_meta", {"id": "old", "cwd": CWD, "instructions": None, "git": None})
    reading = read_codex(file.save(path))
    assert reading.of(Began)[0].session == "old"
    assert reading.warnings == []


def test_repeated_meta_lines_are_no_boundary(file: CodexFile, path: Path) -> None:
    file.ask(1, "add a basket")
    for at in range(2, 17):
        file.meta(at, cwd="/elsewhere")
    file.agent(20, "Done.")
    reading = read_codex(file.save(path))
    assert len([began for began in reading.of(Began) if began.session]) == 1
    assert digest_of(reading.events).cwd == CWD


def test_sessions_are_looked_for_where_the_environment_says(tmp_path: Path) -> None:
    importer = Codex()
    usual = importer.roots(Places(tmp_path, {}))
    assert list(usual) == [tmp_path / ".codex/sessions", tmp_path / ".codex/archived_sessions"]
    moved = importer.roots(Places(tmp_path, {"CODEX_HOME": "/x"}))
    assert list(moved) == [Path("/x/sessions"), Path("/x/archived_sessions")]


# --- usage: gotchas 4 to 6 --------------------------------------------------------------------------------


def test_numbers_that_cannot_be_true_count_as_nothing(file: CodexFile, path: Path) -> None:
    file.ask(1, "add a basket")
    file.tokens(2, 10**20, 0, -5)
    call = file.call(3, "exec_command", {"cmd": "make", "workdir": CWD})
    file.event(4, "exec_command_end", call_id=call, exit_code=10**20)
    file.tokens(5, 100, 0, 7)
    reading = read_codex(file.save(path))
    assert reading.state, "what is carried to the next pass can be stored"
    assert sum(report.usage.output for report in reading.of(UsageReport)) == 7


@pytest.mark.promise("L17")
def test_usage_is_the_change_of_the_running_total(file: CodexFile, path: Path) -> None:
    file.ask(1, "add a basket")
    file.tokens(2, 1000, 400, 50)
    file.tokens(3, 2500, 1400, 80)
    reports = read_codex(file.save(path)).of(UsageReport)
    assert [report.usage for report in reports] == [Usage(600, 50, 400), Usage(500, 30, 1000)]
    assert {report.model for report in reports} == {"gpt-5.5"}


@pytest.mark.promise("L17")
def test_a_total_that_is_said_again_counts_once(file: CodexFile, path: Path) -> None:
    file.context(1)
    file.tokens(2, 1000, 400, 50)
    for _ in range(5):
        file.again()
    assert used(file.save(path)) == Usage(600, 50, 400)


@pytest.mark.promise("L17")
def test_a_token_count_without_information_is_passed_over(file: CodexFile, path: Path) -> None:
    file.context(1)
    file.no_tokens(2)
    file.tokens(3, 1000, 400, 50)
    file.no_tokens(4)
    reading = read_codex(file.save(path))
    assert len(reading.of(UsageReport)) == 1
    assert reading.warnings == []


@pytest.mark.promise("L17")
def test_a_total_that_fell_began_anew_and_the_last_request_counts(file: CodexFile, path: Path) -> None:
    file.context(1)
    file.tokens(2, 9000, 4000, 500)
    file.tokens(3, 300, 100, 20, last=codex_usage(200, 100, 10))
    assert used(file.save(path)) == Usage(5000, 500, 4000) + Usage(100, 10, 100)


@pytest.mark.promise("L17")
def test_both_records_of_one_usage_count_once(file: CodexFile, path: Path) -> None:
    file.context(1)
    file.line(2, "token_usage_record", {"thread_token_usage": codex_usage(100, 0, 10)})
    file.tokens(2.5, 100, 0, 10)
    assert used(file.save(path)) == Usage(100, 10)


@pytest.mark.promise("L17")
def test_usage_is_that_of_the_model_that_was_set_last(file: CodexFile, path: Path) -> None:
    file.context(1, "gpt-5.5")
    file.tokens(2, 100, 0, 10)
    file.context(3, "gpt-5.4")
    file.tokens(4, 300, 0, 30)
    reports = read_codex(file.save(path)).of(UsageReport)
    assert [(report.model, report.usage.output) for report in reports] == [("gpt-5.5", 10), ("gpt-5.4", 20)]


def parent_of_a_fork(session: str = "", turn: str = "") -> CodexFile:
    parent = CodexFile(session)
    parent.started(1, turn)
    parent.context(1)
    parent.user(1, "add a basket")
    parent.run(2, "pytest -q", "1 passed in 0.1s")
    parent.tokens(4, 1000, 400, 50)
    parent.agent(5, "Done.")
    return parent


@pytest.mark.promise("L17", "C2")
def test_a_fork_replays_its_parent_and_counts_only_what_is_its_own(tmp_path: Path) -> None:
    parent = parent_of_a_fork()
    fork = CodexFile(at=1000, forked_from_id=parent.session)
    fork.replay(1000.001, parent)
    fork.ask(1000.5, "now a till")
    fork.tokens(1005, 1300, 500, 60)
    fork.agent(1006, "Done too.")
    first, second = parent.save(tmp_path / "a.jsonl"), fork.save(tmp_path / "b.jsonl")
    registry = Registry()
    assert used(first, claims=registry.source("a")) == Usage(600, 50, 400)
    reading = read_codex(second, claims=registry.source("b"))
    assert [turn.text for turn in reading.of(UserTurn)] == ["now a till"]
    assert [report.usage for report in reading.of(UsageReport)] == [Usage(200, 10, 100)]
    assert reading.of(ToolCall) == []
    assert digest_of(reading.events).session == fork.session


@pytest.mark.promise("L17", "C2")
@pytest.mark.parametrize("ids", ["random", "numbers"])
def test_a_fork_without_dated_ids_is_told_by_its_burst(tmp_path: Path, ids: str) -> None:
    parent = parent_of_a_fork("5d2c7d5e-27f5-4d43-8a39-4d1c7f8e5b10", "1" if ids == "numbers" else "")
    fork = CodexFile("c0ffee00-27f5-4d43-8a39-4d1c7f8e5b11", at=1000, forked_from_id=parent.session)
    fork.replay(1000.001, parent)
    fork.message(1030, "user", "now a till")
    fork.tokens(1035, 1300, 500, 60)
    reading = read_codex(fork.save(tmp_path / "b.jsonl"))
    assert [turn.text for turn in reading.of(UserTurn)] == ["now a till"]
    assert [report.usage for report in reading.of(UsageReport)] == [Usage(200, 10, 100)]


@pytest.mark.promise("L17", "C2")
def test_a_fork_of_a_fork_counts_only_what_is_its_own(tmp_path: Path) -> None:
    parent = parent_of_a_fork()
    middle = CodexFile(at=1000, forked_from_id=parent.session)
    middle.replay(1000.001, parent)
    middle.ask(1001, "now a till")
    middle.tokens(1005, 1300, 500, 60)
    last = CodexFile(at=2000, forked_from_id=middle.session)
    last.replay(2000.001, middle)
    last.ask(2001, "and a door")
    last.tokens(2005, 1500, 500, 65)
    assert used(last.save(tmp_path / "c.jsonl")) == Usage(200, 5)


@pytest.mark.promise("L17", "C2")
def test_the_same_rollout_in_two_places_counts_once(tmp_path: Path) -> None:
    file = parent_of_a_fork()
    registry = Registry()
    first = read_codex(file.save(tmp_path / "sessions/a.jsonl"), claims=registry.source("a"))
    again = read_codex(file.save(tmp_path / "archived_sessions/a.jsonl"), claims=registry.source("b"))
    assert len(first.of(UserTurn)) == 1
    assert again.of(UserTurn, ToolCall, UsageReport) == []


@pytest.mark.promise("L17", "C2")
def test_a_copy_that_went_on_counts_from_where_the_copying_ended(tmp_path: Path) -> None:
    file = parent_of_a_fork()
    registry = Registry()
    read_codex(file.save(tmp_path / "a.jsonl"), claims=registry.source("a"))
    file.ask(20, "now a till")
    file.tokens(25, 1300, 500, 60)
    grown = read_codex(file.save(tmp_path / "b.jsonl"), claims=registry.source("b"))
    assert [turn.text for turn in grown.of(UserTurn)] == ["now a till"]
    assert [report.usage for report in grown.of(UsageReport)] == [Usage(200, 10, 100)]


def test_two_objects_on_one_line_with_one_time_are_two(file: CodexFile, path: Path) -> None:
    file.agent(3, "One.")
    first, second = file.lines[-2:]
    file.lines[-2:] = [first + second + json.dumps(json.loads(second)).encode()]
    assert [turn.text for turn in read_codex(file.save(path)).of(AgentTurn)] == ["One.", "One."]


# --- who speaks: gotcha 12 --------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [("item",), ("event",), ("item", "event"), ("event", "item")])
def test_a_prompt_is_one_turn_however_often_it_is_written(
    file: CodexFile, path: Path, copies: tuple[str, ...]
) -> None:
    file.started(1)
    for copy in copies:
        file.user(1, "add a basket\n", item=copy == "item", event=copy == "event")
    assert [turn.text for turn in read_codex(file.save(path)).of(UserTurn)] == ["add a basket"]


def test_the_same_words_said_twice_are_two_turns(file: CodexFile, path: Path) -> None:
    file.ask(1, "push")
    file.agent(2, "Pushed.")
    file.ask(3, "push")
    assert len(read_codex(file.save(path)).of(UserTurn)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n  <cwd>/home/ada/shop</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /home/ada/shop\n\n<INSTRUCTIONS>\nBe kind.\n</INSTRUCTIONS>",
        "<user_instructions>\nBe kind.\n</user_instructions>",
        "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>",
        "<permissions instructions>\nAll commands are permitted.\n</permissions instructions>",
        "<skill>\n<name>x</name>\n</skill>",
        "<user_shell_command>\n<command>ls</command>\n</user_shell_command>",
        " \n ",
    ],
)
def test_a_user_message_that_nobody_typed_is_no_turn(file: CodexFile, path: Path, text: str) -> None:
    file.message(1, "user", text)
    assert read_codex(file.save(path)).of(UserTurn) == []


def test_hook_context_and_instructions_are_no_turns(file: CodexFile, path: Path) -> None:
    file.message(1, "developer", "remember this")
    file.line(1, "world_state", {"full": True, "state": {"agents_md": {"text": "Be kind."}}})
    reading = read_codex(file.save(path))
    assert reading.of(UserTurn, AgentTurn) == []
    assert reading.warnings == []


def test_what_the_editor_puts_before_a_request_is_taken_off(file: CodexFile, path: Path) -> None:
    text = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nrename this\n"
    file.ask(1, text)
    assert [turn.text for turn in read_codex(file.save(path)).of(UserTurn)] == ["rename this"]


def test_a_picture_in_a_prompt_does_not_make_it_two(file: CodexFile, path: Path) -> None:
    file.started(1)
    file.message(1, "user", ["<image name=[Image #1]>", "</image>", "what is wrong here?"])
    file.event(1, "user_message", message="what is wrong here?", images=[], local_images=["/tmp/a.png"])
    assert [turn.text for turn in read_codex(file.save(path)).of(UserTurn)] == ["what is wrong here?"]


def test_the_agent_s_words_count_once_though_written_twice(file: CodexFile, path: Path) -> None:
    file.agent(1, "I look.")
    reading = read_codex(file.save(path))
    assert [turn.text for turn in reading.of(AgentTurn)] == ["I look."]
    assert len(reading.of(Tick)) == 1


def test_an_interrupted_turn_is_told(file: CodexFile, path: Path) -> None:
    file.ask(1, "add a basket")
    file.abort(5)
    reading = read_codex(file.save(path))
    assert [event.at for event in reading.of(Interruption)] == [START + 5]
    assert digest_of(reading.events).turns[-1].interrupted


def test_an_error_of_the_service_is_told(file: CodexFile, path: Path) -> None:
    file.event(2, "error", message="You've hit your usage limit.", codex_error_info="usage_limit_exceeded")
    (failure,) = read_codex(file.save(path)).of(ApiFailure)
    assert failure.text == "You've hit your usage limit."


def test_a_compaction_counts_once(file: CodexFile, path: Path) -> None:
    file.line(2, "compacted", {"message": "We added a basket.", "replacement_history": []})
    file.event(2, "context_compacted")
    (compaction,) = read_codex(file.save(path)).of(Compaction)
    assert compaction.summary == "We added a basket."


def test_a_summary_is_not_the_agent_s_last_word(file: CodexFile, path: Path) -> None:
    """Codex writes it as a message of the agent, then as what the history was replaced with."""
    report, summary = "All pass.\n\nNext steps:\n- wire the refund endpoint\n", "The tests were made to pass."
    file.message(1, "user", "Make the tests pass")
    file.message(2, "assistant", report)
    file.started(3)
    file.message(4, "assistant", summary)
    file.line(4, "compacted", {"message": f"Another model began.\n{summary}", "replacement_history": []})
    assert [turn.text for turn in read_codex(file.save(path)).of(AgentTurn)][-1] == report.strip()
    assert digest(path).turns[-1].final == report.strip()
    file.message(5, "user", "Go on")
    file.message(6, "assistant", summary)
    file.line(6, "compacted", {"message": f"Another model began.\n{summary}"})
    turns = [turn.text for turn in read_codex(file.save(path)).of(AgentTurn)]
    assert turns[-1] == summary, "nothing was said before it in this turn"


# --- tools: gotcha 10 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("exec_command", {"cmd": "ls -l", "workdir": CWD}, "ls -l"),
        ("shell", {"command": ["bash", "-lc", "cd a && ls"]}, "cd a && ls"),
        ("shell", {"command": ["git", "status"]}, "git status"),
        ("shell_command", {"command": "ls"}, "ls"),
        ("container.exec", {"cmd": ["bash", "-lc", "ls"]}, "ls"),
    ],
)
def test_a_shell_call_says_its_command_in_any_spelling(
    file: CodexFile, path: Path, name: str, arguments: dict[str, Any], command: str
) -> None:
    file.call(1, name, arguments)
    (call,) = read_codex(file.save(path)).of(ToolCall)
    assert (call.action, call.target) == ("shell", command)


def test_the_built_in_shell_call_is_a_shell_call(file: CodexFile, path: Path) -> None:
    file.item(1, "local_shell_call", call_id="c", action={"type": "exec", "command": ["bash", "-lc", "ls"]})
    (call,) = read_codex(file.save(path)).of(ToolCall)
    assert (call.action, call.target, call.call) == ("shell", "ls", "c")


@pytest.mark.promise("L7")
@pytest.mark.parametrize(
    ("output", "ok", "code"),
    [
        (exited(0, "fine"), True, 0),
        (exited(2, "make: *** no rule"), False, 2),
        (exited(-1), False, -1),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nfine", True, 0),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nbad", False, 1),
        ('{"output":"bad","metadata":{"exit_code":3,"duration_seconds":0.1}}', False, 3),
        ('{"output":"fine","metadata":{"exit_code":0,"duration_seconds":0.1}}', True, 0),
        ({"content": "bad", "success": False, "exit_code": 4}, False, 4),
        ("Wall time: 0.1 seconds\nOutput:\n{}", None, None),
        ("exec command rejected by user", False, None),
        (None, None, None),
        (exited(0, "Process exited with code 7"), True, 0),
        ("Wall time: 1 seconds\nOutput:\nProcess exited with code 7", None, None),
    ],
)
def test_how_a_command_ended_is_read_from_what_codex_wrote_before_its_output(
    file: CodexFile, path: Path, output: Any, ok: bool | None, code: int | None
) -> None:
    call = file.call(1, "exec_command", {"cmd": "make"})
    file.output(2, call, output)
    (result,) = read_codex(file.save(path)).of(ToolResult)
    assert (result.ok, result.exit_code) == (ok, code)


def test_the_text_of_a_result_is_the_program_s_own(file: CodexFile, path: Path) -> None:
    file.run(1, "pytest -q", "1 failed in 0.1s", exit_code=1)
    assert read_codex(file.save(path)).of(ToolResult)[0].text == "1 failed in 0.1s"


def test_an_exit_code_told_by_an_event_counts_where_the_output_has_none(file: CodexFile, path: Path) -> None:
    call = file.call(1, "exec_command", {"cmd": "make"})
    file.event(2, "exec_command_end", call_id=call, exit_code=2, command=["make"], stdout="", stderr="")
    file.output(2, call, "no rule")
    (result,) = read_codex(file.save(path)).of(ToolResult)
    assert (result.ok, result.exit_code) == (False, 2)


@pytest.mark.promise("L7")
def test_a_patch_that_did_not_fit_is_the_agent_s_own_fault(file: CodexFile, path: Path) -> None:
    call = file.custom(1, "apply_patch", patch_of("a.py"))
    file.output(
        2, call, "apply_patch verification failed: Failed to find expected lines in a.py", custom=True
    )
    reading = read_codex(file.save(path))
    (result,) = reading.of(ToolResult)
    assert (result.ok, result.own_fault) == (False, True)
    summary = digest_of(reading.events)
    assert (summary.failed_calls, summary.turns[0].edits) == (0, 0)


@pytest.mark.promise("L7")
def test_a_rejected_command_is_a_rejection(file: CodexFile, path: Path) -> None:
    file.ask(1, "add a basket")
    call = file.call(2, "exec_command", {"cmd": "rm -rf /"})
    file.output(3, call, "exec command rejected by user")
    reading = read_codex(file.save(path))
    assert reading.of(ToolResult)[0].rejected
    assert digest_of(reading.events).turns[0].rejected


def test_every_file_of_a_patch_was_edited(file: CodexFile, path: Path) -> None:
    patch = (
        f"*** Begin Patch\n*** Update File: {CWD}/src/a.py\n@@\n-a\n+b\n*** Add File: src/b.py\n+c\n"
        "*** Delete File: src/c.py\n*** Update File: src/d.py\n*** Move to: src/e.py\n*** End Patch"
    )
    call = file.custom(1, "apply_patch", patch)
    file.output(2, call, "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess.", custom=True)
    reading = read_codex(file.save(path))
    (called,) = reading.of(ToolCall)
    assert called.action == "edit"
    assert called.paths == (f"{CWD}/src/a.py", "src/b.py", "src/c.py", "src/d.py", "src/e.py")
    files = digest_of(reading.events).files
    assert files == dict.fromkeys(["src/a.py", "src/b.py", "src/c.py", "src/d.py", "src/e.py"], (0, 1))


def test_a_patch_given_to_the_shell_is_an_edit(file: CodexFile, path: Path) -> None:
    file.call(1, "shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{patch_of('a.py')}\nEOF"]})
    (call,) = read_codex(file.save(path)).of(ToolCall)
    assert (call.action, call.paths) == ("edit", ("a.py",))


@pytest.mark.promise("C3")
def test_a_command_in_the_background_ends_with_the_call_that_sees_it_end(file: CodexFile, path: Path) -> None:
    file.ask(1, "run the tests")
    call = file.call(2, "exec_command", {"cmd": "pytest -q"})
    file.output(12, call, still_running(4711, "collecting"))
    poll = file.call(13, "write_stdin", {"session_id": 4711, "chars": ""})
    file.output(23, poll, still_running(4711))
    poll = file.call(24, "write_stdin", {"session_id": 4711, "chars": ""})
    file.output(30, poll, exited(1, "1 failed, 3 passed in 28.1s"))
    reading = read_codex(file.save(path))
    results = [result for result in reading.of(ToolResult) if result.call == call]
    assert [(result.ok, result.exit_code) for result in results] == [(False, 1)]
    check = digest_of(reading.events).turns[-1].checks["test"]
    assert (check.passed, check.reason) == (False, "test_failure")


@pytest.mark.promise("C3")
def test_a_command_that_never_ended_proves_nothing(file: CodexFile, path: Path) -> None:
    file.ask(1, "run the tests")
    call = file.call(2, "exec_command", {"cmd": "pytest -q"})
    file.output(12, call, still_running(4711, "Process exited with code 0"))
    summary = digest(file.save(path))
    assert summary.turns[-1].checks == {}
    assert summary.failed_calls == 0


def test_waiting_for_a_process_nobody_knows_is_harmless(file: CodexFile, path: Path) -> None:
    poll = file.call(1, "write_stdin", {"session_id": 1, "chars": "y\n"})
    file.output(2, poll, exited(0))
    reading = read_codex(file.save(path))
    assert [result.ok for result in reading.of(ToolResult)] == [None]


# --- scripts that call tools ------------------------------------------------------------------------------


def script_output(*texts: str) -> list[dict[str, str]]:
    head = "Script completed\nWall time 0.5 seconds\nOutput:\n"
    return [{"type": "input_text", "text": text} for text in (head, *texts)]


def test_the_commands_of_a_script_are_what_counts(file: CodexFile, path: Path) -> None:
    script = (
        'const [a, b] = await Promise.all([tools.exec_command({cmd:"git status --short",workdir:"/x"}),\n'
        "tools.exec_command({'cmd': 'echo \"hi\"'}), tools.exec_command({cmd: `ls \\`pwd\\``})]); text(a.output)"
    )
    file.custom(1, "exec", script)
    (call,) = read_codex(file.save(path)).of(ToolCall)
    assert (call.action, call.target) == ("shell", 'git status --short\necho "hi"\nls `pwd`')


@pytest.mark.promise("F4")
@pytest.mark.parametrize("literal", [r'"it\'s"', r'"\x41"', r'"\$HOME"', r'"\u{1F600}"', '"a\\'])
def test_a_string_that_json_does_not_know_stops_nothing(file: CodexFile, path: Path, literal: str) -> None:
    file.custom(1, "exec", f"await tools.exec_command({{cmd:{literal}}})")
    file.agent(2, "Done.")
    reading = read_codex(file.save(path))
    assert len(reading.of(ToolCall)) == 1
    assert len(reading.of(AgentTurn)) == 1


def test_a_patch_in_a_script_is_an_edit(file: CodexFile, path: Path) -> None:
    file.custom(1, "exec", f"await tools.apply_patch({json.dumps(patch_of('src/a.py'))})")
    (call,) = read_codex(file.save(path)).of(ToolCall)
    assert (call.action, call.paths) == ("edit", ("src/a.py",))


@pytest.mark.promise("C3")
@pytest.mark.parametrize(
    ("texts", "ok"),
    [
        (['{"exit_code":0,"output":"fine"}'], True),
        (['{"exit_code":0,"output":"fine"}', '{"exit_code":101,"output":"bad"}'], False),
        (["test result: ok. 3 passed; 0 failed"], None),
        (['the file says {"exit_code":3}'], None),
    ],
)
def test_a_script_ended_as_the_results_it_shows(
    file: CodexFile, path: Path, texts: list[str], ok: bool | None
) -> None:
    call = file.custom(1, "exec", 'text(await tools.exec_command({cmd:"cargo test"}))')
    file.output(2, call, script_output(*texts), custom=True)
    assert read_codex(file.save(path)).of(ToolResult)[0].ok is ok


@pytest.mark.promise("C3")
def test_a_script_that_only_prints_is_judged_by_what_the_runner_says(file: CodexFile, path: Path) -> None:
    file.ask(1, "run the tests")
    call = file.custom(2, "exec", 'text((await tools.exec_command({cmd:"cargo test"})).output)')
    file.output(3, call, script_output("test result: ok. 3 passed; 0 failed; 0 ignored"), custom=True)
    assert digest(file.save(path)).turns[-1].checks["test"].passed


def test_a_script_in_the_background_ends_with_the_wait_that_sees_it_end(file: CodexFile, path: Path) -> None:
    call = file.custom(1, "exec", 'text(await tools.exec_command({cmd:"cargo test"}))')
    file.output(11, call, "Script running with cell ID 7\nWall time 10.0 seconds\nOutput:\n", custom=True)
    wait = file.call(12, "wait", {"cell_id": "7", "yield_time_ms": 30000})
    file.output(20, wait, script_output('{"exit_code":0,"output":"test result: ok. 1 passed; 0 failed"}'))
    results = read_codex(file.save(path)).of(ToolResult)
    assert [(result.call == call, result.ok) for result in results] == [(False, None), (True, True)]


# --- plans, subagents, recognition ------------------------------------------------------------------------


@pytest.mark.promise("C3")
def test_a_plan_is_a_list_of_tasks(file: CodexFile, path: Path) -> None:
    plan = [
        {"step": "Write it", "status": "completed"},
        {"step": "Test it", "status": "in_progress"},
        {"step": "Ship it", "status": "pending"},
        {"step": "", "status": "pending"},
        "not a step",
    ]
    call = file.call(1, "update_plan", {"plan": plan, "explanation": "…"})
    file.output(1, call, "Plan updated")
    (listed,) = read_codex(file.save(path)).of(TodoList)
    assert [(item.text, item.status) for item in listed.items] == [
        ("Write it", "completed"),
        ("Test it", "in_progress"),
        ("Ship it", "pending"),
    ]


@pytest.mark.parametrize("shape", ["field", "source"])
def test_a_subagent_joins_its_parent_and_its_prompt_is_nobody_s(tmp_path: Path, shape: str) -> None:
    main = parent_of_a_fork()
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": main.session, "depth": 1}}}
    fields = {"parent_thread_id": main.session} if shape == "field" else {"source": spawn}
    sub = CodexFile(uuid7(2, 9), at=2, **fields)
    sub.ask(2, "look around", model="gpt-5.4")
    sub.run(3, "ls")
    sub.tokens(4, 100, 0, 1000)
    session = session_of(Codex(), main.save(tmp_path / "a.jsonl"), sub.save(tmp_path / "b.jsonl"))
    assert session.session == main.session
    assert session.subagents == 1
    assert session.prompts == ("add a basket",)
    assert session.tool_calls == 2
    assert {model.model: model.usage.output for model in session.models} == {"gpt-5.4": 1000, "gpt-5.5": 50}


def test_content_is_recognised_whatever_the_file_is_called(file: CodexFile) -> None:
    importer = Codex()
    assert importer.recognise(Path("chat.txt"), file.data())
    assert importer.recognise(Path("x"), b"\xef\xbb\xbf" + file.data())
    assert importer.recognise(Path("x"), file.data().replace(b'":', b'": '))
    assert importer.recognise(Path("x"), file.data()[:450])


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n",
        b"{}",
        b'{"type":"message","payload":{}}\n',
        b'["session_meta"]',
        b'text "type":"session_meta"',
    ],
)
def test_other_content_is_not_recognised(head: bytes) -> None:
    assert not Codex().recognise(Path("rollout-2026.jsonl"), head)


@pytest.mark.promise("F4")
@pytest.mark.parametrize("status", [["x"], {"a": 1}, 5, None])
def test_a_plan_whose_status_is_no_word_is_read_as_pending(tmp_path: Path, status: object) -> None:
    from holdfast.agent_kit.loose import todo_items

    assert [item.status for item in todo_items([{"step": "write it", "status": status}])] == ["pending"]
    assert [item.status for item in todo_items([{"content": "write it", "status": status}])] in (
        ["pending"],
        [],
    )
