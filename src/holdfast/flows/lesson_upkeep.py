"""Keeps lessons up to date: refreshes stale ones, and rereads sessions that an older holdfast could not learn from.

A stale lesson is updated from the repository and from recent sessions, confirmed, or retired. Rereading a session
changes only its experience and the names that it wrote: its row, record and cursor stay.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agent_kit.contract import Glance
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
from holdfast.sessions.cursor import SourceCursor
from holdfast.sessions.line_claims import ClaimRun
from holdfast.sessions.store import CaptureStore
from holdfast.store.denied import Denied
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.versions import new_group

ENOUGH_SESSIONS = 3  # since the change: if none of them confirms a lesson, it is over
OWN: tuple[Place, ...] = ("local", "candidates")
_SHORTEST_VALUE = 3
Progress = Callable[[int, int, str], None]


class Refreshed(NamedTuple):
    """What happened to a stale lesson, and why. `left`: only a person can decide whether it still holds."""

    lesson: Lesson
    done: Literal["rewritten", "kept", "retired", "left"]
    drift: tuple[str, ...]
    told_by: Literal["", "repository", "sessions", "person"] = ""


class Relearned(Struct, kw_only=True):
    """Counts: sessions that were behind, sessions that were reread, and sessions whose transcript is gone."""

    behind: int = 0
    read: int = 0
    gone: int = 0
    lessons: int = 0


def stale(machine: Machine, project: Project) -> list[LessonStatus]:
    """Lessons that are not used because something they depend on has changed; `drift` says what."""
    return [status for status in read_lessons(machine, project).lessons if status.state == "stale"]


def refresh(
    machine: Machine, project: Project, names: Sequence[str] = (), *, keep: bool = False
) -> list[Refreshed]:
    """Brings stale lessons of this project up to date, all or those in `names`; `keep` confirms them as they are."""
    eligible = [status for status in stale(machine, project) if status.place in OWN]
    chosen = [pick(eligible, name, OWN) for name in dict.fromkeys(names)] if names else eligible
    if not chosen:
        return []
    project.prepare()
    done: list[Refreshed] = []
    sessions = RecentSessions(machine, project)

    def change(shelf: Shelf) -> Changes:
        done.clear()
        changes, seen = Changes(), states(machine, shelf)
        for picked in chosen:
            now = pick(
                [candidate for candidate in seen if candidate.place == picked.place], picked.lesson.name, OWN
            )
            lesson = replace(now.lesson, fingerprint=shelf.record.against(now.lesson))
            others = {
                rule
                for candidate in seen
                if candidate.stored != now.stored
                for rule in candidate.lesson.rules
            }
            taken = {*others, *shelf.choices.rejected_rules()}
            result = _refreshed(machine, project, lesson, picked.drift, None if keep else (sessions, taken))
            done.append(result)
            if result.done == "retired":
                changes.lessons[picked.place, picked.lesson.name] = None
            elif result.done != "left":
                changes.lessons[picked.place, picked.lesson.name] = result.lesson
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
    """Recent sessions count first, because they tried the rule. `asked` is None if a person confirmed the lesson."""
    verdicts = check_fingerprints(machine, project, lesson.fingerprint).verdicts
    if asked is None:
        return Refreshed(_with_hashes(lesson, lesson.rules, verdicts), "kept", drift, "person")
    recent, taken = asked
    rediscovered, is_over = recent.rediscover(lesson, verdicts, taken)
    if rediscovered is not None:
        return Refreshed(rediscovered, _done(lesson, rediscovered), drift, "sessions")
    if all(isinstance(verdict, Missing) for verdict in verdicts):
        return Refreshed(lesson, "retired", drift, "repository")
    rules = _as_the_repository_says(lesson, verdicts)
    if rules is not None:
        updated = _with_hashes(lesson, rules, verdicts)
        return Refreshed(updated, _done(lesson, updated), drift, "repository")
    if is_over:
        return Refreshed(lesson, "retired", drift, "sessions")
    return Refreshed(lesson, "left", drift)


class RecentSessions:
    """The sessions of a project, and what they show about lessons."""

    def __init__(self, machine: Machine, project: Project) -> None:
        self._machine, self._project = machine, project

    @cached_property
    def _lived(self) -> list[Lived]:
        return lived_here(self._project)

    def rediscover(
        self, lesson: Lesson, verdicts: Sequence[Verdict], taken: Collection[str]
    ) -> tuple[Lesson | None, bool]:
        """The lesson as sessions since the change show it, or None; and whether the lesson is over.

        It is over if enough sessions ran and none of them confirmed it. `taken` are the rules of other lessons, and
        rejected rules.
        """
        moment = max((self._changed_at(v) for v in verdicts if not isinstance(v, Same)), default=0.0)
        recent = since(self._lived, moment)
        if not recent or not moment:
            return None, False
        exists = known_here(self._project, self._lived, only_checkout=True)
        candidates = [shown_again(rule, recent, exists, taken) for rule in lesson.rules]
        again = [new for new in candidates if new is not None and not _unwanted(new, lesson, taken)]
        if len(again) == len(lesson.rules):
            return self._renewed(lesson, again), False
        falsified = learned(recent, exists).contradicted
        begun = sum(1 for session in recent if (session.started or 0.0) >= moment)
        over = begun >= ENOUGH_SESSIONS or all(
            any(same_rule(rule, wrong) for wrong in falsified) for rule in lesson.rules
        )
        # A lesson that a person wrote was never seen in sessions, so its absence proves nothing.
        return None, over and bool(lesson.sessions) and not again

    def _renewed(self, lesson: Lesson, again: Sequence[Lesson]) -> Lesson:
        merged = lesson
        for lesson_form in again:
            merged = united(merged, replace(lesson_form, rules=(), fingerprint=()))
        digest_of = lesson_store(self._machine, self._project).digest_of
        digests = {item.target: item.digest for lesson_form in again for item in lesson_form.fingerprint}
        prints = [
            Fingerprint(target=target, digest=digests[target] or digest)
            for target in digests
            if (digest := digest_of(target))
        ]
        rules = tuple(dict.fromkeys(lesson_form.rules[0] for lesson_form in again))
        renewed = clean(self._machine, replace(merged, rules=rules))
        return replace(renewed, fingerprint=tuple(prints), captured_at=lesson.captured_at)

    def _changed_at(self, verdict: Verdict) -> float:
        """When the target last changed; for a missing one, when the nearest existing folder last changed."""
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
    """Whether a new rule is already in another lesson or was rejected. A lesson's own rule is always wanted."""
    rule = one.rules[0]
    return rule not in lesson.rules and any(same_rule(rule, taken_rule) for taken_rule in taken)


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
    """The rules with the changed names and values substituted; None if the repository alone cannot decide."""
    rules = list(lesson.rules)
    for fingerprint, verdict in zip(lesson.fingerprint, verdicts, strict=True):
        previous = list(rules)
        if isinstance(verdict, Renamed):
            to = verdict.to.partition("#")[0]
            rules = [rule.replace(verdict.target.partition("#")[0], to) for rule in rules]
            if not verdict.same and fingerprint.digest != PRESENT:
                return None
        elif isinstance(verdict, Changed):
            was, now = verdict.what.partition(" → ")[::2]
            if now and len(was) >= _SHORTEST_VALUE:
                rules = [rule.replace(was, now) for rule in rules]
            if rules == previous and not _only_calls(lesson, verdict.target):
                return None
        elif isinstance(verdict, Missing):
            return None
    return rules


def _only_calls(lesson: Lesson, target: str) -> bool:
    """Whether a lesson only names a task that is still defined: the lesson is its name, not what the task does."""
    task = target.partition("#")[2].rpartition(".")[2]
    return lesson.kind == "command" and bool(task) and all(task in rule for rule in lesson.rules)


def behind(project: Project) -> int:
    """The number of sessions that were read by a version that learned less from them."""
    return sum(session.experience.format < EXPERIENCE_FORMAT for session in lived_here(project))


def relearn(
    machine: Machine, project: Project, progress: Progress | None = None, *, everything: bool = False
) -> Relearned:
    """Rereads the sessions that are behind, or all with `everything`, and proposes the resulting lessons."""
    done = Relearned()
    if not project.capture.exists():
        return done
    known_ids = {status.lesson.id for status in read_lessons(machine, project).lessons}
    with files.lock(project.lock("import")):
        store = CaptureStore(project.capture)
        try:
            _read_again(machine, project, store, done, progress or (lambda at, total, name: None), everything)
        finally:
            store.close()
    if done.behind:
        learn(machine, project)
        prepare_again(machine, project)
    done.lessons = sum(status.lesson.id not in known_ids for status in read_lessons(machine, project).lessons)
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
    records = [
        record
        for record in store.all_records()
        if record.session not in denied.sessions
        and (everything or record.experience.format < EXPERIENCE_FORMAT)
    ]
    done.behind = len(records)
    cursors = {record.session: store.cursors_of(record.session) for record in records}
    total = sum(cursor.stamp.size for session_cursors in cursors.values() for cursor in session_cursors)
    at = 0
    for record in records:
        sources: list[SourceCursor] = []
        for cursor in cursors[record.session]:
            progress(at, total, Path(cursor.path).name)
            sources += _read_source(machine, store, cursor, denied)
            at += cursor.stamp.size
        concluded = conclusions.of(record.session, sources) if sources else None
        fresh = concluded.record if concluded else record
        experience = replace(fresh.experience, format=EXPERIENCE_FORMAT)
        with store.transaction():
            # Also if the transcript is gone, so that the next run does not look for it again.
            store.put_record(replace(record, experience=experience, named=fresh.named))
        done.read += concluded is not None
        done.gone += concluded is None
    progress(total, total, "")


def _read_source(
    machine: Machine, store: CaptureStore, cursor: SourceCursor, denied: Denied
) -> list[SourceCursor]:
    """The lines of a transcript that belong to it; nothing if the file is gone, or the session has no own file."""
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
    """Looks up which source owns a line, as recorded when the line was first read. Makes no claims."""

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
