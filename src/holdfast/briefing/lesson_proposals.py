"""Proposes lessons from the experience of sessions, when sessions are imported.

Lessons are recomputed from all known sessions, so that a rule is as strong as its evidence, and a contradicted rule
disappears; there are no running counts that could go wrong.
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
from holdfast.core.reuse import until_changed, until_renewed
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

# --- lessons whose files still exist -------------------------------------------------------------------

LOOKED_AT = 200  # files of the latest sessions
_HALF = 0.5
_QUOTED = lazy_regex(r"`([^`\n]+)`")


def standing(project: Project, lived: Sequence[Lived], lessons: Iterable[Lesson]) -> list[Lesson]:
    """Lessons whose manifests, tasks and files exist; all of them if the sessions worked in another checkout."""
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
    """The scripts, folders and files that a lesson's remedy needs, not those of the failing command.

    Other task runners define a task in one of many files, and a fingerprint names only the first.
    """
    commands = _QUOTED.findall(" ".join(rule.rpartition("→")[2] for rule in lesson.rules))
    targets = {target for command in commands for target in depends_on(command, lambda path: True)}
    fingerprinted = (
        item.target for item in lesson.fingerprint if "#scripts." in item.target or item.target.endswith("/")
    )
    present = [item.target for item in lesson.fingerprint if item.digest == PRESENT]
    return [*present, *(target for target in fingerprinted if target in targets)]


def _worked_here(project: Project, lived: Sequence[Lived]) -> bool:
    """Whether the sessions worked in this checkout: most files that the latest of them touched exist.

    Sessions may have been imported into an empty folder, or into another repository.
    """
    if not is_checkout(project.root):
        return False
    touched = dict.fromkeys(touch.path for session in reversed(lived) for touch in session.files)
    paths = [path for path in islice(touched, LOOKED_AT) if path and not path.startswith(("/", "~", ".."))]
    existing = sum((project.root / path).exists() for path in paths)
    return bool(paths) and existing > _HALF * len(paths)


LATEST = 500  # sessions to learn from
MOST_TOLD = 12
WITHDRAWN = "lessons contradicted"


def learn(machine: Machine, project: Project, group: str = "") -> None:
    """Proposes the lessons of all known sessions, in one write; withdraws candidates that no longer hold.

    Also withdraws what agents know anyway: what the guides state, and commands that every session runs at once.
    """
    experiences = lived_here(project)
    taught = offered(project)
    renewed = _renewed(machine, project, taught.usual)
    if proposals := [*taught.lessons, *renewed, *_registrations(machine, project, experiences)]:
        propose(machine, project, proposals, group)
    usual_rules = [rule for lesson in taught.usual for rule in lesson.rules]
    taught_rules = {rule for lesson in taught.lessons for rule in lesson.rules}
    _withdraw(
        machine,
        project,
        _Now(
            [*taught.contradicted, *usual_rules],
            taught_rules,
            {experience.session for experience in experiences},
        ),
        group,
    )


def _renewed(machine: Machine, project: Project, usual: Sequence[Lesson]) -> list[Lesson]:
    """The usual rules that a person made a lesson of: sessions show that they still hold."""
    if not usual:
        return []
    lessons = lesson_store(machine, project).read()
    active = (status for status in states(machine, lessons) if status.state == "active")
    kept_rules = {rule for status in active for rule in status.lesson.rules}
    return [lesson for lesson in usual if not kept_rules.isdisjoint(lesson.rules)]


def _registrations(machine: Machine, project: Project, lived: Sequence[Lived]) -> list[Lesson]:
    """Lessons from git's history, computed once for each checked-out commit."""
    store = lesson_store(machine, project)
    head = head_of(project)
    if not head or store.read().record.registered == head:
        return []
    registrations = registration_lessons(project.root, lived, Guides(project).name)
    store.note(lambda record: replace(record, registered=head))
    return registrations


@until_changed
def offered(project: Project) -> Learned:
    """The lessons to propose to a person. Those that the guides state count as usual, and those whose files no longer
    exist are left out."""
    lived = lived_here(project)
    taught, guides = learned_here(project), Guides(project, lived)
    lessons, usual = (standing(project, lived, group) for group in (taught.lessons, taught.usual))
    stated = {lesson.id for lesson in lessons if guides.state(lesson)}
    return Learned(
        tuple(lesson for lesson in lessons if lesson.id not in stated),
        taught.contradicted,
        (*usual, *(lesson for lesson in lessons if lesson.id in stated)),
    )


@until_renewed
def learned_here(project: Project) -> Learned:
    """The lessons of all known sessions."""
    lived = lived_here(project)
    return learned(lived, known_here(project, lived))


def usual_commands(project: Project, choices: Choices, now: float) -> list[Lesson]:
    """Commands that sessions use here without having to find them: not lessons, but worth a line before a code change
    if no guide states them. Without those that a person rejected or muted."""
    commands = (lesson for lesson in offered(project).usual if lesson.kind == "command")
    return [lesson for lesson in commands if not _unwanted(lesson, choices, now)]


def lived_here(project: Project) -> list[Lived]:
    """The experience of all known sessions, oldest first."""
    nothing: list[Lived] = []
    return CaptureStore.glimpse(project.capture, lambda capture: capture.lived(LATEST), nothing)


def known_here(
    project: Project, lived: Sequence[Lived], *, only_checkout: bool = False
) -> Callable[[str], bool]:
    """A test whether a path exists in the checkout; if the sessions ran elsewhere, whether one of them touched it."""
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
    """What all sessions teach: rules that no longer hold, rules that hold, and the sessions themselves."""

    over: Sequence[str]
    held: Collection[str]
    sessions: Collection[str]

    def drops(self, rule: str, lesson: Lesson, *, taught: bool) -> bool:
        """Whether to drop a rule of a candidate: it no longer holds, or its sessions now teach something else."""
        if any(same_rule(rule, ended_rule) for ended_rule in self.over):
            return True
        if (
            not taught
            or rule in self.held
            or is_registration(rule)
            or len(lesson.witnesses) < len(lesson.sessions)
        ):
            return False
        all_known = bool(lesson.sessions) and all(session in self.sessions for session in lesson.sessions)
        return all_known and not any(same_rule(rule, held_rule) for held_rule in self.held)


def _withdraw(machine: Machine, project: Project, now: _Now, group: str) -> None:
    """Withdraws candidates that sessions no longer teach. Lessons that a person activated stay."""

    def decide(shelf: Shelf) -> Changes:
        changes = Changes(lenient=True)
        for stored in shelf.candidates.lessons:
            lesson, record = stored.lesson, shelf.record
            remaining = tuple(
                rule for rule in lesson.rules if not now.drops(rule, lesson, taught=record.seen_in(rule) > 0)
            )
            if remaining != lesson.rules:
                changes.lessons["candidates", lesson.name] = (
                    replace(lesson, rules=remaining) if remaining else None
                )
        return changes

    store = lesson_store(machine, project, group)
    if decide(store.read()).lessons:
        store.change(decide, WITHDRAWN)


def strong_stumbles(
    project: Project, now: float, dismissed: Collection[str] = ()
) -> tuple[RecurringFailure, ...]:
    """Recurring failures for the state and for new sessions, without rejected or muted ones."""
    experiences = lived_here(project)
    sessions = [experience.session for experience in experiences]
    strong = [
        lesson
        for lesson in learned_here(project).lessons
        if lesson.kind in STUMBLES and lesson.strong and lately_met(lesson, sessions) >= LEAST_MET
    ]
    if not strong:
        return ()
    choices = _choices(project)
    failures = (
        RecurringFailure(
            tried=lesson.rules[0], sessions=len(lesson.sessions), at=to_minute(lesson.captured_at)
        )
        for lesson in sorted(strong, key=by_worth)
        if not _unwanted(lesson, choices, now)
    )
    return tuple(failure for failure in failures if failure.id not in dismissed)[:MOST_TOLD]


def _choices(project: Project) -> Choices:
    try:
        return LessonStore(project).choices()
    except HoldfastError:
        return Choices()  # a damaged file must not hide everything else


def _unwanted(lesson: Lesson, choices: Choices, now: float) -> bool:
    return choices.is_muted(lesson.name, now) or choices.rejects(lesson.rules[0])


_SECONDS, _BYTES = 2.0, 200


def head_of(project: Project) -> str:
    """The checked-out commit; '' outside git."""
    answer = run_git(project.root, "rev-parse", "HEAD", seconds=_SECONDS, most_bytes=_BYTES)
    return answer.data.decode("ascii", "replace").strip()
