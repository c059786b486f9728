"""Whether what a lesson stands on is still in the checkout: a task that is no longer defined is no longer told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from holdfast.app.pointing import is_checkout
from holdfast.distill.lesson_fingerprints import depends_on
from holdfast.model.lesson import PRESENT, Lesson
from holdfast.model.session import Lived
from holdfast.store.layout import Project

LOOKED_AT = 200  # files of the latest sessions
_HALF = 0.5
_QUOTED = re.compile(r"`([^`\n]+)`")


def standing(project: Project, lived: Sequence[Lived], lessons: Iterable[Lesson]) -> list[Lesson]:
    """Lessons whose manifests, tasks and files are there; all of them where sessions worked in another place."""
    lessons = list(lessons)
    if not any(lesson.fingerprint for lesson in lessons) or not _worked_here(project, lived):
        return lessons
    from holdfast.repo.fingerprint import Missing, take

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
