"""Does what hooks left in the inbox: brings memory up to date, writes the row of what has ended, prepares anew.

A session that goes on is read, and no row is written. Its row comes once: when it ends, or when it was killed
and the next hook finds its envelope. An envelope goes only after its work is done, so a capture that dies is
done again by the next one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
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
from holdfast.flows.find_transcripts import Found, Search, located
from holdfast.flows.import_sessions import import_found, known_stamps
from holdfast.guard.hidden_text import path_text
from holdfast.sessions.store import CaptureStore
from holdfast.store import inbox
from holdfast.store.inbox import (
    Envelope,
    Fault,
    by_session,
    clear,
    envelopes,
    forget_fault,
    remove,
    sweep,
    sweep_aged,
)
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.switches import switches_of

# Whether a session that could not be read is tried again: soon, then seldom, then only when somebody asks for
# it.

# Until the next try, after the first, second, … one that failed. After the last it is left alone.
WAITS_S = (60.0, 5 * 60.0, 30 * 60.0, 4 * 3600.0)
MOST_TRIES = len(WAITS_S) + 1
DIED = "its reading did not come to an end"


def bring_back_due(machine: Machine, project: Project) -> None:
    """Puts what is worth another try into the inbox again."""
    for fault in inbox.faults(project.memory):
        if _is_due(machine, fault):
            inbox.take_back(project.memory, fault.host, fault.session)


def begin(machine: Machine, project: Project, group: Sequence[Envelope]) -> Fault | None:
    """Notes that a session is about to be read, should that be the end of us; None where it is not its time yet."""
    last = group[-1]
    before = inbox.fault_of(project.memory, last.host, last.session)
    if before is not None and not _is_due(machine, before):
        inbox.put_aside(project.memory, group)
        return None
    tries = before.tries if before is not None and not _is_of_another(before) else 0
    fault = Fault(host=last.host, session=last.session, tries=tries + 1, at=machine.now().timestamp())
    inbox.note(project.memory, fault)
    return fault


def fail(project: Project, fault: Fault, problem: str, group: Sequence[Envelope]) -> None:
    inbox.note(project.memory, replace(fault, problem=problem, version=version()))
    inbox.put_aside(project.memory, group)


def try_again(project: Project) -> int:
    """Everything that was set aside is tried by the next capture; how many sessions there are."""
    every = inbox.faults(project.memory)
    for fault in every:
        inbox.take_back(project.memory, fault.host, fault.session)
        inbox.forget_fault(project.memory, fault)
    return len(every)


def said_of(fault: Fault) -> str:
    """One line for `doctor`."""
    times = "once" if fault.tries == 1 else f"{fault.tries} times"
    what = f"session {fault.session[:8]} of {fault.host} could not be read, tried {times}: {fault.problem or DIED}"
    if given_up(fault):
        return f"{what}. It is set aside; holdfast doctor --fix tries again."
    later = datetime.fromtimestamp(fault.at + WAITS_S[fault.tries - 1], UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{what}. It is tried again after {later}, or by holdfast doctor --fix."


def given_up(fault: Fault) -> bool:
    return fault.tries >= MOST_TRIES


def _is_due(machine: Machine, fault: Fault) -> bool:
    if _is_of_another(fault):
        return True
    if given_up(fault):
        return False
    if not fault.problem and fault.tries == 1:
        return True  # whoever read it was ended from outside, as by a machine that is switched off
    passed = machine.now().timestamp() - fault.at
    return not 0 <= passed < WAITS_S[fault.tries - 1]


def _is_of_another(fault: Fault) -> bool:
    """Whether another holdfast failed, where this one may not."""
    return bool(fault.version) and fault.version != version()


def version() -> str:
    """Asked for only where something has failed: it takes a while to find out."""
    from importlib import metadata

    try:
        return metadata.version("holdfast")
    except metadata.PackageNotFoundError:
        return ""


LOCK_S = 60.0
NOTES = ("said", "seen")  # what hooks told a person once, and how things stood when a session began
NOTED_S = 60 * DAY_S  # a session may be resumed after weeks, and is not told again what it was told
CLAIMS, CLAIMED_S = "claims", 60.0  # what hooks said at the same moment: of use for seconds
MOST_ROUNDS = 5  # hooks may post while we work; whoever comes later starts a capture of their own


class Captured(Struct):
    """What a capture did: sessions that ended, sessions that go on, and what went wrong."""

    ended: list[str] = []
    going_on: list[str] = []
    problems: list[str] = []

    def add(self, other: Captured) -> None:
        self.ended += other.ended
        self.going_on += other.going_on
        self.problems += other.problems


def capture(machine: Machine, project: Project) -> Captured:
    """Empties the inbox under a lock, then prepares the hooks' file."""
    with opened_once(), CaptureStore.kept_open(project.capture):
        return _capture(machine, project)


def _capture(machine: Machine, project: Project) -> Captured:
    done = Captured()
    if not switches_of(project).enabled:
        return done
    inbox = project.memory / "inbox"
    with files.lock(project.lock("capture"), timeout=LOCK_S):
        sweep(inbox)
        for notes in NOTES:
            sweep_aged(project.memory / notes, NOTED_S)
        sweep_aged(project.memory / CLAIMS, CLAIMED_S)
        bring_back_due(machine, project)
        seen: set[Path] = set()
        for _ in range(MOST_ROUNDS):
            letters, broken = envelopes(inbox)
            remove(broken)
            done.problems += [f"{path.name}: not an envelope" for path in broken]
            new = [letter for letter in letters if letter.path not in seen]
            if not new:
                break
            seen.update(letter.path for letter in letters)
            for group in by_session(letters):
                if any(letter in new for letter in group):
                    _take(machine, project, group, done)
        prepare(machine, project)
        _index(machine, project, done)
    _know(machine, project, done)
    return done


def _index(machine: Machine, project: Project, done: Captured) -> None:
    """What was captured is found at once. Search does without: it brings the index up to date itself."""
    from holdfast.briefing.index import update_index

    try:
        done.problems += update_index(machine, project).problems
    except HoldfastError as error:
        done.problems.append(error.line())


def _know(machine: Machine, project: Project, done: Captured) -> None:
    """A look at what changed in the checkout; outside the lock, for nobody waits for it."""
    from holdfast.flows.repo_scan import keep_fresh

    try:
        keep_fresh(machine, project)
    except HoldfastError as error:
        done.problems.append(error.line())


def catch_up(machine: Machine, project: Project) -> None:
    """Captures sessions that ended without a word, for commands. What goes on is left to its own hooks."""
    letters, _ = envelopes(project.memory / "inbox")
    if why_silent(machine, project, project.root):
        return
    lasts = [group[-1] for group in by_session(letters)]
    if any(last.event == "SessionEnd" or not _alive(machine, last) for last in lasts):
        capture(machine, project)


def _take(machine: Machine, project: Project, group: Sequence[Envelope], done: Captured) -> None:
    """The envelopes of one session, oldest first."""
    last = group[-1]
    off, _ = switches_of(project).at(Path(last.cwd or project.root))
    if off or machine.settings().excludes(last.cwd, machine.user_home):
        remove(letter.path for letter in group)
        return
    ended = last.event == "SessionEnd" or not _alive(machine, last)
    attempt = begin(machine, project, group)
    if attempt is None:
        return  # it failed before, and it is not time to try again
    # Some hosts say where a session is written only at one of their events.
    transcript = next((letter.transcript for letter in reversed(group) if letter.transcript), "")
    try:
        found = located(machine, project, last.host, last.session, transcript)
        headless = next((letter.headless for letter in reversed(group) if letter.headless is not None), None)
        found = [replace(item, headless=headless) for item in found]
        if found and ended:
            _finish(machine, project, found)
            _pay_back(machine, project, last.session, found[0], done)
        elif found:
            import_found(machine, project, Search(found), rows=False, prepares=False)
    except TranscriptError as error:
        done.problems.append(error.line())  # nothing to read there now, and nothing later
    except HoldfastError as error:
        done.problems.append(error.line())
        forget_fault(project.memory, attempt)
        return  # the disk, a lock, a format: the next capture tries again
    except Exception as error:  # a fault in reading one session must not keep all others from ever being read
        problem = machine.clean(f"{type(error).__name__}: {error}")
        done.problems.append(f"{last.path.name}: {problem}")
        fail(project, attempt, problem, group)
        return
    clear(project.memory, attempt.host, attempt.session)
    (done.ended if ended else done.going_on).append(last.session)
    # One stays while the session goes on, so that its end is noticed should it never be announced.
    remove(letter.path for letter in (group if ended else group[:-1]))


def _pay_back(machine: Machine, project: Project, session: str, item: Found, done: Captured) -> None:
    """What its lessons brought. Not worth a session's row: where it cannot be counted, it is not."""
    from holdfast.flows.payback import pay_back

    try:
        pay_back(machine, project, session, item)
    except HoldfastError as error:
        done.problems.append(error.line())


def _finish(machine: Machine, project: Project, found: Sequence[Found]) -> None:
    """Reads the rest and writes the row, which a session that was read to its last line is marked for first."""
    if project.capture.exists():
        store = CaptureStore(project.capture)
        try:
            stamps = store.stamps()
            known = [stamps[item.key][1] for item in found if item.key in stamps and stamps[item.key][1]]
            if known:
                with store.transaction():
                    for session in known:
                        store.mark_pending(session)
        finally:
            store.close()
    import_found(machine, project, Search(list(found)), prepares=False)


# What hosts do after they have called a hook: some go without a word, others write on what they said was
# done.

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
