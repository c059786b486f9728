"""Keeps lessons up to date: refreshes stale ones, and reads sessions again that an older holdfast could not learn from.

A stale lesson is updated from the repository and from recent sessions, confirmed, or retired. Of a session that is read
again only its experience and the names that it wrote change: its row, record and cursor stay.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.contract import Glance
from holdfast.agents.registry import BY_AGENT
from holdfast.briefing.lesson_proposals import known_here, learn, lived_here
from holdfast.core import files
from holdfast.core.errors import TranscriptError
from holdfast.flows.find_transcripts import SessionSource
from holdfast.flows.lessons import pick, read_lessons
from holdfast.flows.refresh import refresh as prepare_again
from holdfast.lessons.fingerprint import Changed, Missing, Renamed, Same, Verdict
from holdfast.lessons.proposals import Place, same_rule, united
from holdfast.lessons.rules import learned, shown_again, since
from holdfast.lessons.states import (
    LessonStatus,
    check_fingerprints,
    clean,
    lesson_store,
    states,
)
from holdfast.lessons.store import Changes, Shelf
from holdfast.model.events import Lived
from holdfast.model.lesson import EXPERIENCE_FORMAT, PRESENT, Fingerprint, Lesson
from holdfast.sessions.claims import ClaimRun
from holdfast.sessions.store import CaptureStore, SourceCursor
from holdfast.store.denied import Denied
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.versions import new_group

ENOUGH_SESSIONS = 3  # since the change: a lesson that none of them met is over
OWN: tuple[Place, ...] = ("local", "candidates")
_SHORTEST_VALUE = 3
Progress = Callable[[int, int, str], None]


class Refreshed(NamedTuple):
    """What became of a stale lesson, and what showed it. `left`: only a person can tell whether it still holds."""

    lesson: Lesson
    done: Literal["rewritten", "kept", "retired", "left"]
    drift: tuple[str, ...]
    told_by: Literal["", "repository", "sessions", "person"] = ""


class Relearned(Struct, kw_only=True):
    """How many sessions were behind, how many of them were read again, and of how many nothing is left to read."""

    behind: int = 0
    read: int = 0
    gone: int = 0
    lessons: int = 0


def stale(machine: Machine, project: Project) -> list[LessonStatus]:
    """The lessons that are skipped because something they depend on has changed; `drift` says what."""
    return [one for one in read_lessons(machine, project).lessons if one.state == "stale"]


def refresh(
    machine: Machine, project: Project, names: Sequence[str] = (), *, keep: bool = False
) -> list[Refreshed]:
    """Brings stale lessons of this project up to date, those named or all; `keep`: they hold as they are."""
    found = [one for one in stale(machine, project) if one.place in OWN]
    chosen = [pick(found, name, OWN) for name in dict.fromkeys(names)] if names else found
    if not chosen:
        return []
    project.prepare()
    done: list[Refreshed] = []
    sessions = RecentSessions(machine, project)

    def change(shelf: Shelf) -> Changes:
        done.clear()
        changes, seen = Changes(), states(machine, shelf)
        for one in chosen:
            now = pick([other for other in seen if other.place == one.place], one.lesson.name, OWN)
            lesson = replace(now.lesson, fingerprint=shelf.record.against(now.lesson))
            others = {rule for other in seen if other.stored != now.stored for rule in other.lesson.rules}
            taken = {*others, *shelf.choices.rejected_rules()}
            result = _refreshed(machine, project, lesson, one.drift, None if keep else (sessions, taken))
            done.append(result)
            if result.done == "retired":
                changes.lessons[one.place, one.lesson.name] = None
            elif result.done != "left":
                changes.lessons[one.place, one.lesson.name] = result.lesson
                record = changes.record or shelf.record
                taught = zip(now.lesson.rules, result.lesson.rules, strict=False)
                changes.record = record.capture(
                    (new, result.lesson.sessions) for old, new in taught if old != new and record.seen_in(old)
                )
        return changes

    lesson_store(machine, project, new_group()).change(change, "lessons refresh")
    prepare_again(machine, project)
    return done


def _refreshed(
    machine: Machine,
    project: Project,
    lesson: Lesson,
    drift: tuple[str, ...],
    asked: tuple[RecentSessions, set[str]] | None,
) -> Refreshed:
    """Sessions since the change come first: they tried it. `asked` is None where a person said that it holds."""
    verdicts = check_fingerprints(machine, project, lesson.fingerprint).verdicts
    if asked is None:
        return Refreshed(_with_hashes(lesson, lesson.rules, verdicts), "kept", drift, "person")
    recent, taken = asked
    again, is_over = recent.rediscover(lesson, verdicts, taken)
    if again is not None:
        return Refreshed(again, _done(lesson, again), drift, "sessions")
    if all(isinstance(verdict, Missing) for verdict in verdicts):
        return Refreshed(lesson, "retired", drift, "repository")
    rules = _as_the_repository_says(lesson, verdicts)
    if rules is not None:
        new = _with_hashes(lesson, rules, verdicts)
        return Refreshed(new, _done(lesson, new), drift, "repository")
    if is_over:
        return Refreshed(lesson, "retired", drift, "sessions")
    return Refreshed(lesson, "left", drift)


class RecentSessions:
    """The sessions of a project, and what they show of lessons."""

    def __init__(self, machine: Machine, project: Project) -> None:
        self._machine, self._project = machine, project

    @cached_property
    def _lived(self) -> list[Lived]:
        return lived_here(self._project)

    def rediscover(
        self, lesson: Lesson, verdicts: Sequence[Verdict], taken: Collection[str]
    ) -> tuple[Lesson | None, bool]:
        """The lesson as sessions show it since the change, or None; and whether it is over.

        It is over when they had their chance to meet it and did not. `taken` are rules of other lessons, and rules
        that were rejected.
        """
        moment = max((self._changed_at(one) for one in verdicts if not isinstance(one, Same)), default=0.0)
        recent = since(self._lived, moment)
        if not recent or not moment:
            return None, False
        exists = known_here(self._project, self._lived, only_checkout=True)
        found = [shown_again(rule, recent, exists, taken) for rule in lesson.rules]
        again = [one for one in found if one is not None and not _unwanted(one, lesson, taken)]
        if len(again) == len(lesson.rules):
            return self._renewed(lesson, again), False
        gone = learned(recent, exists).contradicted
        begun = sum(1 for session in recent if (session.started or 0.0) >= moment)
        over = begun >= ENOUGH_SESSIONS or all(
            any(same_rule(rule, one) for one in gone) for rule in lesson.rules
        )
        # A lesson that a person wrote was never seen in sessions: that it is not seen now says nothing.
        return None, over and bool(lesson.sessions) and not again

    def _renewed(self, lesson: Lesson, again: Sequence[Lesson]) -> Lesson:
        new = lesson
        for one in again:
            new = united(new, replace(one, rules=(), fingerprint=()))
        digest_of = lesson_store(self._machine, self._project).digest_of
        wanted = {item.target: item.digest for one in again for item in one.fingerprint}
        prints = [
            Fingerprint(target=target, digest=wanted[target] or digest)
            for target in wanted
            if (digest := digest_of(target))
        ]
        rules = tuple(dict.fromkeys(one.rules[0] for one in again))
        renewed = clean(self._machine, replace(new, rules=rules))
        return replace(renewed, fingerprint=tuple(prints), captured_at=lesson.captured_at)

    def _changed_at(self, verdict: Verdict) -> float:
        """When it came to be as it is; of what is gone, when something last changed where it lay."""
        target = verdict.to if isinstance(verdict, Renamed) else verdict.target
        path = self._project.root / target.partition("#")[0].rstrip("/")
        while True:
            try:
                return os.stat(path).st_mtime
            except (OSError, ValueError):
                if path in (self._project.root, path.parent):
                    return 0.0
                path = path.parent


def _unwanted(one: Lesson, lesson: Lesson, taken: Collection[str]) -> bool:
    """Whether a new form is something that stands elsewhere, or was rejected; a lesson's own rule never is."""
    rule = one.rules[0]
    return rule not in lesson.rules and any(same_rule(rule, other) for other in taken)


def _done(before: Lesson, after: Lesson) -> Literal["rewritten", "kept"]:
    return "kept" if before.rules == after.rules else "rewritten"


def _with_hashes(lesson: Lesson, rules: Sequence[str], verdicts: Sequence[Verdict]) -> Lesson:
    prints = tuple(
        Fingerprint(
            target=verdict.to if isinstance(verdict, Renamed) else verdict.target,
            digest=PRESENT if was.digest == PRESENT else getattr(verdict, "digest", ""),
        )
        for was, verdict in zip(lesson.fingerprint, verdicts, strict=True)
        if not isinstance(verdict, Missing)
    )
    return replace(lesson, rules=tuple(rules), fingerprint=prints)


def _as_the_repository_says(lesson: Lesson, verdicts: Sequence[Verdict]) -> list[str] | None:
    """The rules with what changed put in its place; None where the repository alone does not tell."""
    rules = list(lesson.rules)
    for was_there, verdict in zip(lesson.fingerprint, verdicts, strict=True):
        before = list(rules)
        if isinstance(verdict, Renamed):
            to = verdict.to.partition("#")[0]
            rules = [rule.replace(verdict.target.partition("#")[0], to) for rule in rules]
            if not verdict.same and was_there.digest != PRESENT:
                return None
        elif isinstance(verdict, Changed):
            was, now = verdict.what.partition(" → ")[::2]
            if now and len(was) >= _SHORTEST_VALUE:
                rules = [rule.replace(was, now) for rule in rules]
            if rules == before and not _only_calls(lesson, verdict.target):
                return None
        elif isinstance(verdict, Missing):
            return None
    return rules


def _only_calls(lesson: Lesson, target: str) -> bool:
    """Whether a lesson names a task that is still defined: what the task does may change, its name is the lesson."""
    task = target.partition("#")[2].rpartition(".")[2]
    return lesson.kind == "command" and bool(task) and all(task in rule for rule in lesson.rules)


def behind(project: Project) -> int:
    """Sessions that were read by a holdfast that knew less of what can be learned from them."""
    return sum(session.experience.format < EXPERIENCE_FORMAT for session in lived_here(project))


def relearn(
    machine: Machine, project: Project, progress: Progress | None = None, *, everything: bool = False
) -> Relearned:
    """Reads those sessions again, or with `everything` all of them, and proposes what all sessions teach."""
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
        prepare_again(machine, project)
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
        again: list[SourceCursor] = []
        for cursor in cursors[record.session]:
            progress(at, total, Path(cursor.path).name)
            again += _read_source(machine, store, cursor, denied)
            at += cursor.stamp.size
        concluded = conclusions.of(record.session, again) if again else None
        fresh = concluded[0] if concluded else record
        experience = replace(fresh.experience, format=EXPERIENCE_FORMAT)
        with store.transaction():
            # Also where nothing is left to read, so that it is not looked for again.
            store.put_record(replace(record, experience=experience, named=fresh.named))
        done.read += concluded is not None
        done.gone += concluded is None
    progress(total, total, "")


def _read_source(
    machine: Machine, store: CaptureStore, cursor: SourceCursor, denied: Denied
) -> list[SourceCursor]:
    """One transcript, as far as its lines are its own; nothing when it is gone, or was never a file of its own."""
    from holdfast.flows.distill import read_source

    path, importer = Path(cursor.path), BY_AGENT.get(cursor.agent)
    try:
        if importer is None or not path.is_file():
            return []
        status = path.stat()
        item = SessionSource(path, importer, status.st_size, status.st_mtime_ns, Glance())
        claims = _AsClaimed(ClaimRun(store), cursor.id)
        return [read_source(machine, item, None, claims, cursor.id, lambda read: None, denied).cursor]
    except (OSError, TranscriptError):
        return []


class _AsClaimed:
    """Whose a line is, as it was settled when it was first read; claims nothing."""

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
