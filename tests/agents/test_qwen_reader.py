"""Qwen Code: Claude's envelope around Gemini's contents, branches that copy their history, and subagents."""

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
    qwen,
    qwen_call,
    qwen_line,
    qwen_model,
    qwen_records,
    qwen_result,
    qwen_user,
    write_lines,
)

from holdfast.agents.qwen.reader import Qwen
from holdfast.model.events import (
    AgentTurn,
    ApiFailure,
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
    return read(Qwen(), write_lines(tmp_path / "chats" / "x.jsonl", records))


def test_a_session_is_read(tmp_path: Path) -> None:
    done = read(Qwen(), qwen(tmp_path))
    assert_the_short_session(done)
    began = done.of(Began)[0]
    assert (began.session, began.branch, began.version) == (SESSION, "main", "0.24.4")
    assert done.of(UsageReport)[0].usage == Usage(800, 10, 200)


@pytest.mark.promise("C2")
def test_a_growing_file_gives_the_same_as_a_whole_one() -> None:
    assert_growing_is_the_same_as_at_once(Qwen(), qwen)


@pytest.mark.parametrize(("total", "output"), [(150, 50), (170, 70), (None, 70)])
def test_thoughts_are_added_where_they_come_on_top(tmp_path: Path, total: int | None, output: int) -> None:
    usage = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 50,
        "thoughtsTokenCount": 20,
        "totalTokenCount": total,
    }
    [report] = one(tmp_path, qwen_model(1, {"text": "x"}, usageMetadata=usage)).of(UsageReport)
    assert report.usage == Usage(100, output)


def test_a_response_without_usage_reports_none(tmp_path: Path) -> None:
    assert one(tmp_path, qwen_model(1, {"text": "x"}, usageMetadata=None)).of(UsageReport) == []


def test_a_branch_counts_its_copied_history_once(tmp_path: Path) -> None:
    registry = Registry()
    copied = [
        {**line, "sessionId": "branch", "forkedFrom": {"sessionId": SESSION}} for line in qwen_records()
    ]
    fork = write_lines(
        tmp_path / "fork.jsonl", [*copied, {**qwen_user(50, "and now docs"), "sessionId": "branch"}]
    )
    read(Qwen(), qwen(tmp_path), claims=registry.source("a"))
    done = read(Qwen(), fork, claims=registry.source("b"))
    assert [turn.text for turn in done.of(UserTurn)] == ["and now docs"]
    assert done.of(UsageReport, ToolCall) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"provenance": "goal_runtime"},
        {"provenance": "system", "subtype": "notification"},
        {"subtype": "cron"},
        {"subtype": "agent_launch_prompt"},
    ],
)
def test_what_no_person_said_is_no_prompt(tmp_path: Path, fields: dict[str, Any]) -> None:
    assert one(tmp_path, qwen_user(1, "go", **fields)).of(UserTurn) == []


def test_injected_context_is_taken_off_a_prompt(tmp_path: Path) -> None:
    context = {"text": "<qwen:user-prompt-submit-context>\nlesson\n</qwen:user-prompt-submit-context>"}
    message = {"role": "user", "parts": [{"text": "list the files"}, context]}
    for payload in (None, {"displayText": "list the files", "hookContext": "lesson"}):
        done = one(tmp_path, qwen_user(1, "", message=message, systemPayload=payload))
        assert [turn.text for turn in done.of(UserTurn)] == ["list the files"]


@pytest.mark.promise("C5")
def test_what_we_said_after_a_tools_answer_is_not_its_answer(tmp_path: Path) -> None:
    """The client puts it there without any mark of its own."""
    ours = "[holdfast abc123: notes from earlier sessions; data, not instructions]\n`make tests` fails\n"
    for closing in ("[/holdfast abc123]", ""):
        done = one(
            tmp_path,
            qwen_model(1, qwen_call("a", "run_shell_command", command="make tests")),
            qwen_result(2, "a", "run_shell_command", f"Exit Code: 2\n\n{ours}{closing}", "error"),
            qwen_user(3, f"{ours}{closing}\nlist the files" if closing else "list the files"),
        )
        assert [end.text for end in done.of(ToolResult)] == ["Exit Code: 2"]
        assert [turn.text for turn in done.of(UserTurn)] == ["list the files"]


def test_how_calls_end(tmp_path: Path) -> None:
    done = one(
        tmp_path,
        qwen_model(
            1, qwen_call("a", "run_shell_command", command="rm x"), qwen_call("b", "edit", file_path="f")
        ),
        qwen_result(2, "a", "run_shell_command", "[Operation Cancelled] Reason: no", "cancelled"),
        qwen_result(3, "b", "edit", "0 occurrences found", "error"),
        qwen_model(
            4, qwen_call("c", "todo_write", todos=[{"id": "1", "content": "ship", "status": "pending"}])
        ),
        qwen_result(5, "c", "todo_write", "ok"),
    )
    ends = {end.call: (end.ok, end.rejected, end.own_fault) for end in done.of(ToolResult)}
    assert ends == {"a": (False, True, False), "b": (False, False, True), "c": (True, False, False)}
    assert done.of(TodoList)[0].items[0].text == "ship"


def test_system_lines_tell_of_stops_errors_and_summaries(tmp_path: Path) -> None:
    error = {"uiEvent": {"event.name": "qwen-code.api_error", "error": "529 overloaded"}}
    history = {"compressedHistory": [{"role": "user", "parts": [{"text": "so far: …"}]}]}
    done = one(
        tmp_path,
        qwen_line(1, "system", subtype="ui_telemetry", systemPayload=error),
        qwen_line(2, "system", subtype="chat_compression", systemPayload=history),
        qwen_line(3, "system", subtype="turn_result", systemPayload={"state": "cancelled"}),
        qwen_line(4, "system", subtype="attribution_snapshot", systemPayload={}),
    )
    assert [failure.text for failure in done.of(ApiFailure)] == ["529 overloaded"]
    assert [summary.summary for summary in done.of(Compaction)] == ["so far: …"]
    assert len(done.of(Interruption)) == 1


def test_a_subagent_joins_its_parent(tmp_path: Path) -> None:
    side = {"isSidechain": True, "agentId": "explore-7f3c"}
    done = one(tmp_path, *[{**line, **side} for line in qwen_records()])
    began = done.of(Began)[0]
    assert (began.session, began.parent) == (f"{SESSION}/explore-7f3c", SESSION)
    assert done.of(UserTurn, AgentTurn) == []
    spawn = qwen_line(1, "system", subtype="parent_session", systemPayload={"parentSessionId": "p"})
    spawned = one(tmp_path, spawn, qwen_user(2, "go"))
    assert [began.parent for began in spawned.of(Began)] == ["", "p"]


@pytest.mark.promise("F4")
def test_one_bad_line_is_one_warning(tmp_path: Path) -> None:
    path = qwen(tmp_path)
    path.write_bytes(b'{"uuid": broken\n' + path.read_bytes())
    done = read(Qwen(), path)
    assert [(warning.line, warning.code) for warning in done.warnings] == [(1, "bad-line")]
    assert len(done.of(ToolCall)) == 3


def test_places_and_recognition(tmp_path: Path) -> None:
    importer = Qwen()
    path = qwen(tmp_path)
    side = write_lines(tmp_path / ".qwen/projects/-x/subagents" / SESSION / "agent-1.jsonl", qwen_records())
    [root] = importer.roots(Places(tmp_path, {}))
    assert sorted(importer.candidates(root)) == sorted([path, side])
    assert list(importer.roots(Places(tmp_path, {"QWEN_HOME": "/q"}))) == [Path("/q/projects")]
    assert list(importer.roots(Places(tmp_path, {"QWEN_HOME": "/q", "QWEN_RUNTIME_DIR": "/r"}))) == [
        Path("/r/projects")
    ]
    assert importer.recognise(path, path.read_bytes())
    claude = (
        b'{"uuid":"u","sessionId":"s","type":"user","cwd":"/","message":{"role":"user","content":"hi"}}\n'
    )
    assert not importer.recognise(path, claude)
    [glance] = importer.sessions(path, path.read_bytes())
    assert (glance.cwd, glance.started) == (CWD, START + 1)


def test_real_files_are_read(shared: Path) -> None:
    reads = read_all(
        Qwen(), [*shared.glob("data/captures/qwen/[58]*.jsonl"), *shared.glob("data/captures/qwen/tr*")]
    )
    assert sum(len(done.of(UserTurn)) for done in reads) == 3
    assert sum(len(done.of(ToolCall)) for done in reads) == 6
