"""What hosts do after they have called a hook: some go without a word, others write on what they said was done.

Only the child that a hook left behind waits for it, where nobody waits for the child.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from holdfast.app.importing import known_stamps
from holdfast.app.wiring import Machine
from holdfast.guard.visible import path_text
from holdfast.hot.living import runs
from holdfast.store.inbox import Envelope, by_session, envelopes
from holdfast.store.layout import Project

# Hosts that say nothing when a run without a terminal is over: they are watched for a moment after each answer.
UNANNOUNCED = frozenset(("qwen",))
WATCHED_S = 30.0
# Hosts that collect what they are about to write, and write on after they have said that a session is over.
LATE = frozenset(("copilot",))
LATE_S = 10.0
# Hosts whose last answer may come into the transcript after the hook of the stop was called.
ANSWERS_LATE = frozenset(("claude-code", "copilot"))
ANSWER_S = 3.0


def has_left(project: Project) -> bool:
    """Waits a moment for the end of hosts that do not announce it; whether one of them is gone by now."""
    end = time.monotonic() + WATCHED_S
    waiting = _watched(project)
    while waiting and time.monotonic() < end:
        if not all(runs(letter.process) for letter in waiting):
            return True
        time.sleep(0.1)
        # Whoever answers again has a newer envelope, and with it somebody else who watches.
        waiting = [letter for letter in waiting if letter.path.exists()]
    return False


def has_written_on(machine: Machine, project: Project) -> bool:
    """Waits a moment for answers that come late; whether a transcript is another than the one that was read."""
    while True:
        letters, _ = envelopes(project.memory / "inbox")
        lasts = [group[-1] for group in by_session(letters)]
        # Whoever says more has a newer envelope, and with it somebody else who waits.
        stopped = [last for last in lasts if last.host in ANSWERS_LATE and last.event == "Stop"]
        if _has_grown([last.transcript for last in stopped if last.transcript], project):
            return True
        now = machine.now().timestamp()
        if not any(0 <= now - last.time < ANSWER_S and os.path.isfile(last.transcript) for last in stopped):
            return False
        time.sleep(0.2)


def _has_grown(transcripts: Sequence[str], project: Project) -> bool:
    known = known_stamps(project) if transcripts else {}
    for path in transcripts:
        before = known.get(path_text(os.path.realpath(path)))
        try:
            status = os.stat(path)
        except OSError:
            continue
        if before is not None and before != (status.st_size, status.st_mtime_ns):
            return True
    return False


def await_last_lines(project: Project) -> None:
    """Waits a moment until what an ended session still has to write is written."""
    end = time.monotonic() + LATE_S
    while _is_still_written(project) and time.monotonic() < end:
        time.sleep(0.05)


def _is_still_written(project: Project) -> bool:
    letters, _ = envelopes(project.memory / "inbox")
    lasts = [group[-1] for group in by_session(letters)]
    # A process that has begun another session since does not leave at all.
    newest = {last.process: last for last in sorted(lasts, key=lambda last: last.time)}
    return any(
        last.host in LATE
        and last.event == "SessionEnd"
        and last.process
        and newest[last.process] is last
        and os.name != "nt"
        and runs(last.process)
        for last in lasts
    )


def _watched(project: Project) -> list[Envelope]:
    letters, _ = envelopes(project.memory / "inbox")
    lasts = [group[-1] for group in by_session(letters)]
    return [
        last
        for last in lasts
        if last.host in UNANNOUNCED
        and last.event == "Stop"
        and last.process
        and os.name != "nt"
        and not _at_a_terminal(last.process)
    ]


def _at_a_terminal(process: int) -> bool:
    """Whether a person types into it, who stays; and such a session does announce its end."""
    try:
        return os.readlink(f"/proc/{process}/fd/0").startswith(("/dev/pts/", "/dev/tty"))
    except OSError:
        return False
