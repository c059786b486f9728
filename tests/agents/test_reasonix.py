"""Reasonix: the typed event log, with usage and cost per response."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.agent_checks import assert_growing_is_the_same_as_at_once, assert_the_short_session
from tests.agents.builders import CWD, START, Json, Read, Registry, read
from tests.agents.samples_files import (
    reasonix,
    reasonix_call,
    reasonix_event,
    reasonix_final,
    reasonix_records,
    reasonix_result,
    write_lines,
)

from holdfast.agents.reasonix.reader import Reasonix
from holdfast.model.events import (
    ApiFailure,
    Began,
    Compaction,
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
    return read(Reasonix(), write_lines(tmp_path / "code-shop.events.jsonl", records))


def test_a_session_is_read(tmp_path: Path) -> None:
    done = read(Reasonix(), reasonix(tmp_path))
    assert_the_short_session(done)
    began = done.of(Began)[0]
    assert (began.session, began.branch) == ("code-shop-20260302090000", "main")
    reports = done.of(UsageReport)
    assert [(report.model, report.usage, report.cost_usd) for report in reports] == [
        ("deepseek-chat", Usage(400, 50, 600), 0.001)
    ] * 2


@pytest.mark.promise("C2")
def test_a_growing_file_gives_the_same_as_a_whole_one() -> None:
    assert_growing_is_the_same_as_at_once(Reasonix(), reasonix)


def test_calls_of_two_runs_are_told_apart_though_their_ids_repeat(tmp_path: Path) -> None:
    done = one(
        tmp_path,
        reasonix_event(1, 0, "session.opened", name="shop", resumedFromTurn=0),
        reasonix_call(2, 1, "tc-1", "run_command", command="ls"),
        reasonix_event(1, 10, "session.opened", name="shop", resumedFromTurn=1),
        reasonix_call(2, 11, "tc-1", "run_command", command="pwd"),
        reasonix_result(3, 12, "tc-1", "$ pwd\n[exit 0]\n/"),
    )
    assert len({call.call for call in done.of(ToolCall)}) == 2
    assert done.of(ToolResult)[0].call == done.of(ToolCall)[1].call


def test_no_usage_is_unknown(tmp_path: Path) -> None:
    event = reasonix_event(1, 0, "model.final", content="x", toolCalls=[], usage={}, costUsd=0)
    assert one(tmp_path, event).of(UsageReport) == []
    assert one(tmp_path, reasonix_final(1, 0, cost=0)).of(UsageReport)[0].cost_usd is None


def test_denials_plans_errors_and_summaries(tmp_path: Path) -> None:
    steps = [{"id": "s1", "title": "read", "action": "…"}, {"id": "s2", "title": "write", "action": "…"}]
    done = one(
        tmp_path,
        reasonix_call(1, 1, "tc-1", "run_command", command="rm x"),
        reasonix_event(2, 2, "tool.denied", callId="tc-1", reason="permission"),
        reasonix_call(3, 3, "tc-2", "run_command", command="rm y"),
        reasonix_event(4, 4, "tool.denied", callId="tc-2", reason="budget"),
        reasonix_event(5, 5, "plan.submitted", steps=steps, body="# Plan"),
        reasonix_event(6, 6, "plan.step.completed", stepId="s1", completion={}),
        reasonix_event(7, 7, "error", message="503", recoverable=False),
        reasonix_event(8, 8, "error", message="slow", recoverable=True),
        reasonix_event(9, 9, "session.compacted", beforeMessages=9, afterMessages=2, replacementMessages=[]),
        reasonix_event(10, 10, "slash.invoked", name="help", args=""),
    )
    assert [(end.rejected, end.own_fault) for end in done.of(ToolResult)] == [(True, False), (False, True)]
    assert [item.status for item in done.of(TodoList)[-1].items] == ["completed", "pending"]
    assert [failure.text for failure in done.of(ApiFailure)] == ["503"]
    assert len(done.of(Compaction)) == 1
    assert done.of(UserTurn) == []


def test_a_copied_log_counts_once(tmp_path: Path) -> None:
    registry = Registry()
    read(Reasonix(), reasonix(tmp_path), claims=registry.source("a"))
    again = read(Reasonix(), reasonix(tmp_path), claims=registry.source("b"))
    assert again.events == []


@pytest.mark.promise("F4")
def test_one_bad_line_is_one_warning(tmp_path: Path) -> None:
    path = reasonix(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"id": 12, "ts": \n')
    done = read(Reasonix(), path)
    assert [warning.line for warning in done.warnings] == [12]
    assert len(done.of(ToolCall)) == 3


def test_places_and_recognition(tmp_path: Path) -> None:
    importer = Reasonix()
    path = reasonix(tmp_path)
    write_lines(path.with_name("code-shop.jsonl"), [{"role": "user", "content": "x"}])
    [root] = importer.roots(Places(tmp_path, {}))
    assert list(importer.candidates(root)) == [path]
    assert importer.recognise(path, path.read_bytes())
    assert not importer.recognise(path, b'{"type":"session.start","data":{},"id":"x","timestamp":"y"}\n')
    [glance] = importer.sessions(path, path.read_bytes())
    assert (glance.cwd, glance.started) == (CWD, START)
    assert len(reasonix_records()) == 11
