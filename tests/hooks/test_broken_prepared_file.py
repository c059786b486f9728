"""What was prepared cannot be read, as after a crash: what can be said is said, all else leaves a trace and is mended."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.flows.test_capture import GONE, leave, rows_of, transcript, write_transcript
from tests.hooks.enabled import SESSION, Enabled
from tests.patience import PATIENCE_S, wait_until

from holdfast.briefing.explain import injections
from holdfast.briefing.recovery import hand_over
from holdfast.core import files
from holdfast.hooks import hook, trace
from holdfast.store.switches import switch

__all__ = ["transcript"]
pytestmark = pytest.mark.promise("H3")
NEXT = "wire the refund endpoint"


@pytest.fixture
def enabled(enabled: Enabled) -> Enabled:
    """How long a process waits is what is tested here."""
    enabled.process = True
    return enabled


@pytest.fixture
def broken(enabled: Enabled) -> Enabled:
    """Something is next, and the prepared file is torn."""
    hand_over(enabled.machine, enabled.project, NEXT, "main", "user", add=False)
    (enabled.memory / "hot.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    return enabled


@contextmanager
def nobody_can_prepare(enabled: Enabled) -> Iterator[None]:
    """Whoever prepares has to wait, and a hook does so for a moment only."""
    enabled.renewed_s = 0.5
    with files.lock(enabled.project.lock("hot")):
        yield
    enabled.renewed_s = PATIENCE_S


def is_whole(enabled: Enabled) -> bool:
    try:
        db = sqlite3.connect(f"file:{enabled.memory / 'hot.db'}?mode=ro&immutable=1", uri=True)
        try:
            return bool(db.execute("SELECT 1 FROM meta WHERE key = 'enabled'").fetchall())
        finally:
            db.close()
    except sqlite3.Error:
        return False


def test_a_start_tells_what_was_made_anew(broken: Enabled) -> None:
    assert NEXT in broken.told()
    assert "SessionStart: Unreadable" in broken.log()


def test_after_a_crash_a_start_does_not_wait_for_the_capture_and_die_in_silence(
    broken: Enabled, home: Path
) -> None:
    dead = write_transcript(
        home / ".claude" / "projects" / "-shop" / "dead.jsonl", broken.root, session="dead"
    )
    leave(broken, "Stop", dead, GONE, "dead")
    for seconds in (
        10,
        60,
        PATIENCE_S,
    ):  # enough to prepare, which it waits for as well; a busy machine needs more
        broken.renewed_s = seconds
        with files.lock(broken.project.lock("capture")):  # a capture that does not come to its end
            if told := broken.told():
                break
    assert NEXT in told
    assert wait_until(lambda: rows_of(broken) == ["dead"]), "and what was left is read all the same"


def test_a_start_that_can_say_nothing_says_why_and_has_it_made_anew(broken: Enabled) -> None:
    with nobody_can_prepare(broken):
        assert broken.hook("SessionStart").printed == b""
    (entry,) = injections(broken.project)
    assert (entry.session, entry.lines) == (SESSION, ())
    assert "hook.log" in entry.nothing and "Unreadable" in broken.log()
    assert wait_until(lambda: is_whole(broken)), "by what the hook left behind, not by another hook"
    assert NEXT in broken.told(session_id="the next one")


@pytest.mark.promise("M7")
@pytest.mark.parametrize("event", ["Stop", "SessionEnd"])
def test_a_session_is_captured_though_nothing_could_be_read(
    broken: Enabled, transcript: Path, event: str
) -> None:
    said = {"transcript_path": str(transcript)}
    with nobody_can_prepare(broken):
        assert broken.hook(event, {"HOLDFAST_HOST_PID": str(GONE)}, **said).printed == b""
    assert wait_until(lambda: rows_of(broken) == [SESSION])


@pytest.mark.promise("G9")
def test_where_capture_is_switched_off_nothing_is_read_though_the_hook_could_not_know(
    broken: Enabled, transcript: Path
) -> None:
    switch(broken.project, broken.root, capture=False, inject=None)
    with nobody_can_prepare(broken):
        broken.hook("SessionEnd", {"HOLDFAST_HOST_PID": str(GONE)}, transcript_path=str(transcript))
    assert wait_until(lambda: is_whole(broken) and not broken.inbox())
    assert rows_of(broken) == [] and not broken.project.capture.exists()


def test_a_hook_that_is_ended_for_its_time_leaves_a_trace(enabled: Enabled) -> None:
    """Nothing that we know of blocks a hook, so here it sleeps."""
    script = (
        "import sys, time; sys.path.append(sys.argv[1]); from holdfast.hooks import hook, respond\n"
        "hook.DEADLINE_S, hook.LAST_WORD_S = float(sys.argv[2]), float(sys.argv[3])\n"
        "respond._start = lambda *_: time.sleep(1_000)\n"
        "hook.run(['claude-code', 'SessionStart'])"
    )
    for seconds in (hook.DEADLINE_S, 60.0):
        limits = [str(Path(hook.__file__).parents[2]), str(seconds), str(PATIENCE_S)]
        command = [sys.executable, "-I", "-S", "-c", script, *limits]
        payload = json.dumps(enabled.payload()).encode()
        done = subprocess.run(command, input=payload, cwd=enabled.root, capture_output=True, check=True)
        assert done.stdout == b""
        if enabled.log():
            break  # else this machine was too busy to begin within that time
    assert f"SessionStart: not done within {seconds:.0f} seconds" in enabled.log()
    assert enabled.inbox() != [], "and should it be killed, its session is known of"


def test_a_trace_that_cannot_be_written_holds_nobody(enabled: Enabled) -> None:
    import os

    for name in ("why.jsonl", "hook.log"):
        os.mkfifo(enabled.memory / name)
    enabled.deadline_s = hook.DEADLINE_S
    assert enabled.hook("SessionStart").printed == b"", "or it would never have come to an end"


def test_envelopes_say_nothing_that_a_hook_does_not_know(broken: Enabled) -> None:
    with nobody_can_prepare(broken):
        broken.hook("Stop", last_assistant_message="the password is hunter2")
    for path in (broken.memory / "inbox").glob("*.json"):
        assert "hunter2" not in json.dumps(json.loads(path.read_bytes()))
    assert trace.envelopes(str(broken.memory)) != []
