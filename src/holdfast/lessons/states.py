"""Determines the state of each lesson for this user, and which lessons are active."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.fence import imitates
from holdfast.core.place import is_checkout
from holdfast.lessons.choices import Payback, Record
from holdfast.lessons.fingerprint import Changed, Checked, Missing, PlaceStamp, Renamed, Same, Verdict, check
from holdfast.lessons.proposals import Place, Proposed, united
from holdfast.lessons.store import LessonStore, Shelf, StoredLesson
from holdfast.model.lesson import Fingerprint, Lesson, Scope, State
from holdfast.model.memory import content_id
from holdfast.model.origin import Origin
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.snapshots import keep_snapshot
from holdfast.store.versions import new_group

MOST_STAMPS = 5_000
_STAMPS = msgspec.json.Decoder(dict[str, PlaceStamp])
_DAY_S = 86_400.0
_OFTEN_ENOUGH = 10  # injected this often, a lesson has had its chance
# Corrections are excluded: they are text, perhaps pasted.
PROVEN_BY_CALLS = frozenset(["command", "stumble", "pitfall", "convention"])


class LessonStatus(Struct, frozen=True, kw_only=True):
    """A stored lesson and its state. `due` are rules of a candidate that are already active."""

    stored: StoredLesson
    place: Place
    state: State
    payback: Payback = Payback()
    muted_until: float | None = None
    active_at: float | None = None
    due: tuple[str, ...] = ()
    own: bool = True  # learned or written here; for a shared lesson: written by this machine
    drift: tuple[str, ...] = ()  # changes in the files it depends on
    origin: Origin = "session"
    changed: bool = False  # the trusted version of this name had other content

    @property
    def lesson(self) -> Lesson:
        return self.stored.lesson

    @property
    def scope(self) -> Scope:
        return "local" if self.place == "candidates" else self.place


class ActiveLesson(NamedTuple):
    """A lesson that is active in this project."""

    lesson: Lesson
    scope: Scope


def lesson_store(machine: Machine, project: Project, group: str = "") -> LessonStore:
    return LessonStore(project, clock=lambda: machine.now().timestamp(), group=group)


def active_lessons(machine: Machine, project: Project) -> list[ActiveLesson]:
    """Return the active lessons: not muted, rejected, stale or untrusted. Of one name, the nearest wins."""
    return counting(looked_at(machine, project, lesson_store(machine, project).read()))


def looked_at(machine: Machine, project: Project, shelf: Shelf) -> list[LessonStatus]:
    """Return every lesson; a lesson is stale if the files it depends on changed since it was learned.

    A lesson without digests is compared with the digests of its first check.
    """
    lessons = states(machine, shelf)
    depending = {
        number: shelf.record.against(status.lesson)
        for number, status in enumerate(lessons)
        if status.state in ("active", "candidate") and status.lesson.fingerprint
    }
    if not depending or _is_elsewhere(project):
        return lessons
    items = [item for prints in depending.values() for item in prints]
    verdicts = iter(check_fingerprints(machine, project, items).verdicts)
    first: dict[str, dict[str, str]] = {}
    for number, prints in depending.items():
        status = lessons[number]
        pairs = [(item, next(verdicts)) for item in prints]
        for item, verdict in pairs:
            if not item.digest and (digest := getattr(verdict, "digest", "")):
                first.setdefault(status.lesson.id, {})[item.target] = digest
        if drift := tuple(filter(None, (drift_text(verdict) for _, verdict in pairs))):
            lessons[number] = replace(status, state="stale", due=(), drift=drift)
    if first:
        lesson_store(machine, project).mark_looked_at(first)
    return lessons


def _is_elsewhere(project: Project) -> bool:
    """Whether sessions were imported into an empty folder: then nothing can have changed."""
    return not is_checkout(project.root) and not (project.root / ".git").exists()


def drift_text(verdict: Verdict) -> str:
    """Describe the change of one target in a line; '' if it did not change."""
    match verdict:
        case Same() | Renamed(same=True):
            return ""
        case Changed() | Missing():
            change = "changed" if isinstance(verdict, Changed) else "is not there"
            return f"{verdict.target} {change}" + (f": {verdict.what}" if verdict.what else "")
        case Renamed():
            return f"{verdict.target} is now {verdict.to} and changed"
    return f"{verdict.target} cannot be read: {verdict.why}"


def counting(lessons: Sequence[LessonStatus]) -> list[ActiveLesson]:
    by_name: dict[str, ActiveLesson] = {}
    # A later lesson of the same name replaces an earlier one.
    order = [("personal", True), ("shared", True), ("local", True), ("shared", False)]
    active = [one for one in lessons if one.state == "active" and (one.place, one.own) in order]
    for one in sorted(active, key=lambda one: order.index((one.place, one.own))):
        by_name[one.lesson.name] = ActiveLesson(one.lesson, one.scope)
    for one in lessons:
        if one.due:
            known, due = by_name.get(one.lesson.name), replace(one.lesson, rules=one.due)
            lesson = united(known.lesson, due) if known else due
            by_name[one.lesson.name] = ActiveLesson(lesson, known.scope if known else "local")
    return sorted(by_name.values(), key=lambda one: one.lesson.name)


def states(machine: Machine, shelf: Shelf) -> list[LessonStatus]:
    """Return the state of every lesson, candidates first, by a person's choices, trust and what they have seen."""
    clock = _Clock(machine, shelf.record)
    places: tuple[Place, ...] = ("candidates", "local", "personal", "shared")
    return [_status(shelf, place, stored, clock) for place, stored in shelf.lessons(*places)]


def _status(shelf: Shelf, place: Place, stored: StoredLesson, clock: _Clock) -> LessonStatus:
    lesson, name, choices = stored.lesson, stored.lesson.name, shelf.choices
    approval = shelf.trust.given(name, stored.data) if place == "shared" else None
    due = clock.due(lesson) if place == "candidates" else ()
    state: State = "active"
    if place == "shared" and approval is None:
        state = "untrusted"  # a lesson from git is active once its content is trusted
    elif place == "candidates" and len(due) < len(lesson.rules):
        state = "candidate"
    is_rejected = place in ("candidates", "shared") and all(map(choices.rejects, lesson.rules))
    if is_rejected and place == "shared":
        state = "rejected"
    elif state != "untrusted" and choices.is_muted(name, clock.now):
        state = "muted"
    elif is_rejected:
        state = "rejected"
    own = place != "shared" or (approval is not None and approval.by == "share")
    return LessonStatus(
        stored=stored,
        place=place,
        state=state,
        payback=shelf.record.payback.get(name, Payback()),
        muted_until=choices.muted.get(name),
        active_at=clock.last(lesson) if place == "candidates" else None,
        due=due if state in ("active", "candidate") else (),
        own=own,
        origin=_origin(shelf, lesson, place, own=own),
        changed=place == "shared" and approval is None and shelf.trust.ever(name),
    )


def _origin(shelf: Shelf, lesson: Lesson, place: Place, *, own: bool) -> Origin:
    if place == "shared" and not own:
        return "git"
    ids = [content_id("L", rule) for rule in lesson.rules] if place != "personal" else []
    archive = shelf.origins.archive_of(*ids)
    if archive is not None:
        return archive.origin
    return "session" if lesson.sessions else "person"


class _Clock:
    """When rules that sessions here taught become active by themselves: after some days, or seen often enough."""

    def __init__(self, machine: Machine, record: Record) -> None:
        settings = machine.settings()
        self._days, self._often = settings.lessons_promote_days, settings.lessons_promote_sessions
        self.now = machine.now().timestamp()
        self._record = record

    def due(self, lesson: Lesson) -> tuple[str, ...]:
        return tuple(rule for rule in lesson.rules if self._is_due(rule, lesson))

    def _is_due(self, rule: str, lesson: Lesson) -> bool:
        """Rules that calls prove count once they are seen often enough; words only after they were shown."""
        seen, at = self._record.seen_in(rule), self._at(rule, lesson)
        known = lesson.kind in PROVEN_BY_CALLS or self._record.shown_at(rule) is not None
        return seen > 0 and ((at is not None and at <= self.now) or (known and 0 < self._often <= seen))

    def last(self, lesson: Lesson) -> float | None:
        """When all its rules will be active; None when one of them never will be by itself."""
        moments = [at for rule in lesson.rules if (at := self._at(rule, lesson)) is not None]
        return max(moments, default=None) if len(moments) == len(lesson.rules) else None

    def _at(self, rule: str, lesson: Lesson) -> float | None:
        waits = self._days and not lesson.seldom and self._record.seen_in(rule)
        shown = self._record.shown_at(rule) if waits else None
        return None if shown is None else shown + self._days * _DAY_S


def pays(payback: Payback) -> bool | None:
    """Whether a lesson is worth its tokens; None where it was not injected often enough to say."""
    if payback.contradicted > payback.used:
        return False
    if payback.used:
        return True
    return False if payback.injected >= _OFTEN_ENOUGH else None


def check_fingerprints(machine: Machine, project: Project, fingerprints: Iterable[Fingerprint]) -> Checked:
    """Verdicts in order, and the stamps of these targets. Stamps are derived: without them it only takes longer."""
    wanted = list(fingerprints)
    known = known_stamps(project)
    checked = check(project.root, wanted, known, now=machine.now().timestamp(), clean=machine.clean)
    targets = {item.target for item in wanted}
    others = {target: stamp for target, stamp in known.items() if target not in targets}
    kept = dict(list({**checked.stamps, **others}.items())[:MOST_STAMPS])
    if kept != known:
        with suppress(StoreError, OSError):  # a full disk makes the next look slower, not this one wrong
            keep_snapshot(project.memory, _file_name(project), msgspec.json.encode(kept))
    return checked


def known_stamps(project: Project) -> dict[str, PlaceStamp]:
    try:
        return _STAMPS.decode(files.read(project.memory / _file_name(project)) or b"{}")
    except (StoreError, OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _file_name(project: Project) -> str:
    """Worktrees share a memory, and each has its own files."""
    return f"stamps-{crc32(os.fsencode(project.root)):08x}.json"


def propose(machine: Machine, project: Project, lessons: Iterable[Lesson], group: str = "") -> Proposed:
    """Keeps what sessions on this machine taught: candidates, or evidence of what is known. One write, or none."""
    cleaned = [clean(machine, lesson) for lesson in lessons]
    if not any(lesson.rules for lesson in cleaned):
        return Proposed()
    return lesson_store(machine, project, group or new_group()).propose(cleaned)


def clean(machine: Machine, lesson: Lesson) -> Lesson:
    """A lesson as it may be stored: without secrets and private parts."""
    return replace(
        lesson,
        description=machine.clean(lesson.description),
        # A rule that imitates our marks is refused as it came: cleaned it may read like a person's words.
        rules=tuple(
            rule for text in lesson.rules if not imitates(text) and (rule := machine.clean(text).strip())
        ),
        evidence=tuple(replace(item, line=machine.clean(item.line)) for item in lesson.evidence),
    )
