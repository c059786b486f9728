"""Stale lessons: what they depend on has changed; brought up to date from the repository, confirmed, or retired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from holdfast.app.fingerprints import check_fingerprints
from holdfast.app.lesson_states import Seen, lesson_store, states
from holdfast.app.lessons import pick, read_lessons
from holdfast.app.projects import new_group
from holdfast.app.refreshing import refresh as prepare_again
from holdfast.app.wiring import Machine
from holdfast.model.lesson import Fingerprint, Lesson
from holdfast.repo.fingerprint import Changed, Missing, Renamed, Verdict
from holdfast.store.layout import Project
from holdfast.store.lessons import Changes, Place, Shelf

OWN: tuple[Place, ...] = ("local", "candidates")
_SHORTEST_VALUE = 3


class Refreshed(NamedTuple):
    """What became of a stale lesson. `left`: only a person can tell whether it still holds."""

    lesson: Lesson
    done: Literal["rewritten", "kept", "retired", "left"]
    drift: tuple[str, ...]


def stale(machine: Machine, project: Project) -> list[Seen]:
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

    def change(shelf: Shelf) -> Changes:
        done.clear()
        changes, seen = Changes(), states(machine, project, shelf)
        for one in chosen:
            now = pick([other for other in seen if other.place == one.place], one.lesson.name, OWN)
            lesson = replace(now.lesson, fingerprint=shelf.record.against(now.lesson))
            result = _refreshed(machine, project, lesson, one.drift, keep=keep)
            done.append(result)
            if result.done == "retired":
                changes.lessons[one.place, one.lesson.name] = None
            elif result.done != "left":
                changes.lessons[one.place, one.lesson.name] = result.lesson
                record = changes.record or shelf.record
                taught = zip(now.lesson.rules, result.lesson.rules, strict=True)
                changes.record = record.capture(
                    (new, now.lesson.sessions) for old, new in taught if old != new and record.seen_in(old)
                )
        return changes

    lesson_store(machine, project, new_group()).change(change, "lessons refresh")
    prepare_again(machine, project)
    return done


def _refreshed(
    machine: Machine, project: Project, lesson: Lesson, drift: tuple[str, ...], *, keep: bool
) -> Refreshed:
    verdicts = check_fingerprints(machine, project, lesson.fingerprint).verdicts
    if all(isinstance(verdict, Missing) for verdict in verdicts) and not keep:
        return Refreshed(lesson, "retired", drift)
    rules, settled = list(lesson.rules), True
    for verdict in verdicts:
        old_rules = list(rules)
        if isinstance(verdict, Renamed):
            rules = [rule.replace(_path(verdict.target), _path(verdict.to)) for rule in rules]
            settled = settled and verdict.same
        elif isinstance(verdict, Changed):
            was, now = verdict.what.partition(" → ")[::2]
            if now and len(was) >= _SHORTEST_VALUE:
                rules = [rule.replace(was, now) for rule in rules]
            settled = settled and rules != old_rules
        elif isinstance(verdict, Missing):
            settled = False
    if not settled and not keep:
        return Refreshed(lesson, "left", drift)
    new = replace(
        lesson,
        rules=tuple(rules) if not keep else lesson.rules,
        fingerprint=tuple(left for verdict in verdicts if (left := _now(verdict)) is not None),
    )
    return Refreshed(new, "kept" if new.rules == lesson.rules else "rewritten", drift)


def _now(verdict: Verdict) -> Fingerprint | None:
    """What the lesson depends on from now on; None for what is gone."""
    if isinstance(verdict, Missing):
        return None
    if isinstance(verdict, Renamed):
        return Fingerprint(target=verdict.to, digest=verdict.digest)
    return Fingerprint(target=verdict.target, digest=getattr(verdict, "digest", ""))


def _path(target: str) -> str:
    return target.partition("#")[0]
