"""Learns from sessions that an older holdfast read: their transcripts are read again for what they lived through.

The names that they wrote come with it. Nothing else of them changes: their rows, records and cursors stay as they are.
A transcript that is gone teaches nothing any more, and is not looked for again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.contract import Glance
from holdfast.agents.registry import importer_of
from holdfast.briefing.learning import learn, lived_here
from holdfast.core import files
from holdfast.core.errors import TranscriptError
from holdfast.flows.find_transcripts import Found
from holdfast.model.lesson import EXPERIENCE_FORMAT
from holdfast.sessions.store import CaptureStore, ClaimRun, Cursor
from holdfast.store.denied import Denied
from holdfast.store.machine import Machine
from holdfast.store.project import Project

Progress = Callable[[int, int, str], None]


class Relearned(Struct, kw_only=True):
    """How many sessions were behind, how many of them were read again, and of how many nothing is left to read."""

    behind: int = 0
    read: int = 0
    gone: int = 0
    lessons: int = 0


def behind(project: Project) -> int:
    """Sessions that were read by a holdfast that knew less of what can be learned from them."""
    return sum(session.experience.format < EXPERIENCE_FORMAT for session in lived_here(project))


def relearn(
    machine: Machine, project: Project, progress: Progress | None = None, *, everything: bool = False
) -> Relearned:
    """Reads those sessions again, or with `everything` all of them, and proposes what all sessions teach."""
    from holdfast.flows.lessons import read_lessons
    from holdfast.flows.refresh import refresh

    done = Relearned()
    if not project.capture.exists():
        return done
    before = {one.lesson.id for one in read_lessons(machine, project).lessons}
    with files.lock(project.lock("import")):
        store = CaptureStore(project.capture)
        try:
            _read_again(machine, project, store, done, progress or (lambda at, total, name: None), everything)
        finally:
            store.close()
    if done.behind:
        learn(machine, project)
        refresh(machine, project)
    done.lessons = sum(one.lesson.id not in before for one in read_lessons(machine, project).lessons)
    return done


def _read_again(
    machine: Machine,
    project: Project,
    store: CaptureStore,
    done: Relearned,
    progress: Progress,
    everything: bool,
) -> None:
    from holdfast.flows.distill import Conclusions

    denied = Denied(project.memory)
    conclusions = Conclusions(machine, project, denied)
    wanted = [
        record
        for record in store.all_records()
        if record.session not in denied.sessions
        and (everything or record.experience.format < EXPERIENCE_FORMAT)
    ]
    done.behind = len(wanted)
    cursors = {record.session: store.cursors_of(record.session) for record in wanted}
    total = sum(cursor.stamp.size for known in cursors.values() for cursor in known)
    at = 0
    for record in wanted:
        again: list[Cursor] = []
        for cursor in cursors[record.session]:
            progress(at, total, Path(cursor.path).name)
            again += _read_source(machine, store, cursor, denied)
            at += cursor.stamp.size
        concluded = conclusions.of(record.session, again) if again else None
        fresh = concluded[0] if concluded else record
        experience = replace(fresh.experience, format=EXPERIENCE_FORMAT)
        with store.transaction():
            # Also where nothing is left to read: nobody has to look again.
            store.put_record(replace(record, experience=experience, named=fresh.named))
        done.read += concluded is not None
        done.gone += concluded is None
    progress(total, total, "")


def _read_source(machine: Machine, store: CaptureStore, cursor: Cursor, denied: Denied) -> list[Cursor]:
    """One transcript, as far as its lines are its own; nothing when it is gone, or was never a file of its own."""
    from holdfast.flows.distill import read_source

    path, importer = Path(cursor.path), importer_of(cursor.agent)
    try:
        if importer is None or not path.is_file():
            return []
        status = path.stat()
        item = Found(path, importer, status.st_size, status.st_mtime_ns, Glance())
        claims = _AsClaimed(ClaimRun(store), cursor.id)
        return [read_source(machine, item, None, claims, cursor.id, lambda read: None, denied).cursor]
    except (OSError, TranscriptError):
        return []


class _AsClaimed:
    """Whose a line is, as it was settled when it was first read; nothing is claimed anew."""

    def __init__(self, run: ClaimRun, source: int) -> None:
        self._run, self._source = run, source
        self._seen: set[str] = set()

    def repeated(self, key: str) -> bool:
        if key in self._seen or self.foreign(key):
            return True
        self._seen.add(key)
        return False

    def foreign(self, key: str) -> bool:
        owner = self._run.stored_owner(key)
        return owner is not None and owner != self._source
