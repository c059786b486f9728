"""OpenCode: database, tree of files, export; forks, subagents, and what a person really typed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import CWD, Read, Registry, digest_of
from tests.agents.samples_stores import (
    ANSWER,
    COMMAND,
    EDITED,
    PROMPT,
    OpenCodeSession,
    opencode_database,
    opencode_story,
    opencode_tokens,
    opencode_tool,
    read_only,
    read_parts,
)

from holdfast.agents.opencode.reader import OpenCode
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

FORMS = ["database", "tree", "export"]


def written(form: str, folder: Path, session: OpenCodeSession) -> Path:
    if form == "database":
        return opencode_database(folder, session)
    return session.as_tree(folder) if form == "tree" else session.as_export(folder / f"{session.name}.json")


def exported(folder: Path, session: OpenCodeSession) -> Read:
    return read_only(OpenCode(), session.as_export(folder / f"{session.name}.json"))


@pytest.mark.promise("C1")
@pytest.mark.parametrize("form", FORMS)
def test_all_three_forms_tell_the_same_session(tmp_path: Path, form: str) -> None:
    done = read_only(OpenCode(), written(form, tmp_path, opencode_story()))
    assert done.warnings == []
    assert done.of(Began)[-1] == Began(
        done.of(Began)[-1].at,
        session="ses_one",
        cwd=CWD,
        version="1.18.33",
        provider="anthropic",
        title="Tests",
    )
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]
    calls = [(call.action, call.target) for call in done.of(ToolCall)]
    assert calls == [("shell", COMMAND), ("edit", EDITED), ("shell", COMMAND)]
    assert [(result.ok, result.exit_code) for result in done.of(ToolResult)] == [
        (False, 1),
        (True, None),
        (True, 0),
    ]
    assert done.of(AgentTurn)[-1].text == ANSWER
    assert sum(report.cost_usd for report in done.of(UsageReport)) == pytest.approx(0.05)
    assert digest_of(done.events).files == {"src/cart.py": (0, 1)}


@pytest.mark.promise("C2")
def test_a_session_that_lies_in_all_three_forms_counts_once(tmp_path: Path) -> None:
    registry = Registry()
    reads = [
        read_only(OpenCode(), written(form, tmp_path / form, opencode_story()), registry) for form in FORMS
    ]
    assert [len(done.of(UsageReport)) for done in reads] == [4, 0, 0]
    assert [digest_of(done.events).empty for done in reads] == [False, True, True]


@pytest.mark.promise("C2")
def test_a_fork_copies_messages_under_new_ids_and_counts_only_its_own(tmp_path: Path) -> None:
    original, fork = opencode_story(), OpenCodeSession("ses_two")
    for message in original.messages:
        info = {
            key: value
            for key, value in message["info"].items()
            if key not in ("id", "sessionID", "role", "time")
        }
        parts = [{**part, "id": f"{part['id']}x"} for part in message["parts"]]
        copied = fork.message(0, message["info"]["role"], parts, **info)
        copied["info"]["time"] = message["info"]["time"]
    fork.user(100, "another way")
    fork.assistant(101, {"type": "text", "text": "As you like."})
    reads = read_parts(OpenCode(), opencode_database(tmp_path, original, fork))
    assert [len(reads[name].of(UsageReport)) for name in ("ses_one", "ses_two")] == [4, 1]
    assert [turn.text for turn in reads["ses_two"].of(UserTurn)] == ["another way"]


@pytest.mark.promise("C1")
def test_a_subagent_joins_its_parent_and_speaks_for_nobody(tmp_path: Path) -> None:
    session = OpenCodeSession("ses_sub", parent="ses_one")
    session.user(0, "You are a search agent: find the tests")
    session.assistant(
        1, opencode_tool(2, "grep", {"pattern": "def test"}), {"type": "text", "text": "Found."}
    )
    done = exported(tmp_path, session)
    assert done.of(Began)[0].parent == "ses_one"
    assert done.of(UserTurn, AgentTurn) == []
    assert [(call.tool, call.action) for call in done.of(ToolCall)] == [("grep", "search")]


@pytest.mark.promise("C1")
def test_tokens_of_thinking_are_output_and_a_price_of_nothing_is_no_price(tmp_path: Path) -> None:
    session = OpenCodeSession()
    session.user(0, PROMPT)
    session.assistant(1, tokens=opencode_tokens(10, 20, 30, 40, 50), cost=0)
    session.assistant(5, tokens=opencode_tokens(0, 0), cost=0)
    (report,) = exported(tmp_path, session).of(UsageReport)
    assert report.usage == Usage(10, 50, 40, 50)
    assert report.cost_usd is None


@pytest.mark.promise("C1")
def test_how_things_go_wrong(tmp_path: Path) -> None:
    session = OpenCodeSession()
    session.user(0, PROMPT)
    rejected = (
        "The user rejected permission to use this specific tool call with the following feedback: use make"
    )
    for at, (tool, error) in enumerate(
        [
            ("bash", rejected),
            ("edit", "Could not find oldString in the file."),
            ("bash", "Tool execution aborted"),
            ("webfetch", "Request failed with status code: 404"),
        ]
    ):
        session.assistant(10 + at, opencode_tool(10 + at, tool, {}, status="error", error=error))
    session.assistant(20, error={"name": "MessageAbortedError", "data": {"message": "Aborted"}})
    session.assistant(30, error={"name": "APIError", "data": {"message": "No provider available"}})
    session.assistant(40, {"type": "text", "text": "What was done so far"}, summary=True, mode="compaction")
    done = exported(tmp_path, session)
    verdicts = [(result.ok, result.rejected, result.own_fault) for result in done.of(ToolResult)]
    assert verdicts == [
        (False, True, False),
        (False, False, True),
        (None, False, False),
        (False, False, False),
    ]
    assert [(turn.text, turn.feedback) for turn in done.of(UserTurn)] == [(PROMPT, False), ("use make", True)]
    assert len(done.of(Interruption)) == 1
    assert [failure.text for failure in done.of(ApiFailure)] == ["No provider available"]
    assert [compaction.summary for compaction in done.of(Compaction)] == ["What was done so far"]
    assert digest_of(done.events).failed_calls == 1


@pytest.mark.promise("C1")
def test_a_run_without_a_person_is_headless_and_its_quotes_are_taken_off(tmp_path: Path) -> None:
    denied = [
        {"permission": name, "pattern": "*", "action": "deny"}
        for name in ("question", "plan_enter", "plan_exit")
    ]
    session = OpenCodeSession(permission=denied)
    session.user(0, '"say \\"hello\\" twice"')
    session.assistant(1, {"type": "text", "text": ANSWER})
    for form in FORMS:
        done = read_only(OpenCode(), written(form, tmp_path / form, session))
        assert done.of(Began)[0].headless
        assert [turn.text for turn in done.of(UserTurn)] == ['say "hello" twice']


@pytest.mark.promise("C1")
def test_lists_patches_and_what_plugins_said(tmp_path: Path) -> None:
    todos = [{"content": "write it", "status": "completed"}, {"content": "test it", "status": "in_progress"}]
    session = OpenCodeSession()
    session.user(0, PROMPT, {"type": "text", "text": "compressed by a plugin", "ignored": True})
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Add File: b.py\n*** End Patch"
    session.assistant(1, opencode_tool(2, "todowrite", {"todos": todos}))
    session.assistant(5, opencode_tool(6, "apply_patch", {"patchText": patch}))
    done = exported(tmp_path, session)
    assert [turn.text for turn in done.of(UserTurn)] == [PROMPT]
    assert done.of(TodoList)[0].items == (Todo("write it", "completed"), Todo("test it", "in_progress"))
    assert done.of(ToolCall)[1].paths == ("a.py", "b.py")


@pytest.mark.promise("C1")
def test_sessions_are_found_in_the_agents_own_place(tmp_path: Path) -> None:
    path = opencode_database(tmp_path / ".local" / "share", opencode_story())
    moved = opencode_database(tmp_path / "data", opencode_story())
    tree = opencode_story().as_tree(tmp_path / "data")
    importer = OpenCode()

    def candidates(**env: str) -> list[Path]:
        roots = importer.roots(Places(tmp_path, env))
        return [path for root in roots for path in importer.candidates(root)]

    assert candidates() == [path]
    assert candidates(XDG_DATA_HOME=str(tmp_path / "data")) == [moved, tree]


@pytest.mark.promise("C2")
@pytest.mark.parametrize("form", ["database", "tree"])
def test_another_message_is_another_stamp_and_the_same_is_the_same(tmp_path: Path, form: str) -> None:
    importer, session = OpenCode(), opencode_story()

    def stamp(path: Path) -> Any:
        (glance,) = importer.sessions(path, path.read_bytes()[:65536])
        return glance.size, glance.changed

    first = stamp(written(form, tmp_path / "a", session))
    path = written(form, tmp_path / "b", session)
    before = stamp(path)
    assert before == stamp(path)
    if form == "database":
        assert first == before
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("INSERT INTO message VALUES ('msg_z', 'ses_one', 1, 1, '{}')")
    else:
        session.user(99, "and more")
        session.as_tree(tmp_path / "b")
    assert stamp(path) != before


@pytest.mark.promise("F4")
def test_one_bad_row_is_one_warning(tmp_path: Path) -> None:
    path = opencode_database(tmp_path, opencode_story())
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE part SET data = '{torn' WHERE id = 'prt_one005000'")
        database.execute("UPDATE part SET data = x'ff00' WHERE id = 'prt_one003000'")
    done = read_only(OpenCode(), path)
    assert [warning.message for warning in done.warnings] == [
        "part prt_one003000: not a JSON object, skipped",
        "part prt_one005000: not a JSON object, skipped",
    ]
    assert done.of(AgentTurn)[-1].text == ANSWER


@pytest.mark.promise("F4")
def test_a_torn_export_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = opencode_story().as_export(tmp_path / "torn.json")
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b'"tool": "edit"')])
    done = read_only(OpenCode(), path)
    assert [warning.code for warning in done.warnings] == ["bad-json"]
    assert [call.target for call in done.of(ToolCall)] == [COMMAND]
    assert done.of(Began)[0].session == "ses_one"


@pytest.mark.promise("F4")
def test_a_database_that_cannot_be_read_is_one_warning_and_is_tried_again(tmp_path: Path) -> None:
    path = opencode_database(tmp_path, *(opencode_story(f"ses_{n}") for n in range(40)))
    data, importer = path.read_bytes(), OpenCode()
    path.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))
    assert importer.recognise(path, path.read_bytes()[:65536])
    (glance,) = importer.sessions(path, path.read_bytes()[:65536])
    done = read_only(importer, path)
    assert [warning.code for warning in done.warnings] == ["unreadable"]
    assert (glance.size, glance.changed) == (0, 0)
    path.write_bytes(data)
    assert len(read_parts(importer, path)) == 40


@pytest.mark.promise("F4")
def test_an_id_is_never_a_way_out_of_the_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret" / "msg_1.json"
    secret.parent.mkdir()
    secret.write_text('{"role": "user"}', encoding="utf-8")
    session = OpenCodeSession("ses_one")
    path = session.as_tree(tmp_path)
    moved = path.with_name("..json")
    path.rename(moved)
    assert read_only(OpenCode(), moved).events == []


@pytest.mark.promise("F4")
def test_the_agent_goes_on_writing_while_its_sessions_are_read(tmp_path: Path) -> None:
    path = opencode_database(tmp_path, opencode_story())
    script = (
        "import itertools, os, sqlite3, sys, time\n"
        "database = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "for n in itertools.takewhile(lambda _: not os.path.exists(sys.argv[2]), itertools.count()):\n"
        "    database.execute('INSERT INTO message VALUES (?, ?, ?, ?, ?)', (f'msg_new{n}', 'ses_one', 9, 9,"
        ' \'{"role": "user", "time": {"created": 9}}\'))\n'
        "    print('begun', flush=True) if n == 0 else time.sleep(0.002)\n"
    )
    enough = tmp_path / "enough"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path), str(enough)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == b"begun\n"
            for _ in range(30):
                assert all(not done.warnings for done in read_parts(OpenCode(), path).values())
        finally:
            enough.touch()
        assert writer.stderr is not None
        assert writer.stderr.read() == b""


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"info": {"id": "x"}}', b"SQLite format 3\x00", b"\xff\xfe"]
)
def test_others_files_are_not_recognised(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "opencode.json"
    path.write_bytes(content)
    assert not OpenCode().recognise(path, content)


@pytest.mark.promise("C1")
def test_the_real_sessions_are_read_without_a_warning(shared: Path) -> None:
    importer, registry = OpenCode(), Registry()
    files = sorted((shared / "data" / "transcripts" / "opencode").rglob("*.json"))
    reads = [read_only(importer, file, registry) for file in files]
    captures = shared / "data" / "captures" / "opencode"
    reads += read_parts(importer, captures / "opencode.db", registry).values()
    reads += [read_only(importer, file, registry) for file in sorted(captures.glob("export_*.json"))]
    assert [warning for done in reads for warning in done.warnings] == []
    digests = [digest_of(done.events) for done in reads]
    assert sum(bool(digest.parent) for digest in digests) == 10
    assert (
        sum(not digest.empty for digest in digests) == len(files) + 4
    )  # the export is in the database as well
    used = [report.usage for done in reads[: len(files)] for report in done.of(UsageReport)]
    # What ccusage 20.0.24 says of the same sessions: input, output with reasoning, cache read.
    assert sum(usage.input for usage in used) == 1_464_468
    assert sum(usage.output for usage in used) == 93_053 + 56_780
    assert sum(usage.cache_read for usage in used) == 11_229_024
