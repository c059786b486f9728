"""Lessons out of what sessions lived through: proposed when sessions are taken in, and told when they recur.

They are computed again from all known sessions, so that a rule is as strong as its evidence, and one that
is contradicted goes away; nothing is counted up that could go wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from holdfast.briefing.guides import Guides
from holdfast.core.errors import HoldfastError
from holdfast.core.git import run_git
from holdfast.core.patterns import lazy_regex
from holdfast.core.place import is_checkout
from holdfast.lessons.choices import Choices
from holdfast.lessons.commands import LEAST_MET, STUMBLES, by_worth, lately_met
from holdfast.lessons.fingerprint import Missing, take
from holdfast.lessons.grounds import depends_on
from holdfast.lessons.proposals import same_rule
from holdfast.lessons.registration import is_registration, registration_lessons
from holdfast.lessons.rules import Learned, learned
from holdfast.lessons.states import lesson_store, propose, states
from holdfast.lessons.store import Changes, LessonStore, Shelf
from holdfast.memory.current import RecurringFailure
from holdfast.memory.state import to_minute
from holdfast.model.events import Lived
from holdfast.model.lesson import PRESENT, Lesson
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

# --- lessons whose files are still there ---------------------------------------------------------------

LOOKED_AT = 200  # files of the latest sessions
_HALF = 0.5
_QUOTED = lazy_regex(r"`([^`\n]+)`")


def standing(project: Project, lived: Sequence[Lived], lessons: Iterable[Lesson]) -> list[Lesson]:
    """Lessons whose manifests, tasks and files are there; all of them where sessions worked in another place."""
    lessons = list(lessons)
    if not any(lesson.fingerprint for lesson in lessons) or not _worked_here(project, lived):
        return lessons
    gone = {
        target
        for lesson in lessons
        for target in _grounds(lesson)
        if isinstance(take(project.root, target), Missing)
    }
    return [lesson for lesson in lessons if gone.isdisjoint(_grounds(lesson))]


def _grounds(lesson: Lesson) -> list[str]:
    """The scripts, folders and files without which a lesson says nothing: those of its remedy, not of what fails.

    Other task runners define a task in one of many places, and a fingerprint names the first of them.
    """
    commands = _QUOTED.findall(" ".join(rule.rpartition("→")[2] for rule in lesson.rules))
    wanted = {target for command in commands for target in depends_on(command, lambda path: True)}
    judged = (
        item.target for item in lesson.fingerprint if "#scripts." in item.target or item.target.endswith("/")
    )
    there = [item.target for item in lesson.fingerprint if item.digest == PRESENT]
    return [*there, *(target for target in judged if target in wanted)]


def _worked_here(project: Project, lived: Sequence[Lived]) -> bool:
    """Whether the checkout is what the sessions worked in: most files that the latest of them touched are there.

    Sessions may have been imported into an empty folder, or into another repository.
    """
    if not is_checkout(project.root):
        return False
    touched = dict.fromkeys(touch.path for session in reversed(lived) for touch in session.files)
    paths = [path for path in islice(touched, LOOKED_AT) if path and not path.startswith(("/", "~", ".."))]
    there = sum((project.root / path).exists() for path in paths)
    return bool(paths) and there > _HALF * len(paths)


LATEST = 500  # sessions that are learned from
MOST_TOLD = 12
WITHDRAWN = "lessons contradicted"


def learn(machine: Machine, project: Project, group: str = "") -> None:
    """Proposes what all known sessions teach, in one write; candidates that no longer hold are withdrawn.

    So is what agents know as it is: what the repository's guides state, and what every session runs at once.
    """
    lived = lived_here(project)
    found = offered(project, lived)
    again = _renewed(machine, project, found.usual)
    if new := [*found.lessons, *again, *_registrations(machine, project, lived)]:
        propose(machine, project, new, group)
    known = [rule for lesson in found.usual for rule in lesson.rules]
    held = {rule for lesson in found.lessons for rule in lesson.rules}
    _withdraw(
        machine, project, _Now([*found.contradicted, *known], held, {one.session for one in lived}), group
    )


def _renewed(machine: Machine, project: Project, usual: Sequence[Lesson]) -> list[Lesson]:
    """Of what is known as it is, that which a person made a lesson of: sessions show that it still holds."""
    if not usual:
        return []
    shelf = lesson_store(machine, project).read()
    seen = (one for one in states(machine, shelf) if one.state == "active")
    kept = {rule for one in seen for rule in one.lesson.rules}
    return [lesson for lesson in usual if not kept.isdisjoint(lesson.rules)]


def _registrations(machine: Machine, project: Project, lived: Sequence[Lived]) -> list[Lesson]:
    """Asked of git's history once for each commit that is checked out."""
    store = lesson_store(machine, project)
    head = head_of(project)
    if not head or store.read().record.registered == head:
        return []
    found = registration_lessons(project.root, lived, Guides(project).name)
    store.note(lambda record: replace(record, registered=head))
    return found


def offered(project: Project, lived: Sequence[Lived] | None = None) -> Learned:
    """What a person is asked about; what the guides state is moved to what is known as it is, and what the checkout
    no longer has is left out."""
    lived = lived_here(project) if lived is None else lived
    found, guides = learned(lived, known_here(project, lived)), Guides(project, lived)
    lessons, usual = (standing(project, lived, some) for some in (found.lessons, found.usual))
    stated = {lesson.id for lesson in lessons if guides.state(lesson)}
    return Learned(
        tuple(lesson for lesson in lessons if lesson.id not in stated),
        found.contradicted,
        (*usual, *(lesson for lesson in lessons if lesson.id in stated)),
    )


def usual_commands(project: Project, choices: Choices, now: float) -> list[Lesson]:
    """Commands that sessions use here without having to find them: not lessons, but worth a few words before code is
    changed, where no guide says them. None that a person rejected or muted."""
    known = (lesson for lesson in offered(project).usual if lesson.kind == "command")
    return [lesson for lesson in known if not _unwanted(lesson, choices, now)]


def lived_here(project: Project) -> list[Lived]:
    """What the sessions that are known lived through, oldest first."""
    nothing: list[Lived] = []
    return CaptureStore.glimpse(project.capture, lambda capture: capture.lived(LATEST), nothing)


def known_here(
    project: Project, lived: Sequence[Lived], *, only_checkout: bool = False
) -> Callable[[str], bool]:
    """Whether a path is in the checkout; where the sessions ran elsewhere, whether one of them touched it."""
    touched = set() if only_checkout else {touch.path for session in lived for touch in session.files}
    folders = {path[: place + 1] for path in touched for place, sign in enumerate(path) if sign == "/"}

    def exists(path: str) -> bool:
        if path in touched or path in folders:
            return True
        try:
            return (project.root / path).exists()
        except (OSError, ValueError):
            return False

    return exists


class _Now(NamedTuple):
    """What all sessions together teach: rules that are over, rules that hold, and which sessions these are."""

    over: Sequence[str]
    held: Collection[str]
    sessions: Collection[str]

    def drops(self, rule: str, lesson: Lesson, *, taught: bool) -> bool:
        """Whether a rule of a candidate goes: it is over, or the sessions that taught it say something else by now."""
        if any(same_rule(rule, gone) for gone in self.over):
            return True
        if (
            not taught
            or rule in self.held
            or is_registration(rule)
            or len(lesson.witnesses) < len(lesson.sessions)
        ):
            return False
        known = bool(lesson.sessions) and all(session in self.sessions for session in lesson.sessions)
        return known and not any(same_rule(rule, other) for other in self.held)


def _withdraw(machine: Machine, project: Project, now: _Now, group: str) -> None:
    """Takes back candidates that sessions no longer teach. What a person made active is theirs."""

    def decide(shelf: Shelf) -> Changes:
        changes = Changes(lenient=True)
        for found in shelf.candidates.lessons:
            lesson, record = found.lesson, shelf.record
            left = tuple(
                rule for rule in lesson.rules if not now.drops(rule, lesson, taught=record.seen_in(rule) > 0)
            )
            if left != lesson.rules:
                changes.lessons["candidates", lesson.name] = replace(lesson, rules=left) if left else None
        return changes

    store = lesson_store(machine, project, group)
    if decide(store.read()).lessons:
        store.change(decide, WITHDRAWN)


def strong_stumbles(
    project: Project, now: float, dismissed: Collection[str] = ()
) -> tuple[RecurringFailure, ...]:
    """What recurs, as the state keeps it and a new session is told it: nothing that was rejected or is muted."""
    lived = lived_here(project)
    sessions = [one.session for one in lived]
    strong = [
        lesson
        for lesson in learned(lived, known_here(project, lived)).lessons
        if lesson.kind in STUMBLES and lesson.strong and lately_met(lesson, sessions) >= LEAST_MET
    ]
    if not strong:
        return ()
    choices = _choices(project)
    told = (
        RecurringFailure(
            tried=lesson.rules[0], sessions=len(lesson.sessions), at=to_minute(lesson.captured_at)
        )
        for lesson in sorted(strong, key=by_worth)
        if not _unwanted(lesson, choices, now)
    )
    return tuple(stumble for stumble in told if stumble.id not in dismissed)[:MOST_TOLD]


def _choices(project: Project) -> Choices:
    try:
        return LessonStore(project).choices()
    except HoldfastError:
        return Choices()  # one broken file does not hide everything else


def _unwanted(lesson: Lesson, choices: Choices, now: float) -> bool:
    return choices.is_muted(lesson.name, now) or choices.rejects(lesson.rules[0])


_SECONDS, _BYTES = 2.0, 200


def head_of(project: Project) -> str:
    """The commit that is checked out; '' outside git."""
    answer = run_git(project.root, "rev-parse", "HEAD", seconds=_SECONDS, most_bytes=_BYTES)
    return answer.data.decode("ascii", "replace").strip()
