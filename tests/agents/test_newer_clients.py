"""Kilo Code, Kimi Code, Grok Build, Continue and Crush: what is special in what their clients write."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents import samples_clients as samples
from tests.agents.builders import CWD, SESSION, Read, Registry

from holdfast.agent_kit.contract import Importer
from holdfast.agents.registry import BY_AGENT, HOSTS, importers, known_by
from holdfast.model.events import (
    AgentTurn,
    Began,
    Compaction,
    Interruption,
    ToolResult,
    Usage,
    UsageReport,
    UserTurn,
)


def read(agent: str, path: Path) -> Read:
    """The first session of a file."""
    importer: Importer = BY_AGENT[agent]
    part = next(iter(importer.sessions(path, path.read_bytes()[:65536]))).part
    reading = importer.open(path, 0, b"", Registry().source("a"), part)
    events = list(reading.events())
    return Read(events, list(reading.warnings), reading.position(), reading.state())


def results(done: Read) -> list[tuple[bool | None, int | None]]:
    return [(result.ok, result.exit_code) for result in done.of(ToolResult)]


def test_every_agent_says_how_its_reader_is_known() -> None:
    assert {known_by(importer.agent) for importer in importers()} <= {
        "run",
        "recorded",
        "documented",
        "ours",
        "package",
    }
    assert (
        known_by("kimi") == "run" and known_by("crush") == "recorded" and known_by("cursor") == "documented"
    )
    assert all(known_by(agent) == "run" for agent in HOSTS if agent != "cursor")
    assert known_by("an agent of another package") == "package"


def test_kilo_is_told_from_opencode_by_its_tables(tmp_path: Path) -> None:
    path = samples.kilo(tmp_path)
    head = path.read_bytes()[:65536]
    assert BY_AGENT["kilo"].recognise(path, head) and not BY_AGENT["opencode"].recognise(path, head)
    assert results(read("kilo", path))[0] == (False, 1)


def test_kimi_counts_usage_without_the_cache_and_drops_what_the_client_said_for_the_person(
    tmp_path: Path,
) -> None:
    done = read("kimi", samples.kimi(tmp_path))
    assert [turn.text for turn in done.of(UserTurn)] == [samples.PROMPT]
    assert [report.usage for report in done.of(UsageReport)] == [Usage(100, 10, 40), Usage(200, 20)]
    assert results(done) == [(False, 1), (True, None), (True, None)]
    assert done.of(Began)[0].cwd == CWD


def test_a_kimi_subagent_belongs_to_its_session_and_its_prompt_is_no_persons(tmp_path: Path) -> None:
    path = samples.kimi(tmp_path)
    sub = path.parent.parent / "agent-7" / "wire.jsonl"
    sub.parent.mkdir()
    path.rename(sub)
    done = read("kimi", sub)
    assert done.of(Began)[0].parent == f"session_{SESSION}" and done.of(UserTurn, AgentTurn) == []
    assert len(done.of(UsageReport)) == 2


def test_kimi_marks_what_a_person_rejected_and_where_it_was_stopped(tmp_path: Path) -> None:
    path = samples.kimi(tmp_path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    said = 'Tool "Bash" was not run because the user rejected the approval request.'
    lines[7]["event"]["result"] = {"output": said, "isError": True}
    lines[-1]["reason"] = "cancelled"
    lines.append({"type": "context.apply_compaction", "summary": "what was done", "time": samples.ms(13)})
    samples.write_lines(path, lines)
    done = read("kimi", path)
    first = done.of(ToolResult)[0]
    assert first.rejected and first.exit_code is None and not first.own_fault
    assert len(done.of(Interruption)) == 1 and done.of(Compaction)[0].summary == "what was done"


def test_grok_joins_the_pieces_of_an_answer_and_reads_usage_of_the_turn(tmp_path: Path) -> None:
    done = read("grok", samples.grok(tmp_path))
    assert [turn.text for turn in done.of(AgentTurn)] == [samples.ANSWER]
    assert [(report.model, report.usage) for report in done.of(UsageReport)] == [
        ("grok-4", Usage(200, 30, 100))
    ]
    assert results(done) == [(False, 1), (True, None), (True, 0)]
    began = done.of(Began)[0]
    assert (began.cwd, began.title, began.headless) == (CWD, "Tests of the cart", False)


def test_a_grok_session_without_its_summary_has_the_folder_of_its_group(tmp_path: Path) -> None:
    path = samples.grok(tmp_path)
    (path.parent / "summary.json").unlink()
    assert read("grok", path).of(Began)[0].cwd == CWD


def test_a_grok_subagent_says_nothing_of_its_own(tmp_path: Path) -> None:
    path = samples.grok(tmp_path)
    summary = {"info": {"cwd": CWD}, "session_kind": "subagent", "parent_session_id": "p-1"}
    (path.parent / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    done = read("grok", path)
    assert done.of(Began)[0].parent == "p-1" and done.of(UserTurn, AgentTurn) == []


def test_continue_takes_the_exit_code_from_the_words_of_its_tool(tmp_path: Path) -> None:
    done = read("continue", samples.continue_dev(tmp_path))
    assert results(done) == [(False, 1), (True, None), (True, None)]
    assert done.of(UsageReport)[0].usage == Usage(60, 10, 40) and done.of(UsageReport)[0].model == "gpt-5"


def test_a_call_that_was_cancelled_in_continue_is_rejected_not_failed(tmp_path: Path) -> None:
    path = samples.continue_dev(tmp_path)
    value = json.loads(path.read_text(encoding="utf-8"))
    value["history"][2]["toolCallStates"][0]["status"] = "canceled"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert read("continue", path).of(ToolResult)[0].rejected


def test_crush_reads_the_exit_code_and_counts_no_tokens_that_are_not_totals(tmp_path: Path) -> None:
    done = read("crush", samples.crush(tmp_path / "shop"))
    assert results(done) == [(False, 1), (True, None), (True, None)]
    assert done.of(UsageReport) == [] and "<cwd>" not in done.of(ToolResult)[0].text
    assert done.of(Began)[0].cwd == str(tmp_path / "shop")


def test_a_crush_subagent_belongs_to_its_session(tmp_path: Path) -> None:
    path = samples.crush(tmp_path)
    samples.crush_database(tmp_path, samples.crush_story(), session="call_1", parent=SESSION)
    glances = {glance.part: glance for glance in BY_AGENT["crush"].sessions(path, path.read_bytes()[:65536])}
    assert glances["call_1"].parent == SESSION
    reading = BY_AGENT["crush"].open(path, 0, b"", Registry().source("a"), "call_1")
    assert not [event for event in reading.events() if isinstance(event, UserTurn | AgentTurn)]
