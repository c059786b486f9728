"""What the person is told in the host, once: a session beyond its like, a budget, and what changed around it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
from tests.command import Holdfast
from tests.flows.test_capture import leave, write_transcript
from tests.hooks.enabled import SESSION, Enabled, run_hook
from tests.ledger.ledgers import session as row

from holdfast.briefing.prepare import prepare
from holdfast.flows.capture import capture
from holdfast.flows.hosts import Plan, install
from holdfast.hooks import host_protocol
from holdfast.ledger.rows import add_row
from holdfast.store.machine import Machine

PRICEY = 2_000_000  # output tokens of Claude Sonnet


def message(answer: bytes) -> str:
    return str(json.loads(answer)["systemMessage"]) if answer else ""


def usual_sessions(enabled: Enabled, count: int = 12, cost: str = "0.10") -> None:
    for number in range(count):
        entry = row(
            session=f"past-{number:04d}",
            agent="claude-code",
            model="claude-sonnet-4-5",
            cost_usd=Decimal(cost),
            duration_s=60 + number,
        )
        add_row(enabled.machine, enabled.project, entry)


def costly_transcript(enabled: Enabled, home: Path, session: str = SESSION) -> Path:
    path = write_transcript(
        home / ".claude" / "projects" / "-shop" / f"{session}.jsonl", enabled.root, session=session
    )
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if line["type"] == "assistant":
            line["message"]["usage"]["output_tokens"] = PRICEY
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def read_at_a_stop(enabled: Enabled, transcript: Path, session: str = SESSION) -> None:
    """As the child of a stop reads it: the session goes on."""
    leave(enabled, "Stop", transcript, os.getpid(), session)
    capture(enabled.machine, enabled.project)


def stop(enabled: Enabled, **more: object) -> str:
    return message(enabled.hook("Stop", **more).printed)


# --- beyond its like --------------------------------------------------------------------------------------


@pytest.mark.promise("L12")
def test_a_session_beyond_its_like_is_told_once_whatever_happens_to_it(
    enabled: Enabled, home: Path, holdfast: Holdfast
) -> None:
    usual_sessions(enabled)
    transcript = costly_transcript(enabled, home)
    assert stop(enabled) == "", "nothing was read of it yet"
    read_at_a_stop(enabled, transcript)
    told = stop(enabled)
    assert told.startswith("holdfast: this session: $30.00 so far; 9 of 10 sessions stay under $0.10")
    assert "\n" not in told
    for source in ("resume", "compact"):
        enabled.hook("SessionStart", source=source)
        assert stop(enabled) == "" and "so far" not in message(
            enabled.hook("UserPromptSubmit", prompt="go").printed
        )
    (why,) = [
        entry for entry in holdfast("why", SESSION, "--json", check=0).json()["injections"] if entry["shown"]
    ]
    assert why["event"] == "Stop" and "9 of 10" in why["shown"][0]["text"] and why["shown"][0]["reason"]
    assert "9 of 10" in holdfast("why", SESSION, check=0).stdout


def test_it_is_told_at_a_prompt_beside_what_the_model_is_told(enabled: Enabled, home: Path) -> None:
    usual_sessions(enabled)
    read_at_a_stop(enabled, costly_transcript(enabled, home))
    answer = enabled.hook("UserPromptSubmit", prompt="go on").printed
    assert "9 of 10" in message(answer)
    assert "9 of 10" not in json.dumps(json.loads(answer).get("hookSpecificOutput", {})), "not the model's"


def test_hooks_at_the_same_time_tell_it_once(enabled: Enabled, home: Path) -> None:
    usual_sessions(enabled)
    read_at_a_stop(enabled, costly_transcript(enabled, home))
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: stop(enabled), range(8)))
    assert sum(bool(text) for text in told) == 1


def test_an_ordinary_session_and_others_are_not_bothered(enabled: Enabled, home: Path) -> None:
    usual_sessions(enabled, cost="99.00")
    read_at_a_stop(enabled, costly_transcript(enabled, home))
    assert stop(enabled) == ""
    assert stop(enabled, session_id="another") == ""


def test_too_few_sessions_are_no_like(enabled: Enabled, home: Path) -> None:
    usual_sessions(enabled, count=5)
    read_at_a_stop(enabled, costly_transcript(enabled, home))
    assert stop(enabled) == ""


def test_switched_off_nothing_is_shown(enabled: Enabled, home: Path, holdfast: Holdfast) -> None:
    usual_sessions(enabled)
    read_at_a_stop(enabled, costly_transcript(enabled, home))
    holdfast("off", "--inject", check=0)
    assert stop(enabled) == ""


@pytest.mark.promise("L12")
def test_a_budget_that_is_used_up_is_told_once_a_day(enabled: Enabled, home: Path) -> None:
    (home / ".holdfast" / "config.toml").write_text("budget_day = 1.0\n", encoding="utf-8")
    now = Machine(cwd=enabled.root).now()
    add_row(enabled.machine, enabled.project, row(session="today", cost_usd=Decimal("2.50"), timestamp=now))
    prepare(Machine(cwd=enabled.root), enabled.project)
    told = stop(enabled)
    assert told.startswith("holdfast: $2.50 spent in ") and "budget of a day is $1.00" in told
    assert stop(enabled) == "" and stop(enabled, session_id="another") == ""


@pytest.mark.parametrize("host", host_protocol.EVENTS)
def test_a_host_that_cannot_show_a_message_gets_none(enabled: Enabled, home: Path, host: str) -> None:
    usual_sessions(enabled)
    read_at_a_stop(enabled, costly_transcript(enabled, home))
    theirs = next(name for name, ours in host_protocol.EVENTS[host].items() if ours == "Stop")
    payload = enabled.payload(sessionId=SESSION, conversation_id=SESSION)
    printed = run_hook(theirs, json.dumps(payload).encode(), cwd=enabled.root, host=host).printed
    assert bool(printed) == (host in host_protocol.SHOWS)
    if printed:
        assert set(json.loads(printed)) == {"systemMessage"}


# --- what changed around it -------------------------------------------------------------------------------


@pytest.fixture
def begun(enabled: Enabled) -> Enabled:
    (enabled.root / "CLAUDE.md").write_text("Use tabs.\n", encoding="utf-8")
    prepare(Machine(cwd=enabled.root), enabled.project)
    enabled.hook("SessionStart")
    return enabled


def later(enabled: Enabled, seconds: float = 301) -> None:
    """The session was last looked at so long ago."""
    seen = enabled.memory / "seen" / f"{SESSION}.json"
    then = time.time() - seconds
    os.utime(seen, (then, then))


@pytest.mark.promise("X4")
def test_what_changed_since_the_session_began_is_told_to_the_person(
    begun: Enabled, holdfast: Holdfast
) -> None:
    (begun.root / "CLAUDE.md").write_text("Use spaces.\n", encoding="utf-8")
    (begun.root / "AGENTS.md").write_text("New.\n", encoding="utf-8")
    subprocess.run(["git", "switch", "--quiet", "-c", "feat/jwt"], cwd=begun.root, check=True)
    assert stop(begun) == "", "not before five minutes have passed"
    later(begun)
    told = message(begun.hook("UserPromptSubmit", prompt="go on").printed)
    assert told == (
        "holdfast: changed since this session began: branch main → feat/jwt, AGENTS.md is new, CLAUDE.md"
    ) or told == (
        "holdfast: changed since this session began: branch main → feat/jwt, CLAUDE.md, AGENTS.md is new"
    )
    later(begun)
    assert stop(begun) == "", "told once"
    assert "changed since" in holdfast("why", SESSION, check=0).stdout


@pytest.mark.promise("X4")
def test_at_most_every_five_minutes_and_only_when_something_changed(begun: Enabled) -> None:
    later(begun)
    assert stop(begun) == ""
    (begun.root / "CLAUDE.md").write_text("Use spaces.\n", encoding="utf-8")
    assert stop(begun) == "", "it was looked at a moment ago"
    later(begun)
    assert "CLAUDE.md" in stop(begun)
    (begun.root / "CLAUDE.md").unlink()
    assert stop(begun) == ""
    later(begun)
    assert "CLAUDE.md is gone" in stop(begun)


def test_a_file_written_anew_as_it_was_has_not_changed(begun: Enabled) -> None:
    (begun.root / "CLAUDE.md").write_text("Use tabs.\n", encoding="utf-8")
    later(begun)
    assert stop(begun) == ""


def test_a_session_that_is_resumed_begins_anew_and_a_compacted_one_does_not(begun: Enabled) -> None:
    (begun.root / "CLAUDE.md").write_text("Use spaces.\n", encoding="utf-8")
    begun.hook("SessionStart", source="compact")
    later(begun)
    assert "CLAUDE.md" in stop(begun)
    (begun.root / "CLAUDE.md").write_text("Use both.\n", encoding="utf-8")
    begun.hook("SessionStart", source="resume")
    later(begun)
    assert stop(begun) == ""


@pytest.mark.promise("X4")
def test_what_became_known_of_the_repository_is_told(begun: Enabled, holdfast: Holdfast) -> None:
    def look_at(name: str, text: str) -> None:
        (begun.root / name).write_text(text, encoding="utf-8")
        subprocess.run(["git", "add", "-A"], cwd=begun.root, check=True)
        holdfast("know", "scan", check=0)
        prepare(Machine(cwd=begun.root), begun.project)

    for name in ("ledger_of_refunds.py", "test_refunds.py"):
        (begun.root / name).write_text("def rounded(): return 1\n", encoding="utf-8")
    look_at("pyproject.toml", '[project]\nname = "shop"\n[tool.ruff]\nline-length = 100\n')
    begun.hook("SessionStart")
    look_at("uv.lock", "")
    later(begun)
    assert "what is known of the repository" in stop(begun)


@pytest.mark.parametrize(
    "torn", [b"", b"{", b"[]", b'{"files": 3}', b'{"files": {"CLAUDE.md": 5}, "branch": ""}']
)
def test_a_torn_note_says_nothing_and_holds_nothing_up(begun: Enabled, torn: bytes) -> None:
    (begun.memory / "seen" / f"{SESSION}.json").write_bytes(torn)
    later(begun)
    assert stop(begun) == "" and begun.log() == ""


def test_where_nothing_can_be_written_the_session_is_told_all_the_same(enabled: Enabled) -> None:
    (enabled.memory / "seen").write_text("a file where the folder should be", encoding="utf-8")
    assert "wire the refund endpoint" in enabled.hook("SessionStart").context


def test_old_notes_are_swept_away(begun: Enabled) -> None:
    later(begun, 90 * 24 * 3600)
    install(begun.machine, begun.project, Plan(agent="claude-code", changes=()))
    capture(begun.machine, begun.project)
    assert list((begun.memory / "seen").iterdir()) == []
