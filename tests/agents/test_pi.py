"""Pi: entries of a tree, forks that copy them, and costs that the agent states itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.agent_checks import (
    assert_growing_is_the_same_as_at_once,
    assert_the_short_session,
    read_all,
)
from tests.agents.builders import CWD, SESSION, START, Json, Read, Registry, read
from tests.agents.samples_files import (
    pi,
    pi_call,
    pi_entry,
    pi_header,
    pi_model,
    pi_records,
    pi_result,
    pi_user,
    write_lines,
)

from holdfast.agents.pi.reader import Pi
from holdfast.model.events import (
    AgentTurn,
    ApiFailure,
    Began,
    Compaction,
    Interruption,
    ToolCall,
    ToolResult,
    Usage,
    UsageReport,
    UserTurn,
)
from holdfast.store.machine import Places

pytestmark = pytest.mark.promise("C1")


def one(tmp_path: Path, *records: Json) -> Read:
    return read(Pi(), write_lines(tmp_path / "x.jsonl", [pi_header(), *records]))


def test_a_session_is_read(tmp_path: Path) -> None:
    done = read(Pi(), pi(tmp_path))
    assert_the_short_session(done)
    assert done.of(Began)[0].session == SESSION
    reports = done.of(UsageReport)
    assert [report.usage for report in reports] == [Usage(100, 10, 50, 5)] * 4
    assert [report.cost_usd for report in reports] == [0.25, 0.25, None, None]


@pytest.mark.promise("C2")
def test_a_growing_file_gives_the_same_as_a_whole_one() -> None:
    assert_growing_is_the_same_as_at_once(Pi(), pi)


def test_a_fork_counts_what_is_its_own(tmp_path: Path) -> None:
    registry = Registry()
    read(Pi(), pi(tmp_path), claims=registry.source("a"))
    copied = pi_records()[1:]
    fork = [
        pi_header("11111111-2222-4333-8444-555555555555", parentSession="/x.jsonl"),
        *copied,
        pi_user(50, "again"),
    ]
    done = read(Pi(), write_lines(tmp_path / "fork.jsonl", fork), claims=registry.source("b"))
    assert [turn.text for turn in done.of(UserTurn)] == ["again"]
    assert done.of(UsageReport, ToolCall) == []


def test_failures_of_the_service_and_stops(tmp_path: Path) -> None:
    empty = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
    done = one(
        tmp_path,
        pi_model(1, stop="error", errorMessage="500: Internal server error", usage=empty),
        pi_model(2, {"type": "text", "text": "well"}, stop="aborted"),
        pi_entry(3, "compaction", summary="so far", firstKeptEntryId="x", tokensBefore=9),
    )
    assert [failure.text for failure in done.of(ApiFailure)] == ["500: Internal server error"]
    assert len(done.of(Interruption)) == 1
    assert len(done.of(UsageReport)) == 1
    assert done.of(Compaction)[0].summary == "so far"


def test_how_calls_end(tmp_path: Path) -> None:
    calls = (
        pi_call("a", "bash", command="x"),
        pi_call("b", "edit", path="f"),
        pi_call("c", "read", path="g"),
    )
    done = one(
        tmp_path,
        pi_model(1, *calls),
        pi_result(2, "a", "partial\n\nCommand aborted", failed=True),
        pi_result(3, "b", "Could not find the exact text in f.", failed=True),
        pi_result(4, "c", "ENOENT: no such file", failed=True),
    )
    ends = [(end.ok, end.rejected, end.own_fault) for end in done.of(ToolResult)]
    assert ends == [(False, True, False), (False, False, True), (False, False, False)]
    assert len(done.of(Interruption)) == 1


def test_what_no_person_said_is_no_prompt(tmp_path: Path) -> None:
    done = one(
        tmp_path,
        pi_entry(
            1, "message", message={"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 0}
        ),
        pi_entry(2, "custom_message", customType="plan", content="do it", display=True),
        pi_entry(3, "message", message={"role": "custom", "content": "hi"}),
        pi_entry(4, "message", message={"role": "user", "content": "plain words"}),
    )
    assert [turn.text for turn in done.of(UserTurn)] == ["plain words"]


def test_first_versions_without_entry_ids_are_read(tmp_path: Path) -> None:
    records = [
        {k: v for k, v in record.items() if k not in ("id", "parentId")} for record in pi_records()[1:]
    ]
    done = read(Pi(), write_lines(tmp_path / "x.jsonl", [pi_header(), *records]))
    assert_the_short_session(done)
    assert len({report.key for report in done.of(UsageReport)}) == 4


@pytest.mark.promise("F4")
def test_one_bad_line_is_one_warning(tmp_path: Path) -> None:
    path = pi(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"type":"message","message":{"role":5}}\n')
    done = read(Pi(), path)
    assert [warning.line for warning in done.warnings] == [11]
    assert len(done.of(AgentTurn)) == 1


def test_places_and_recognition(tmp_path: Path) -> None:
    importer = Pi()
    path = pi(tmp_path)
    [root] = importer.roots(Places(tmp_path, {}))
    assert list(importer.candidates(root)) == [path]
    assert list(importer.roots(Places(tmp_path, {"PI_CODING_AGENT_DIR": "/p"}))) == [Path("/p/sessions")]
    assert list(importer.roots(Places(tmp_path, {"PI_CODING_AGENT_SESSION_DIR": "/s"}))) == [Path("/s")]
    assert importer.recognise(path, path.read_bytes())
    assert not importer.recognise(
        path, b'{"type":"session","format":"holdfast-events-1","id":"x","cwd":"/"}\n'
    )
    [glance] = importer.sessions(path, path.read_bytes())
    assert (glance.cwd, glance.started) == (CWD, START)


def test_real_files_are_read(shared: Path) -> None:
    reads = read_all(Pi(), sorted(shared.glob("data/transcripts/pi/*/*.jsonl")))
    assert sum(len(done.of(UserTurn)) for done in reads) == 12
    assert sum(len(done.of(ToolCall)) for done in reads) == 154
    total = sum((report.usage for done in reads for report in done.of(UsageReport)), Usage())
    assert total == Usage(94560, 27641, 1703232)
