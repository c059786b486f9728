"""Does what hooks left in the inbox: brings memory up to date, writes the row of what has ended, prepares anew.

A session that goes on is read, and no row is written. Its row comes once: when it ends, or when it was killed
and the next hook finds its envelope. An envelope goes only after its work is done, so a capture that dies is
done again by the next one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.explaining import why_silent
from holdfast.app.finding import Found, Search
from holdfast.app.importing import import_found
from holdfast.app.locating import located
from holdfast.app.preparing import prepare
from holdfast.app.switches import switches_of
from holdfast.app.trying import begin, bring_back_due, end, fail, forget_attempt
from holdfast.app.wiring import Machine
from holdfast.errors import HoldfastError, TranscriptError
from holdfast.hot.living import runs
from holdfast.store import files
from holdfast.store.capture import CaptureStore
from holdfast.store.inbox import Envelope, by_session, envelopes, remove, sweep, sweep_aged
from holdfast.store.layout import Project

QUIET_S = 30 * 60
DAY_S = 24 * 60 * 60
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
    from holdfast.app.indexing import update_index

    try:
        done.problems += update_index(machine, project).problems
    except HoldfastError as error:
        done.problems.append(error.line())


def _know(machine: Machine, project: Project, done: Captured) -> None:
    """A look at what changed in the checkout; outside the lock, for nobody waits for it."""
    from holdfast.app.knowing import keep_fresh

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


def going_on(machine: Machine, project: Project) -> list[str]:
    """Sessions of which hooks have left word, and not that they are over."""
    letters, _ = envelopes(project.memory / "inbox")
    lasts = [group[-1] for group in by_session(letters)]
    return [last.session for last in lasts if last.event != "SessionEnd" and _alive(machine, last)]


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
        forget_attempt(project, attempt)
        return  # the disk, a lock, a format: the next capture tries again
    except Exception as error:  # a fault in reading one session must not keep all others from ever being read
        problem = machine.clean(f"{type(error).__name__}: {error}")
        done.problems.append(f"{last.path.name}: {problem}")
        fail(project, attempt, problem, group)
        return
    end(project, attempt)
    (done.ended if ended else done.going_on).append(last.session)
    # One stays while the session goes on, so that its end is noticed should it never be announced.
    remove(letter.path for letter in (group if ended else group[:-1]))


def _pay_back(machine: Machine, project: Project, session: str, item: Found, done: Captured) -> None:
    """What its lessons brought. Not worth a session's row: where it cannot be counted, it is not."""
    from holdfast.app.payback import pay_back

    try:
        pay_back(machine, project, session, item)
    except HoldfastError as error:
        done.problems.append(error.line())


def _alive(machine: Machine, letter: Envelope) -> bool:
    """Whether the session may still go on: its process lives or, where that cannot be told, it was not quiet long."""
    try:
        changed = max(os.stat(letter.transcript).st_mtime, letter.time)
    except (OSError, ValueError):
        changed = letter.time
    quiet = machine.now().timestamp() - changed
    if not letter.process or os.name == "nt":
        return quiet < QUIET_S
    # Numbers are given again, so even a process that lives is believed for a day only.
    return runs(letter.process) and quiet < DAY_S


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
