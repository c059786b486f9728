"""Removes sessions and phrases from lessons: the project's with their choices, shared and personal ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from holdfast.core import files
from holdfast.lessons.choices import (
    CHOICES,
    RECORD,
    Choices,
    Rejected,
    decode_choices,
    decode_record,
    encode_choices,
    encode_record,
)
from holdfast.lessons.front_matter import LessonError
from holdfast.lessons.markdown import LessonFile, parse_lesson, render_lesson, rewrite_lesson
from holdfast.lessons.store import SHOWN
from holdfast.model.lesson import Lesson
from holdfast.store.project import Project
from holdfast.store.removal import Removal
from holdfast.store.sections import decode_text, encode_text
from holdfast.store.trust import Trust
from holdfast.store.versions import Versions

_HISTORY = "~/.holdfast/lessons/.history"


class LessonForgetting:
    def __init__(self, project: Project, removal: Removal) -> None:
        self.project = project
        self.removal = removal
        self._home = project.memory.parent.parent
        self._personal = self._home / "lessons"
        self._personal_lock = self._home / "locks" / "lessons.lock"
        self._versions = Versions(self._personal / ".history")

    def edit(self, shown: str, data: bytes) -> bytes:
        """Return a lesson, or the choices, without what is forgotten; empty if nothing is left."""
        if shown.endswith(CHOICES):
            return self._choices(data)
        if shown.endswith(RECORD):
            return self._record(data)
        text = decode_text(data)
        remaining = forget_in_lesson(text, self.removal, Path(shown).name.removesuffix(".md"))
        return encode_text(remaining)

    def version(self, shown: str, data: bytes) -> bytes | None:
        """Return an older version without what is forgotten; None if nothing is left."""
        return self.edit(shown, data) or None

    def _choices(self, data: bytes) -> bytes:
        choices = decode_choices(data, Path(CHOICES))
        kept = tuple(trimmed for rejected in choices.rejected if (trimmed := self._rejected(rejected)).rules)
        muted = {name: until for name, until in choices.muted.items() if not names_it(name, self.removal)}
        remaining = replace(choices, rejected=kept, muted=muted)
        if remaining == choices:
            return data
        self.removal.hits += max(_size(choices) - _size(remaining), 1)
        return encode_choices(remaining) or b""

    def _record(self, data: bytes) -> bytes:
        """Edit a record, in which the names of lessons are the only words."""
        record = decode_record(data)
        payback = {
            name: counts for name, counts in record.payback.items() if not names_it(name, self.removal)
        }
        if payback == record.payback:
            return data
        self.removal.hits += len(record.payback) - len(payback)
        return encode_record(replace(record, payback=payback))

    def _rejected(self, one: Rejected) -> Rejected:
        sessions = tuple(name for name in one.sessions if name not in self.removal.sessions)
        only = (bool(one.sessions) and not sessions) or names_it(one.name, self.removal)
        rules = () if only else tuple(rule for rule in one.rules if not self.removal.phrases.found_in(rule))
        return replace(one, rules=rules, sessions=sessions)

    # --- outside the memory ----------------------------------------------------------------------------

    def count(self, report: Callable[[str, int], None]) -> None:
        for path, shown, _ in self._elsewhere():
            data = files.read(path)
            if data is not None:
                report(shown, self._counted(path, data)[1])
        kept = self._versions.contents(self._versions.changes())
        report(_HISTORY, sum(self.version(file, data) != data for _, file, data in kept))

    def apply(self, report: Callable[[str, int], None], at: float) -> None:
        trust = Trust(self._home, self.project)
        gone = {name for name in trust.names() if names_it(name, self.removal)}
        for path, shown, lock in self._elsewhere():
            with files.lock(lock) as held:
                before = files.read(path)
                if before is None:
                    continue
                after, number = self._counted(path, before)
                if not after:
                    files.discard([path])
                elif after != before:
                    files.replace_held(held, path, after, files.digest(before))
            report(shown, number)
            if shown.startswith(SHOWN["shared"]):
                name = path.name.removesuffix(".md")
                if not after:
                    gone.add(name)
                elif approval := trust.given(name, before):  # the rest was trusted with the whole
                    trust.give({name: after}, at, approval.by)
        if not gone.isdisjoint(trust.names()):
            trust.revoke(gone)
        if self._versions.directory.is_dir():
            with files.lock(self._personal_lock) as held:
                report(_HISTORY, self._versions.rewrite(held, self.version))

    def _counted(self, path: Path, data: bytes) -> tuple[bytes, int]:
        return self.removal.counted(lambda raw: self.edit(path.name, raw), data)

    def _elsewhere(self) -> Iterator[tuple[Path, str, Path]]:
        """Yield lessons outside of the project's memory: the file, its display name, and its lock."""
        shared = self.project.window / "lessons"
        places = [(self._personal, SHOWN["personal"], self._personal_lock)]
        if not self.project.window.is_symlink() and shared != self._personal:
            places.append((shared, SHOWN["shared"], self.project.lock("lessons-shared")))
        for folder, shown, lock in places:
            if not folder.is_symlink() and folder.is_dir():
                for path in sorted(folder.glob("*.md")):
                    if path.is_file() and not path.is_symlink():  # the target of a link is not ours
                        yield path, f"{shown}/{path.name}", lock


def _size(choices: Choices) -> int:
    return len(choices.rejected_rules()) + len(choices.muted)


def forget_in_lesson(text: str, removal: Removal, name: str) -> str:
    """Return the rest of the file; '' if nothing of the lesson is left. A file that is not a lesson counts as prose."""
    try:
        file = parse_lesson(text, name)
    except LessonError:
        return removal.prose(text)
    remaining = _left_of(file.lesson, removal)
    if remaining is None:
        removal.hits += 1
        return ""
    written = text if remaining == file.lesson else _rewritten(file, remaining)
    return _prose(written, remaining, removal)


def names_it(name: str, removal: Removal) -> bool:
    """Whether the name of a lesson contains what is to be forgotten."""
    return any(map(removal.phrases.found_in, (name, name.replace("-", " ").replace("_", " "))))


def _left_of(lesson: Lesson, removal: Removal) -> Lesson | None:
    evidence = tuple(item for item in lesson.evidence if item.session not in removal.sessions)
    forgotten = len(lesson.sessions) - len({item.session for item in evidence if item.session})
    only_theirs = forgotten and not any(item.session for item in evidence)
    if lesson.id in removal.ids or only_theirs or names_it(lesson.name, removal):
        return None
    removal.hits += forgotten
    # A rule with a gap would say something else, so the whole rule is removed.
    rules = tuple(
        rule
        for rule in lesson.rules
        if not removal.phrases.found_in(rule) and not (forgotten and removal.traces(rule))
    )
    if not rules:
        return None
    removal.hits += len(lesson.rules) - len(rules)
    return replace(
        lesson,
        rules=rules,
        description=removal.trace(lesson.description) if forgotten else removal.text(lesson.description),
        evidence=tuple(replace(item, line=removal.text(item.line)) for item in evidence),
    )


def _rewritten(file: LessonFile, left: Lesson) -> str:
    try:
        return rewrite_lesson(file, left)
    except LessonError:  # loses a person's other text in the file
        return render_lesson(left)


def _prose(text: str, lesson: Lesson, removal: Removal) -> str:
    """Forget in the rest of the file. If that makes it unreadable, keep only the lesson."""
    remaining = removal.prose(text)
    if remaining == text:
        return text
    try:
        parse_lesson(remaining, lesson.name)
    except LessonError:
        return render_lesson(lesson)
    return remaining
