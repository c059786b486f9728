"""Codex's payloads as it sends them, and answers in which it finds no word that it does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.hooks.enabled import Enabled
from tests.hooks.host_call import asked

from holdfast.briefing.explain import injections
from holdfast.briefing.moments import Moment, answer, remedy
from holdfast.hooks import host_protocol
from holdfast.hooks.moment import NOTED
from holdfast.model.memory import DeadEnd, Question
from holdfast.model.statement import statement_of

SESSION = "01a1e06c-d6b5-71e3-ab07-de5b44a853a6"
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


def payload(repo: Path, event: str, **more: object) -> dict[str, object]:
    return {
        "session_id": SESSION,
        "turn_id": "01a1e06c-d72e-7981-9821-d78f4f01a01f",
        "transcript_path": str(repo.parent / f"rollout-2026-11-15T18-16-31-{SESSION}.jsonl"),
        "cwd": str(repo),
        "hook_event_name": event,
        "model": "gpt-6",
        "permission_mode": "default",
        **more,
    }


def codex(enabled: Enabled, event: str, env: dict[str, str] | None = None, **more: object) -> dict[str, Any]:
    return asked("codex", event, payload(enabled.root, event, **more), enabled.root, env)


@pytest.fixture
def knowing(enabled: Enabled) -> Enabled:
    found = remedy(STAT, "/repo")
    assert isinstance(found, Moment)
    enabled.prepare(moments=(found, answer(statement_of(ASKED, "shop"))), projects={"": "shop"})
    return enabled


@pytest.mark.promise("H2", "H3")
def test_a_start_is_told_what_is_known_in_codex_s_words(enabled: Enabled) -> None:
    said = codex(enabled, "SessionStart", source="startup")
    assert said.keys() == {"systemMessage", "hookSpecificOutput"}
    inner = said["hookSpecificOutput"]
    assert inner.keys() == {"hookEventName", "additionalContext"}
    assert (
        inner["hookEventName"] == "SessionStart" and "wire the refund endpoint" in inner["additionalContext"]
    )
    (told,) = injections(enabled.project)
    assert (told.host, told.session) == ("codex", SESSION)


@pytest.mark.promise("H3", "M7")
@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd"])
def test_what_captures_says_nothing_and_leaves_word_where_to_look(enabled: Enabled, event: str) -> None:
    more = {"trigger": "auto"} if event == "PreCompact" else {"reason": "other"}
    assert codex(enabled, event, **more) == {}
    letters = enabled.inbox()
    assert {letter["host"] for letter in letters} <= {"codex"}
    if letters:  # the child may have been quicker
        assert letters[-1]["event"] == event and letters[-1]["session"] == SESSION


@pytest.mark.promise("S12")
def test_a_known_stumble_gets_its_remedy(knowing: Enabled) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "gh pr diff 7 --stat"}, "tool_use_id": "call_1"}
    said = codex(knowing, "PreToolUse", **call)
    assert said["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert "--name-only" in said["hookSpecificOutput"]["additionalContext"]
    assert codex(knowing, "PreToolUse", tool_name="Bash", tool_input={"command": "ls"}) == {}


@pytest.mark.promise("M10")
def test_a_question_shows_its_answer_and_codex_takes_the_change(knowing: Enabled) -> None:
    choices = [{"label": "Postgres", "description": "a server"}, {"label": "SQLite", "description": "a file"}]
    question = {"id": "db", "header": "Database", "question": ASKED.text, "options": choices}
    said = codex(knowing, "PreToolUse", tool_name="request_user_input", tool_input={"questions": [question]})
    inner = said["hookSpecificOutput"]
    assert inner["permissionDecision"] == "allow", "without this word Codex refuses the whole answer"
    first, second = inner["updatedInput"]["questions"][0]["options"]
    assert NOTED in first["description"] and second == choices[1]
    assert inner["updatedInput"]["questions"][0]["id"] == "db"
    assert "Postgres" in inner["additionalContext"]


def test_a_subagent_is_left_alone(enabled: Enabled) -> None:
    assert codex(enabled, "UserPromptSubmit", prompt="Fix the refund", agent_id="a", agent_type="w") == {}
    assert codex(enabled, "SubagentStop") == {}, "an event that nobody registered"


@pytest.mark.promise("F5")
def test_codex_started_by_another_agent_is_not_taken_for_it() -> None:
    env = {"CLAUDE_PID": "1", "CLAUDE_PROJECT_DIR": "/elsewhere"}
    assert host_protocol.process_of("claude-code", env) == 1
    assert host_protocol.process_of("codex", env) != 1
    assert host_protocol.project_of("codex", env) == ""


def test_a_session_elsewhere_costs_nothing_though_its_tools_are_called(
    knowing: Enabled, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    call = {"tool_name": "Bash", "tool_input": {"command": "gh pr diff 7 --stat"}}
    assert asked("codex", "PreToolUse", payload(other, "PreToolUse", **call), other) == {}
