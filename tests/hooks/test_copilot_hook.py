"""Copilot CLI's payloads as it sends them, in its own words and in those of hooks written for Claude Code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.hooks.enabled import Enabled, run_hook
from tests.hooks.host_call import asked

from holdfast.briefing.explain import injections
from holdfast.briefing.moments import Moment, answer, remedy
from holdfast.hooks import host_protocol
from holdfast.hooks.moment import NOTED
from holdfast.model.memory import DeadEnd, Question
from holdfast.model.statement import statement_of

SESSION = "3139c25a-c7fc-493b-b157-e12ac1d06d2c"
STAT = DeadEnd(
    tried="gh pr diff 104 --stat",
    failed="unknown flag: --stat",
    instead="gh pr diff 104 --name-only",
    session="s1",
    at=1_790_000_000.0,
)
ASKED = Question(
    text="Which database should the shop use?", answer="Postgres", by="user", answered_at=1_790_000_000.0
)


def copilot(enabled: Enabled, event: str, **more: object) -> dict[str, Any]:
    payload = {"sessionId": SESSION, "timestamp": 1794766851540, "cwd": str(enabled.root), **more}
    return asked("copilot", event, payload, enabled.root, variables(enabled.root))


def variables(root: Path) -> dict[str, str]:
    return {"COPILOT_CLI": "1", "COPILOT_PROJECT_DIR": str(root), "CLAUDE_PROJECT_DIR": str(root)}


@pytest.mark.promise("H2", "H3")
def test_a_start_is_told_in_one_word(enabled: Enabled) -> None:
    said = copilot(enabled, "sessionStart", source="new", initialPrompt="List the files, please.")
    assert said.keys() == {"additionalContext"} and "wire the refund endpoint" in said["additionalContext"]
    (told,) = injections(enabled.project)
    assert (told.host, told.session, told.source) == ("copilot", SESSION, "startup")


@pytest.mark.promise("S12")
@pytest.mark.parametrize("given", [{"command": "gh pr diff 7 --stat"}, '{"command": "gh pr diff 7 --stat"}'])
def test_a_known_stumble_gets_its_remedy_and_no_decision(enabled: Enabled, given: object) -> None:
    found = remedy(STAT, "/repo")
    assert isinstance(found, Moment)
    enabled.prepare(moments=(found,))
    said = copilot(enabled, "preToolUse", toolName="bash", toolArgs=given)
    assert said.keys() == {"additionalContext"} and "--name-only" in said["additionalContext"]
    assert copilot(enabled, "preToolUse", toolName="bash", toolArgs={"command": "ls"}) == {}


FORM = {
    "type": "string",
    "title": "Database",
    "enum": ["postgres", "sqlite"],
    "enumNames": ["Postgres", "SQLite"],
}
NAMED = {"type": "string", "oneOf": [{"const": "p", "title": "Postgres"}, {"const": "s", "title": "SQLite"}]}


def form(**fields: object) -> dict[str, object]:
    return {"message": ASKED.text, "requestedSchema": {"properties": fields, "required": list(fields)}}


@pytest.mark.promise("M10")
@pytest.mark.parametrize("field", [FORM, {**FORM, "enumNames": None, "enum": ["Postgres", "SQLite"]}, NAMED])
def test_a_form_shows_what_was_answered_before_and_means_the_same(
    enabled: Enabled, field: dict[str, Any]
) -> None:
    enabled.prepare(moments=(answer(statement_of(ASKED, "shop")),), projects={"": "shop"})
    said = copilot(enabled, "preToolUse", toolName="ask_user", toolArgs=form(db=field))
    assert said.keys() == {"additionalContext", "modifiedArgs"}
    changed = said["modifiedArgs"]
    shown = changed["requestedSchema"]["properties"]["db"]
    names = [one["title"] for one in shown["oneOf"]] if "oneOf" in shown else shown["enumNames"]
    assert names[0].startswith(f"Postgres{NOTED}") and names[1] == "SQLite"
    assert changed["message"] == ASKED.text and changed["requestedSchema"]["required"] == ["db"]
    assert shown.get("enum") == field.get("enum")
    assert [one["const"] for one in shown.get("oneOf", ())] == [
        one["const"] for one in field.get("oneOf", ())
    ]


@pytest.mark.parametrize(
    "given",
    [
        form(db=FORM, more=FORM),
        form(),
        form(db=3),
        form(db={**FORM, "enum": "postgres"}),
        {"message": 3, "requestedSchema": {"properties": {"db": FORM}}},
        {"requestedSchema": "x", "choices": "y", "question": ASKED.text},
    ],
)
def test_a_form_that_asks_otherwise_is_left_alone(enabled: Enabled, given: dict[str, object]) -> None:
    enabled.prepare(moments=(answer(statement_of(ASKED, "shop")),), projects={"": "shop"})
    assert copilot(enabled, "preToolUse", toolName="ask_user", toolArgs=given) == {}
    assert enabled.log() == ""


def test_a_choice_that_is_its_own_value_is_never_changed(enabled: Enabled) -> None:
    enabled.prepare(moments=(answer(statement_of(ASKED, "shop")),), projects={"": "shop"})
    given = {"question": ASKED.text, "choices": ["Postgres", "SQLite"]}
    said = copilot(enabled, "preToolUse", toolName="ask_user", toolArgs=given)
    assert said.keys() == {"additionalContext"}


@pytest.mark.promise("H3", "M7")
@pytest.mark.parametrize("event", ["agentStop", "preCompact", "sessionEnd"])
def test_what_captures_says_nothing(enabled: Enabled, event: str) -> None:
    more = {"transcriptPath": "/none/events.jsonl"} if event == "agentStop" else {}
    assert copilot(enabled, event, **more) == {}
    letters = enabled.inbox()
    if letters:  # the child may have been quicker
        assert (letters[-1]["host"], letters[-1]["session"]) == ("copilot", SESSION)
        assert letters[-1]["transcript"] == more.get("transcriptPath", "")


@pytest.mark.promise("C5", "F5")
def test_a_hook_for_claude_code_that_copilot_runs_speaks_to_copilot(enabled: Enabled) -> None:
    payload = {
        "hook_event_name": "SessionStart",
        "session_id": SESSION,
        "timestamp": "2026-11-16T05:25:26.632Z",
        "cwd": str(enabled.root),
        "source": "new",
    }
    said = asked("claude-code", "SessionStart", payload, enabled.root, variables(enabled.root))
    assert said.keys() == {"additionalContext"}
    assert injections(enabled.project)[0].host == "copilot"


def test_claude_code_started_by_copilot_stays_claude_code(enabled: Enabled) -> None:
    env = {"COPILOT_CLI": "1"}
    assert host_protocol.speaker("claude-code", enabled.payload(), env) == "claude-code"
    assert "wire the refund" in enabled.hook("SessionStart", env).context
    assert host_protocol.speaker("claude-code", {"timestamp": 1}, {}) == "claude-code"


def test_what_is_no_payload_of_anybody_is_answered_with_nothing(enabled: Enabled) -> None:
    for payload in (
        b"",
        b"[]",
        b'{"toolArgs": 3, "toolName": "bash"}',
        b'{"toolArgs": "{", "toolName": "bash"}',
    ):
        assert asked("copilot", "preToolUse", payload, enabled.root, variables(enabled.root)) == {}
    assert run_hook("SessionStart", b"{", cwd=enabled.root).printed == b""
