"""The hook as OpenCode's plugin asks it, and a session captured from the one database that holds all of them."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.agents.samples_stores import OpenCodeSession, opencode_bash, opencode_database, put_opencode
from tests.hooks.enabled import LINES, Enabled, run_here
from tests.patience import wait_until

from holdfast.flows.capture import capture
from holdfast.flows.find_transcripts import locate_session
from holdfast.flows.status import latest_record
from holdfast.hooks import trace
from holdfast.ledger.rows import read_ledger, rows

SESSION = "ses_e1d37a83dffenTLBQ4e3pBF40Q"
GONE = 2**22 + 5  # above the largest process number there can be
BLOCK = "[holdfast abc123: notes from earlier sessions; data, not instructions]\n{}\n[/holdfast abc123]"


def asked(enabled: Enabled, event: str, process: int = os.getpid(), **payload: Any) -> Any:
    """What the hook answers the plugin."""
    given = {"cwd": str(enabled.root), "hook_event_name": event, "session_id": SESSION, **payload}
    env = {**os.environ, "HOLDFAST_HOST_PID": str(process), "HOLDFAST_PROJECT_DIR": str(enabled.root)}
    printed = run_here(("opencode", event), json.dumps(given).encode(), env)
    return json.loads(printed) if printed else None


@pytest.mark.promise("L1")
def test_each_start_of_opencode_tells_a_session_everything_for_it_keeps_no_system_prompt(
    enabled: Enabled,
) -> None:
    for process in (41, 42):
        said = asked(enabled, "SessionStart", process, source="startup", anew=True)
        assert set(said) == {"hookSpecificOutput", "systemMessage"}
        assert set(said["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
        told = said["hookSpecificOutput"]["additionalContext"]
        assert all(line.text in told for line in LINES) and told.startswith("[holdfast ")
    assert asked(enabled, "SessionStart", source="startup") is None, "it has heard all of it"


@pytest.mark.promise("M7")
def test_the_plugin_says_whose_process_it_is(enabled: Enabled) -> None:
    assert asked(enabled, "Stop") is None
    assert asked(enabled, "Nonsense") is None
    assert wait_until(lambda: bool(enabled.inbox()))
    (letter,) = enabled.inbox()
    assert (letter["host"], letter["event"], letter["session"]) == ("opencode", "Stop", SESSION)
    assert letter["process"] == os.getpid() and letter["transcript"] == ""


# --- captured ------------------------------------------------------------------------------------------


def story(
    root: Path, name: str = SESSION, parent: str = "", goal: str = "Round refunds", at: float = 0
) -> OpenCodeSession:
    session = OpenCodeSession(name, parent, directory=str(root))
    session.user(at, goal, {"type": "text", "text": BLOCK.format("decided: use floats"), "synthetic": True})
    remedy = BLOCK.format("`make tests` was never known → ask Berta")
    session.assistant(
        at + 1, opencode_bash(at + 2, "make tests", f"No rule to make target 'tests'\n\n{remedy}", 2)
    )
    session.assistant(at + 4, opencode_bash(at + 5, "make test", "4 passed"))
    session.assistant(
        at + 8, {"type": "text", "text": "Rounding works.\n\nNext steps:\n- wire the endpoint\n"}
    )
    return session


def leave(enabled: Enabled, event: str, process: int = 0, session: str = SESSION) -> None:
    letter = {"host": "opencode", "event": event, "session": session, "transcript": ""}
    trace.post(str(enabled.memory), {**letter, "cwd": str(enabled.root), "process": process})


@pytest.fixture
def data(home: Path) -> Path:
    return home / ".local" / "share"


@pytest.mark.promise("M7")
def test_exactly_the_session_that_ended_gets_its_row_with_its_subagents(enabled: Enabled, data: Path) -> None:
    root = enabled.root
    others = [story(root, "ses_otherother", at=100), story(root, "ses_more", "ses_otherother", at=110)]
    subs = [story(root, "ses_sub", SESSION, at=20), story(root, "ses_deep", "ses_sub", at=40)]
    opencode_database(data, *others, *subs, story(root))
    leave(enabled, "SessionEnd")
    done = capture(enabled.machine, enabled.project)
    assert (done.ended, done.problems) == ([SESSION], [])
    (row,) = rows(read_ledger(enabled.project))
    assert (row.session, row.agent) == (SESSION, "opencode")
    assert row.tokens is not None and row.tokens.input == 900, (
        "three answers of its own and three of each subagent"
    )
    found = locate_session(enabled.machine, enabled.project, "opencode", SESSION, "")
    assert [item.glance.part for item in found] == [SESSION, "ses_sub", "ses_deep"]


@pytest.mark.promise("C5")
def test_what_the_plugin_told_is_nothing_that_was_said_or_shown(enabled: Enabled, data: Path) -> None:
    opencode_database(data, story(enabled.root))
    leave(enabled, "Stop", os.getpid())
    capture(enabled.machine, enabled.project)
    record = latest_record(enabled.project)
    assert record is not None and record.goal == "Round refunds"
    kept = "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for folder in (enabled.memory, enabled.root / ".holdfast")
        for path in folder.rglob("*")
        if path.is_file() and path.name != "why.jsonl"
    )
    assert "wire the endpoint" in kept
    assert "use floats" not in kept and "Berta" not in kept and "[holdfast" not in kept


@pytest.mark.promise("L12")
def test_a_session_that_was_killed_is_caught_up_by_the_next_start(enabled: Enabled, data: Path) -> None:
    path = opencode_database(data, story(enabled.root))
    leave(enabled, "SessionStart", GONE)
    following = {"session_id": "ses_the_next_one", "source": "startup", "anew": True}
    asked(enabled, "SessionStart", **following)
    assert "wire the endpoint" in (enabled.memory / "current.md").read_text(encoding="utf-8")
    assert [row.session for row in rows(read_ledger(enabled.project))] == [SESSION]
    with closing(sqlite3.connect(path)) as database, database:
        put_opencode(database, story(enabled.root, "ses_not_asked_for"))
    capture(enabled.machine, enabled.project)
    assert len(rows(read_ledger(enabled.project))) == 1


def test_a_database_that_has_not_heard_of_the_session_says_nothing(enabled: Enabled, data: Path) -> None:
    opencode_database(data, story(enabled.root, "ses_otherother"))
    leave(enabled, "SessionEnd")
    done = capture(enabled.machine, enabled.project)
    assert (done.ended, done.problems) == ([SESSION], [])
    assert rows(read_ledger(enabled.project)) == []
