"""Qwen Code's calls as it makes them: often with nothing, and only after a tool may anything be said of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.enabled import SESSION, Enabled, everything_below, run_hook
from tests.hooks.test_tool_call_hook import ANSWER, ASKED, OPTIONS, REMEDY, STAT, stumble

from holdfast.briefing.moments import answer
from holdfast.model.statement import statement_of

GIVEN = {"command": "gh pr diff 104 --stat"}
BAD = "Command: gh pr diff 104 --stat\nDirectory: (root)\nOutput: unknown flag\nError: (none)\nExit Code: 1"


@pytest.fixture
def knowing(enabled: Enabled) -> Enabled:
    enabled.prepare(moments=(stumble(STAT), answer(statement_of(ASKED, "shop"))), projects={"": "shop"})
    return enabled


def raw(enabled: Enabled, event: str, **more: object) -> bytes:
    payload = {
        "session_id": SESSION,
        "transcript_path": str(enabled.root / "none.jsonl"),
        "cwd": str(enabled.root),
        "hook_event_name": event,
        "timestamp": "2026-11-16T05:10:00.000Z",
        "permission_mode": "default",
        **more,
    }
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()


def call(enabled: Enabled, event: str, **more: object) -> dict[str, Any]:
    env = {name: str(enabled.root) for name in ("QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR")}
    printed = run_hook(event, raw(enabled, event, **more), env, enabled.root, "qwen").printed
    value = json.loads(printed) if printed else {}
    assert isinstance(value, dict)
    if value:
        assert set(value) == {"systemMessage", "hookSpecificOutput"}
        assert set(value["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
        assert value["hookSpecificOutput"]["hookEventName"] == event
    return value


def lines(answer: dict[str, Any]) -> list[str]:
    context = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
    return str(context).split("\n")[1:-1]


@pytest.mark.promise("H2")
def test_a_start_is_told(enabled: Enabled) -> None:
    told = call(enabled, "SessionStart", source="startup", model="qwen3-coder")
    assert lines(told) == ["Open: wire the refund endpoint", "tests: make test"]


@pytest.mark.promise("H3")
def test_a_prompt_of_nothing_costs_nothing(enabled: Enabled) -> None:
    """It comes again after each tool's answer."""
    before = everything_below(enabled.memory)
    assert call(enabled, "UserPromptSubmit", prompt="", prompt_id="x########0") == {}
    assert everything_below(enabled.memory) == before
    script = (
        "import sys, io, os; sys.path.append(sys.argv[1]); before = set(sys.modules)\n"
        "from holdfast.hooks import hook\n"
        "hook.main(['qwen', 'UserPromptSubmit'], io.BytesIO(sys.argv[2].encode()), io.BytesIO(), dict(os.environ))\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    source = str(Path(__file__).parents[2] / "src")
    payload = raw(enabled, "UserPromptSubmit", prompt="").decode()
    words = [sys.executable, "-I", "-S", "-c", script, source, payload]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=True, env=dict(os.environ))
    assert {"_json", "_sqlite3"}.isdisjoint(done.stdout.split())


def test_words_about_an_empty_prompt_are_a_prompt(enabled: Enabled) -> None:
    said = 'what does {"prompt":""} mean?'
    call(enabled, "UserPromptSubmit", prompt=said, submitted_prompt=said)
    (told,) = (enabled.memory / "why.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(told)["event"] == "UserPromptSubmit"


@pytest.mark.promise("S12")
def test_a_command_that_failed_gets_its_remedy(knowing: Enabled) -> None:
    failed = {"tool_name": "run_shell_command", "tool_input": GIVEN, "error": BAD, "is_interrupt": False}
    assert lines(call(knowing, "PostToolUseFailure", **failed)) == [REMEDY]
    assert call(knowing, "PostToolUseFailure", **failed) == {}, "once in a session"
    subagent = {**failed, "agent_id": "explore-1"}
    assert lines(call(knowing, "PostToolUseFailure", **subagent)) == [REMEDY], "it has heard nothing yet"


def test_one_that_did_not_gets_none_nor_does_one_that_is_still_to_run(knowing: Enabled) -> None:
    done = {"llmContent": "Command: x\nOutput: y\nExit Code: 0", "returnDisplay": "y"}
    shell = {"tool_name": "run_shell_command", "tool_input": GIVEN}
    assert call(knowing, "PostToolUse", **shell, tool_response=done) == {}
    assert call(knowing, "PreToolUse", **shell) == {}
    assert knowing.log() == ""


@pytest.mark.promise("M10")
def test_an_answered_question_gets_its_old_answer_beside_the_new_one(knowing: Enabled) -> None:
    asked = {"question": ASKED.text, "header": "DB", "multiSelect": False, "options": OPTIONS}
    response = {"llmContent": "User has answered: Postgres", "returnDisplay": ""}
    given = {"tool_name": "ask_user_question", "tool_input": {"questions": [asked]}}
    assert lines(call(knowing, "PostToolUse", **given, tool_response=response)) == [ANSWER]
