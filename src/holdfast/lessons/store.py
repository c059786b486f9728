"""Where lessons live: personal, of this machine's project (with candidates), and shared in git; read and changed.

One lock guards a change, which is decided on what is read under it; whoever edits by hand is not overwritten. Files
of the project and personal ones keep versions; of shared ones git does.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import HoldfastError, NameRefused, NotALesson, StoreError
from holdfast.core.files import Held
from holdfast.core.folders import checked
from holdfast.core.names import safe_name
from holdfast.guard.hidden_text import path_text, why_refused, why_target_refused
from holdfast.lessons import proposals
from holdfast.lessons.front_matter import LessonError
from holdfast.lessons.markdown import LessonFile, parse_lesson, rewrite_lesson
from holdfast.lessons.notes import (
    CHOICES,
    RECORD,
    Choices,
    Payback,
    Record,
    decode_choices,
    encode_choices,
    encode_record,
    read_record,
)
from holdfast.lessons.proposals import Alike, Proposed, Standing, Take
from holdfast.model.lesson import Lesson
from holdfast.store.denied import Denied
from holdfast.store.project import Project
from holdfast.store.trust import Trust
from holdfast.store.versions import UNDO, Step, Versions, steps_back

# Reads folders of lessons: whatever lies there, one broken or hostile file costs one line and no more.

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
    return Found(path=path, data=data, file=_parsed(name, data, where))


@lru_cache(maxsize=200)
def _parsed(name: str, data: bytes, where: str) -> LessonFile:
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
    return file


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
    if status.st_size > MOST_BYTES:
        return bytes(MOST_BYTES + 1)
    data = files.read(path)
    if data is None:
        raise OSError(0, "it is gone")
    return data


Place = Literal["personal", "local", "candidates", "shared"]
CANDIDATES = "_candidates"
PROPOSED = "lessons learned"
_PATIENCE_S = 0.5
T = TypeVar("T")


class Shelf(Struct, frozen=True, kw_only=True):
    """Everything there is: the folders, what was chosen and counted, and whose shared lessons are trusted."""

    personal: Folder
    local: Folder
    candidates: Folder
    shared: Folder
    choices: Choices
    record: Record
    trust: Trust

    def folder(self, place: Place) -> Folder:
        folder: Folder = getattr(self, place)
        return folder

    def is_trusted(self, found: Found) -> bool:
        return self.trust.given(found.lesson.name, found.data) is not None

    @property
    def problems(self) -> list[str]:
        folders = (self.personal, self.local, self.candidates, self.shared)
        return [problem for folder in folders for problem in folder.problems]


class Changes(Struct, kw_only=True):
    """What is to become of the shelf. None takes a lesson away, bytes are a file as it is; the rest stays."""

    lessons: dict[tuple[Place, str], Lesson | bytes | None] = {}
    choices: Choices | None = None
    record: Record | None = None
    # What sessions teach can be learned again: a file that cannot be changed is left alone, and speed comes first.
    lenient: bool = False


class LessonStore:
    """The lessons that count in one project. All changes under one `group` go back as one."""

    def __init__(self, project: Project, clock: Callable[[], float] = time.time, group: str = "") -> None:
        self.project = project
        self._clock = clock
        self._group = group
        self._home = project.memory.parent.parent
        self._own = project.memory / "lessons"
        self.folders: Mapping[Place, Path] = {
            "personal": self._home / "lessons",
            "local": self._own,
            "candidates": self._own / CANDIDATES,
            "shared": project.window / "lessons",
        }
        self._personal_versions = Versions(self._home / "lessons" / ".history")

    # --- reading ---------------------------------------------------------------------------------------

    def read(self) -> Shelf:
        return Shelf(
            personal=read_folder(self.folders["personal"], "~/.holdfast/lessons"),
            local=read_folder(self._own, ".holdfast/local/lessons"),
            candidates=read_folder(self.folders["candidates"], f".holdfast/local/lessons/{CANDIDATES}"),
            shared=self._shared(),
            choices=self.choices(),
            record=read_record(self._own),
            trust=Trust(self._home, self.project),
        )

    def _shared(self) -> Folder:
        """A clone may have brought anything along, a link in the place of the window too."""
        if self.project.window.is_symlink():
            return Folder(
                problems=(".holdfast is a link, so no lesson is read there. Put a folder in its place.",)
            )
        if self.folders["shared"] == self.folders["personal"]:
            return Folder()  # the home directory itself as a project
        return read_folder(self.folders["shared"], ".holdfast/lessons")

    def choices(self) -> Choices:
        path = checked(self.project.memory, self._own / CHOICES)
        return decode_choices(files.read(path), path)

    def path_of(self, place: Place, name: str) -> Path:
        return self.folders[place] / f"{safe_name(name)}.md"

    # --- changing --------------------------------------------------------------------------------------

    def change(self, decide: Callable[[Shelf], Changes], reason: str) -> Changes:
        """Makes the changes that `decide` finds right for what is there; again when somebody was faster."""
        with files.lock(self.project.lock("memory")) as held:
            return self._change(held, decide, reason)

    def _change(self, held: Held, decide: Callable[[Shelf], Changes], reason: str) -> Changes:
        def attempt() -> Changes:
            shelf = self.read()
            changes = decide(shelf)
            self._apply(held, shelf, changes, reason)
            return changes

        return files.until_undisturbed(attempt)

    def propose(self, lessons: Iterable[Lesson], alike: Alike, take: Take = lambda target: "") -> Proposed:
        """Keeps what sessions taught as candidates, or as more evidence of what is known. One write for all.

        What was rejected or forgotten stays away, and nothing is written when nothing is new. `alike` tells whether
        two rules say the same; `take` gives the digest of what a lesson depends on.
        """
        told: list[Proposed] = []

        def decide(shelf: Shelf) -> Changes:
            standing, before = self._standing(shelf)
            standing.taught = lambda rule: shelf.record.seen_in(rule) > 0
            done, taken = proposals.propose(standing, wanted, shelf.choices.rejected_rules(), alike)
            told.append(done)
            record = shelf.record.reword(standing.reworded).capture(taken)
            changes = Changes(record=record, lenient=True)
            for place, lessons in (("local", standing.active), ("candidates", standing.candidates)):
                for name, lesson in lessons.items():
                    known = before.get((place, name))
                    if known != lesson:
                        changes.lessons[place, name] = proposals.stamped(lesson, known, take)  # type: ignore[index]
            return changes

        with files.lock(self.project.lock("memory")) as held:
            denied = Denied(self.project.memory)
            wanted = [left for lesson in lessons if (left := proposals.allowed(lesson, denied)).rules]
            if not wanted:
                return Proposed()
            self._change(held, decide, PROPOSED)
        return told[-1]

    def _standing(self, shelf: Shelf) -> tuple[Standing, dict[tuple[str, str], Lesson]]:
        elsewhere = [found.lesson for found in shelf.personal.lessons]
        elsewhere += [found.lesson for found in shelf.shared.lessons if shelf.is_trusted(found)]
        active = {found.lesson.name: found.lesson for found in shelf.local.lessons}
        candidates = {found.lesson.name: found.lesson for found in shelf.candidates.lessons}
        before = {("local", name): lesson for name, lesson in active.items()}
        before |= {("candidates", name): lesson for name, lesson in candidates.items()}
        # What is ours too gains the evidence; what only others wrote is known and left alone.
        ours = {rule for lesson in active.values() for rule in lesson.rules}
        others = tuple(lesson for lesson in elsewhere if not ours.issuperset(lesson.rules))
        return Standing(active=active, candidates=candidates, elsewhere=others), before

    def note(self, change: Callable[[Record], Record], patience: float | None = None) -> None:
        """What happened to lessons: counted, without versions. A memory that is not there is not begun for it."""
        if self.project.memory.is_dir():
            with files.lock(self.project.lock("memory"), timeout=patience) as held:
                before = read_record(self._own)
                self._put_record(held, before, change(before))

    def mark_shown(self, rules: Iterable[str]) -> None:
        """Starts the clock of rules that a person sees for the first time."""
        self.note(lambda record: record.show(rules, self._clock()))

    def mark_looked_at(self, found: Mapping[str, Mapping[str, str]]) -> None:
        """Keeps what lessons without digests depend on as it is now. A hint: whoever holds the lock goes first."""
        with contextlib.suppress(StoreError):
            self.note(lambda record: record.look(found), patience=_PATIENCE_S)

    def count(self, payback: Mapping[str, Payback], session: str = "", until: str = "") -> None:
        """Adds what lessons cost and brought; of a session that is named, only what was told after it last counted."""
        self.note(lambda record: record.count(payback, session, until))

    # --- writing ---------------------------------------------------------------------------------------

    def _apply(self, held: Held, shelf: Shelf, changes: Changes, reason: str) -> None:
        """What keeps a lesson away comes first, and what is moved is written before it is taken away."""
        made: dict[Path, tuple[bytes | None, bytes | None]] = {}
        if changes.choices is not None and changes.choices != shelf.choices:
            path = self._own / CHOICES
            made[path] = (files.read(path), encode_choices(changes.choices))
        for (place, name), lesson in changes.lessons.items():
            try:
                path, before, after = self._step(shelf, place, name, lesson)
            except StoreError:
                if changes.lenient:
                    continue
                raise
            if before != after:
                made[path] = (before, after)
        ordered = dict(sorted(made.items(), key=lambda item: item[1][1] is None))
        personal = self.folders["personal"]
        ours = {path: both for path, both in ordered.items() if path.is_relative_to(self.project.memory)}
        self._put(held, ours, reason, lean=changes.lenient)
        self._put_shared({p: v for p, v in ordered.items() if p.parent == self.folders["shared"]})
        mine = {path: both for path, both in ordered.items() if path.parent == personal}
        if mine:
            files.make_private(self._home)
            with files.lock(self._home / "locks" / "lessons.lock") as own:
                self._put(own, mine, reason, personal=True)
        if changes.record is not None:
            self._put_record(held, shelf.record, changes.record)

    def _step(
        self, shelf: Shelf, place: Place, name: str, lesson: Lesson | bytes | None
    ) -> tuple[Path, bytes | None, bytes | None]:
        found = shelf.folder(place).get(name)
        path = self.path_of(place, name)
        before = found.data if found else self._unread(path)
        return path, before, self._rendered(found, lesson, path) if isinstance(lesson, Lesson) else lesson

    def _rendered(self, found: Found | None, lesson: Lesson, path: Path) -> bytes:
        try:
            data = rewrite_lesson(found.file if found else None, lesson).encode("utf-8")
        except (LessonError, UnicodeEncodeError) as error:
            problem = error.problem if isinstance(error, LessonError) else "it holds what no file can hold"
            raise StoreError(problem, where=str(path), fix="Change the file by hand") from None
        if len(data) > MOST_BYTES:
            fix = "Keep fewer rules in one lesson"
            raise StoreError(f"it would grow beyond {MOST_BYTES // 1000} KB", where=str(path), fix=fix)
        return data

    def _unread(self, path: Path) -> bytes | None:
        """A file that is no lesson is nobody's to overwrite, but for an empty one that a power cut left."""
        if path.is_file() and not path.is_symlink() and path.stat().st_size == 0:
            return b""
        if path.is_symlink() or path.exists():
            fix = "Mend it, or move it away"
            raise StoreError("something that is no lesson stands there", where=str(path), fix=fix)
        return None

    def _put(
        self,
        held: Held,
        made: Mapping[Path, tuple[bytes | None, bytes | None]],
        reason: str,
        personal: bool = False,
        lean: bool = False,
    ) -> None:
        root = self._home if personal else self.project.memory
        versions = self._personal_versions if personal else Versions(root / "history")
        if not made:
            return
        for path, (before, _) in made.items():
            if files.read(checked(root, path)) != before:
                raise files.Conflict("it was changed by someone else meanwhile", where=str(path))
        named = [(path.relative_to(root).as_posix(), *both) for path, both in made.items()]
        versions.record_all(held, named, self._clock(), reason, self._group, lean=lean)
        written = {path: (new, files.digest(old)) for path, (old, new) in made.items() if new is not None}
        files.replace_all_held(held, written, new_may_be_lost=lean)
        for path, (before, after) in made.items():
            if after is None:
                _replace(held, path, before, after)

    def _put_shared(self, made: Mapping[Path, tuple[bytes | None, bytes | None]]) -> None:
        if not made:
            return
        self.project.check_window()
        with files.lock(self.project.lock("lessons-shared")) as held:
            for path, (before, after) in made.items():
                _replace(held, checked(self.project.window, path), before, after)

    def _put_record(self, held: Held, before: Record, after: Record) -> None:
        if after != before:
            path = checked(self.project.memory, self._own / RECORD)
            files.replace_held(held, path, encode_record(after), files.ANYTHING)

    # --- the way back of personal lessons: `holdfast undo` knows the project's -----------------------------

    def personal_steps_back(self) -> tuple[Step, ...]:
        names = list(dict.fromkeys(change.file for change in self._personal_versions.changes()))
        return steps_back(
            self._personal_versions, names, names, lambda name: files.read(self._personal(name))
        )

    def undo_personal(self) -> tuple[Step, ...]:
        """Takes back the last change of personal lessons; twice brings it back."""
        with files.lock(self._home / "locks" / "lessons.lock") as held:
            steps = self.personal_steps_back()
            made = {self._personal(step.file): (step.now, step.then) for step in steps}
            self._put(held, made, UNDO, personal=True)
        return steps

    def _personal(self, shown: str) -> Path:
        return self.path_of("personal", Path(shown).name.removesuffix(".md"))


def _replace(held: Held, path: Path, before: bytes | None, after: bytes | None) -> None:
    if after is not None:
        files.replace_held(held, path, after, files.digest(before))
    elif files.read(path) == before:
        path.unlink(missing_ok=True)
    else:
        raise files.Conflict("it was changed by someone else meanwhile", where=str(path))
