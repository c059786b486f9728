"""Reads and changes the lesson folders: personal, local with its candidates, and shared in git.

A change is based on what is read under one lock, and never overwrites a file that was edited by hand in between.
Local and personal files are versioned by us, shared files by git.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import HoldfastError, NameRefused, NotALesson, StoreError
from holdfast.core.files import Held
from holdfast.core.folders import checked
from holdfast.core.names import safe_name
from holdfast.guard.hidden_text import path_text, why_refused, why_target_refused
from holdfast.lessons.choices import (
    CHOICES,
    RECORD,
    Choices,
    Record,
    decode_choices,
    encode_choices,
    encode_record,
    read_record,
)
from holdfast.lessons.fingerprint import take
from holdfast.lessons.front_matter import LessonError
from holdfast.lessons.markdown import LessonFile, parse_lesson, rewrite_lesson
from holdfast.lessons.proposals import LONGEST_RULE, Key, Merge, Place, Proposed, allowed, with_digests
from holdfast.model.lesson import Fingerprint, Lesson
from holdfast.store.denied import Denied
from holdfast.store.origins import Origins
from holdfast.store.project import Project
from holdfast.store.trust import Trust
from holdfast.store.versions import UNDO, Step, Versions, steps_back

CANDIDATES = "_candidates"
PROPOSED = "lessons learned"
MOST_BYTES = 100_000
MOST_FILES = 2_000
_ENDING = ".md"
_NOT_LESSONS = frozenset({"readme.md", "index.md"})
_PATIENCE_S = 0.5
_LEFT_OUT = "It is left out"
_UNTIL_MENDED = "It is left out until that is mended"
_IS_A_LINK = "is a link, so no lesson is read there. Put a folder in its place."


class StoredLesson(Struct, frozen=True, kw_only=True):
    """A lesson in its file, with the bytes that it was read from."""

    path: Path
    data: bytes
    file: LessonFile

    @property
    def lesson(self) -> Lesson:
        return self.file.lesson


class Folder(Struct, frozen=True):
    """The content of a folder. `problems` are full sentences, with the place."""

    lessons: tuple[StoredLesson, ...] = ()
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> StoredLesson | None:
        return next((stored for stored in self.lessons if stored.lesson.name == name), None)


def read_folder(folder: Path, shown: str) -> Folder:
    """Read the lessons of a folder, sorted by name. `shown` is its name in messages.

    Links are never followed; a broken or hostile file only adds a line to `problems`.
    """
    try:
        mode = os.lstat(folder).st_mode
    except OSError:
        return Folder()
    if not stat.S_ISDIR(mode):
        no_folder = _IS_A_LINK if stat.S_ISLNK(mode) else _IS_A_LINK.replace("a link", "no folder")
        return Folder(problems=(f"{shown} {no_folder}",))
    lessons: list[StoredLesson] = []
    problems: list[str] = []
    try:
        names = sorted(filter(_is_lesson_name, os.listdir(folder)))
    except OSError as error:
        return Folder(problems=(f"{shown} cannot be read: {(error.strerror or '').lower()}.",))
    if len(names) > MOST_FILES:
        problems.append(f"{shown} holds {len(names):,} files; the first {MOST_FILES:,} are read.")
    for name in names[:MOST_FILES]:
        where = f"{shown}/{path_text(name)[:120]}"
        try:
            stored = read_file(folder / name, where)
        except HoldfastError as error:
            problems.append(error.line())
        else:
            lessons.append(stored)
            problems += [f"{where}: {doubt}." for doubt in stored.file.doubts]
    return Folder(tuple(lessons), tuple(problems))


def _is_lesson_name(name: str) -> bool:
    """Skip the `._` files that Finder creates on disks that cannot hold its attributes."""
    return name.endswith(_ENDING) and not name.startswith("._") and name.casefold() not in _NOT_LESSONS


def read_file(path: Path, where: str) -> StoredLesson:
    """Read one file. Raises NotALesson if it cannot be used."""
    try:
        name = safe_name(path.name.removesuffix(_ENDING))
        data = _read_regular(path)
    except NameRefused as error:
        raise NotALesson(error.problem, where=where, fix=_LEFT_OUT) from None
    except OSError as error:
        raise NotALesson(error.strerror or "it cannot be read", where=where, fix=_LEFT_OUT) from None
    return parse_stored(path, name, data, where)


def parse_stored(path: Path, name: str, data: bytes, where: str) -> StoredLesson:
    """Parse the bytes of a lesson. Raises NotALesson, with the line of the problem, if it must not be used."""
    return StoredLesson(path=path, data=data, file=_parse(name, data, where))


@lru_cache(maxsize=200)
def _parse(name: str, data: bytes, where: str) -> LessonFile:
    problem, line = "", 0
    try:
        if len(data) > MOST_BYTES:
            problem = f"it is larger than {MOST_BYTES // 1000} KB, and no lesson"
        elif refused := why_refused(text := data.decode("utf-8")):
            line, problem = refused
        else:
            file = parse_lesson(text, name)
            problem = _why_refused(file.lesson)
    except UnicodeDecodeError as error:
        problem, line = "bytes that are not UTF-8", data.count(b"\n", 0, error.start) + 1
    except LessonError as error:
        problem, line = error.problem, error.line
    if problem:
        raise NotALesson(problem, where=f"{where}:{line}" if line else where, fix=_UNTIL_MENDED)
    return file


def _why_refused(lesson: Lesson) -> str:
    """Return what is wrong with a lesson's text, or ''. YAML escapes can hide characters that the bytes do not show."""
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


def _read_regular(path: Path) -> bytes:
    """Read the file, or enough to show that it is too large. Links, pipes and devices are not opened."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(0, "it is a link, and lessons are not read through links")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is not a regular file")
    if status.st_size > MOST_BYTES:
        return bytes(MOST_BYTES + 1)
    if (data := files.read(path)) is None:
        raise OSError(0, "it is gone")
    return data


SHOWN: dict[Place, str] = {
    "personal": "~/.holdfast/lessons",
    "local": ".holdfast/local/lessons",
    "candidates": f".holdfast/local/lessons/{CANDIDATES}",
    "shared": ".holdfast/lessons",
}
PLACES = tuple(SHOWN)
Edits = dict[Path, tuple[bytes | None, bytes | None]]  # content of a file before and after


class Shelf(Struct, frozen=True, kw_only=True):
    """All lessons at one moment, with a person's choices, the record and the trusted contents."""

    personal: Folder
    local: Folder
    candidates: Folder
    shared: Folder
    choices: Choices
    record: Record
    trust: Trust
    origins: Origins

    def folder(self, place: Place) -> Folder:
        folder: Folder = getattr(self, place)
        return folder

    def lessons(self, *places: Place) -> Iterator[tuple[Place, StoredLesson]]:
        """Yield the lessons of these places in order, or of all places."""
        for place in places or PLACES:
            for stored in self.folder(place).lessons:
                yield place, stored

    def is_trusted(self, stored: StoredLesson) -> bool:
        return self.trust.given(stored.lesson.name, stored.data) is not None

    @property
    def problems(self) -> list[str]:
        return [problem for place in PLACES for problem in self.folder(place).problems]


class Changes(Struct, kw_only=True):
    """Changes to make. None removes a lesson, bytes are a whole file; everything else stays.

    `lenient` is for lessons that can be learned again: files that cannot be changed are skipped, and writes are faster.
    """

    lessons: dict[Key, Lesson | bytes | None] = {}
    choices: Choices | None = None
    record: Record | None = None
    lenient: bool = False


class LessonStore:
    """The lessons that apply to one project. All changes of one `group` are undone together."""

    def __init__(self, project: Project, clock: Callable[[], float] = time.time, group: str = "") -> None:
        self.project = project
        self._clock = clock
        self._group = group
        self._home = project.memory.parent.parent
        self._own = project.memory / "lessons"
        self.folders: dict[Place, Path] = {
            "personal": self._home / "lessons",
            "local": self._own,
            "candidates": self._own / CANDIDATES,
            "shared": project.window / "lessons",
        }
        self._personal_versions = Versions(self._home / "lessons" / ".history")

    def read(self) -> Shelf:
        if self.project.window.is_symlink():  # a cloned repository may contain one
            shared = Folder(problems=(f".holdfast {_IS_A_LINK}",))
        elif self.folders["shared"] == self.folders["personal"]:
            shared = Folder()  # the home directory itself as a project
        else:
            shared = read_folder(self.folders["shared"], SHOWN["shared"])
        return Shelf(
            personal=read_folder(self.folders["personal"], SHOWN["personal"]),
            local=read_folder(self._own, SHOWN["local"]),
            candidates=read_folder(self.folders["candidates"], SHOWN["candidates"]),
            shared=shared,
            choices=self.choices(),
            record=read_record(self._own),
            trust=Trust(self._home, self.project),
            origins=Origins(self.project.memory),
        )

    def choices(self) -> Choices:
        path = checked(self.project.memory, self._own / CHOICES)
        return decode_choices(files.read(path), path)

    def path_of(self, place: Place, name: str) -> Path:
        return self.folders[place] / f"{safe_name(name)}.md"

    def change(self, decide: Callable[[Shelf], Changes], reason: str) -> Changes:
        """Apply the changes that `decide` returns for the current lessons; retry if another process was faster."""
        with files.lock(self.project.lock("memory")) as held:
            return self._change(held, decide, reason)

    def _change(self, held: Held, decide: Callable[[Shelf], Changes], reason: str) -> Changes:
        def attempt() -> Changes:
            shelf = self.read()
            changes = decide(shelf)
            self._apply(held, shelf, changes, reason)
            return changes

        return files.until_undisturbed(attempt)

    def propose(self, lessons: Iterable[Lesson]) -> Proposed:
        """Store new lessons as candidates, or as more evidence of existing ones, in one write.

        Rejected and forgotten lessons are skipped, and nothing is written if nothing is new.
        """
        proposed = Proposed()

        def decide(shelf: Shelf) -> Changes:
            nonlocal proposed
            before: dict[Key, Lesson] = {
                (place, stored.lesson.name): stored.lesson
                for place, stored in shelf.lessons("local", "candidates")
            }
            # A lesson that is also local gains the evidence; one that only others wrote is left unchanged.
            ours = {rule for _, stored in shelf.lessons("local") for rule in stored.lesson.rules}
            foreign = [
                stored.lesson
                for place, stored in shelf.lessons("personal", "shared")
                if (place == "personal" or shelf.is_trusted(stored))
                and not ours.issuperset(stored.lesson.rules)
            ]
            merge = Merge(before, foreign, shelf.choices.rejects, lambda rule: shelf.record.seen_in(rule) > 0)
            for lesson in wanted:
                merge.add(lesson)
            proposed = merge.result()
            return Changes(
                lessons={
                    key: with_digests(lesson, before.get(key), self.digest_of)
                    for key, lesson in merge.lessons.items()
                    if before.get(key) != lesson
                },
                record=shelf.record.reword(merge.reworded).capture(_own(merge.taken, shelf.origins)),
                lenient=True,
            )

        with files.lock(self.project.lock("memory")) as held:
            denied = Denied(self.project.memory)
            wanted = [permitted for lesson in lessons if (permitted := allowed(lesson, denied)).rules]
            if wanted:
                self._change(held, decide, PROPOSED)
        return proposed

    def digest_of(self, target: str) -> str:
        """Return the current digest of a target, or '' if it does not exist."""
        taken = take(self.project.root, target)
        return taken.digest if isinstance(taken, Fingerprint) else ""

    def note(self, change: Callable[[Record], Record], patience: float | None = None) -> None:
        """Change the record, which is not versioned. Does not create a memory only to count something."""
        if self.project.memory.is_dir():
            with files.lock(self.project.lock("memory"), timeout=patience) as held:
                before = read_record(self._own)
                self._put_record(held, before, change(before))

    def mark_shown(self, rules: Iterable[str]) -> None:
        """Record the time at which a person first sees these rules."""
        self.note(lambda record: record.show(rules, self._clock()))

    def mark_looked_at(self, digests: Mapping[str, Mapping[str, str]]) -> None:
        """Record current digests for lessons without any. Gives up if the lock is taken."""
        with contextlib.suppress(StoreError):
            self.note(lambda record: record.look(digests), patience=_PATIENCE_S)

    def _apply(self, held: Held, shelf: Shelf, changes: Changes, reason: str) -> None:
        """Write choices before lessons, and a moved lesson to its new place before it is removed from the old one."""
        ours: Edits = {}
        edits: dict[Place, Edits] = {"local": ours, "candidates": ours, "shared": {}, "personal": {}}
        if changes.choices is not None and changes.choices != shelf.choices:
            path = self._own / CHOICES
            ours[path] = (files.read(path), encode_choices(changes.choices))
        for (place, name), lesson in changes.lessons.items():
            stored, path = shelf.folder(place).get(name), self.path_of(place, name)
            try:
                before = stored.data if stored else _read_no_lesson(path)
                after = _render(stored, lesson, path) if isinstance(lesson, Lesson) else lesson
            except StoreError:
                if changes.lenient:
                    continue
                raise
            if before != after:
                edits[place][path] = (before, after)
        memory, window = self.project.memory, self.project.window
        self._put(held, memory, Versions(memory / "history"), ours, reason, lean=changes.lenient)
        if edits["shared"]:
            self.project.check_window()
            with files.lock(self.project.lock("lessons-shared")) as folder_lock:
                self._put(folder_lock, window, None, edits["shared"], reason)
        if edits["personal"]:
            files.make_private(self._home)
            with files.lock(self._home / "locks" / "lessons.lock") as folder_lock:
                self._put(folder_lock, self._home, self._personal_versions, edits["personal"], reason)
        if changes.record is not None:
            self._put_record(held, shelf.record, changes.record)

    def _put(
        self,
        held: Held,
        root: Path,
        versions: Versions | None,
        edits: Edits,
        reason: str,
        *,
        lean: bool = False,
    ) -> None:
        if not edits:
            return
        edits = dict(sorted(edits.items(), key=lambda item: item[1][1] is None))
        for path, (before, _) in edits.items():
            _refuse_changed(checked(root, path), before)
        if versions is not None:
            rows = [(path.relative_to(root).as_posix(), *contents) for path, contents in edits.items()]
            versions.record_all(held, rows, self._clock(), reason, self._group, lean=lean)
        written = {path: (new, files.digest(old)) for path, (old, new) in edits.items() if new is not None}
        files.replace_all_held(held, written, new_may_be_lost=lean)
        for path, (before, after) in edits.items():
            if after is None:
                _refuse_changed(path, before)
                files.discard([path])

    def _put_record(self, held: Held, before: Record, after: Record) -> None:
        if after != before:
            path = checked(self.project.memory, self._own / RECORD)
            files.replace_held(held, path, encode_record(after), files.ANYTHING)

    # --- undo of personal lessons; `holdfast undo` handles those of the project ----------------------------

    def personal_steps_back(self) -> tuple[Step, ...]:
        versions = self._personal_versions
        names = list(dict.fromkeys(change.file for change in versions.changes()))
        return steps_back(versions, names, names, lambda name: files.read(self._personal_path(name)))

    def undo_personal(self) -> tuple[Step, ...]:
        """Undo the last change of personal lessons; doing it twice redoes it."""
        with files.lock(self._home / "locks" / "lessons.lock") as held:
            steps = self.personal_steps_back()
            edits = {self._personal_path(step.file): (step.now, step.then) for step in steps}
            self._put(held, self._home, self._personal_versions, edits, UNDO)
        return steps

    def _personal_path(self, shown: str) -> Path:
        return self.path_of("personal", Path(shown).name.removesuffix(".md"))


def _own(
    taken: Iterable[tuple[str, tuple[str, ...]]], origins: Origins
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The rules that sessions of this machine showed: only those become active by themselves."""
    for rule, sessions in taken:
        own = tuple(session for session in sessions if not origins.is_foreign(session))
        if own or not sessions:
            yield rule, own


def _refuse_changed(path: Path, before: bytes | None) -> None:
    if files.read(path) != before:
        raise files.Conflict("it has been changed by someone else", where=str(path))


def _render(stored: StoredLesson | None, lesson: Lesson, path: Path) -> bytes:
    try:
        data = rewrite_lesson(stored.file if stored else None, lesson).encode("utf-8")
    except (LessonError, UnicodeEncodeError) as error:
        problem = error.problem if isinstance(error, LessonError) else "it holds what no file can hold"
        raise StoreError(problem, where=str(path), fix="Change the file by hand") from None
    if len(data) > MOST_BYTES:
        fix = "Keep fewer rules in one lesson"
        raise StoreError(f"it would grow beyond {MOST_BYTES // 1000} KB", where=str(path), fix=fix)
    return data


def _read_no_lesson(path: Path) -> bytes | None:
    """Refuse to overwrite a file that is not a lesson, unless it is empty after a power failure."""
    if path.is_file() and not path.is_symlink() and path.stat().st_size == 0:
        return b""
    if path.is_symlink() or path.exists():
        fix = "Mend it, or move it away"
        raise StoreError("something that is no lesson stands there", where=str(path), fix=fix)
    return None
