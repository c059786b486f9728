"""A session in the holdout gets nothing injected and is captured; each session keeps the arm that it was drawn into."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.enabled import Enabled

from holdfast.briefing.moments import Moment
from holdfast.briefing.prepare import prepare
from holdfast.flows.holdout import Arm, arms
from holdfast.hooks.holdout import BEFORE, DRAWN, FORKED, HELD, REASON, TOLD, drawn
from holdfast.store.memory_files import HOLDOUT, HOLDOUT_KEY
from holdfast.store.switches import Holdout, hold_out

pytestmark = pytest.mark.promise("P2")
REMEDY = Moment(
    tool="Bash", key="gh", rule="flag", token="--stat", needs=("pr", "diff"),
    text="`gh pr diff --stat` fails here", reason="seen twice",
)  # fmt: skip


@pytest.fixture
def holding(enabled: Enabled) -> Enabled:
    """Half of the sessions are in the holdout. Nothing is captured meanwhile, which would prepare other lines."""
    start_holdout(enabled, 0.5)
    return enabled


def start_holdout(enabled: Enabled, share: float | None) -> None:
    hold_out(enabled.project, None if share is None else Holdout(share, "2026-01-01T00:00:00Z"))
    enabled.prepare(moments=(REMEDY,))


def session_of(enabled: Enabled, arm: str, share: float = 0.5, skip: int = 0) -> str:
    """The id of a session that the key draws into this arm."""
    key = (enabled.memory / HOLDOUT_KEY).read_text(encoding="utf-8").strip()
    ids = (f"session-{number}" for number in range(10_000))
    return [found for found in (next(ids) for _ in range(500)) if drawn(key, found, str(share)) == arm][skip]


def recorded(enabled: Enabled) -> dict[str, tuple[str, str]]:
    return {arm.session: (arm.arm, arm.basis) for arm in arms(enabled.project).values()}


def why(enabled: Enabled) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (enabled.memory / "why.jsonl").read_text("utf-8").splitlines()]


def test_a_session_in_the_holdout_gets_nothing_at_any_event_and_is_captured(holding: Enabled) -> None:
    held, told = session_of(holding, HELD), session_of(holding, TOLD)
    command = {"tool_name": "Bash", "tool_input": {"command": "gh pr diff 7 --stat"}}
    for session in (held, told):
        start = holding.hook("SessionStart", session_id=session)
        holding.hook("UserPromptSubmit", session_id=session, prompt="implement the refund endpoint")
        tool = holding.hook("PreToolUse", session_id=session, **command)
        assert bool(start.printed) is bool(tool.printed) is (session == told)
        holding.hook("Stop", session_id=session)
    entries = [entry for entry in why(holding) if entry["session"] == held]
    assert [(entry["tokens"], entry["lines"], entry["nothing"]) for entry in entries] == [(0, [], REASON)] * 2
    assert recorded(holding) == {held: (HELD, DRAWN), told: (TOLD, DRAWN)}
    assert {letter["session"] for letter in holding.inbox()} == {held, told}


def test_a_resumed_session_keeps_its_arm_even_if_the_share_has_changed(holding: Enabled) -> None:
    held, told = session_of(holding, HELD), session_of(holding, TOLD)
    for session in (held, told):
        holding.hook("SessionStart", session_id=session)
    for share in (0.01, 0.5):
        start_holdout(holding, share)
        for source in ("resume", "compact", "startup"):
            assert not holding.hook("SessionStart", session_id=held, source=source).printed
        prompt = holding.hook("UserPromptSubmit", session_id=told, prompt="how do I run the tests?")
        assert REASON not in str(why(holding)[-1]), prompt.printed
    assert recorded(holding) == {held: (HELD, DRAWN), told: (TOLD, DRAWN)}


def test_a_session_that_began_before_the_holdout_goes_on_as_before(enabled: Enabled) -> None:
    assert enabled.hook("SessionStart", session_id="earlier").context
    start_holdout(enabled, 0.5)
    held = session_of(enabled, HELD)
    enabled.hook("UserPromptSubmit", session_id="earlier", prompt="go on with the refund endpoint")
    enabled.hook("SessionStart", session_id=held, source="resume")
    assert recorded(enabled) == {"earlier": (TOLD, BEFORE), held: (TOLD, BEFORE)}
    assert REASON not in (enabled.memory / "why.jsonl").read_text("utf-8")


def test_a_fork_has_the_arm_of_its_parent_where_the_host_names_it(holding: Enabled, tmp_path: Path) -> None:
    held, told = session_of(holding, HELD), session_of(holding, TOLD)
    other_told, other_held = session_of(holding, TOLD, skip=1), session_of(holding, HELD, skip=1)
    for session in (held, told):
        holding.hook("SessionStart", session_id=session)
    codex = tmp_path / "rollout.jsonl"
    codex.write_text(
        json.dumps({"type": "session_meta", "payload": {"forked_from_id": held}}, separators=(",", ":")),
        encoding="utf-8",
    )
    holding.hook("SessionStart", session_id=other_told, source="startup", transcript_path=str(codex))
    holding.hook("SessionStart", session_id=other_held, source="fork", parent_session_id=told)
    alone = session_of(holding, HELD, skip=2)
    assert not holding.hook("SessionStart", session_id=alone, source="fork").printed
    forks = {name: arm for name, arm in recorded(holding).items() if name not in (held, told)}
    assert forks == {other_told: (HELD, FORKED), other_held: (TOLD, FORKED), alone: (HELD, FORKED)}


def test_a_prompt_cannot_choose_the_arm_by_quoting_a_parent(holding: Enabled, tmp_path: Path) -> None:
    held, told = session_of(holding, HELD), session_of(holding, TOLD)
    holding.hook("SessionStart", session_id=told)
    transcript = tmp_path / "t.jsonl"
    prompt = {"type": "user", "text": f'"forked_from_id":"{told}"'}
    transcript.write_text(json.dumps(prompt, separators=(",", ":")), encoding="utf-8")
    holding.hook("SessionStart", session_id=held, transcript_path=str(transcript))
    assert recorded(holding)[held] == (HELD, DRAWN)


def test_a_subagent_has_the_arm_of_its_session(holding: Enabled) -> None:
    held = session_of(holding, HELD)
    holding.hook("SessionStart", session_id=held)
    given = {"tool_name": "Bash", "tool_input": {"command": "gh pr diff 7 --stat"}, "agent_id": "a1"}
    assert not holding.hook("PreToolUse", session_id=held, **given).printed
    assert list(recorded(holding)) == [held]


@pytest.mark.skipif(os.name == "nt", reason="starts processes as POSIX hosts do")
def test_agents_that_start_at_once_are_drawn_once_each(holding: Enabled) -> None:
    holding.process = True
    sessions = [session_of(holding, arm, skip=place) for arm in (HELD, TOLD) for place in range(3)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda name: holding.hook("SessionStart", session_id=name), sessions * 2))
    assert [bool(answer.printed) for answer in answers[:3] + answers[6:9]] == [False] * 6
    assert recorded(holding) == {
        name: (HELD if place < 3 else TOLD, DRAWN) for place, name in enumerate(sessions)
    }


def test_the_draw_is_of_the_share_that_was_set_and_needs_the_key(holding: Enabled) -> None:
    names = [f"{number:x}" for number in range(5_000)]
    held = {key: sum(drawn(key, name, "0.2") == HELD for name in names) / len(names) for key in ("a", "b")}
    assert all(0.18 < share < 0.22 for share in held.values())
    assert [drawn("a", name, "0.2") for name in names] != [drawn("b", name, "0.2") for name in names]
    # A larger share holds out the same sessions and more.
    assert all(drawn("a", name, "0.3") == HELD for name in names if drawn("a", name, "0.2") == HELD)


def test_without_a_holdout_nothing_is_recorded_and_the_module_is_not_loaded(enabled: Enabled) -> None:
    enabled.hook("SessionStart")
    assert not (enabled.memory / HOLDOUT).exists() and not (enabled.memory / HOLDOUT_KEY).exists()


def test_the_holdout_ends_for_every_session(holding: Enabled) -> None:
    held = session_of(holding, HELD)
    holding.hook("SessionStart", session_id=held)
    start_holdout(holding, None)
    assert holding.hook("SessionStart", session_id=held).context
    assert recorded(holding) == {held: (HELD, DRAWN)}, "what was drawn stays"


@pytest.mark.parametrize("damage", [b"", b"{torn", b"\xff\xfe\n", b'{"session": 3}\n'])
def test_a_damaged_record_neither_stops_a_session_nor_draws_it_anew(holding: Enabled, damage: bytes) -> None:
    held = session_of(holding, HELD)
    holding.hook("SessionStart", session_id=held)
    path = holding.memory / HOLDOUT
    path.write_bytes(damage + b"\n" + path.read_bytes() + damage)
    assert not holding.hook("SessionStart", session_id=held).printed
    assert arms(holding.project)[held] == Arm(**json.loads(_line(path, held)))


def _line(path: Path, session: str) -> bytes:
    return next(line for line in path.read_bytes().splitlines() if session.encode() in line)


def test_a_session_is_told_everything_if_it_cannot_be_recorded(holding: Enabled) -> None:
    held = session_of(holding, HELD)
    (holding.memory / HOLDOUT).mkdir()
    assert holding.hook("SessionStart", session_id=held).context
    assert "SessionStart" in holding.log()
    (holding.memory / HOLDOUT).rmdir()
    (holding.memory / HOLDOUT_KEY).unlink()
    assert holding.hook("SessionStart", session_id=session_of_any(), source="startup").context


def session_of_any() -> str:
    return "without-a-key"


@pytest.mark.skipif(os.name == "nt", reason="modes of files are of POSIX")
def test_only_the_person_can_read_the_key(holding: Enabled) -> None:
    assert stat.S_IMODE((holding.memory / HOLDOUT_KEY).stat().st_mode) == 0o600
    prepare(holding.machine, holding.project)
    key = (holding.memory / HOLDOUT_KEY).read_bytes().strip()
    others = [path for path in holding.memory.rglob("*") if path.is_file() and path.name != HOLDOUT_KEY]
    assert not [path for path in others if key in path.read_bytes()]
