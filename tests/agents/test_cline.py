"""Cline and Roo: a folder per task, costs inside text, results in another file than the calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.builders import CWD, Read, Registry, digest_of
from tests.agents.samples_stores import (
    ANSWER,
    COMMAND,
    EDITED,
    PROMPT,
    ClineTask,
    cline,
    cline_story,
    cline_tasks,
    ms,
    read_only,
    read_parts,
    roo,
    roo_tasks,
)

from holdfast.agents.cline.reader import CLINE, ROO, Cline
from holdfast.model.events import (
    AgentTurn,
    ApiFailure,
    Began,
    Compaction,
    Interruption,
    Todo,
    TodoList,
    ToolCall,
    ToolResult,
    Usage,
    UsageReport,
    UserTurn,
)
from holdfast.store.machine import Places


def task_in(tmp_path: Path) -> ClineTask:
    task = ClineTask(cline_tasks(tmp_path))
    task.say(0, "task", PROMPT)
    return task


def done_of(task: ClineTask) -> Read:
    return read_only(CLINE, task.save())


@pytest.mark.promise("C1")
@pytest.mark.parametrize(("importer", "sample"), [(CLINE, cline), (ROO, roo)], ids=["cline", "roo"])
def test_the_two_files_together_tell_the_session(tmp_path: Path, importer: Cline, sample: object) -> None:
    path = cline(tmp_path) if sample is cline else roo(tmp_path)
    done = read_only(importer, path)
    assert done.warnings == []
    assert (done.of(Began)[0].session, done.of(Began)[0].cwd) == (str(ms(0)), CWD)
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]
    calls = [(call.action, call.target) for call in done.of(ToolCall)]
    assert calls == [("shell", COMMAND), ("edit", EDITED), ("shell", COMMAND)]
    assert [(result.ok, result.exit_code) for result in done.of(ToolResult)] == [
        (False, 1),
        (True, None),
        (True, 0),
    ]
    assert done.of(AgentTurn)[-1].text == ANSWER
    assert [report.usage for report in done.of(UsageReport)] == [Usage(400, 40, 1000, 50), Usage(100, 30)]
    assert sum(report.cost_usd for report in done.of(UsageReport)) == pytest.approx(0.02)
    assert digest_of(done.events).files == {"src/cart.py": (0, 1)}


@pytest.mark.promise("C1")
def test_each_of_the_two_takes_its_own(tmp_path: Path) -> None:
    for path, importer, other in ((cline(tmp_path), CLINE, ROO), (roo(tmp_path), ROO, CLINE)):
        head = path.read_bytes()
        assert importer.recognise(path, head)
        assert not other.recognise(path, head)
    assert (CLINE.agent, ROO.agent) == ("cline", "roo")


@pytest.mark.promise("C1")
def test_a_folder_taken_elsewhere_is_told_by_its_content(tmp_path: Path) -> None:
    plain = cline_story(tmp_path / "kept").save()
    task = ClineTask(tmp_path / "roos", "1772442000001")
    task.say(0, "text", PROMPT)
    task.say(1, "api_req_started", {"apiProtocol": "anthropic", "tokensIn": 1, "tokensOut": 1})
    forked = task.save()
    for path, agents in ((plain, [True, False]), (forked, [False, True])):
        assert [importer.recognise(path, path.read_bytes()) for importer in (CLINE, ROO)] == agents


@pytest.mark.promise("C1")
def test_the_folder_is_one_session_whichever_file_is_looked_at(tmp_path: Path) -> None:
    screen = cline(tmp_path)
    conversation = screen.with_name("api_conversation_history.json")
    assert CLINE.recognise(conversation, conversation.read_bytes())
    assert list(CLINE.sessions(conversation, conversation.read_bytes())) == []
    assert len(list(CLINE.sessions(screen, screen.read_bytes()))) == 1


@pytest.mark.promise("C1")
@pytest.mark.parametrize("native", [False, True], ids=["written into the answer", "native"])
def test_the_conversation_alone_is_read_where_nothing_else_is_left(tmp_path: Path, native: bool) -> None:
    task = cline_story(cline_tasks(tmp_path))
    if native:
        task.conversation = [
            task.conversation[0],
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "execute_command", "input": {"command": COMMAND}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Exit code: 1\nbad"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "apply_diff", "input": {"path": EDITED}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "ok"}]}]},
            {"role": "assistant", "content": ANSWER},
        ]  # fmt: skip
    task.save().unlink()
    (path,) = CLINE.candidates(cline_tasks(tmp_path))
    done = read_only(CLINE, path)
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]
    assert [(call.action, call.target) for call in done.of(ToolCall)][:2] == [
        ("shell", COMMAND),
        ("edit", EDITED),
    ]
    assert done.of(ToolResult)[0].exit_code == 1
    assert done.of(AgentTurn)[-1].text == ANSWER
    assert done.of(UsageReport) == []


@pytest.mark.promise("C1")
def test_a_declined_step_is_no_failure_and_what_was_said_is_feedback(tmp_path: Path) -> None:
    task = task_in(tmp_path)
    task.ask(5, "tool", {"tool": "newFileCreated", "path": "a.py"})
    task.say(6, "user_feedback", "not there")
    task.ask(10, "command", "rm -rf build")
    task.say(12, "text", "As you like.")
    task.told("user", "[write_to_file for 'a.py'] Result:", "The user denied this operation.")
    task.told(
        "user", "[execute_command for 'rm -rf build'] Result:", '{"status":"denied","feedback":"keep it"}'
    )
    done = done_of(task)
    assert [(result.ok, result.rejected) for result in done.of(ToolResult)] == [(False, True), (False, True)]
    assert [(turn.text, turn.feedback) for turn in done.of(UserTurn)][1:] == [
        ("not there", True),
        ("keep it", True),
    ]
    assert digest_of(done.events).failed_calls == 0


@pytest.mark.promise("C1")
def test_requests_that_were_stopped_or_failed(tmp_path: Path) -> None:
    task = task_in(tmp_path)
    task.request(1, 10, 0, cost=0, cancelReason="user_cancelled")
    task.request(2, 0, 0, cost=0, cancelReason="streaming_failed", streamingFailedMessage="overloaded")
    task.ask(3, "api_req_failed", "429 slow down")
    task.ask(4, "resume_task")
    task.say(5, "deleted_api_reqs", {"tokensIn": 7, "tokensOut": 8, "cost": 0.5})
    done = done_of(task)
    assert len(done.of(Interruption)) == 2
    assert [failure.text for failure in done.of(ApiFailure)] == ["overloaded", "429 slow down"]
    assert [(report.usage, report.cost_usd) for report in done.of(UsageReport)] == [
        (Usage(10), None),
        (Usage(7, 8), 0.5),
    ]


@pytest.mark.promise("C1")
def test_cached_tokens_are_taken_out_where_the_protocol_counts_them_in(tmp_path: Path) -> None:
    task = ClineTask(roo_tasks(tmp_path))
    task.say(0, "text", PROMPT)
    task.request(1, 1000, 10, apiProtocol="openai", cacheReads=900, cacheWrites=0)
    (report,) = read_only(ROO, task.save()).of(UsageReport)
    assert report.usage == Usage(100, 10, 900)


@pytest.mark.promise("C1")
def test_questions_plans_lists_and_compaction(tmp_path: Path) -> None:
    task = task_in(tmp_path)
    task.ask(1, "followup", {"question": "Which one?", "options": ["a", "b"]})
    task.say(2, "user_feedback", "a")
    task.ask(3, "plan_mode_respond", {"response": "First this, then that"})
    task.say(4, "task_progress", "- [x] write it\n- [ ] test it")
    task.say(
        5, "tool", {"tool": "updateTodoList", "todos": [{"content": "ship it", "status": "in_progress"}]}
    )
    task.say(6, "condense_context", "", contextCondense={"summary": "so far", "cost": 0.1})
    done = done_of(task)
    assert [(call.action, call.target) for call in done.of(ToolCall)][:2] == [
        ("ask", "Which one?"),
        ("plan", "First this, then that"),
    ]
    assert done.of(TodoList)[0].items == (Todo("write it", "completed"), Todo("test it", "pending"))
    assert done.of(TodoList)[1].items == (Todo("ship it", "in_progress"),)
    assert done.of(Compaction)[0].summary == "so far"
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT, "a"]


@pytest.mark.promise("C1")
def test_a_subtask_joins_its_parent_and_speaks_for_nobody(tmp_path: Path) -> None:
    task = ClineTask(roo_tasks(tmp_path), "1772442009000")
    task.say(0, "text", "do the half of it")
    task.say(1, "tool", {"tool": "readFile", "path": EDITED})
    task.say(2, "completion_result", "done")
    done = read_only(
        ROO, task.save(history_item={"id": "1772442009000", "parentTaskId": str(ms(0)), "workspace": CWD})
    )
    assert (done.of(Began)[0].parent, done.of(Began)[0].cwd) == (str(ms(0)), CWD)
    assert done.of(UserTurn, AgentTurn) == []


@pytest.mark.promise("C1")
def test_the_model_is_the_one_in_use_at_the_time(tmp_path: Path) -> None:
    task = task_in(tmp_path)
    task.request(10, 1, 1)
    task.request(30, 1, 1)
    task.request(50, 1, 1)
    task.screen[-1]["modelInfo"] = {"providerId": "x", "modelId": "third"}
    uses = [{"ts": ms(5), "model_id": "first"}, {"ts": ms(20), "model_id": "second"}]
    done = read_only(CLINE, task.save(task_metadata={"model_usage": uses}))
    assert [report.model for report in done.of(UsageReport)] == ["first", "second", "third"]


@pytest.mark.promise("C2")
def test_a_folder_in_two_places_counts_once_and_a_change_is_seen(tmp_path: Path) -> None:
    registry = Registry()
    first, second = cline(tmp_path / "a"), cline(tmp_path / "b")
    assert read_only(CLINE, first, registry).events
    assert read_only(CLINE, second, registry).events == []
    (before,) = CLINE.sessions(first, first.read_bytes())
    conversation = first.with_name("api_conversation_history.json")
    conversation.write_bytes(conversation.read_bytes() + b" ")
    (after,) = CLINE.sessions(first, first.read_bytes())
    assert (before.size, before.changed) != (after.size, after.changed)


@pytest.mark.promise("F4")
def test_a_torn_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = cline(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"editedExistingFile")])
    path.with_name("api_conversation_history.json").write_bytes(b"\x00\x00")
    done = read_only(CLINE, path)
    assert sorted(Path(warning.path).name for warning in done.warnings) == [
        "api_conversation_history.json",
        "ui_messages.json",
    ]
    assert [call.target for call in done.of(ToolCall)] == [COMMAND]
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]


@pytest.mark.promise("C1")
def test_the_extensions_folders_are_looked_for_on_every_system(tmp_path: Path) -> None:
    places = Places(tmp_path, {"APPDATA": "C:/Roaming", "CLINE_DIR": "/elsewhere"})
    roots = [root.as_posix() for root in CLINE.roots(places)]
    home = tmp_path.as_posix()
    assert f"{home}/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks" in roots
    assert (
        f"{home}/Library/Application Support/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks" in roots
    )
    assert "C:/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/tasks" in roots
    assert f"{home}/.vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks" in roots
    assert "/elsewhere/data/tasks" in roots
    assert all("roo-cline" in root.as_posix() for root in ROO.roots(places))


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'[{"role":"user","content":"x"}]', b'[{"ts":1}]', b"[\xff"]
)
def test_others_files_are_not_recognised(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "messages.json"
    path.write_bytes(content)
    assert not any(importer.recognise(path, content) for importer in (CLINE, ROO))


def test_an_empty_task_leaves_nothing(tmp_path: Path) -> None:
    task = ClineTask(cline_tasks(tmp_path))
    path = task.save()
    assert not CLINE.recognise(path, path.read_bytes())
    assert read_parts(CLINE, cline(tmp_path / "b"))
