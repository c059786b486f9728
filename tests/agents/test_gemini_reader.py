"""Gemini CLI's two forms: what is written again under one id counts once, whoever reads it and when."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from tests.agents.agent_checks import (
    assert_growing_is_the_same_as_at_once,
    assert_the_short_session,
    read_all,
)
from tests.agents.builders import CWD, SESSION, START, Json, Read, Registry, read, stamp
from tests.agents.samples_files import (
    MODEL,
    gemini,
    gemini_call,
    gemini_document,
    gemini_folder,
    gemini_header,
    gemini_message,
    gemini_messages,
    gemini_tokens,
    write_lines,
)

from holdfast.agents.gemini.reader import Gemini
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

EXPECTED = {
    f"{SESSION}:m2": Usage(800, 50, 200),
    f"{SESSION}:m3": Usage(600, 40, 900),
    f"{SESSION}:m4": Usage(300, 10, 1400),
}


def usage_of(done: Read) -> dict[str, Usage]:
    """What each response used: of its repeats the one with the largest output counts."""
    used: dict[str, Usage] = {}
    for event in done.events:
        if isinstance(event, UsageReport) and (
            event.key not in used or event.usage.output >= used[event.key].output
        ):
            used[event.key] = event.usage
    return used


def one(tmp_path: Path, *records: Json) -> Read:
    path = write_lines(gemini_folder(tmp_path) / "session-x.jsonl", [gemini_header(), *records])
    return read(Gemini(), path)


def test_the_newer_form_is_read(tmp_path: Path) -> None:
    done = read(Gemini(), gemini(tmp_path))
    assert_the_short_session(done)
    assert usage_of(done) == EXPECTED


def test_the_older_form_says_the_same(tmp_path: Path) -> None:
    done = read(Gemini(), gemini_document(tmp_path))
    assert_the_short_session(done)
    assert usage_of(done) == EXPECTED


def test_input_is_without_the_cache_and_thoughts_are_output(tmp_path: Path) -> None:
    message = gemini_message(1, "m", "gemini", "hi", tokens=gemini_tokens(1000, 20, 200, 30), model=MODEL)
    assert one(tmp_path, message).of(UsageReport) == [
        UsageReport(START + 1, f"{SESSION}:m", MODEL, Usage(800, 50, 200))
    ]


def test_tokens_of_zero_are_no_usage(tmp_path: Path) -> None:
    message = gemini_message(1, "m", "gemini", "hi", tokens=gemini_tokens(0, 0), model=MODEL)
    assert one(tmp_path, message).of(UsageReport) == []


def test_a_checkpoint_that_repeats_the_history_counts_nothing_twice(tmp_path: Path) -> None:
    messages = gemini_messages()
    done = one(tmp_path, *messages, {"$set": {"messages": messages}}, {"$set": {"messages": messages}})
    assert usage_of(done) == EXPECTED
    assert len(done.of(ToolCall)) == len(done.of(ToolResult)) == 3
    assert len(done.of(UserTurn)) == 1


def test_a_history_that_only_stands_in_a_checkpoint_is_read(tmp_path: Path) -> None:
    done = one(tmp_path, {"$set": {"messages": gemini_messages()}})
    assert_the_short_session(done)


@pytest.mark.promise("C2")
def test_a_document_that_grew_adds_only_what_is_new(tmp_path: Path) -> None:
    claims = Registry().source("file")
    messages = gemini_messages()
    first = read(Gemini(), gemini_document(tmp_path, messages[:2]), claims=claims)
    path = gemini_document(tmp_path, messages)
    again = read(Gemini(), path, offset=first.position, state=first.state, claims=claims)
    assert usage_of(first) | usage_of(again) == EXPECTED
    assert len(first.of(UserTurn)) + len(again.of(UserTurn)) == 1
    assert len(again.of(ToolCall)) == 2


def test_a_session_that_was_carried_over_to_the_newer_form_counts_once(tmp_path: Path) -> None:
    registry = Registry()
    old = read(Gemini(), gemini_document(tmp_path), claims=registry.source("old"))
    new = read(Gemini(), gemini(tmp_path), claims=registry.source("new"))
    assert usage_of(old) == EXPECTED
    assert new.events == []


@pytest.mark.promise("C2")
def test_a_growing_file_gives_the_same_as_a_whole_one() -> None:
    assert_growing_is_the_same_as_at_once(Gemini(), gemini)


def test_a_rewind_stops_the_turn_and_takes_back_no_cost(tmp_path: Path) -> None:
    done = one(
        tmp_path, *gemini_messages(), {"$rewindTo": "m1"}, gemini_message(20, "m9", "user", "another way")
    )
    assert len(done.of(Interruption)) == 1
    assert usage_of(done) == EXPECTED
    assert [turn.text for turn in done.of(UserTurn)][-1] == "another way"


@pytest.mark.parametrize(
    "content",
    [
        [{"text": "<session_context>\nThis is the Gemini CLI.\n</session_context>"}],
        [{"text": "<hook_context>a lesson</hook_context>"}],
        [{"functionResponse": {"id": "c", "name": "x", "response": {"output": "y"}}}],
        "System: Please continue.",
        "/help",
        "?",
        "",
    ],
)
def test_what_no_person_said_is_no_prompt(tmp_path: Path, content: str | list[Json]) -> None:
    assert one(tmp_path, gemini_message(1, "m", "user", content)).of(UserTurn) == []


def test_injected_context_is_taken_off_a_prompt(tmp_path: Path) -> None:
    shown = [{"text": "<hook_context>A</hook_context>\n\nfix /etc/hosts please"}]
    content = [
        *shown,
        {"text": "<hook_context>B</hook_context>"},
        {"text": "\n--- Content from referenced files ---\nx"},
    ]
    for fields in ({}, {"displayContent": shown}):
        done = one(tmp_path, gemini_message(1, "m", "user", content, **fields))
        assert [turn.text for turn in done.of(UserTurn)] == ["fix /etc/hosts please"]


def test_how_calls_end(tmp_path: Path) -> None:
    calls = [
        gemini_call(
            2, "declined", "run_shell_command", {"command": "rm x"}, "[Operation Cancelled] no", "cancelled"
        ),
        gemini_call(3, "mismatch", "replace", {"file_path": "a"}, "0 occurrences found", "error"),
        gemini_call(4, "missing", "read_file", {"file_path": "b"}, "File not found: b", "error"),
        gemini_call(5, "running", "run_shell_command", {"command": "ls"}, "", "executing"),
        gemini_call(
            6, "todo", "write_todos", {"todos": [{"description": "ship", "status": "in_progress"}]}, "ok"
        ),
    ]
    done = one(tmp_path, gemini_message(1, "m", "gemini", "", toolCalls=calls))
    ends = {end.call: (end.ok, end.rejected, end.own_fault) for end in done.of(ToolResult)}
    assert ends == {
        "declined": (False, True, False),
        "mismatch": (False, False, True),
        "missing": (False, False, False),
        "todo": (True, False, False),
    }
    assert [(item.text, item.status) for item in done.of(TodoList)[0].items] == [("ship", "in_progress")]


def test_stops_service_errors_and_summaries_are_told_apart(tmp_path: Path) -> None:
    done = one(
        tmp_path,
        gemini_message(1, "a", "info", "Request cancelled."),
        gemini_message(2, "b", "error", "[API Error: 429 quota exceeded]"),
        gemini_message(3, "c", "error", "Unknown command: /foo"),
        gemini_message(4, "d", "user", "<state_snapshot><goal>x</goal></state_snapshot>"),
    )
    assert len(done.of(Interruption)) == len(done.of(ApiFailure)) == len(done.of(Compaction)) == 1


def test_a_summary_that_begins_with_thoughts_is_no_prompt(tmp_path: Path) -> None:
    text = "<scratchpad>let me see</scratchpad>\n<state_snapshot><goal>x</goal></state_snapshot>"
    done = one(tmp_path, gemini_message(1, "a", "user", text))
    assert [event.summary for event in done.of(Compaction)] == [
        "<state_snapshot><goal>x</goal></state_snapshot>"
    ]
    assert done.of(UserTurn) == []


def test_a_subagent_joins_its_parent(tmp_path: Path) -> None:
    path = gemini_folder(tmp_path) / SESSION / "helper-1.jsonl"
    records = [gemini_header("helper-1", kind="subagent"), *gemini_messages()]
    done = read(Gemini(), write_lines(path, records))
    began = done.of(Began)[0]
    assert (began.session, began.parent) == (f"{SESSION}/helper-1", SESSION)
    assert done.of(UserTurn, AgentTurn) == []
    assert len(done.of(ToolCall)) == 3


def test_the_directory_is_proved_by_its_hash(tmp_path: Path) -> None:
    header = gemini_header(projectHash=sha256(CWD.encode()).hexdigest())
    call = gemini_call(2, "c", "read_file", {"file_path": f"{CWD}/src/deep/cart.py"}, "x")
    path = write_lines(
        tmp_path / "copy.jsonl", [header, gemini_message(1, "m", "gemini", "", toolCalls=[call])]
    )
    assert read(Gemini(), path).of(Began)[0].cwd == CWD
    [glance] = Gemini().sessions(path, path.read_bytes())
    assert (glance.cwd, glance.started) == (CWD, START)


def test_the_directory_is_found_in_the_clients_registry(tmp_path: Path) -> None:
    path = gemini(tmp_path)
    (path.parent.parent / ".project_root").unlink()
    (tmp_path / ".gemini" / "projects.json").write_text(
        json.dumps({"projects": {CWD: "shop"}}), encoding="utf-8"
    )
    assert read(Gemini(), path).of(Began)[0].cwd == CWD


@pytest.mark.promise("F4")
def test_a_torn_document_is_one_warning_and_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = gemini_document(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    torn = read(Gemini(), path)
    assert [warning.code for warning in torn.warnings] == ["bad-document"]
    assert (torn.events, torn.position) == ([], 0)
    path.write_bytes(whole)
    assert_the_short_session(read(Gemini(), path, offset=torn.position, state=torn.state))


@pytest.mark.promise("F4")
def test_one_bad_message_is_one_warning(tmp_path: Path) -> None:
    broken = {"id": 7, "type": ["gemini"], "timestamp": stamp(3)}
    done = read(Gemini(), gemini_document(tmp_path, [*gemini_messages(), broken]))
    assert len(done.warnings) == 1
    assert usage_of(done) == EXPECTED


def test_places_and_recognition(tmp_path: Path) -> None:
    importer = Gemini()
    path, document = gemini(tmp_path), gemini_document(tmp_path)
    [root] = importer.roots(Places(tmp_path, {}))
    assert sorted(importer.candidates(root)) == sorted([path, document])
    assert list(importer.roots(Places(tmp_path, {"GEMINI_CLI_HOME": "/x"}))) == [Path("/x/.gemini/tmp")]
    assert importer.recognise(path, path.read_bytes())
    assert importer.recognise(document, document.read_bytes())
    assert not importer.recognise(path, b'{"sessionId":"x","uuid":"y","type":"user"}\n')


def test_real_files_are_read(shared: Path) -> None:
    data = shared / "data"
    files = [*data.glob("transcripts/gemini-cli/*/*"), *data.glob("captures/gemini/[st]*.json*")]
    reads = read_all(Gemini(), files)
    assert sum(len(done.of(UserTurn)) for done in reads) == 6
    assert sum(len(done.of(ToolCall)) for done in reads) == 16
