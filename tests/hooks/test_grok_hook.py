"""Grok Build runs the hooks that Claude Code and Cursor have: its sessions are captured as its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.hooks.enabled import SESSION, Enabled
from tests.hooks.host_call import asked

GROK = {"GROK_HOOK_EVENT": "session_start", "GROK_SESSION_ID": SESSION}


@pytest.fixture
def enabled(repo: Path) -> Enabled:
    return Enabled(repo)


def grok(enabled: Enabled, event: str, **more: object) -> dict[str, object]:
    """A payload as Grok sends it: its own names and Claude Code's."""
    theirs = {"hookEventName": event, "sessionId": SESSION, "workspaceRoot": str(enabled.root)}
    return {**enabled.payload(), **theirs, "hook_event_name": event, **more}


@pytest.mark.parametrize(("host", "event"), [("claude-code", "SessionStart"), ("cursor", "sessionStart")])
def test_a_session_of_grok_is_captured_as_its_own_and_told_nothing_it_would_not_hear(
    host: str, event: str, enabled: Enabled
) -> None:
    transcript = str(enabled.root / "updates.jsonl")
    said = grok(enabled, event, transcript_path=transcript, source="new")
    assert asked(host, event, said, enabled.root, env=GROK) == {}
    assert [(one["host"], one["transcript"]) for one in enabled.inbox()] == [("grok", transcript)]
    assert not (enabled.memory / "why.jsonl").exists(), "what is not heard was not told"


def test_the_same_hook_in_claude_code_is_claude_codes(enabled: Enabled) -> None:
    answer = asked("claude-code", "SessionStart", enabled.payload(), enabled.root)
    assert "refund endpoint" in json.dumps(answer) and enabled.inbox()[0]["host"] == "claude-code"
