"""The hook as Cursor calls it by its documentation: no word but what it takes, and two places for one conversation."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.agents.builders import SESSION as KNOWN
from tests.agents.samples_files import cursor, cursor_database
from tests.hooks.enabled import LINES, Enabled, run_here
from tests.hooks.test_tool_call_hook import STAT, stumble
from tests.patience import wait_until

from holdfast.flows.capture import capture
from holdfast.hooks import trace
from holdfast.ledger.rows import read_ledger, rows
from holdfast.model.line import Line

SESSION = "668320d2-2fd8-4888-b33c-2a466fec86e7"


def called(enabled: Enabled, event: str, host: str = "cursor", **more: Any) -> Any:
    payload = {
        "conversation_id": SESSION,
        "generation_id": "490b90b7-a2ce-4c2c-bb76-cb77b125df2f",
        "model": "composer-2",
        "hook_event_name": event,
        "cursor_version": "3.20.17",
        "workspace_roots": [str(enabled.root)],
        "user_email": None,
        "transcript_path": None,
        **more,
    }
    env = {**os.environ, "CURSOR_VERSION": "3.20.17", "CURSOR_PROJECT_DIR": str(enabled.root)}
    env["CLAUDE_PROJECT_DIR"] = str(enabled.root)
    printed = run_here((host, event), json.dumps(payload).encode(), env, Path("/"))
    return json.loads(printed) if printed else None


@pytest.mark.promise("L1")
def test_a_conversation_is_told_in_the_one_field_that_cursor_takes(enabled: Enabled) -> None:
    said = called(
        enabled, "sessionStart", session_id=SESSION, is_background_agent=False, composer_mode="agent"
    )
    assert list(said) == ["additional_context"]
    assert all(line.text in said["additional_context"] for line in LINES)
    assert said["additional_context"].startswith("[holdfast ")


def test_where_the_variable_is_missing_the_windows_first_folder_counts(
    enabled: Enabled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    elsewhere = {"workspace_roots": [str(tmp_path)]}
    assert called(enabled, "sessionStart", **elsewhere) is not None, "the variable says where"
    payload = {"conversation_id": SESSION, "workspace_roots": [str(enabled.root), "/other"]}
    from holdfast.hooks.host_protocol import understood

    known = understood("cursor", payload)
    assert (known["cwd"], known["session_id"]) == (str(enabled.root), SESSION)


@pytest.mark.parametrize("event", ["stop", "preCompact", "sessionEnd"])
def test_nothing_is_answered_where_an_answer_would_be_a_prompt(enabled: Enabled, event: str) -> None:
    assert called(enabled, event, status="completed", loop_count=0, reason="completed") is None
    assert wait_until(lambda: not enabled.inbox() or enabled.inbox()[0]["host"] == "cursor")


def test_prompts_and_unknown_events_are_not_listened_to(enabled: Enabled) -> None:
    for event in ("beforeSubmitPrompt", "beforeShellExecution", "workspaceOpen"):
        assert called(enabled, event, prompt="hello") is None
    assert enabled.inbox() == []


def test_a_background_agent_is_neither_told_nor_read(enabled: Enabled) -> None:
    assert called(enabled, "sessionStart", is_background_agent=True) is None
    assert called(enabled, "sessionEnd", is_background_agent=True, reason="completed") is None
    assert enabled.inbox() == []


@pytest.mark.parametrize(("code", "told"), [(2, True), (0, False), (None, False)])
def test_a_remedy_comes_after_a_command_that_failed(enabled: Enabled, code: int | None, told: bool) -> None:
    enabled.prepare(moments=(stumble(STAT),))
    output = json.dumps(
        {"exitCode": code, "stdout": "", "stderr": "no"} if code is not None else {"output": "no"}
    )
    said = called(
        enabled,
        "postToolUse",
        tool_name="Shell",
        tool_input={"command": STAT.tried, "working_directory": str(enabled.root)},
        tool_output=output,
        duration=12,
    )
    assert bool(said) == told
    if said:
        assert list(said) == ["additional_context"]


def test_hooks_for_claude_code_that_cursor_runs_answer_as_for_cursor(enabled: Enabled) -> None:
    said = called(enabled, "SessionStart", host="claude-code")
    assert list(said) == ["additional_context"]
    assert called(enabled, "sessionStart") is None, "it was told already"
    enabled.prepare([Line("Open: something new", "left open")])
    assert "something new" in called(enabled, "sessionStart")["additional_context"]


@pytest.mark.promise("M7")
@pytest.mark.parametrize("named", [True, False], ids=["as the editor does", "as the command line does"])
def test_a_conversation_in_a_file_and_in_the_database_is_one_row_with_its_tokens(
    enabled: Enabled, home: Path, named: bool
) -> None:
    transcript = cursor(home)
    cursor_database(home)
    letter = {"host": "cursor", "session": KNOWN, "transcript": str(transcript) if named else ""}
    for event in ("stop", "sessionEnd"):
        kind = {"stop": "Stop", "sessionEnd": "SessionEnd"}[event]
        trace.post(
            str(enabled.memory), {**letter, "event": kind, "cwd": str(enabled.root), "process": os.getpid()}
        )
        assert capture(enabled.machine, enabled.project).problems == []
    (row,) = rows(read_ledger(enabled.project))
    assert row.session == KNOWN and row.tokens is not None and row.tokens.output > 0
