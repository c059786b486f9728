"""Hooks of one agent in both scopes run at the same moment for the same event: what one says, the other does not."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.enabled import SESSION, Enabled, hook_command
from tests.hooks.test_prompt_hook import VOUCHER, Prompted
from tests.hooks.test_tool_call_hook import STAT, stumble
from tests.patience import PATIENCE_S

from holdfast.briefing.explain import injections
from holdfast.flows.capture import capture
from holdfast.hooks.trace import CLAIMED
from holdfast.model.line import Line

SIDE_BY_SIDE = 6  # two are what scopes make of it; more meet more surely
REFUND = Line("Open in this session: the refund", "x")


def at_once(enabled: Enabled, event: str, *payloads: dict[str, object]) -> list[dict[str, Any]]:
    """What hooks answer that have all started before any of them is asked."""
    command = hook_command("claude-code", event)
    env = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=enabled.root)
        for _ in payloads
    ]
    time.sleep(0.5)  # each stands before its standard input now
    for process, payload in zip(running, payloads, strict=True):
        assert process.stdin is not None
        process.stdin.write(json.dumps(enabled.payload(**payload)).encode())
        process.stdin.flush()
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
    said = []
    for process in running:
        assert process.stdout is not None
        said.append(json.loads(process.stdout.read() or b"{}"))
        process.stdout.close()
        assert process.wait(PATIENCE_S) == 0
    return said


def told(answers: list[dict[str, Any]]) -> list[str]:
    contexts = [answer.get("hookSpecificOutput", {}).get("additionalContext", "") for answer in answers]
    return [context for context in contexts if context]


@pytest.mark.promise("H7")
@pytest.mark.parametrize("source", ["startup", "compact"])
def test_a_start_is_told_once(enabled: Enabled, source: str) -> None:
    enabled.prepare(own={SESSION: (REFUND,)})
    start: dict[str, object] = {"source": source, "session_id": SESSION}
    (context,) = told(at_once(enabled, "SessionStart", *[start] * SIDE_BY_SIDE))
    assert "refund" in context
    lines = [entry for entry in injections(enabled.project) if entry.lines]
    assert len(lines) == 1, "and counted once"
    assert enabled.log() == "" and enabled.inbox() != []


@pytest.mark.promise("H7")
def test_a_prompt_is_told_once(repo: Path, tmp_path: Path) -> None:
    shop = Prompted(repo, tmp_path)
    prompt: dict[str, object] = {"prompt": VOUCHER, "session_id": SESSION}
    (context,) = told(at_once(shop, "UserPromptSubmit", *[prompt] * SIDE_BY_SIDE))
    assert "shop/refunds.py" in context


@pytest.mark.promise("H7")
def test_a_remedy_is_told_once(enabled: Enabled) -> None:
    enabled.prepare(moments=(stumble(STAT),))
    call: dict[str, object] = {"tool_name": "Bash", "tool_input": {"command": "gh pr diff 7 --stat"}}
    (context,) = told(at_once(enabled, "PreToolUse", *[call] * SIDE_BY_SIDE))
    assert "--name-only" in context


def test_sessions_side_by_side_do_not_silence_each_other(enabled: Enabled) -> None:
    starts: list[dict[str, object]] = [{"session_id": f"s{number}"} for number in range(SIDE_BY_SIDE)]
    assert len(told(at_once(enabled, "SessionStart", *starts))) == SIDE_BY_SIDE


def test_two_subagents_that_meet_the_same_stumble_are_both_told(enabled: Enabled) -> None:
    enabled.prepare(moments=(stumble(STAT),))
    call: dict[str, object] = {"tool_name": "Bash", "tool_input": {"command": "gh pr diff 7 --stat"}}
    assert (
        len(told(at_once(enabled, "PreToolUse", {**call, "agent_id": "a"}, {**call, "agent_id": "b"}))) == 2
    )


def test_what_is_told_again_after_a_while_is_told_once_again(enabled: Enabled) -> None:
    """Each compaction is followed by the same lines; a claim of the one before stands in nobody's way."""
    enabled.prepare(own={SESSION: (REFUND,)})
    start: dict[str, object] = {"source": "compact", "session_id": SESSION}
    for _ in range(2):
        assert len(told(at_once(enabled, "SessionStart", *[start] * SIDE_BY_SIDE))) == 1
        for path in (enabled.memory / "claims").iterdir():
            os.utime(path, (1, 1))


def test_a_client_that_starts_a_session_again_at_once_is_told_again(enabled: Enabled) -> None:
    """A headless run may be over, and go on in another process, within a second."""
    enabled.prepare(own={SESSION: (REFUND,)})
    start: dict[str, object] = {"source": "compact", "session_id": SESSION}
    for process in ("41", "42"):
        assert "refund" in enabled.hook("SessionStart", {"HOLDFAST_HOST_PID": process}, **start).context
    assert enabled.hook("SessionStart", {"HOLDFAST_HOST_PID": "42"}, **start).printed == b""
    assert injections(enabled.project)[-1].nothing == CLAIMED


def test_a_claim_of_tomorrow_does_not_silence_today(enabled: Enabled) -> None:
    enabled.prepare(own={SESSION: (REFUND,)})
    start: dict[str, object] = {"source": "compact", "session_id": SESSION}
    assert "refund" in enabled.hook("SessionStart", **start).context
    for path in (enabled.memory / "claims").iterdir():
        os.utime(path, (time.time() + 86_400,) * 2)
    assert "refund" in enabled.hook("SessionStart", **start).context


def test_claims_that_cannot_be_written_silence_nobody(enabled: Enabled) -> None:
    (enabled.memory / "claims").write_text("", encoding="utf-8")
    assert "refund" in enabled.told(), "twice is better than never"


def test_claims_are_swept(enabled: Enabled) -> None:
    enabled.told()
    (claim,) = (enabled.memory / "claims").iterdir()
    capture(enabled.machine, enabled.project)
    assert claim.exists()
    os.utime(claim, (1, 1))
    capture(enabled.machine, enabled.project)
    assert not claim.exists()
