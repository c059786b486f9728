"""Lessons as their users handle them: proposed by sessions, promoted, rejected, muted, added, taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import NotFound, UsageError
from holdfast.core.names import safe_name
from holdfast.flows.refresh import refresh
from holdfast.guard.hidden_text import why_line_refused, why_target_refused
from holdfast.lessons.markdown import normal
from holdfast.lessons.notes import Choices
from holdfast.lessons.proposals import united
from holdfast.lessons.states import Seen, alike, digest_of, lesson_store, looked_at, states
from holdfast.lessons.store import LONGEST_RULE, Changes, Place, Shelf, understood
from holdfast.model.lesson import Fingerprint, Lesson, LessonKind
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.versions import new_group

LISTING = "holdfast lessons list shows them"
_PRECEDENCE: tuple[Place, ...] = ("candidates", "local", "shared", "personal")
KEPT_FIRST: tuple[Place, ...] = ("local", "candidates", "shared", "personal")
_DAY_S = 86_400.0


class Listed(NamedTuple):
    """Every lesson, the stale ones marked, and a line for each file that is none."""

    lessons: list[Seen]
    problems: list[str]


class Handled(NamedTuple):
    """What was done to a lesson: where it lies, or lay."""

    lesson: Lesson
    place: Place
    into: Place | None = None


Decide = Callable[[Shelf, Seen, Changes], Handled]


def read_lessons(machine: Machine, project: Project) -> Listed:
    shelf = lesson_store(machine, project).read()
    return Listed(looked_at(machine, project, shelf), shelf.problems)


def shown(machine: Machine, project: Project, lessons: Iterable[Lesson]) -> None:
    """A person sees these candidates: the clock of their promotion starts."""
    lesson_store(machine, project).mark_shown([rule for lesson in lessons for rule in lesson.rules])


# --- which one is meant --------------------------------------------------------------------------------


def pick(seen: Sequence[Seen], wanted: str, places: Sequence[Place] = _PRECEDENCE) -> Seen:
    """The lesson of this name or id, whole or the beginning of it; of several places the first that is named."""
    typed = wanted.strip()
    if not typed.upper().startswith("L-"):
        safe_name(typed)
    close = [one for one in seen if typed in (one.lesson.name, one.lesson.id)]
    close = close or [one for one in seen if one.lesson.name.casefold() == typed.casefold()]
    close = close or [
        one
        for one in seen
        if one.lesson.name.startswith(typed) or one.lesson.id.casefold().startswith(typed.casefold())
    ]
    names = sorted({one.lesson.name for one in close})
    if len(names) > 1:
        more = ", …" if len(names) > 6 else ""
        raise NotFound(f"{typed!r} may be {', '.join(names[:6])}{more}", fix="Type more of the name")
    for place in places:
        for one in close:
            if one.place == place:
                return one
    if close:
        raise UsageError(f"the lesson {typed!r} is {_whereabouts(close[0])}", fix=_instead(close[0]))
    raise NotFound(f"no lesson {typed[:60]!r}", fix=LISTING)


def _whereabouts(one: Seen) -> str:
    return {
        "candidates": "a candidate",
        "local": "active here already",
        "personal": "a personal one",
        "shared": "shared in git already",
    }[one.place]


def _instead(one: Seen) -> str:
    if one.place == "shared" and one.state == "untrusted":
        return f"It came with the repository: holdfast lessons trust {one.lesson.name} shows it and asks"
    return LISTING


# --- promoting, rejecting, muting, removing --------------------------------------------------------------


def promote(
    machine: Machine, project: Project, names: Sequence[str], *, personal: bool = False
) -> list[Handled]:
    """Candidates become active: here, or with `personal` in every project of this user."""
    places: tuple[Place, ...] = ("candidates", "local") if personal else ("candidates",)

    def decide(shelf: Shelf, one: Seen, changes: Changes) -> Handled:
        into: Place = "personal" if personal else "local"
        there = shelf.folder(into).get(one.lesson.name)
        # Into a new file it goes as it is, with whatever a person wrote beside the rules.
        changes.lessons[into, one.lesson.name] = united(there.lesson, one.lesson) if there else one.found.data
        changes.lessons[one.place, one.lesson.name] = None
        changes.choices = (changes.choices or shelf.choices).unmute(one.lesson.name).readmit(one.lesson.rules)
        return Handled(one.lesson, one.place, into)

    return _handle(machine, project, names, places, decide, "lessons promote")


def reject(machine: Machine, project: Project, names: Sequence[str]) -> list[Handled]:
    """Not wanted, and remembered by what it says: it does not come back in other words."""
    now = machine.now().timestamp()

    def decide(shelf: Shelf, one: Seen, changes: Changes) -> Handled:
        changes.choices = (changes.choices or shelf.choices).reject(one.lesson, now)
        if one.place != "shared":
            changes.lessons[one.place, one.lesson.name] = None
        return Handled(one.lesson, one.place)

    return _handle(machine, project, names, _PRECEDENCE, decide, "lessons reject")


def mute(machine: Machine, project: Project, names: Sequence[str], days: int | None = None) -> list[Handled]:
    """True, and not to be told: for some days, or until it is unmuted."""
    until = None if days is None else machine.now().timestamp() + days * _DAY_S

    def decide(shelf: Shelf, one: Seen, changes: Changes) -> Handled:
        changes.choices = (changes.choices or shelf.choices).mute(one.lesson.name, until)
        return Handled(one.lesson, one.place)

    return _handle(machine, project, names, _PRECEDENCE, decide, "lessons mute")


def unmute(machine: Machine, project: Project, names: Sequence[str]) -> list[Handled]:
    def decide(shelf: Shelf, one: Seen, changes: Changes) -> Handled:
        before = changes.choices or shelf.choices
        if one.lesson.name not in before.muted:
            raise UsageError(f"the lesson {one.lesson.name!r} is not muted", fix=LISTING)
        changes.choices = before.unmute(one.lesson.name)
        return Handled(one.lesson, one.place)

    return _handle(machine, project, names, _PRECEDENCE, decide, "lessons unmute")


def remove(machine: Machine, project: Project, names: Sequence[str]) -> list[Handled]:
    """Takes the file away. A session may teach it anew; what is rejected stays away."""

    def decide(shelf: Shelf, one: Seen, changes: Changes) -> Handled:
        changes.lessons[one.place, one.lesson.name] = None
        return Handled(one.lesson, one.place)

    return _handle(machine, project, names, KEPT_FIRST, decide, "lessons rm")


def _handle(
    machine: Machine,
    project: Project,
    names: Sequence[str],
    places: Sequence[Place],
    decide: Decide,
    reason: str,
) -> list[Handled]:
    done = change_each(machine, project, names, places, decide, reason)
    refresh(machine, project)
    return done


def change_each(
    machine: Machine,
    project: Project,
    names: Sequence[str],
    places: Sequence[Place],
    decide: Decide,
    reason: str,
) -> list[Handled]:
    """Does the same to each lesson that is named, in one go: to all of them or to none."""
    store = lesson_store(machine, project, new_group())
    before = states(machine, project, store.read())
    for name in names:
        pick(before, name, places)  # an unknown name prepares nothing
    project.prepare()
    done: list[Handled] = []

    def change(shelf: Shelf) -> Changes:
        changes, seen = Changes(), states(machine, project, shelf)
        done[:] = [decide(shelf, pick(seen, name, places), changes) for name in dict.fromkeys(names)]
        return changes

    store.change(change, reason)
    return done


# --- by hand -------------------------------------------------------------------------------------------


def add(
    machine: Machine,
    project: Project,
    name: str,
    rules: Sequence[str],
    *,
    description: str = "",
    fingerprint: Sequence[str] = (),
    kind: LessonKind = "other",
    personal: bool = False,
    instead: bool = False,
) -> Handled:
    """A lesson in a person's own words, active at once. One of the same name gains the rules, or with `instead` has
    these alone."""
    lesson = Lesson(
        name=safe_name(name),
        description=_line(machine, description, "the description"),
        rules=tuple(filter(None, (_line(machine, rule, "a rule") for rule in rules))),
        kind=kind,
        fingerprint=tuple(
            Fingerprint(target=_target(target), digest=digest_of(machine, project, target.strip()))
            for target in fingerprint
        ),
        captured_at=machine.now().timestamp() // _DAY_S * _DAY_S,
    )
    if machine.clean(name) != name:
        raise UsageError("the name looks like a secret", fix="Choose another one")
    if not lesson.rules:
        raise UsageError("a lesson needs a rule", fix="Say it with --rule, once for each")
    place: Place = "personal" if personal else "local"

    def change(shelf: Shelf) -> Changes:
        there = shelf.folder(place).get(name)
        new = normal(lesson)
        if there is not None:
            kept = replace(there.lesson, rules=()) if instead else there.lesson
            new = united(replace(kept, description=new.description or kept.description), new)
        return Changes(lessons={(place, name): new}, choices=_readmitted(shelf, new))

    project.prepare()
    done = lesson_store(machine, project, new_group()).change(change, "lessons add")
    refresh(machine, project)
    kept = done.lessons[place, name]
    return Handled(kept if isinstance(kept, Lesson) else lesson, place)


def add_file(
    machine: Machine,
    project: Project,
    path: Path,
    *,
    name: str = "",
    personal: bool = False,
    instead: bool = False,
) -> Handled:
    """A file that somebody wrote, as it is but for secrets. One that is there is only replaced with `instead`."""
    source = machine.cwd / path.expanduser()
    name = safe_name(name or source.name.removesuffix(".md"))
    data = files.read(source)
    if data is None:
        raise NotFound("there is no such file", where=str(path), fix="Name the file of a lesson")
    text = machine.clean(understood(source, name, data, str(path)).data.decode("utf-8"))
    found = understood(source, name, text.encode("utf-8"), str(path))
    place: Place = "personal" if personal else "local"

    def change(shelf: Shelf) -> Changes:
        there = shelf.folder(place).get(name)
        if there is not None and there.data != found.data and not instead:
            raise UsageError(
                f"there is a lesson {name!r} already", fix="Say --replace, or give it another name"
            )
        return Changes(lessons={(place, name): found.data}, choices=_readmitted(shelf, found.lesson))

    project.prepare()
    lesson_store(machine, project, new_group()).change(change, "lessons add")
    read_lessons(machine, project)  # what it depends on is as it is now
    refresh(machine, project)
    return Handled(found.lesson, place)


def _readmitted(shelf: Shelf, lesson: Lesson) -> Choices:
    """Whoever writes a rule by hand wants it, whatever was rejected before."""
    return shelf.choices.readmit(
        rule for rule in shelf.choices.rejected_rules() if any(alike(rule, own) for own in lesson.rules)
    )


def _line(machine: Machine, text: str, what: str) -> str:
    kept = " ".join(machine.clean(text).split())
    if len(kept) > LONGEST_RULE:
        raise UsageError(f"{what} has {len(kept):,} characters, {LONGEST_RULE:,} are allowed", fix="Say less")
    if reason := why_line_refused(" ".join(text.split())) or why_line_refused(kept):
        raise UsageError(f"{what} is refused: {reason}", fix="Write it in plain text")
    return kept


def _target(target: str) -> str:
    if reason := why_target_refused(target.strip()):
        fix = "Name a file, a folder, a glob or a field such as package.json#scripts.test"
        raise UsageError(f"the fingerprint {target[:60]!a} is refused: {reason}", fix=fix)
    return target.strip()
