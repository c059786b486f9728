"""Goose: the database, the older files, and totals that are known for a session only."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.agents.builders import CWD, Registry, digest_of
from tests.agents.samples_stores import (
    ANSWER,
    COMMAND,
    EDITED,
    PROMPT,
    GooseSession,
    goose_database,
    goose_folder,
    goose_story,
    put_goose,
    read_only,
    read_parts,
)

from holdfast.agents.goose.reader import Goose
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


def used(reports: list[UsageReport]) -> Usage:
    return sum((report.usage for report in reports), Usage())


@pytest.mark.promise("C1")
@pytest.mark.parametrize("form", ["database", "lines"])
def test_both_forms_tell_the_same_session(tmp_path: Path, form: str) -> None:
    session = goose_story()
    path = goose_database(tmp_path, session) if form == "database" else session.as_lines(tmp_path)
    done = read_only(Goose(), path)
    assert done.warnings == []
    assert (done.of(Began)[0].session, done.of(Began)[0].cwd) == ("20260302_1", CWD)
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]
    calls = [(call.action, call.target) for call in done.of(ToolCall)]
    assert calls == [("shell", COMMAND), ("edit", EDITED), ("shell", COMMAND)]
    assert [(result.ok, result.exit_code) for result in done.of(ToolResult)] == [
        (False, 1),
        (True, None),
        (True, 0),
    ]
    assert done.of(AgentTurn)[-1].text == ANSWER
    assert used(done.of(UsageReport)) == Usage(900, 90)
    assert digest_of(done.events).files == {"src/cart.py": (0, 1)}


@pytest.mark.promise("C2")
def test_a_session_that_the_database_took_over_counts_once(tmp_path: Path) -> None:
    session, registry, importer = goose_story(), Registry(), Goose()
    first = read_only(importer, goose_database(tmp_path, session), registry)
    again = read_only(importer, session.as_lines(goose_folder(tmp_path)), registry)
    assert used(first.of(UsageReport)) == Usage(900, 90)
    assert again.events == []
    (root, *_) = importer.roots(Places(tmp_path, {}))
    assert [path.name for path in importer.candidates(root)] == ["sessions.db"]


@pytest.mark.promise("C2")
def test_a_copied_session_counts_only_what_came_after(tmp_path: Path) -> None:
    original, copy = goose_story("20260302_1"), GooseSession("20260302_2", tokens=(10, 5), at=100)
    copy.messages = [*original.messages]
    copy.say(100, "user", "another way")
    copy.say(101, "assistant", "As you like.")
    parts = read_parts(Goose(), goose_database(tmp_path, original, copy))
    assert [turn.text for turn in parts["20260302_2"].of(UserTurn)] == ["another way"]
    assert used(parts["20260302_2"].of(UsageReport)) == Usage(10, 5)


@pytest.mark.promise("C1")
def test_no_totals_mean_that_nothing_is_known_of_the_cost(tmp_path: Path) -> None:
    session = goose_story()
    session.tokens = None
    assert read_only(Goose(), goose_database(tmp_path, session)).of(UsageReport) == []


@pytest.mark.promise("C1")
def test_a_total_is_spread_over_the_responses_and_nothing_is_lost(tmp_path: Path) -> None:
    session = GooseSession(tokens=(1_000_003, 1_001))
    for turn in range(7):
        session.say(turn * 10, "user", f"question {turn}")
        session.say(turn * 10 + 5, "assistant", f"answer {turn}")
    reports = read_only(Goose(), goose_database(tmp_path, session)).of(UsageReport)
    assert len(reports) == 7
    assert used(reports) == Usage(1_000_003, 1_001)
    assert max(report.usage.input for report in reports) < 150_000


@pytest.mark.promise("C1")
def test_a_subagent_joins_the_session_that_called_it(tmp_path: Path) -> None:
    parent, child = goose_story(), GooseSession("20260302_2", "sub_agent", (5, 5), at=42)
    other = GooseSession("20260302_3")
    other.say(1, "user", "something else")
    parent.call(40, "c9", "delegate", {"instructions": "find the tests"})
    child.say(43, "user", "find the tests")
    child.call(44, "s1", "developer__shell", {"command": "ls tests"})
    child.answer(45, "s1", "test_cart.py")
    child.say(46, "assistant", "There is one.")
    done = read_parts(Goose(), goose_database(tmp_path, parent, child, other))["20260302_2"]
    assert done.of(Began)[0].parent == "20260302_1"
    assert done.of(UserTurn, AgentTurn) == []
    assert len(done.of(ToolCall)) == 1


@pytest.mark.promise("C1")
def test_how_things_go_wrong(tmp_path: Path) -> None:
    session = GooseSession()
    session.say(0, "user", PROMPT)
    for number, tool in enumerate(["shell", "shell", "text_editor", "fetch"]):
        session.call(10 + number, f"c{number}", tool, {})
    session.answer(
        20, "c0", "The user has declined to run this tool. DO NOT attempt to call it again.", failed=True
    )
    session.error(21, "c1", "-32603: Interrupted by the user to make a correction")
    session.error(22, "c2", "Invalid parameters")
    session.answer(23, "c3", "404", failed=True)
    session.say(30, "assistant", "Rate limit exceeded\n\nPlease resend your message to try again.")
    session.say(40, "user", "A summary of it all", userVisible=False)
    session.say(
        41, "user", "Your context was compacted. The previous message contains a summary.", userVisible=False
    )
    session.say(42, "user", "<info-msg>It is Monday</info-msg>")
    done = read_only(Goose(), goose_database(tmp_path, session))
    verdicts = [(result.ok, result.rejected, result.own_fault) for result in done.of(ToolResult)]
    assert verdicts == [
        (False, True, False),
        (None, False, False),
        (False, False, True),
        (False, False, False),
    ]
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]
    assert (len(done.of(Interruption)), len(done.of(ApiFailure)), len(done.of(Compaction))) == (1, 1, 1)


@pytest.mark.promise("C1")
def test_lists_and_the_editor_that_reads(tmp_path: Path) -> None:
    session = GooseSession()
    session.say(0, "user", PROMPT)
    session.call(1, "c1", "todo__todo_write", {"content": "# Plan\n- [x] write it\n- [ ] test it"})
    session.call(2, "c2", "developer__text_editor", {"command": "view", "path": EDITED})
    done = read_only(Goose(), goose_database(tmp_path, session))
    assert done.of(TodoList)[0].items == (Todo("write it", "completed"), Todo("test it", "pending"))
    assert [call.action for call in done.of(ToolCall)] == ["todo", "read"]


@pytest.mark.promise("C2")
def test_another_message_is_another_stamp(tmp_path: Path) -> None:
    importer, path = Goose(), goose_database(tmp_path, goose_story())

    def stamp() -> tuple[int | None, int | None]:
        (glance,) = importer.sessions(path, path.read_bytes())
        return glance.size, glance.changed

    before = stamp()
    assert stamp() == before
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE sessions SET accumulated_total_tokens = 991")
    assert stamp() != before


@pytest.mark.promise("F4")
def test_one_bad_row_is_one_warning(tmp_path: Path) -> None:
    path = goose_database(tmp_path, goose_story())
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE messages SET content_json = '[torn' WHERE id = 4")
        database.execute("UPDATE messages SET metadata_json = 'torn' WHERE id = 1")
    done = read_only(Goose(), path)
    assert [warning.message for warning in done.warnings] == ["message 4: its content is not a list, skipped"]
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]


@pytest.mark.promise("F4")
def test_one_bad_line_of_the_older_form_is_one_warning(tmp_path: Path) -> None:
    path = goose_story().as_lines(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"{torn\n", *lines[3:], b'{"role": "assis']))
    done = read_only(Goose(), path)
    assert [(warning.line, warning.code) for warning in done.warnings] == [(4, "bad-line")]
    assert done.of(AgentTurn)[-1].text == ANSWER


@pytest.mark.promise("C1")
def test_an_older_database_without_later_columns_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, working_dir TEXT, created_at TIMESTAMP)"
        )
        database.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT,"
            " created_timestamp INTEGER)"
        )
        database.execute("INSERT INTO sessions VALUES ('one', '/home/ada/shop', '2026-03-02 09:00:00')")
        database.execute(
            'INSERT INTO messages VALUES (1, \'one\', \'user\', \'[{"type":"text","text":"hello"}]\', 1772442000)'
        )
    done = read_only(Goose(), path)
    assert [turn.text for turn in done.of(UserTurn)] == ["hello"]


@pytest.mark.promise("C1")
def test_sessions_are_found_in_the_agents_own_place(tmp_path: Path) -> None:
    roots = list(
        Goose().roots(Places(tmp_path, {"XDG_DATA_HOME": str(tmp_path / "x"), "APPDATA": "C:/Roaming"}))
    )
    assert tmp_path / "x" / "goose" / "sessions" in roots
    assert Path("C:/Roaming/Block/goose/data/sessions") in roots
    assert list(Goose().roots(Places(tmp_path, {"GOOSE_PATH_ROOT": "/g"}))) == [Path("/g/data/sessions")]


def test_a_session_added_later_is_a_part_of_its_own(tmp_path: Path) -> None:
    path = goose_database(tmp_path, goose_story())
    with closing(sqlite3.connect(path)) as database, database:
        put_goose(database, goose_story("20260302_9"))
    parts = read_parts(Goose(), path)
    assert list(parts) == ["20260302_1", "20260302_9"]


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"role":"user"}\n', b'{"type":"session"}\n', b"\xff"])
def test_others_files_are_not_recognised(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert not Goose().recognise(path, content)
