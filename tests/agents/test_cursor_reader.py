"""Cursor: transcripts without times, the editor's database with many conversations, and neither locked nor changed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.agents.agent_checks import assert_the_short_session
from tests.agents.builders import CWD, SESSION, START, Json, Read, Registry, SourceClaims, read
from tests.agents.samples_files import (
    cursor,
    cursor_bubbles,
    cursor_call,
    cursor_database,
    cursor_line,
    cursor_text,
    cursor_tool,
    write_lines,
)

from holdfast.agents.cursor.reader import Cursor, folder_of
from holdfast.model.events import (
    Began,
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


def part_of(path: Path, part: str = SESSION, claims: SourceClaims | None = None) -> Read:
    reading = Cursor().open(path, 0, b"", claims or Registry().source(str(path)), part)
    return Read(list(reading.events()), reading.warnings, reading.position(), reading.state())


def one(tmp_path: Path, *records: Json) -> Read:
    return read(Cursor(), write_lines(tmp_path / "agent-transcripts" / "x" / "x.jsonl", records))


def test_a_transcript_is_read(tmp_path: Path) -> None:
    path = cursor(tmp_path)
    os.utime(path, (START, START))
    done = read(Cursor(), path)
    assert_the_short_session(done, results=False)
    assert done.of(Began)[0].session == SESSION
    assert {event.at for event in done.events} == {START}
    assert done.of(UsageReport) == []


def test_a_conversation_of_the_database_is_read(tmp_path: Path) -> None:
    done = part_of(cursor_database(tmp_path))
    assert_the_short_session(done)
    began = done.of(Began)[0]
    assert (began.session, began.branch, began.at) == (SESSION, "main", START)
    [report] = done.of(UsageReport)
    assert (report.model, report.usage) == ("gpt-5", Usage(900, 40))


def test_every_conversation_with_messages_is_a_session_of_its_own(tmp_path: Path) -> None:
    path = cursor_database(
        tmp_path, {"a": cursor_bubbles(), "b": [{"type": 1, "text": "hello"}], "empty": []}
    )
    glances = list(Cursor().sessions(path, path.read_bytes()))
    assert [(glance.part, glance.cwd, glance.started) for glance in glances] == [
        ("a", CWD, START),
        ("b", CWD, START + 100),
    ]
    assert all(glance.size and glance.changed for glance in glances)
    assert [turn.text for turn in part_of(path, "b").of(UserTurn)] == ["hello"]


def test_a_conversation_that_names_its_folder_needs_no_workspace(tmp_path: Path) -> None:
    path = cursor_database(tmp_path, workspaceIdentifier={"id": "w9", "uri": {"fsPath": "/srv/app"}})
    [glance] = Cursor().sessions(path, path.read_bytes())
    assert glance.cwd == "/srv/app"
    assert part_of(path).of(Began)[0].cwd == "/srv/app"


def test_a_conversation_in_both_places_counts_once(tmp_path: Path) -> None:
    registry = Registry()
    database, transcript = cursor_database(tmp_path), cursor(tmp_path)
    assert part_of(database, claims=registry.source("database")).of(UserTurn)
    assert read(Cursor(), transcript, claims=registry.source("transcript")).events == []


def test_how_calls_end(tmp_path: Path) -> None:
    bubbles = [
        cursor_tool("run_terminal_cmd", {"command": "rm x"}, {}, "completed", userDecision="rejected"),
        cursor_tool("edit_file_v2", {"relativeWorkspacePath": "a.py"}, {}, "error"),
        cursor_tool("read_file_v2", {"target_file": "b.py"}, {"contents": "x"}),
        cursor_tool("run_terminal_command_v2", {"command": "sleep 9"}, {}, "loading"),
        cursor_tool("todo_write", {"todos": [{"content": "ship", "status": "in_progress"}]}, {}),
    ]
    done = part_of(cursor_database(tmp_path, {SESSION: bubbles}))
    assert [call.action for call in done.of(ToolCall)] == ["shell", "edit", "read", "shell", "todo"]
    ends = [(end.ok, end.rejected, end.own_fault) for end in done.of(ToolResult)]
    assert ends == [(False, True, False), (False, False, True), (True, False, False), (True, False, False)]
    assert done.of(TodoList)[0].items[0].text == "ship"


def test_a_stopped_conversation_and_a_subagents(tmp_path: Path) -> None:
    done = part_of(cursor_database(tmp_path, status="aborted", subagentInfo={"parentComposerId": "p"}))
    assert len(done.of(Interruption)) == 1
    assert done.of(Began)[0].parent == "p"
    assert done.of(UserTurn) == []


def test_a_subagents_transcript_joins_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "agent-transcripts" / SESSION / "subagents" / "child.jsonl"
    done = read(Cursor(), write_lines(path, [cursor_line("user", cursor_text("explore"))]))
    assert (done.of(Began)[0].session, done.of(Began)[0].parent) == ("child", SESSION)
    assert done.of(UserTurn) == []


def test_injected_context_is_taken_off_a_prompt(tmp_path: Path) -> None:
    text = "<attached_files>\nx = 1\n</attached_files>\n<user_query>\nfix it\n</user_query>"
    done = one(
        tmp_path,
        cursor_line("user", cursor_text(text)),
        cursor_line("user", cursor_text("<system_reminder>x</system_reminder>")),
    )
    assert [turn.text for turn in done.of(UserTurn)] == ["fix it"]


def test_the_folder_is_told_by_a_path_or_by_the_disk(tmp_path: Path) -> None:
    slug = "home-ada-shop"
    path = write_lines(
        tmp_path / slug / "agent-transcripts" / "x" / "x.jsonl",
        [cursor_line("assistant", cursor_call("Read", path=f"{CWD}/a.py"))],
    )
    assert folder_of(path) == CWD
    project = tmp_path / "my.project"
    project.mkdir()
    spelling = str(project).strip("/").replace("/", "-").replace("_", "-").replace(".", "-")
    other = write_lines(
        tmp_path / spelling / "agent-transcripts" / "y" / "y.jsonl", [cursor_line("user", cursor_text("hi"))]
    )
    assert folder_of(other) == str(project)


@pytest.mark.promise("F4")
def test_a_database_in_use_is_neither_locked_nor_changed(tmp_path: Path) -> None:
    path = cursor_database(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO cursorDiskKV VALUES ('x', 'y')")
        assert part_of(path).of(UserTurn)
        writer.execute("COMMIT")
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert part_of(path).of(UserTurn)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert sorted(file.name for file in path.parent.iterdir()) == ["state.vscdb"]


@pytest.mark.promise("F4")
def test_a_database_that_cannot_be_read_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cursor_database(tmp_path)
    monkeypatch.setattr("holdfast.agent_kit.sqlite_source.WAIT_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        [glance] = Cursor().sessions(path, path.read_bytes())
        assert (glance.part, glance.size, glance.changed) == ("", 0, 0)
        unreadable = part_of(path, glance.part)
        assert len(unreadable.warnings) == 1
        assert len(part_of(path).warnings) == 1
    assert part_of(path).warnings == []


@pytest.mark.promise("F4")
def test_one_bad_line_is_one_warning(tmp_path: Path) -> None:
    path = cursor(tmp_path)
    path.write_bytes(path.read_bytes() + b"{broken\n")
    done = read(Cursor(), path)
    assert [warning.line for warning in done.warnings] == [6]


def test_places_and_recognition(tmp_path: Path) -> None:
    importer = Cursor()
    transcript, database = cursor(tmp_path), cursor_database(tmp_path)
    roots = list(importer.roots(Places(tmp_path, {})))
    assert [path for root in roots for path in importer.candidates(root)] == [transcript, database]
    moved = list(importer.roots(Places(tmp_path, {"XDG_CONFIG_HOME": "/x", "APPDATA": "/y"})))
    assert Path("/x/Cursor/User/globalStorage") in moved
    assert Path("/y/Cursor/User/globalStorage") in moved
    assert importer.recognise(transcript, transcript.read_bytes())
    assert importer.recognise(database, database.read_bytes())
    workspace = next(tmp_path.rglob("w1/state.vscdb"))
    assert not importer.recognise(workspace, workspace.read_bytes())
    claude = b'{"type":"user","uuid":"u","sessionId":"s","role":"user","message":{"content":"hi"}}\n'
    assert not importer.recognise(transcript, claude)
