"""The commands on lessons: list, promote, reject, mute, remove, add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import NotFound, UsageError
from holdfast.core.names import as_name, safe_name
from holdfast.core.patterns import lazy_regex
from holdfast.flows.refresh import refresh
from holdfast.guard.hidden_text import why_line_refused, why_target_refused
from holdfast.lessons.markdown import normal
from holdfast.lessons.proposals import LONGEST_RULE, Place, same_rule, united
from holdfast.lessons.states import LessonStatus, lesson_store, looked_at, states
from holdfast.lessons.store import Changes, Shelf, StoredLesson, parse_stored
from holdfast.model.lesson import Fingerprint, Lesson, LessonKind
from holdfast.store.gate import admit
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.versions import new_group

LISTING = "holdfast lessons list shows them"
_WORD = lazy_regex(r"[a-z0-9]+")
_WORDS_OF_NAME = 4
_PRECEDENCE: tuple[Place, ...] = ("candidates", "local", "shared", "personal")
KEPT_FIRST: tuple[Place, ...] = ("local", "candidates", "shared", "personal")
_WHEREABOUTS: dict[Place, str] = {
    "candidates": "a candidate",
    "local": "active here already",
    "personal": "a personal one",
    "shared": "shared in git already",
}
_DAY_S = 86_400.0


class Listed(NamedTuple):
    """All lessons, the stale ones marked, and a line for each file that is not a lesson."""

    lessons: list[LessonStatus]
    problems: list[str]


class Handled(NamedTuple):
    """A lesson that was changed: where it was, and where it is now."""

    lesson: Lesson
    place: Place
    into: Place | None = None


Decide = Callable[[Shelf, LessonStatus, Changes], Place | None]  # returns where the lesson goes


def read_lessons(machine: Machine, project: Project) -> Listed:
    shelf = lesson_store(machine, project).read()
    return Listed(looked_at(machine, project, shelf), shelf.problems)


def shown(machine: Machine, project: Project, lessons: Iterable[Lesson]) -> None:
    """Starts the promotion clock of candidates that a person has seen."""
    lesson_store(machine, project).mark_shown([rule for lesson in lessons for rule in lesson.rules])


def pick(seen: Sequence[LessonStatus], wanted: str, places: Sequence[Place] = _PRECEDENCE) -> LessonStatus:
    """The lesson with this name or id, in full or its first characters; if several match, by the order of `places`."""
    typed = wanted.strip()
    if not typed.upper().startswith("L-"):
        safe_name(typed)
    close = [status for status in seen if typed in (status.lesson.name, status.lesson.id)]
    close = close or [status for status in seen if status.lesson.name.casefold() == typed.casefold()]
    close = close or [
        status
        for status in seen
        if status.lesson.name.startswith(typed) or status.lesson.id.casefold().startswith(typed.casefold())
    ]
    names = sorted({status.lesson.name for status in close})
    if len(names) > 1:
        more = ", …" if len(names) > 6 else ""
        raise NotFound(f"{typed!r} may be {', '.join(names[:6])}{more}", fix="Type more of the name")
    for place in places:
        for status in close:
            if status.place == place:
                return status
    if close:
        fix = LISTING
        if close[0].state == "untrusted":
            fix = f"It came with the repository: see holdfast lessons trust {close[0].lesson.name}"
        raise UsageError(f"the lesson {typed!r} is {_WHEREABOUTS[close[0].place]}", fix=fix)
    raise NotFound(f"no lesson {typed[:60]!r}", fix=LISTING)


def promote(
    machine: Machine, project: Project, names: Sequence[str], *, personal: bool = False
) -> list[Handled]:
    """Makes candidates active: here, or with `personal` in every project of this user."""
    places: tuple[Place, ...] = ("candidates", "local") if personal else ("candidates",)

    into: Place = "personal" if personal else "local"

    def decide(shelf: Shelf, one: LessonStatus, changes: Changes) -> Place:
        existing = shelf.folder(into).get(one.lesson.name)
        # A new file gets the bytes unchanged, with everything a person wrote besides the rules.
        changes.lessons[into, one.lesson.name] = (
            united(existing.lesson, one.lesson) if existing else one.stored.data
        )
        changes.lessons[one.place, one.lesson.name] = None
        changes.choices = (changes.choices or shelf.choices).unmute(one.lesson.name).readmit(one.lesson.rules)
        return into

    return _handle(machine, project, names, places, decide, "lessons promote")


def reject(machine: Machine, project: Project, names: Sequence[str]) -> list[Handled]:
    """Removes lessons and records their rules, so that they do not come back in other words."""
    now = machine.now().timestamp()

    def decide(shelf: Shelf, one: LessonStatus, changes: Changes) -> None:
        changes.choices = (changes.choices or shelf.choices).reject(one.lesson, now)
        if one.place != "shared":
            changes.lessons[one.place, one.lesson.name] = None

    return _handle(machine, project, names, _PRECEDENCE, decide, "lessons reject")


def mute(machine: Machine, project: Project, names: Sequence[str], days: int | None = None) -> list[Handled]:
    """Stops injecting lessons that are true: for some days, or until they are unmuted."""
    until = None if days is None else machine.now().timestamp() + days * _DAY_S

    def decide(shelf: Shelf, one: LessonStatus, changes: Changes) -> None:
        changes.choices = (changes.choices or shelf.choices).mute(one.lesson.name, until)

    return _handle(machine, project, names, _PRECEDENCE, decide, "lessons mute")


def unmute(machine: Machine, project: Project, names: Sequence[str]) -> list[Handled]:
    def decide(shelf: Shelf, one: LessonStatus, changes: Changes) -> None:
        choices = changes.choices or shelf.choices
        if one.lesson.name not in choices.muted:
            raise UsageError(f"the lesson {one.lesson.name!r} is not muted", fix=LISTING)
        changes.choices = choices.unmute(one.lesson.name)

    return _handle(machine, project, names, _PRECEDENCE, decide, "lessons unmute")


def reword(
    machine: Machine, project: Project, name: str, rules: Sequence[str], description: str | None = None
) -> list[Handled]:
    """Puts other rules in the place of those of a lesson; what else stands in its file stays."""
    said = tuple(filter(None, (_line(machine, project, rule, "a rule") for rule in rules)))
    if not said:
        raise UsageError("a lesson needs a rule", fix="Reject the lesson if none of its rules hold")
    about = None if description is None else _line(machine, project, description, "the description")

    def decide(shelf: Shelf, one: LessonStatus, changes: Changes) -> Place:
        lesson = replace(one.lesson, rules=said)
        changes.lessons[one.place, one.lesson.name] = (
            lesson if about is None else replace(lesson, description=about)
        )
        taught = [(rule, one.lesson.sessions or ("by hand",)) for rule in said]
        changes.record = shelf.record.capture(taught)
        return one.place

    return _handle(machine, project, [name], KEPT_FIRST, decide, "lessons edit")


def remove(machine: Machine, project: Project, names: Sequence[str]) -> list[Handled]:
    """Removes the file. Unlike a rejected lesson, it may be learned again from a session."""

    def decide(shelf: Shelf, one: LessonStatus, changes: Changes) -> None:
        changes.lessons[one.place, one.lesson.name] = None

    return _handle(machine, project, names, KEPT_FIRST, decide, "lessons rm")


def _handle(
    machine: Machine,
    project: Project,
    names: Sequence[str],
    places: Sequence[Place],
    decide: Decide,
    reason: str,
) -> list[Handled]:
    handled = change_each(machine, project, names, places, decide, reason)
    refresh(machine, project)
    return handled


def change_each(
    machine: Machine,
    project: Project,
    names: Sequence[str],
    places: Sequence[Place],
    decide: Decide,
    reason: str,
) -> list[Handled]:
    """Applies `decide` to each of these lessons in one change: to all of them or to none."""
    store = lesson_store(machine, project, new_group())
    lessons_now = states(machine, store.read())
    for name in names:
        pick(lessons_now, name, places)  # an unknown name prepares nothing
    project.prepare()
    done: list[Handled] = []

    def change(shelf: Shelf) -> Changes:
        changes, lessons = Changes(), states(machine, shelf)
        chosen = [pick(lessons, name, places) for name in dict.fromkeys(names)]
        done[:] = [Handled(status.lesson, status.place, decide(shelf, status, changes)) for status in chosen]
        return changes

    store.change(change, reason)
    return done


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
    """Adds a lesson in a person's own words, active at once. A lesson of the same name gains the rules; with `instead`
    it keeps only these."""
    digest_of = lesson_store(machine, project).digest_of
    for target in fingerprint:
        if admit(machine, project, target, "a fingerprint") != target:
            raise UsageError(
                "a fingerprint looks like a secret", fix="Name files, folders or fields of files"
            )
    lesson = Lesson(
        name=safe_name(name),
        description=_line(machine, project, description, "the description"),
        rules=tuple(filter(None, (_line(machine, project, rule, "a rule") for rule in rules))),
        kind=kind,
        fingerprint=tuple(
            Fingerprint(target=_target(target), digest=digest_of(target.strip())) for target in fingerprint
        ),
        captured_at=machine.now().timestamp() // _DAY_S * _DAY_S,
    )
    if admit(machine, project, name, "the name") != name:
        raise UsageError("the name looks like a secret", fix="Choose another one")
    if not lesson.rules:
        raise UsageError("a lesson needs a rule", fix="Use --rule, once for each")

    def merge(there: StoredLesson | None) -> Lesson:
        added = normal(lesson)
        if there is None:
            return added
        base = replace(there.lesson, rules=()) if instead else there.lesson
        return united(replace(base, description=added.description or base.description), added)

    written = _write(machine, project, "personal" if personal else "local", name, merge)
    refresh(machine, project)
    return written


def add_rule(
    machine: Machine,
    project: Project,
    text: str,
    *,
    name: str = "",
    fingerprint: Sequence[str] = (),
    personal: bool = False,
) -> Handled:
    """Adds one rule, under a name made of its first words unless one is given."""
    rule = _line(machine, project, text, "the rule")
    words = _WORD.findall(rule.casefold())[:_WORDS_OF_NAME]
    chosen = name or as_name("-".join(words) or "rule")
    return add(machine, project, chosen, [rule], fingerprint=fingerprint, personal=personal)


def add_file(
    machine: Machine,
    project: Project,
    path: Path,
    *,
    name: str = "",
    personal: bool = False,
    instead: bool = False,
) -> Handled:
    """Adds a file that a person wrote, without secrets. Only `instead` replaces a lesson of the same name."""
    source = machine.cwd / path.expanduser()
    name = safe_name(name or source.name.removesuffix(".md"))
    data = files.read(source)
    if data is None:
        raise NotFound("there is no such file", where=str(path), fix="Name the file of a lesson")
    text = parse_stored(source, name, data, str(path)).data.decode("utf-8")
    text = admit(machine, project, f"{name}\n{text}", str(path)).removeprefix(f"{name}\n")
    stored = parse_stored(source, name, text.encode("utf-8"), str(path))

    def take(there: StoredLesson | None) -> StoredLesson:
        if there is not None and there.data != stored.data and not instead:
            fix = "Add --replace, or choose another name"
            raise UsageError(f"there is a lesson {name!r} already", fix=fix)
        return stored

    written = _write(machine, project, "personal" if personal else "local", name, take)
    read_lessons(machine, project)  # records the fingerprints of what it depends on
    refresh(machine, project)
    return written


def _write(
    machine: Machine,
    project: Project,
    place: Place,
    name: str,
    make: Callable[[StoredLesson | None], Lesson | StoredLesson],
) -> Handled:
    """Writes the result of `make`, which gets the existing lesson. Its rules are no longer rejected."""
    written: list[Lesson] = []

    def change(shelf: Shelf) -> Changes:
        result = make(shelf.folder(place).get(name))
        lesson = result if isinstance(result, Lesson) else result.lesson
        content = result if isinstance(result, Lesson) else result.data
        written.append(lesson)
        rejected = shelf.choices.rejected_rules()
        readmitted = [
            rule for rule in rejected if any(same_rule(rule, new_rule) for new_rule in lesson.rules)
        ]
        return Changes(lessons={(place, name): content}, choices=shelf.choices.readmit(readmitted))

    project.prepare()
    lesson_store(machine, project, new_group()).change(change, "lessons add")
    return Handled(written[-1], place)


def _line(machine: Machine, project: Project, text: str, what: str) -> str:
    line = " ".join(admit(machine, project, text, what).split())
    if len(line) > LONGEST_RULE:
        raise UsageError(f"{what} has {len(line):,} characters, {LONGEST_RULE:,} are allowed", fix="Say less")
    if reason := why_line_refused(" ".join(text.split())) or why_line_refused(line):
        raise UsageError(f"{what} is refused: {reason}", fix="Write it in plain text")
    return line


def _target(target: str) -> str:
    if reason := why_target_refused(target.strip()):
        fix = "Name a file, a folder, a glob or a field such as package.json#scripts.test"
        raise UsageError(f"the fingerprint {target[:60]!a} is refused: {reason}", fix=fix)
    return target.strip()
