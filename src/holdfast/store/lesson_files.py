"""Reads folders of lessons: whatever lies there, one broken or hostile file costs one line and no more."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from holdfast.errors import HoldfastError, NameRefused, NotALesson
from holdfast.guard.lesson_text import why_refused, why_target_refused
from holdfast.guard.names import safe_name
from holdfast.guard.visible import path_text
from holdfast.model.lesson import Lesson
from holdfast.store import files
from holdfast.text.lesson_md import LessonError, LessonFile, parse_lesson

MOST_BYTES = 100_000
MOST_FILES = 2_000
LONGEST_RULE = 1_000
_ENDING = ".md"
_NOT_LESSONS = frozenset({"readme.md", "index.md"})


class Found(Struct, frozen=True, kw_only=True):
    """A lesson where it lies, with the bytes that it was read from."""

    path: Path
    data: bytes
    file: LessonFile

    @property
    def lesson(self) -> Lesson:
        return self.file.lesson


class Folder(Struct, frozen=True):
    """What a folder holds. `problems` are whole sentences, place included."""

    lessons: tuple[Found, ...] = ()
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> Found | None:
        return next((found for found in self.lessons if found.lesson.name == name), None)


def read_folder(folder: Path, shown: str) -> Folder:
    """The lessons of a folder, by name. `shown` is how messages name it. Links are never followed."""
    try:
        status = os.lstat(folder)
    except OSError:
        return Folder()
    if not stat.S_ISDIR(status.st_mode):
        what = "is a link" if stat.S_ISLNK(status.st_mode) else "is no folder"
        return Folder(problems=(f"{shown} {what}, so no lesson is read there. Put a folder in its place.",))
    lessons: list[Found] = []
    problems: list[str] = []
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _is_meant(entry.name))
    except OSError as error:
        return Folder(problems=(f"{shown} cannot be read: {(error.strerror or '').lower()}.",))
    if len(names) > MOST_FILES:
        problems.append(f"{shown} holds {len(names):,} files; the first {MOST_FILES:,} are read.")
    for name in names[:MOST_FILES]:
        where = f"{shown}/{path_text(name)[:120]}"
        try:
            found = read_file(folder / name, where)
        except HoldfastError as error:
            problems.append(error.line())
        else:
            lessons.append(found)
            problems += [f"{where}: {doubt}." for doubt in found.file.doubts]
    return Folder(tuple(lessons), tuple(problems))


def _is_meant(name: str) -> bool:
    """Finder leaves its own file beside each one where a disk cannot hold what it keeps of them."""
    return name.endswith(_ENDING) and not name.startswith("._") and name.casefold() not in _NOT_LESSONS


def read_file(path: Path, where: str) -> Found:
    """One file. NotALesson when it is none that may be used."""
    fix = "It is left out"
    try:
        name = safe_name(path.name.removesuffix(_ENDING))
    except NameRefused as error:
        raise NotALesson(error.problem, where=where, fix=fix) from None
    try:
        data = _bytes(path)
    except OSError as error:
        raise NotALesson(error.strerror or "it cannot be read", where=where, fix=fix) from None
    return understood(path, name, data, where)


def understood(path: Path, name: str, data: bytes, where: str) -> Found:
    """A lesson out of its bytes. NotALesson with the line to blame when it must not be used."""
    fix = "It is left out until that is mended"
    if len(data) > MOST_BYTES:
        raise NotALesson(f"it is larger than {MOST_BYTES // 1000} KB, and no lesson", where=where, fix=fix)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotALesson("bytes that are no UTF-8", where=f"{where}:{line}", fix=fix) from None
    if refused := why_refused(text):
        raise NotALesson(refused[1], where=f"{where}:{refused[0]}", fix=fix)
    try:
        file = parse_lesson(text, name)
    except LessonError as problem:
        raise NotALesson(problem.problem, where=f"{where}:{problem.line}", fix=fix) from None
    if reason := why_lesson_refused(file.lesson):
        raise NotALesson(reason, where=where, fix=fix)
    return Found(path=path, data=data, file=file)


def why_lesson_refused(lesson: Lesson) -> str:
    """What is wrong with what a lesson says; '' when nothing is. Escapes of YAML can hide what the bytes do not."""
    texts = [lesson.description, *lesson.rules, *(item.line for item in lesson.evidence), *lesson.sessions]
    for text in texts:
        if refused := why_refused(text):
            return refused[1]
    if any(len(rule) > LONGEST_RULE for rule in lesson.rules):
        return f"a rule is longer than {LONGEST_RULE:,} characters"
    for item in lesson.fingerprint:
        if reason := why_target_refused(item.target):
            return f"the fingerprint {item.target[:60]!a}: {reason}"
    return ""


def _bytes(path: Path) -> bytes:
    """As much as tells that it is too much. A link, a pipe or a device is not opened."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(0, "it is a link, and lessons are not read through links")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is no regular file")
    file = files.open_to_read(path)
    if file is None:
        raise OSError(0, "it is gone")
    with file:
        return file.read(MOST_BYTES + 1)
