"""Captures what hooks left in the inbox: updates memory, writes the rows of ended sessions, prepares the hooks' file.

A running session is read, but no row is written. Its row is written once: when it ends, or when it was killed and the
next hook finds its envelope. An envelope is removed only after its work is done, so the next capture repeats one that
died. A session that could not be read is retried soon, then rarely, then only on request.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.explain import why_silent
from holdfast.briefing.prepare import prepare
from holdfast.briefing.watch import DAY_S, _alive
from holdfast.core import files
from holdfast.core.errors import HoldfastError, TranscriptError
from holdfast.core.open_files import opened_once
from holdfast.core.processes import runs
from holdfast.core.session_id import short_session
from holdfast.flows.find_transcripts import TranscriptSearch, locate_session
from holdfast.flows.import_sessions import import_sources, known_stamps
from holdfast.flows.remembered_prompts import keep_remembered
from holdfast.guard.hidden_text import path_text
from holdfast.sessions.store import CaptureStore
from holdfast.store import inbox
from holdfast.store.inbox import Envelope, Fault, last_envelopes
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.switches import switches_of

LOCK_S = 60.0
NOTES = ("said", "seen")  # messages already shown, and the state of the project when a session began
NOTED_S = 60 * DAY_S  # a session may be resumed after weeks, and must not see the same message twice
CLAIMS, CLAIMED_S = "claims", 60.0  # keep hooks that run at the same moment from repeating each other
MOST_ROUNDS = 5  # hooks may post while we work; a later one starts its own capture

# Seconds to wait after the first, second, … failed try. After the last one the session is not retried.
WAITS_S = (60.0, 5 * 60.0, 30 * 60.0, 4 * 3600.0)
MOST_TRIES = len(WAITS_S) + 1
DIED = "reading it did not finish"

# Hosts that do not announce the end of a headless run: they are watched for a moment after each answer.
UNANNOUNCED = frozenset(("qwen",))
WATCHED_S = 30.0
# Hosts that buffer their transcript and keep writing after they have announced the end of a session.
LATE = frozenset(("copilot",))
LATE_S = 10.0
# Hosts that may write the last answer to the transcript after they have called the stop hook.
ANSWERS_LATE = frozenset(("claude-code", "copilot"))
ANSWER_S = 3.0


class Captured(Struct):
    """The result of a capture: sessions that ended, sessions that are still running, and problems."""

    ended: list[str] = []
    going_on: list[str] = []
    problems: list[str] = []

    def add(self, other: Captured) -> None:
        self.ended += other.ended
        self.going_on += other.going_on
        self.problems += other.problems

    @contextmanager
    def noting_problems(self) -> Iterator[None]:
        """Wraps optional work: if it fails, the problem is noted and the capture continues."""
        try:
            yield
        except HoldfastError as error:
            self.problems.append(error.line())


def capture(machine: Machine, project: Project) -> Captured:
    """Empties the inbox under a lock, then prepares the hooks' file."""
    with opened_once(), CaptureStore.kept_open(project.capture):
        return _capture(machine, project)


def _capture(machine: Machine, project: Project) -> Captured:
    done = Captured()
    if not switches_of(project).enabled:
        return done
    folder = project.memory / "inbox"
    done.problems += keep_remembered(machine, project)
    with files.lock(project.lock("capture"), timeout=LOCK_S):
        inbox.sweep(folder)
        for notes in NOTES:
            inbox.sweep_aged(project.memory / notes, NOTED_S)
        inbox.sweep_aged(project.memory / CLAIMS, CLAIMED_S)
        for fault in inbox.faults(project.memory):
            if _is_due(machine, fault):
                inbox.take_back(project.memory, fault.host, fault.session)
        seen: set[Path] = set()
        for _ in range(MOST_ROUNDS):
            envelopes, broken = inbox.envelopes(folder)
            inbox.remove(broken)
            done.problems += [f"{path.name}: not an envelope" for path in broken]
            new = {envelope.path for envelope in envelopes} - seen
            if not new:
                break
            seen |= new
            for group in inbox.by_session([envelope for envelope in envelopes if not envelope.remember]):
                if any(envelope.path in new for envelope in group):
                    _capture_session(machine, project, group, done)
        prepare(machine, project)
        with done.noting_problems():  # search updates the index itself if this fails
            from holdfast.briefing.index import update_index

            done.problems += update_index(machine, project).problems
    with done.noting_problems():  # outside the lock: no other process waits for it
        from holdfast.flows.repo_scan import keep_fresh

        keep_fresh(machine, project)
    return done


def catch_up(machine: Machine, project: Project) -> None:
    """Captures sessions that ended without a hook, for commands. Running sessions are left to their own hooks."""
    lasts = last_envelopes(project.memory)
    if not why_silent(machine, project, project.root) and any(_has_ended(machine, last) for last in lasts):
        capture(machine, project)


def _has_ended(machine: Machine, last: Envelope) -> bool:
    return last.event == "SessionEnd" or not _alive(machine, last)


def _capture_session(machine: Machine, project: Project, group: Sequence[Envelope], done: Captured) -> None:
    """Captures one session by its envelopes, oldest first."""
    last = group[-1]
    off, _ = switches_of(project).at(Path(last.cwd or project.root))
    if off or machine.settings().excludes(last.cwd, machine.user_home):
        inbox.remove(envelope.path for envelope in group)
        return
    ended = _has_ended(machine, last)
    attempt = _begin_attempt(machine, project, group)
    if attempt is None:
        return  # it failed before, and the next try is not due yet
    try:
        _read_session(machine, project, group, done, ended=ended)
    except TranscriptError as error:
        done.problems.append(error.line())  # retrying would not help: there is nothing to read
    except HoldfastError as error:
        done.problems.append(error.line())
        inbox.forget_fault(project.memory, attempt)
        return  # the disk, a lock, a format: the next capture tries again
    except Exception as error:  # a fault in one session must not block the others
        problem = machine.clean(f"{type(error).__name__}: {error}")
        done.problems.append(f"{last.path.name}: {problem}")
        inbox.note_fault(project.memory, replace(attempt, problem=problem, version=version()))
        inbox.put_aside(project.memory, group)
        return
    inbox.clear_session(project.memory, attempt.host, attempt.session)
    (done.ended if ended else done.going_on).append(last.session)
    # The last envelope of a running session stays: it reveals the end if the host never announces it.
    inbox.remove(envelope.path for envelope in (group if ended else group[:-1]))


def _read_session(
    machine: Machine, project: Project, group: Sequence[Envelope], done: Captured, *, ended: bool
) -> None:
    last = group[-1]
    # Some hosts name the transcript in only one of their events.
    newest = group[::-1]
    transcript = next((envelope.transcript for envelope in newest if envelope.transcript), "")
    headless = next((envelope.headless for envelope in newest if envelope.headless is not None), None)
    sources = [
        replace(source, headless=headless)
        for source in locate_session(machine, project, last.host, last.session, transcript)
    ]
    if sources and ended:
        _mark_pending(project, [source.key for source in sources])
    if sources:
        import_sources(machine, project, TranscriptSearch(sources), rows=ended, prepares=False)
    if sources and ended:
        with done.noting_problems():  # a failure here must not cost the session its row
            from holdfast.flows.payback import pay_back

            pay_back(machine, project, last.session, sources[0])


def _mark_pending(project: Project, keys: Sequence[str]) -> None:
    """Marks sessions that were already read to the last line, so that their rows are written."""
    if not project.capture.exists():
        return
    store = CaptureStore(project.capture)
    try:
        stamps = store.stamps()
        sessions = [stamps[key][1] for key in keys if key in stamps and stamps[key][1]]
        if sessions:
            with store.transaction():
                for session in sessions:
                    store.mark_pending(session)
    finally:
        store.close()


# --- retries ---------------------------------------------------------------------------------------------


def _begin_attempt(machine: Machine, project: Project, group: Sequence[Envelope]) -> Fault | None:
    """Records the attempt first, in case reading the session kills the process. None if a retry is not due yet."""
    last = group[-1]
    previous = inbox.fault_of(project.memory, last.host, last.session)
    if previous is not None and not _is_due(machine, previous):
        inbox.put_aside(project.memory, group)
        return None
    tries = previous.tries if previous is not None and not _is_of_another_version(previous) else 0
    fault = Fault(host=last.host, session=last.session, tries=tries + 1, at=machine.now().timestamp())
    inbox.note_fault(project.memory, fault)
    return fault


def retry_all(project: Project) -> None:
    """Makes the next capture retry every session that could not be read."""
    for fault in inbox.faults(project.memory):
        inbox.take_back(project.memory, fault.host, fault.session)
        inbox.forget_fault(project.memory, fault)


def describe_fault(fault: Fault) -> str:
    """One line for `doctor`."""
    times = "once" if fault.tries == 1 else f"{fault.tries} times"
    session = f"session {short_session(fault.session)} of {fault.host}"
    problem = f"{session} could not be read, tried {times}: {fault.problem or DIED}"
    if is_given_up(fault):
        return f"{problem}. It was set aside; holdfast doctor --fix tries again."
    later = datetime.fromtimestamp(fault.at + WAITS_S[fault.tries - 1], UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{problem}. It will be tried again after {later}, or by holdfast doctor --fix."


def is_given_up(fault: Fault) -> bool:
    return fault.tries >= MOST_TRIES


def _is_due(machine: Machine, fault: Fault) -> bool:
    if _is_of_another_version(fault):
        return True
    if is_given_up(fault):
        return False
    if not fault.problem and fault.tries == 1:
        return True  # the process was killed from outside, for example by a shutdown
    passed = machine.now().timestamp() - fault.at
    return not 0 <= passed < WAITS_S[fault.tries - 1]


def _is_of_another_version(fault: Fault) -> bool:
    """Whether the fault comes from another version of holdfast: this one may succeed."""
    return bool(fault.version) and fault.version != version()


def version() -> str:
    """The installed version. Slow to look up, so only called after a fault."""
    from importlib import metadata

    try:
        return metadata.version("holdfast")
    except metadata.PackageNotFoundError:
        return ""


# --- waiting for hosts that keep writing after they have called a hook -------------------------------------


def has_left(project: Project) -> bool:
    """Waits a moment for hosts that do not announce their end. Returns whether one of them has exited."""
    end = time.monotonic() + WATCHED_S
    waiting = [last for last in last_envelopes(project.memory) if _is_unannounced(last)]
    while waiting and time.monotonic() < end:
        if not all(runs(envelope.process) for envelope in waiting):
            return True
        time.sleep(0.1)
        # A host that answers again has a newer envelope, and another process watches that one.
        waiting = [envelope for envelope in waiting if envelope.path.exists()]
    return False


def has_written_on(machine: Machine, project: Project) -> bool:
    """Waits a moment for late answers. Returns whether a transcript has grown since it was read."""
    while True:
        # A host that answers again has a newer envelope, and another process waits for that one.
        stopped = [
            last
            for last in last_envelopes(project.memory)
            if last.host in ANSWERS_LATE and last.event == "Stop"
        ]
        if _has_grown([last.transcript for last in stopped if last.transcript], project):
            return True
        now = machine.now().timestamp()
        if not any(0 <= now - last.time < ANSWER_S and os.path.isfile(last.transcript) for last in stopped):
            return False
        time.sleep(0.2)


def _has_grown(transcripts: Sequence[str], project: Project) -> bool:
    stamps = known_stamps(project) if transcripts else {}
    for path in transcripts:
        stamp = stamps.get(path_text(os.path.realpath(path)))
        try:
            status = os.stat(path)
        except OSError:
            continue
        if stamp is not None and stamp != (status.st_size, status.st_mtime_ns):
            return True
    return False


def await_last_lines(project: Project) -> None:
    """Waits a moment until a host has written the last lines of an ended session."""
    end = time.monotonic() + LATE_S
    while _is_still_written(project) and time.monotonic() < end:
        time.sleep(0.05)


def _is_still_written(project: Project) -> bool:
    lasts = last_envelopes(project.memory)
    # A process that has started another session in the meantime does not exit.
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


def _is_unannounced(last: Envelope) -> bool:
    """Whether its host exits without announcing it. A host at a terminal keeps running, and announces its end."""
    if last.host not in UNANNOUNCED or last.event != "Stop" or not last.process or os.name == "nt":
        return False
    try:
        return not os.readlink(f"/proc/{last.process}/fd/0").startswith(("/dev/pts/", "/dev/tty"))
    except OSError:
        return True
