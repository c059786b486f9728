"""What each lesson is to this user now: candidate, active, muted, rejected or not trusted; and which of them count."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.fence import imitates
from holdfast.core.place import is_checkout
from holdfast.lessons.fingerprint import Changed, Checked, Missing, Renamed, Same, Stamp, Verdict, check, take
from holdfast.lessons.notes import Payback, Record
from holdfast.lessons.proposals import Proposed, united
from holdfast.lessons.store import Found, LessonStore, Place, Shelf
from holdfast.model.lesson import Fingerprint, Lesson, Scope, State
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.snapshots import keep_snapshot
from holdfast.store.versions import new_group

_DAY_S = 86_400.0
PROVEN_BY_CALLS = frozenset(
    ["command", "stumble", "pitfall", "convention"]
)  # a correction is words, perhaps pasted ones
_SCOPES: dict[Place, Scope] = {
    "personal": "personal",
    "local": "local",
    "candidates": "local",
    "shared": "shared",
}


class Seen(Struct, frozen=True, kw_only=True):
    """A lesson where it lies, and what holds for it. `due` are rules of a candidate that count already."""

    found: Found
    place: Place
    state: State
    payback: Payback = Payback()
    muted_until: float | None = None
    active_at: float | None = None
    due: tuple[str, ...] = ()
    own: bool = True  # learned or written here; a shared one: written by this machine
    drift: tuple[str, ...] = ()  # what changed of what it depends on
    changed: bool = False  # it was trusted once, and is not what was agreed to

    @property
    def lesson(self) -> Lesson:
        return self.found.lesson

    @property
    def scope(self) -> Scope:
        return _SCOPES[self.place]


class Counts(NamedTuple):
    """A lesson that counts here and now."""

    lesson: Lesson
    scope: Scope
    state: State


def lesson_store(machine: Machine, project: Project, group: str = "") -> LessonStore:
    return LessonStore(project, clock=lambda: machine.now().timestamp(), group=group)


def alike(one: str, other: str) -> bool:
    """Whether two rules say the same."""
    from holdfast.lessons.rules import same_rule

    return same_rule(one, other)


def active_lessons(machine: Machine, project: Project) -> list[Counts]:
    """The lessons that count: none that is muted, rejected, stale or not agreed to. The nearest of a name wins."""
    return counting(looked_at(machine, project, lesson_store(machine, project).read()))


def looked_at(machine: Machine, project: Project, shelf: Shelf) -> list[Seen]:
    """Every lesson, with those marked stale whose repository is no longer as it was when they were learned.

    A file without digests is held against what was there when it was first looked at.
    """
    seen = states(machine, project, shelf)
    depending = [one for one in seen if one.state in ("active", "candidate") and one.lesson.fingerprint]
    if not depending or _is_elsewhere(project):
        return seen

    wanted = [shelf.record.against(one.lesson) for one in depending]
    verdicts = iter(
        check_fingerprints(machine, project, [item for items in wanted for item in items]).verdicts
    )
    drifts: dict[int, list[Verdict]] = {}
    first: dict[str, dict[str, str]] = {}
    for one, items in zip(depending, wanted, strict=True):
        drifts[id(one)] = [next(verdicts) for _ in items]
        for item, verdict in zip(items, drifts[id(one)], strict=True):
            if not item.digest and (digest := getattr(verdict, "digest", "")):
                first.setdefault(one.lesson.id, {})[item.target] = digest
    if first:
        lesson_store(machine, project).mark_looked_at(first)
    return [_with_drift(one, drifts[id(one)]) if id(one) in drifts else one for one in seen]


def _is_elsewhere(project: Project) -> bool:
    """Sessions were imported into an empty folder: there is nothing here that could have changed."""
    return not is_checkout(project.root) and not (project.root / ".git").exists()


def _with_drift(one: Seen, verdicts: list[Verdict]) -> Seen:
    drift = tuple(filter(None, map(drifted, verdicts)))
    return replace(one, state="stale", due=(), drift=drift) if drift else one


def drifted(verdict: Verdict) -> str:
    """What changed of one thing, in a line; '' when nothing did."""
    if isinstance(verdict, Same):
        return ""
    if isinstance(verdict, Changed | Missing):
        what = "changed" if isinstance(verdict, Changed) else "is not there"
        return f"{verdict.target} {what}" + (f": {verdict.what}" if verdict.what else "")
    if isinstance(verdict, Renamed):
        return "" if verdict.same else f"{verdict.target} is now {verdict.to} and changed"
    return f"{verdict.target} cannot be read: {verdict.why}"


def counting(seen: list[Seen]) -> list[Counts]:
    by_name: dict[str, Counts] = {}
    # A later one of the same name takes the place of an earlier one.
    order: tuple[Callable[[Seen], bool], ...] = (
        lambda one: one.place == "personal",
        lambda one: one.place == "shared" and one.own,
        lambda one: one.place == "local",
        lambda one: one.place == "shared" and not one.own,
    )
    active = [one for one in seen if one.state == "active"]
    for wanted in order:
        for one in filter(wanted, active):
            by_name[one.lesson.name] = Counts(one.lesson, one.scope, "active")
    for one in seen:
        if one.due:
            known, due = by_name.get(one.lesson.name), replace(one.lesson, rules=one.due)
            lesson = united(known.lesson, due) if known else due
            by_name[one.lesson.name] = Counts(lesson, known.scope if known else "local", "active")
    return sorted(by_name.values(), key=lambda one: one.lesson.name)


def states(machine: Machine, project: Project, shelf: Shelf) -> list[Seen]:
    """Every lesson there is, candidates first."""
    return [*_candidates(machine, shelf), *_kept(machine, shelf), *_shared(machine, shelf)]


def _candidates(machine: Machine, shelf: Shelf) -> Iterator[Seen]:
    now = machine.now().timestamp()
    is_rejected, clock = _rejection(shelf), _Clock(machine, shelf.record)
    for found in shelf.candidates.lessons:
        lesson, name = found.lesson, found.lesson.name
        due = clock.due(lesson)
        state: State = "active" if len(due) == len(lesson.rules) else "candidate"
        if shelf.choices.is_muted(name, now):
            state = "muted"
        elif is_rejected(lesson):
            state = "rejected"
        yield replace(
            _seen(shelf, found, "candidates", state),
            due=due if state in ("active", "candidate") else (),
            active_at=clock.last(lesson),
            own=clock.is_own(lesson),
        )


def _seen(shelf: Shelf, found: Found, place: Place, state: State) -> Seen:
    name = found.lesson.name
    payback, until = shelf.record.payback.get(name, Payback()), shelf.choices.muted.get(name)
    return Seen(found=found, place=place, state=state, payback=payback, muted_until=until)


class _Clock:
    """When rules that sessions here taught become active by themselves: after some days, or seen often enough."""

    def __init__(self, machine: Machine, record: Record) -> None:
        settings = machine.settings()
        self._days, self._often = settings.lessons_promote_days, settings.lessons_promote_sessions
        self._now = machine.now().timestamp()
        self._record = record

    def is_own(self, lesson: Lesson) -> bool:
        return all(map(self._record.seen_in, lesson.rules))

    def due(self, lesson: Lesson) -> tuple[str, ...]:
        proven = lesson.kind in PROVEN_BY_CALLS
        return tuple(
            rule for rule in lesson.rules if self._is_due(rule, proven=proven, waits=not lesson.seldom)
        )

    def _is_due(self, rule: str, *, proven: bool, waits: bool) -> bool:
        """What calls prove counts once it is seen often enough; words only after somebody was shown them."""
        seen, at = self._record.seen_in(rule), self._at(rule) if waits else None
        known = proven or self._record.shown_at(rule) is not None
        return seen > 0 and ((at is not None and at <= self._now) or (known and 0 < self._often <= seen))

    def last(self, lesson: Lesson) -> float | None:
        """When all its rules will be active; None when one of them never will be by itself."""
        moments = [None if lesson.seldom else self._at(rule) for rule in lesson.rules]
        known = [at for at in moments if at is not None]
        return max(known) if known and len(known) == len(moments) else None

    def _at(self, rule: str) -> float | None:
        shown = self._record.shown_at(rule) if self._days and self._record.seen_in(rule) else None
        return None if shown is None else shown + self._days * _DAY_S


def _kept(machine: Machine, shelf: Shelf) -> Iterator[Seen]:
    now = machine.now().timestamp()
    places: tuple[Place, ...] = ("local", "personal")
    for place in places:
        for found in shelf.folder(place).lessons:
            muted = shelf.choices.is_muted(found.lesson.name, now)
            yield _seen(shelf, found, place, "muted" if muted else "active")


def _shared(machine: Machine, shelf: Shelf) -> Iterator[Seen]:
    """What came through git counts only once its content was agreed to, or when this machine wrote it."""
    now = machine.now().timestamp()
    is_rejected = _rejection(shelf)
    for found in shelf.shared.lessons:
        name = found.lesson.name
        given = shelf.trust.given(name, found.data)
        state: State = "active" if given else "untrusted"
        if is_rejected(found.lesson):
            state = "rejected"
        elif given and shelf.choices.is_muted(name, now):
            state = "muted"
        yield replace(
            _seen(shelf, found, "shared", state),
            own=given is not None and given.by == "share",
            changed=given is None and shelf.trust.ever(name),
        )


def _rejection(shelf: Shelf) -> Callable[[Lesson], bool]:
    """Whether everything that a lesson says was rejected, in these or other words."""
    rejected = shelf.choices.rejected_rules()
    exact = set(rejected)

    def is_rejected(lesson: Lesson) -> bool:
        return bool(rejected) and all(
            rule in exact or any(alike(one, rule) for one in rejected) for rule in lesson.rules
        )

    return is_rejected


_OFTEN_ENOUGH = 10  # told that often, a lesson has had its chance


def pays(payback: Payback) -> bool | None:
    """Whether a lesson is worth its tokens; None where it was not told often enough to say."""
    if payback.contradicted > payback.used:
        return False
    if payback.used:
        return True
    return False if payback.injected >= _OFTEN_ENOUGH else None


# Checks what lessons depend on in a work tree, and remembers what was seen so that the next look is cheap.

MOST_STAMPS = 5_000
_STAMPS = msgspec.json.Decoder(dict[str, Stamp])


def check_fingerprints(machine: Machine, project: Project, fingerprints: Iterable[Fingerprint]) -> Checked:
    """Verdicts in order, and the stamps of these targets. Stamps are derived: without them it only takes longer."""
    wanted = list(fingerprints)
    known = known_stamps(project)
    checked = check(project.root, wanted, known, now=machine.now().timestamp(), clean=machine.clean)
    looked_at = {item.target for item in wanted}
    others = {target: stamp for target, stamp in known.items() if target not in looked_at}
    kept = dict(list({**checked.stamps, **others}.items())[:MOST_STAMPS])
    if kept != known:
        try:
            keep_snapshot(project.memory, _file_name(project), msgspec.json.encode(kept))
        except (StoreError, OSError):
            pass  # a full disk makes the next look slower, not this one wrong
    return checked


def known_stamps(project: Project) -> dict[str, Stamp]:
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
    store = lesson_store(machine, project, group or new_group())
    return store.propose(cleaned, alike, lambda target: digest_of(machine, project, target))


def digest_of(machine: Machine, project: Project, target: str) -> str:
    """What is there now of something that a lesson depends on; '' where there is nothing."""
    found = take(project.root, target, clean=machine.clean)
    return found.digest if isinstance(found, Fingerprint) else ""


def clean(machine: Machine, lesson: Lesson) -> Lesson:
    """A lesson as it may be stored: without secrets and private parts."""
    evidence = [replace(item, line=machine.clean(item.line)) for item in lesson.evidence]
    return replace(
        lesson,
        description=machine.clean(lesson.description),
        # What imitates our marks is looked at as it came: cleaned it may read like anybody's words.
        rules=tuple(
            rule for text in lesson.rules if not imitates(text) and (rule := machine.clean(text).strip())
        ),
        evidence=tuple(evidence),
    )
