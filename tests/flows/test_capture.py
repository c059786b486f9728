"""Envelopes become memory: at every stop, at the end, and after a crash; and no process stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import pytest
from tests.hooks.enabled import SESSION, Enabled
from tests.patience import PATIENCE_S, wait_until

from holdfast.briefing.prepare import prepare
from holdfast.briefing.watch import QUIET_S
from holdfast.core import files, processes
from holdfast.core.processes import ISOLATED
from holdfast.flows import capture as parting
from holdfast.flows.capture import await_last_lines, capture, has_left, has_written_on
from holdfast.flows.status import latest_record
from holdfast.hooks import trace
from holdfast.ledger.rows import read_ledger, rows
from holdfast.store import inbox
from holdfast.store.inbox import sweep

GONE = 2**22 + 5  # above the largest process number there can be


def write_transcript(
    path: Path,
    cwd: Path,
    prompts: int = 1,
    session: str = SESSION,
    entrypoint: str = "cli",
    answer: str = "Done.",
) -> Path:
    """A session of Claude Code as it lies on disk after some prompts."""
    lines = []
    for number in range(prompts):
        base = {
            "sessionId": session,
            "cwd": str(cwd),
            "version": "2.1.325",
            "gitBranch": "main",
            "entrypoint": entrypoint,
        }
        at = f"2026-11-10T10:{number:02d}:00.000Z"
        prompt = {"role": "user", "content": f"Fix the refund rounding, part {number}"}
        message = {
            "id": f"msg_{session}{number}",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": answer}],
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        lines.append(
            {**base, "type": "user", "uuid": f"u{number}{session}", "timestamp": at, "message": prompt}
        )
        lines.append(
            {**base, "type": "assistant", "uuid": f"a{number}{session}", "timestamp": at, "message": message}
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def rows_of(enabled: Enabled) -> list[str]:
    return [row.session for row in rows(read_ledger(enabled.project))]


def every_row(enabled: Enabled) -> int:
    return len(read_ledger(enabled.project).entries)


@pytest.fixture
def transcript(enabled: Enabled, home: Path) -> Path:
    return write_transcript(home / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl", enabled.root)


def leave(
    enabled: Enabled,
    event: str,
    transcript: Path,
    process: int = 0,
    session: str = SESSION,
    host: str = "claude-code",
) -> None:
    """An envelope as a hook leaves it, without the child that would work for it."""
    envelope = {"host": host, "event": event, "session": session, "transcript": str(transcript)}
    trace.post(str(enabled.memory), {**envelope, "cwd": str(enabled.root), "process": process})


@pytest.mark.promise("M7")
def test_a_stop_brings_the_record_up_to_date_and_writes_no_row(enabled: Enabled, transcript: Path) -> None:
    leave(enabled, "Stop", transcript, os.getpid())
    done = capture(enabled.machine, enabled.project)
    assert (done.going_on, done.ended, done.problems) == ([SESSION], [], [])
    record = latest_record(enabled.project)
    assert record is not None and record.goal.startswith("Fix the refund rounding")
    assert rows_of(enabled) == []
    assert "refund rounding" in enabled.told(), "the next session hears of it already"


@pytest.mark.promise("M7")
@pytest.mark.parametrize("event", ["Stop", "PreCompact"])
def test_what_a_running_session_has_open_is_there_when_it_is_compacted(
    enabled: Enabled, transcript: Path, event: str
) -> None:
    left = "The rounding is fixed.\n\nNext steps:\n- wire the refund endpoint\n"
    write_transcript(transcript, enabled.root, answer=left)
    leave(enabled, event, transcript, os.getpid())
    capture(enabled.machine, enabled.project)
    assert "\nOpen in this session: wire the refund endpoint\n" in enabled.told(source="compact")
    assert enabled.told(source="compact", session_id="another") == ""


def test_a_resumed_session_hears_of_a_headless_run_and_a_new_one_does_not(
    enabled: Enabled, transcript: Path
) -> None:
    write_transcript(transcript, enabled.root, entrypoint="sdk-cli")
    leave(enabled, "SessionEnd", transcript, os.getpid())
    capture(enabled.machine, enabled.project)
    ago = {"seconds_since_last_response": 1_000_000_000}
    told = enabled.told(source="resume", session_id="another", **ago)
    assert "\nMeanwhile (claude-code, main, headless): Fix the refund rounding, part 0" in told
    assert enabled.told(source="resume", session_id=SESSION, **ago) == "", "that was itself"
    assert enabled.told(session_id="new") == ""


def test_what_ran_without_anybody_there_is_kept_and_not_told(enabled: Enabled, transcript: Path) -> None:
    write_transcript(transcript, enabled.root, entrypoint="sdk-cli")
    leave(enabled, "SessionEnd", transcript, os.getpid())
    capture(enabled.machine, enabled.project)
    assert rows_of(enabled) == [SESSION]
    assert enabled.told() == ""


@pytest.mark.promise("M7")
@pytest.mark.parametrize("grows", [False, True])
def test_the_row_is_written_once_when_the_session_ends(
    enabled: Enabled, transcript: Path, grows: bool
) -> None:
    for prompts in (1, 2, 3):
        write_transcript(transcript, enabled.root, prompts)
        leave(enabled, "Stop", transcript, os.getpid())
        capture(enabled.machine, enabled.project)
    assert every_row(enabled) == 0
    if grows:
        write_transcript(transcript, enabled.root, 4)
    leave(enabled, "SessionEnd", transcript, os.getpid())
    assert capture(enabled.machine, enabled.project).ended == [SESSION]
    assert every_row(enabled) == 1
    assert enabled.inbox() == []
    capture(enabled.machine, enabled.project)
    assert every_row(enabled) == 1


def test_the_end_of_one_session_writes_no_row_for_another_that_goes_on(enabled: Enabled, home: Path) -> None:
    folder = home / ".claude" / "projects" / "-shop"
    live = write_transcript(folder / "live.jsonl", enabled.root, session="live-1")
    over = write_transcript(folder / "over.jsonl", enabled.root, session="over-1")
    leave(enabled, "Stop", live, os.getpid(), "live-1")
    capture(enabled.machine, enabled.project)
    leave(enabled, "SessionEnd", over, os.getpid(), "over-1")
    capture(enabled.machine, enabled.project)
    assert rows_of(enabled) == ["over-1"]


@pytest.mark.promise("M7")
@pytest.mark.parametrize("event", ["SessionStart", "Stop"])
def test_a_killed_session_is_finished_when_its_process_is_gone(
    enabled: Enabled, transcript: Path, event: str
) -> None:
    leave(enabled, event, transcript, GONE)
    assert capture(enabled.machine, enabled.project).ended == [SESSION]
    assert rows_of(enabled) == [SESSION]


@pytest.mark.promise("M7")
def test_where_the_process_is_not_known_half_an_hour_of_silence_ends_a_session(
    enabled: Enabled, transcript: Path
) -> None:
    leave(enabled, "Stop", transcript)
    assert capture(enabled.machine, enabled.project).going_on == [SESSION]
    later = datetime.now(UTC) + timedelta(seconds=QUIET_S + 1)
    enabled.machine.now = lambda: later  # type: ignore[method-assign]
    leave(enabled, "PreCompact", transcript, session="other")
    assert SESSION in capture(enabled.machine, enabled.project).ended


def test_a_session_whose_process_lives_is_not_over_because_nobody_types(
    enabled: Enabled, transcript: Path
) -> None:
    leave(enabled, "Stop", transcript, os.getpid())
    enabled.machine.now = lambda: datetime.now(UTC) + timedelta(hours=3)  # type: ignore[method-assign]
    assert capture(enabled.machine, enabled.project).going_on == [SESSION]
    assert every_row(enabled) == 0


def test_a_transcript_that_does_not_exist_is_no_error(enabled: Enabled) -> None:
    leave(enabled, "SessionEnd", enabled.root / "none.jsonl")
    done = capture(enabled.machine, enabled.project)
    assert done.problems == [] and enabled.inbox() == []


def test_a_file_that_is_no_transcript_is_reported_and_its_envelope_goes(enabled: Enabled) -> None:
    other = enabled.root / "notes.txt"
    other.write_text("hello", encoding="utf-8")
    leave(enabled, "SessionEnd", other)
    done = capture(enabled.machine, enabled.project)
    assert len(done.problems) == 1 and enabled.inbox() == []


def test_a_broken_envelope_is_reported_and_goes(enabled: Enabled, transcript: Path) -> None:
    leave(enabled, "SessionEnd", transcript)
    (enabled.memory / "inbox" / "x.json").write_bytes(b"{")
    half = enabled.memory / "inbox" / "y.tmp"
    half.write_bytes(b"{")
    done = capture(enabled.machine, enabled.project)
    assert done.problems == ["x.json: not an envelope"]
    assert rows_of(enabled) == [SESSION]
    assert half.exists(), "its hook may still be writing"
    sweep(half.parent, now=time.time() + 3600)
    assert not half.exists()


def test_an_excluded_session_is_dropped(enabled: Enabled, transcript: Path, home: Path) -> None:
    (home / ".holdfast" / "config.toml").write_text(f'exclude = ["{enabled.root}"]\n', encoding="utf-8")
    leave(enabled, "SessionEnd", transcript)
    capture(enabled.machine, enabled.project)
    assert rows_of(enabled) == [] and enabled.inbox() == []


@pytest.mark.promise("M7", "F5")
def test_the_hooks_child_does_the_work_and_ends(enabled: Enabled, transcript: Path) -> None:
    with files.lock(enabled.project.lock("capture")):  # the child has to wait
        enabled.hook("SessionEnd", transcript_path=str(transcript))
        assert rows_of(enabled) == [], "the hook does not"
    assert wait_until(lambda: rows_of(enabled) == [SESSION] and not enabled.inbox())
    assert wait_until(lambda: children_of(enabled.memory) == [])
    assert enabled.log() == ""


def write_qwen(enabled: Enabled, home: Path) -> Path:
    path = home / ".qwen" / "projects" / "-shop" / "chats" / f"{SESSION}.jsonl"
    base = {"sessionId": SESSION, "cwd": str(enabled.root), "version": "0.24.4", "provenance": "real_user"}
    message = {"role": "user", "parts": [{"text": "Fix the refund rounding"}]}
    line = {"uuid": "u1", **base, "type": "user", "timestamp": "2026-11-10T10:00:00.000Z", "message": message}
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    return path


@pytest.mark.promise("M7", "F5")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_who_leaves_without_a_word_after_an_answer_is_waited_for(enabled: Enabled, home: Path) -> None:
    """Qwen Code without a terminal has no other end."""
    client = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    leave(enabled, "Stop", write_qwen(enabled, home), client.pid, host="qwen")
    child = subprocess.Popen(child_command(enabled))
    assert wait_until(lambda: latest_record(enabled.project) is not None)
    assert rows_of(enabled) == [], "it may go on"
    client.communicate(b"\n")
    assert child.wait(PATIENCE_S) == 0
    assert rows_of(enabled) == [SESSION] and enabled.inbox() == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_nobody_is_waited_for_who_tells_of_the_end_or_has_answered_again(
    enabled: Enabled, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parting, "WATCHED_S", 1_000.0)
    path = write_qwen(enabled, home)
    leave(enabled, "Stop", path, os.getpid())
    assert not has_left(enabled.project), "Claude Code tells"
    leave(enabled, "Stop", path, os.getpid(), session="again", host="qwen")
    watcher = threading.Thread(target=has_left, args=(enabled.project,))
    watcher.start()
    for letter in (enabled.memory / "inbox").glob("again.*"):
        letter.unlink()  # as the capture of a newer one does
    watcher.join(PATIENCE_S)
    assert not watcher.is_alive()
    leave(enabled, "Stop", path, GONE, session="gone", host="qwen")
    assert has_left(enabled.project)


def ended_unasked() -> int:
    """A process that is over and still listed, as every orphan is where no init asks how it ended."""
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], dict(os.environ))
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    return process


@pytest.mark.promise("M7", "F5")
@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="where nothing tells them from those that live")
def test_a_process_that_is_only_still_listed_is_over(enabled: Enabled, transcript: Path) -> None:
    process = ended_unasked()
    try:
        leave(enabled, "Stop", transcript, process)
        assert trace.ended(str(enabled.memory), "another"), "the next start captures it first"
        assert capture(enabled.machine, enabled.project).ended == [SESSION]
        assert rows_of(enabled) == [SESSION] and enabled.inbox() == []
    finally:
        os.waitpid(process, 0)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="where nothing tells them from those that live")
def test_a_process_that_goes_while_it_is_looked_at_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    process = ended_unasked()

    def opened_as_it_goes(*arguments: str) -> IO[Any]:
        try:
            return open(*arguments)
        finally:
            os.waitpid(process, 0)

    monkeypatch.setattr(processes, "open", opened_as_it_goes, raising=False)
    assert not processes.runs(process)


def child_command(enabled: Enabled) -> list[str]:
    words = ("-m", "holdfast.flows.capture_child", str(enabled.memory), str(enabled.root))
    return [sys.executable, *ISOLATED, *words]


def write_copilot(home: Path, cwd: Path, *texts: str) -> Path:
    path = home / ".copilot" / "session-state" / SESSION / "events.jsonl"
    at = "2026-11-10T10:00:00.000Z"
    start = {"sessionId": SESSION, "copilotVersion": "1.0.102", "context": {"cwd": str(cwd)}}
    lines = [{"type": "session.start", "data": start, "id": "e0", "timestamp": at}]
    for number, text in enumerate(texts, 1):
        kind = "user.message" if number % 2 else "assistant.message"
        lines.append({"type": kind, "data": {"content": text}, "id": f"e{number}", "timestamp": at})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.promise("M7")
@pytest.mark.skipif(os.name == "nt", reason="where nothing tells whether a process lives")
def test_what_a_client_writes_after_it_has_said_goodbye_is_read(
    enabled: Enabled, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copilot CLI writes in batches, and ends after the hook of its end has answered."""
    monkeypatch.setattr(parting, "LATE_S", 1_000.0)
    path = write_copilot(home, enabled.root)
    client = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    leave(enabled, "SessionEnd", path, client.pid, host="copilot")
    waiting = threading.Thread(target=await_last_lines, args=(enabled.project,))
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive(), "it may write more"
    write_copilot(home, enabled.root, "Fix the refund rounding", "It is fixed.")
    client.communicate(b"\n")
    waiting.join(PATIENCE_S)
    capture(enabled.machine, enabled.project)
    record = latest_record(enabled.project)
    assert record is not None and record.final_message == "It is fixed."
    assert rows_of(enabled) == [SESSION] and enabled.inbox() == []


@pytest.mark.promise("M7")
def test_an_answer_that_is_written_after_the_stop_is_read(
    enabled: Enabled, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code and Copilot CLI call the hook before their last lines are on the disk."""
    monkeypatch.setattr(parting, "ANSWER_S", 1_000.0)
    leave(enabled, "Stop", transcript, os.getpid())
    capture(enabled.machine, enabled.project)
    found: list[bool] = []
    waiting = threading.Thread(target=lambda: found.append(has_written_on(enabled.machine, enabled.project)))
    waiting.start()
    waiting.join(0.5)
    assert waiting.is_alive(), "it may write more"
    write_transcript(transcript, enabled.root, 2)
    waiting.join(PATIENCE_S)
    assert found == [True]
    capture(enabled.machine, enabled.project)
    monkeypatch.setattr(parting, "ANSWER_S", 0.0)
    assert not has_written_on(enabled.machine, enabled.project), "what is known, and old, is not waited for"


def test_nobody_is_waited_for_who_goes_on_with_another_session(
    enabled: Enabled, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(parting, "LATE_S", 0.2)
    monkeypatch.setattr(parting.time, "sleep", waited.append)
    path = write_copilot(home, enabled.root, "Fix the refund rounding")
    leave(enabled, "SessionEnd", path, os.getpid())
    await_last_lines(enabled.project)
    assert not waited, "Claude Code has written everything by then"
    leave(enabled, "SessionEnd", path, os.getpid(), session="cleared", host="copilot")
    await_last_lines(enabled.project)
    assert waited, "Copilot has not"
    waited.clear()
    leave(enabled, "SessionStart", path, os.getpid(), session="next", host="copilot")
    await_last_lines(enabled.project)
    assert not waited, "it goes on with another"


@pytest.mark.promise("F5")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_a_child_that_was_killed_is_finished_by_the_next_call(enabled: Enabled, transcript: Path) -> None:
    leave(enabled, "SessionEnd", transcript)
    child = subprocess.Popen(child_command(enabled))
    time.sleep(0.05)
    child.kill()
    child.wait()
    assert len(enabled.inbox()) == 1 or rows_of(enabled) == [SESSION], "it may have been quicker than we"
    enabled.hook("SessionStart", session_id="another")
    assert wait_until(lambda: rows_of(enabled) == [SESSION])
    assert wait_until(lambda: children_of(enabled.memory) == [])


@pytest.mark.promise("F5")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_many_ends_at_once_give_one_row_each_and_leave_nobody(enabled: Enabled, home: Path) -> None:
    folder = home / ".claude" / "projects" / "-shop"
    names = [f"session-{number}" for number in range(6)]
    for name in names:
        path = write_transcript(folder / f"{name}.jsonl", enabled.root, session=name)
        enabled.hook("SessionEnd", session_id=name, transcript_path=str(path))
    assert wait_until(lambda: sorted(rows_of(enabled)) == names)
    assert every_row(enabled) == len(names)
    assert wait_until(lambda: children_of(enabled.memory) == [] and not enabled.inbox())


def children_of(memory: Path) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if b"holdfast.flows.capture_child" in words and os.fsencode(memory) in words:
            found.append(words.decode("utf-8", "replace"))
    return found


def test_a_prepared_file_that_was_deleted_is_made_again(enabled: Enabled) -> None:
    (enabled.memory / "hot.db").unlink()
    assert enabled.told() == ""
    prepare(enabled.machine, enabled.project)
    enabled.prepare()
    assert "refund" in enabled.told(), "the switch that enables is not in the derived file"


@pytest.mark.promise("K8")
def test_a_capture_looks_at_the_checkout_too(enabled: Enabled, transcript: Path) -> None:
    (enabled.root / "Makefile").write_text("test:\n\tpytest\n\nlint:\n\truff check\n", encoding="utf-8")
    subprocess.run(["git", "add", "-A"], cwd=enabled.root, check=True)
    capture(enabled.machine, enabled.project)
    known = json.loads((enabled.project.memory / "session.json").read_text(encoding="utf-8"))["knowledge"]
    assert "make lint (ruff check)" in [one["pattern"] for one in known["conventions"]]


@pytest.mark.promise("M7")
def test_a_session_that_cannot_be_read_does_not_keep_others_from_being_captured(
    enabled: Enabled, transcript: Path
) -> None:
    """A name that no file can have is not merely missing: the system refuses to look."""
    leave(enabled, "SessionEnd", enabled.root / ("a" * 300), session="another-session")
    leave(enabled, "SessionEnd", transcript)
    done = capture(enabled.machine, enabled.project)
    assert done.ended == [SESSION] and rows_of(enabled) == [SESSION]
    (problem,) = done.problems
    assert "another-session" in problem and "File name too long" in problem
    assert len(inbox.quarantined(enabled.memory, "claude-code", "another-session")) == 1, (
        "it will be tried again"
    )


@pytest.mark.promise("M7")
def test_a_session_in_a_folder_of_another_encoding_is_captured(enabled: Enabled, transcript: Path) -> None:
    env = {"CLAUDE_PROJECT_DIR": str(enabled.root)}
    enabled.hook("Stop", env, transcript_path=str(transcript), cwd=f"{enabled.root}/\udce9t\udce9")
    wait_until(lambda: latest_record(enabled.project) is not None)
    assert "not an envelope" not in enabled.log()


@pytest.mark.promise("G8")
def test_the_child_takes_a_persons_packages_and_nothing_of_the_folder_it_runs_in(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the repository was run')\n", encoding="utf-8")
    program = "import json, sys; print(sys.flags.no_user_site, sys.flags.ignore_environment)"
    done = subprocess.run(
        [sys.executable, *ISOLATED, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.split() == ["0", "1"]
