"""The documented format for any agent: one line, one event; the schema and the documents say what is read."""

from __future__ import annotations

import json
import re
import sys
import types
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from tests.agents.agent_checks import assert_growing_is_the_same_as_at_once, assert_the_short_session
from tests.agents.builders import CWD, SESSION, START, Json, Read, Registry, read, stamp
from tests.agents.samples_files import generic, generic_records, write_lines

import holdfast.agents.generic.reader as generic_module
from holdfast.agents.generic.reader import Generic, Line, schema
from holdfast.model import events as model
from holdfast.store.machine import Places

pytestmark = pytest.mark.promise("C1")

ROOT = Path(__file__).parents[2]


def one(tmp_path: Path, *records: Json) -> Read:
    return read(Generic(), write_lines(tmp_path / "events.jsonl", [generic_records()[0], *records]))


def test_a_session_is_read(tmp_path: Path) -> None:
    done = read(Generic(), generic(tmp_path))
    assert_the_short_session(done)
    began = done.of(model.Began)[0]
    assert (began.session, began.agent, began.branch, began.version, began.provider) == (
        SESSION, "robin", "main", "0.3", "openai"
    )  # fmt: skip
    assert done.of(model.UsageReport)[0].usage == model.Usage(400, 50, 600)


@pytest.mark.promise("C2")
def test_a_growing_file_gives_the_same_as_a_whole_one() -> None:
    assert_growing_is_the_same_as_at_once(Generic(), generic)


LINES: list[tuple[Json, Any]] = [
    (
        {"type": "user", "text": "go", "command": "/fix", "feedback": True},
        model.UserTurn(START, "go", "/fix", True),
    ),
    ({"type": "agent", "text": "ok"}, model.AgentTurn(START, "ok")),
    (
        {"type": "tool_call", "call": "c", "tool": "t", "action": "read", "target": "a", "paths": ["a"]},
        model.ToolCall(START, "c", "t", "read", "a", ("a",)),
    ),
    (
        {"type": "tool_result", "call": "c", "ok": False, "text": "x", "rejected": True},
        model.ToolResult(START, "c", False, "x", None, True),
    ),
    (
        {"type": "usage", "key": "k", "model": "m", "input": 1, "output": 2, "cost_usd": 0.5},
        model.UsageReport(START, "k", "m", model.Usage(1, 2), 0.5),
    ),
    (
        {"type": "todo", "items": [{"text": "a", "status": "completed"}]},
        model.TodoList(START, (model.Todo("a", "completed"),)),
    ),
    ({"type": "compaction", "summary": "s"}, model.Compaction(START, "s")),
    ({"type": "interrupted"}, model.Interruption(START)),
    ({"type": "api_error", "text": "529"}, model.ApiFailure(START, "529")),
]


@pytest.mark.parametrize(
    ("line", "event"), LINES, ids=lambda value: value.get("type", "") if isinstance(value, dict) else ""
)
def test_a_line_is_an_event(tmp_path: Path, line: Json, event: model.Event) -> None:
    for at in (stamp(0), START, START * 1000):
        done = one(tmp_path, {"at": at, **line})
        assert done.warnings == []
        assert done.events[1:] == [event]


def test_every_line_type_was_tried() -> None:
    tags = {kind.__struct_config__.tag for kind in get_args(Line)}
    assert tags == {line["type"] for line, _ in LINES} | {"session"}


def test_a_subagent_joins_its_parent_and_short_names_are_made_unique(tmp_path: Path) -> None:
    header, prompt, *_ = generic_records()
    path = write_lines(tmp_path / "x.jsonl", [{**header, "id": "7", "parent": "6"}, prompt])
    began = read(Generic(), path).of(model.Began)[0]
    assert (began.session, began.parent) == ("robin-7", "robin-6")


def test_the_same_file_in_two_places_counts_once(tmp_path: Path) -> None:
    registry = Registry()
    path = generic(tmp_path)
    read(Generic(), path, claims=registry.source("a"))
    again = read(Generic(), path, claims=registry.source("b"))
    assert again.events == []


@pytest.mark.promise("F4")
@pytest.mark.parametrize(
    "bad", [{"type": "nonsense"}, {"type": "user"}, {"type": "tool_call", "call": 5, "tool": "x"}, {}]
)
def test_a_line_of_another_shape_is_one_warning(tmp_path: Path, bad: Json) -> None:
    done = one(tmp_path, bad, {"type": "user", "at": stamp(1), "text": "go"})
    assert [(warning.line, warning.code) for warning in done.warnings] == [(2, "bad-line")]
    assert len(done.of(model.UserTurn)) == 1


def test_places_and_recognition(tmp_path: Path) -> None:
    importer = Generic()
    path = generic(tmp_path)
    [root] = importer.roots(Places(tmp_path, {}))
    assert list(importer.candidates(root)) == [path]
    assert list(importer.roots(Places(tmp_path, {"HOLDFAST_EVENTS": "/e", "HOLDFAST_HOME": "/h"}))) == [
        Path("/e"),
        Path("/h/events"),
    ]
    assert importer.recognise(path, path.read_bytes())
    assert not importer.recognise(
        path, b'{"type":"session","version":3,"id":"x","timestamp":"y","cwd":"/"}\n'
    )
    [glance] = importer.sessions(path, path.read_bytes())
    assert (glance.cwd, glance.started) == (CWD, START)


def test_the_schema_beside_the_module_is_the_one_that_is_read() -> None:
    stored = Path(generic_module.__file__).with_name("generic_events.schema.json")
    assert json.loads(stored.read_text(encoding="utf-8")) == json.loads(json.dumps(schema()))


def test_the_example_in_the_documentation_is_read_whole(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "contributing" / "events-format.md").read_text(encoding="utf-8")
    example = re.search(r"```jsonl\n(.*?)```", text, re.DOTALL)
    assert example
    path = tmp_path / "events.jsonl"
    path.write_text(example[1], encoding="utf-8")
    done = read(Generic(), path)
    assert done.warnings == []
    used = {json.loads(line)["type"] for line in example[1].splitlines()}
    assert used == {kind.__struct_config__.tag for kind in get_args(Line)}


def test_every_field_is_documented() -> None:
    text = (ROOT / "docs" / "contributing" / "events-format.md").read_text(encoding="utf-8")
    for kind in get_args(Line):
        for field in msgspec.structs.fields(kind):
            assert f"`{field.encode_name}`" in text, f"{kind.__struct_config__.tag}.{field.encode_name}"


def test_the_importer_in_the_documentation_works_as_it_stands(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "contributing" / "add-an-agent.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code
    assert len(code[1].splitlines()) <= 150
    robin = types.ModuleType("robin")
    sys.modules["robin"] = robin
    try:
        exec(compile(code[1], "docs/contributing/add-an-agent.md", "exec"), robin.__dict__)
        records = [
            {"kind": "start", "time": stamp(0), "session": SESSION, "directory": CWD},
            {"kind": "asked", "time": stamp(1), "text": "go"},
            {"kind": "ran", "time": stamp(2), "tool": "sh", "call": "c", "target": "make"},
            {"kind": "ended", "time": stamp(3), "call": "c", "exit": 2, "text": "no rule"},
            {
                "kind": "answered",
                "time": stamp(4),
                "text": "no",
                "model": "gpt-5",
                "tokens_in": 9,
                "tokens_out": 1,
            },
        ]
        path = write_lines(tmp_path / ".robin" / "log" / "x.jsonl", records)
        importer = robin.Robin()
        [root] = importer.roots(Places(tmp_path, {}))
        assert list(importer.candidates(root)) == [path]
        assert importer.recognise(path, path.read_bytes())
        assert not importer.recognise(path, b"")
        [glance] = importer.sessions(path, path.read_bytes())
        assert glance.cwd == CWD
        done = read(importer, path)
    finally:
        del sys.modules["robin"]
    assert done.warnings == []
    assert [type(event).__name__ for event in done.events] == [
        "Began", "UserTurn", "ToolCall", "ToolResult", "UsageReport", "AgentTurn"
    ]  # fmt: skip
    assert done.of(model.ToolResult)[0].ok is False
