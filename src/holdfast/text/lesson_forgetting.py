"""A lesson without what is to be forgotten: rules, sessions and words go, a person's other lines stay."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.model.lesson import Lesson
from holdfast.text.lesson_md import LessonError, LessonFile, parse_lesson, render_lesson, rewrite_lesson
from holdfast.text.removal import Removal


def forget_in_lesson(text: str, removal: Removal, name: str) -> str:
    """What is left of the file; '' when nothing of the lesson is. A file that is no lesson is a person's prose."""
    try:
        file = parse_lesson(text, name)
    except LessonError:
        return removal.prose(text)
    left = _left_of(file.lesson, removal)
    if left is None:
        removal.hits += 1
        return ""
    written = text if left == file.lesson else _rewritten(file, left)
    return _prose(written, left, removal)


def names_it(name: str, removal: Removal) -> bool:
    """Whether the name of a lesson says what is to be forgotten."""
    return removal.phrases.found_in(name) or removal.phrases.found_in(
        name.replace("-", " ").replace("_", " ")
    )


def _left_of(lesson: Lesson, removal: Removal) -> Lesson | None:
    evidence = tuple(item for item in lesson.evidence if item.session not in removal.sessions)
    forgotten = len(lesson.sessions) - len({item.session for item in evidence if item.session})
    only_theirs = forgotten and not any(item.session for item in evidence)
    if lesson.id in removal.ids or only_theirs or names_it(lesson.name, removal):
        return None
    removal.hits += forgotten
    rules = tuple(rule for rule in lesson.rules if not _is_gone(rule, removal, from_session=bool(forgotten)))
    if not rules:
        return None
    removal.hits += len(lesson.rules) - len(rules)
    return replace(
        lesson,
        rules=rules,
        description=removal.trace(lesson.description) if forgotten else removal.text(lesson.description),
        evidence=tuple(replace(item, line=removal.text(item.line)) for item in evidence),
    )


def _is_gone(rule: str, removal: Removal, *, from_session: bool) -> bool:
    """With a hole in it a rule would say something else, so it goes whole."""
    return removal.phrases.found_in(rule) or (from_session and removal.traces(rule))


def _rewritten(file: LessonFile, left: Lesson) -> str:
    try:
        return rewrite_lesson(file, left)
    except LessonError:  # whatever a person wrote beside it goes along: it cannot be told apart
        return render_lesson(left)


def _prose(text: str, lesson: Lesson, removal: Removal) -> str:
    """The rest of the file is a person's own. Where a hole would make it unreadable, the lesson alone is kept."""
    left = removal.prose(text)
    if left == text:
        return text
    try:
        parse_lesson(left, lesson.name)
    except LessonError:
        return render_lesson(lesson)
    return left
