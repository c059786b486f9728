"""The memory of a project on disk: state, history, facts and questions, written so that nothing is lost.

One lock guards it all: a file is read, changed and replaced under it. An editor takes no lock, so the content is
compared again before the replacement; if a person has saved the file in between, the change is repeated on it.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.files import Held
from holdfast.core.folders import checked, text_of
from holdfast.core.names import safe_name
from holdfast.memory import current as current_md
from holdfast.memory import decisions as decisions_md
from holdfast.memory import reference as reference_md
from holdfast.memory.current import Current, CurrentFile
from holdfast.memory.decisions import DecisionsFile, SessionPassages
from holdfast.memory.reference import QuestionsFile, Reference, ReferenceFile
from holdfast.memory.session_log import (
    LONGEST,
    Entries,
    LogMarks,
    Placed,
    SessionLog,
)
from holdfast.model.memory import Decision, LogEntry, Question
from holdfast.model.times import no_later_than
from holdfast.store.clock import clock_of
from holdfast.store.denied import Denied
from holdfast.store.json_files import encode_json_lines, read_json_lines
from holdfast.store.line_grammar import id_of_line
from holdfast.store.project import Project
from holdfast.store.sections import decode_text, encode_text
from holdfast.store.versions import UNDO, Change, Step, Versions, is_lesson, steps_back

# --- statements that a person removed ------------------------------------------------------------------


class _Line(Struct, omit_defaults=True):
    id: str
    at: float
    now: str = ""  # of a statement that was reworded: its id since


class Dismissed:
    def __init__(self, path: Path) -> None:
        self._path = path

    def ids(self) -> set[str]:
        return set(self.times())

    def times(self) -> dict[str, float]:
        """When each id was dismissed."""
        return {line.id: line.at for line in read_json_lines(self._path, _Line)}

    def successors(self) -> dict[str, str]:
        """The next id of each statement that was reworded."""
        return {line.id: line.now for line in read_json_lines(self._path, _Line) if line.now}

    def add(self, held: Held, ids: Iterable[str], at: float, now: str = "") -> None:
        known = {name for name, later in self.successors().items() if later == now} if now else self.ids()
        new = sorted(set(ids) - known)
        if new:
            files.append_held(held, self._path, encode_json_lines(_Line(name, at, now) for name in new))


def lines_of_ids(text: str) -> dict[str, int]:
    """The ids at the end of a file's lines, each with its first line number, counted from 1."""
    numbers: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if id := id_of_line(line):
            numbers.setdefault(id, number)
    return numbers


T = TypeVar("T")


class MemoryStore:
    """The memory of one project of a repository; all its projects share `current.md` and `style.md`.

    All changes with the same `group` are undone together; without a group each is undone by itself.
    """

    def __init__(
        self, project: Project, name: str, clock: Callable[[], float] | None = None, group: str = ""
    ) -> None:
        self.project = project
        self.name = safe_name(name)
        self._clock = clock or clock_of(project.memory).seconds
        self._group = group
        self._root = project.memory
        self._folder = self._root / "projects" / self.name
        self.log_file = self._folder / "log.md"
        self.reference_file = self._folder / "reference.md"
        self.questions_file = self._folder / "open-questions.md"
        self.archive_folder = self._folder / "archive"
        self.decisions_folder = self._folder / decisions_md.FOLDER
        self.current_file = self._root / "current.md"
        self.style_file = self._root / "style.md"
        self.versions = Versions(self._root / "history")
        self._dismissed = Dismissed(self._root / "dismissed.jsonl")
        self._marks = LogMarks(self._root, self.name)

    @property
    def lock_path(self) -> Path:
        return self.project.lock("memory")

    # --- reading ---------------------------------------------------------------------------------------

    def entries(self) -> Entries:
        """One entry per session, including archived ones."""
        return self._log().entries()

    def latest(self) -> tuple[LogEntry, ...]:
        """The entries of the log itself, without the archive."""
        return tuple(self._log().read().entries)

    def facts(self) -> ReferenceFile:
        return reference_md.parse_reference(self._text(self.reference_file), self._shown(self.reference_file))

    def questions(self) -> QuestionsFile:
        return reference_md.parse_questions(self._text(self.questions_file), self._shown(self.questions_file))

    def decisions(self, path: Path) -> DecisionsFile:
        """What sessions of one month settled and found."""
        return decisions_md.parse_decisions(self._text(path), self._shown(path))

    def months(self) -> list[Path]:
        """The files of decisions, the oldest first."""
        return sorted(self.decisions_folder.glob("*.md"))

    def current(self) -> CurrentFile:
        return current_md.parse_current(self._text(self.current_file), self._shown(self.current_file))

    def style(self) -> str:
        return self._text(self.style_file)

    def dismissed(self) -> set[str]:
        """Ids of items that a person dismissed, or whose line they deleted since we last wrote: these stay out.

        Forgotten items are included.
        """
        by_hand = (self._deleted_by_hand(path) for path in self._mutable())
        return self._dismissed.ids().union(Denied(self._root).ids, *by_hand)

    def dismissed_at(self) -> dict[str, float]:
        """When each item was dismissed; the current time for lines deleted since we last wrote."""
        deleted = {id: self._clock() for path in self._mutable() for id in self._deleted_by_hand(path)}
        return deleted | self._dismissed.times()

    def successors(self) -> dict[str, str]:
        return self._dismissed.successors()

    def dismiss(self, *ids: str, now: str = "") -> None:
        """`now` is the id that a reworded statement has since."""
        with files.lock(self.lock_path) as held:
            self._dismissed.add(held, ids, self._clock(), now)

    def _deleted_by_hand(self, path: Path) -> set[str]:
        now = files.read(self._checked(path))
        last_written = self.versions.before_hand_edit(self._shown(path), now)
        return (
            lines_of_ids(decode_text(last_written)).keys() - lines_of_ids(decode_text(now or b""))
            if last_written
            else set()
        )

    # --- history: only ever added to -------------------------------------------------------------------

    def record(self, *entries: LogEntry, longest: int = LONGEST) -> list[LogEntry]:
        """Log sessions in one write, and return the new or changed ones. A long log is archived afterwards."""
        if any(not entry.session or entry.at is None for entry in entries):
            raise UsageError("a log entry needs a session and a date", fix="Import the session again")
        with files.lock(self.lock_path) as held:
            denied = Denied(self._root)
            allowed = [
                self._dated(denied.left_of(entry))
                for entry in entries
                if entry.session not in denied.sessions
            ]
            added = self._log().add(held, allowed)
        if added:
            self.archive(longest=longest)
        return added

    def edited_entries(self) -> list[Placed]:
        """Log entries that were changed or removed by hand."""
        entries, forgotten = self._log().written()
        return self._marks.edited(entries, forgotten, self.log_file.name)

    def accept_entries(self, but: Collection[str] = (), held: Held | None = None) -> None:
        """Accept the log as it is now, except the entries of the sessions in `but`."""
        with contextlib.nullcontext(held) if held is not None else files.lock(self.lock_path) as lock:
            self._marks.accept(lock, self._log().written()[0], but)

    def too_old(self, *, longest: int = LONGEST) -> list[LogEntry]:
        """The entries that `archive` would move."""
        return self._log().too_old(longest)

    def archive(self, *, longest: int = LONGEST) -> int:
        """Move older sessions of a log with more than `longest` lines to the archive, and return their number."""
        with files.lock(self.lock_path) as held:
            log = self._log()
            return files.until_undisturbed(lambda: log.archive(held, longest))

    def _dated(self, value: T) -> T:
        """A value as it is stored: a time that is to come decides nothing, whatever clock it came from."""
        return no_later_than(value, self._clock())

    # --- files that change -----------------------------------------------------------------------------

    def change_current(self, change: Callable[[CurrentFile], Current], reason: str = "") -> bool:
        """Write the state that `change` returns; a person's lines stay."""

        def rewrite(text: str, shown: str) -> str:
            file = current_md.parse_current(text or current_md.BEGINNING, shown)
            return current_md.render_current(file.document, self._dated(change(file)))

        return self._rewrite(self.current_file, rewrite, reason)

    def change_facts(self, change: Callable[[Reference], Reference], reason: str = "") -> bool:
        def rewrite(text: str, shown: str) -> str:
            file = reference_md.parse_reference(text or reference_md.beginning(self.name), shown)
            return reference_md.render_reference(file, self._dated(change(file.reference)))

        return self._rewrite(self.reference_file, rewrite, reason)

    def change_questions(
        self, change: Callable[[tuple[Question, ...]], Iterable[Question]], reason: str = ""
    ) -> bool:
        def rewrite(text: str, shown: str) -> str:
            file = reference_md.parse_questions(text or reference_md.questions_beginning(self.name), shown)
            return reference_md.render_questions(file, self._dated(tuple(change(file.questions))))

        return self._rewrite(self.questions_file, rewrite, reason)

    def record_passages(self, sessions: Iterable[SessionPassages], reason: str = "") -> None:
        """Add what sessions settled and found to the files of their months."""
        months: dict[str, list[SessionPassages]] = {}
        for session in map(self._dated, sessions):
            if session.passages:
                months.setdefault(decisions_md.month_of(session.at), []).append(session)
        paths = {month: self.decisions_folder / f"{month}.md" for month in months}
        # Of a file that was deleted as a whole, too, nothing comes back.
        dismissed = self.dismissed().union(*map(self._deleted_by_hand, paths.values())) if months else set()
        for month, group in months.items():
            self._add_passages(month, group, dismissed, reason)

    def _add_passages(
        self, month: str, sessions: list[SessionPassages], dismissed: Collection[str], reason: str
    ) -> None:
        def rewrite(text: str) -> str:
            return decisions_md.with_sessions(
                text or decisions_md.beginning(self.name, month), sessions, dismissed
            )

        self.change(self.decisions_folder / f"{month}.md", rewrite, reason)

    def remove_passages(self, ids: Collection[str], reason: str = "") -> None:
        """Remove passages for good: a session that is captured again does not bring them back."""
        for path in self.months():
            self.change(
                path,
                lambda text: decisions_md.edit_passages(
                    text, lambda passage: None if passage.id in ids else passage
                ),
                reason,
            )
        self.dismiss(*ids)

    def propose(self, corrections: Iterable[str], reason: str = "") -> bool:
        """Propose corrections to the operating manual."""
        proposed = tuple(corrections)
        return self._rewrite(
            self.style_file, lambda text, shown: reference_md.propose(text, proposed, shown), reason
        )

    def _rewrite(self, path: Path, rewrite: Callable[[str, str], str], reason: str) -> bool:
        return self.change(path, lambda text: rewrite(text, self._shown(path)), reason)

    def change(self, path: Path, rewrite: Callable[[str], str], reason: str = "") -> bool:
        """Replace a file with the result of `rewrite`; False if nothing changed.

        `rewrite` is called again if another writer was faster, so it must have no side effects.
        """
        with files.lock(self.lock_path) as held:

            def attempt() -> bool:
                before = files.read(self._checked(path))
                self._dismissed.add(held, self._deleted_by_hand(path), self._clock())
                after = encode_text(rewrite(decode_text(before or b"")))
                return after != (before or b"") and self._put(held, path, before, after, reason)

            return files.until_undisturbed(attempt)

    def _put(self, held: Held, path: Path, before: bytes | None, after: bytes | None, reason: str) -> bool:
        self.versions.record_all(
            held, [(self._shown(path), before, after)], self._clock(), reason, self._group
        )
        if after is not None:
            files.replace_held(held, path, after, files.digest(before))
        elif files.read(path) == before:
            files.discard([path])
        else:
            raise files.Conflict("it has been changed by someone else", where=str(path))
        return True

    # --- versions --------------------------------------------------------------------------------------

    def history(self, file: str | None = None) -> list[Change]:
        """The changes of a file (`current.md`, `reference.md` …), or of all, the newest first."""
        if file is None:
            return [change for change in self.versions.changes() if self._is_mine(change.file)][::-1]
        return self.versions.changes(self._shown(self._file(file)))[::-1]

    def unsaved(self, file: str) -> Change | None:
        """A manual edit since the last change of a file, which is not in any version yet."""
        path = self._checked(self._file(file))
        now = files.read(path)
        at = path.stat().st_mtime if now is not None else self._clock()
        return self.versions.unsaved(self._shown(path), now, at)

    def shown_name(self, file: str) -> str:
        """The journal's name of a file that is given by its name or path."""
        return self._shown(self._file(file))

    def bytes_of(self, file: str) -> bytes | None:
        """The current content of a file that has versions."""
        return files.read(self._checked(self._file(file)))

    def content(self, file: str, n: int) -> bytes | None:
        """The content of a file after its change `n`."""
        after = self.versions.version(self._shown(self._file(file)), n).after
        return None if after is None else self.versions.content(after)

    def restore(self, file: str, n: int) -> bool:
        """Restore the content of a file after its change `n`; the current content becomes a version too."""
        path = self._file(file)
        wanted = self.content(file, n)
        with files.lock(self.lock_path) as held:

            def attempt() -> bool:
                now = files.read(self._checked(path))
                return now != wanted and self._put(held, path, now, wanted, f"restore {n}")

            return files.until_undisturbed(attempt)

    def steps_back(self, file: str | None = None) -> tuple[Step, ...]:
        """What `undo` would do."""
        if file is None:
            lessons = self._lessons()
            names = [*(self._shown(path) for path in self._mutable()), *lessons]
            with_them = [*self._of_all_projects(), *lessons]
        else:
            names = with_them = [self._shown(self._file(file))]
        return steps_back(
            self.versions, names, with_them, lambda name: files.read(self._checked(self._root / name))
        )

    def undo(self, file: str | None = None) -> tuple[Step, ...]:
        """Undo our last change, in all its files or in none. A second undo redoes it."""
        with files.lock(self.lock_path) as held:

            def attempt() -> tuple[Step, ...]:
                steps = self.steps_back(file)
                done: list[Step] = []
                try:
                    for step in steps:
                        self._put(held, self._root / step.file, step.now, step.then, UNDO)
                        done.append(step)
                except BaseException:
                    for step in reversed(done):
                        self._put(held, self._root / step.file, step.then, step.now, f"{UNDO} stopped")
                    raise
                return steps

            return files.until_undisturbed(attempt)

    # --- places ----------------------------------------------------------------------------------------

    def _mutable(self) -> tuple[Path, ...]:
        files_of_all = (self.current_file, self.style_file, self.reference_file, self.questions_file)
        return (*files_of_all, *self.months())

    def _of_all_projects(self) -> list[str]:
        """Every file that has versions: one capture may change several projects."""
        own_files = [self._shown(path) for path in self._mutable()]
        folder = self._root / "projects"
        other_projects = (
            [path for path in folder.iterdir() if path.name != self.name] if folder.is_dir() else []
        )
        names = (self.reference_file.name, self.questions_file.name)
        others = [path / name for path in other_projects for name in names]
        others += [file for path in other_projects for file in path.glob(f"{decisions_md.FOLDER}/*.md")]
        return [*own_files, *map(self._shown, others)]

    def _lessons(self) -> list[str]:
        """Lessons and the choices about them, from the journal: the files may no longer exist."""
        return [
            name
            for name in dict.fromkeys(change.file for change in self.versions.changes())
            if is_lesson(name)
        ]

    def _file(self, name: str) -> Path:
        place = os.path.realpath(name)
        for path in (*self._mutable(), *(self._root / lesson for lesson in self._lessons())):
            if name in (path.name, self._shown(path)) or place == os.path.realpath(path):
                return path
        names = ", ".join(path.name for path in self._mutable())
        raise UsageError(f"{name!r} keeps no versions", fix=f"Name one of {names}")

    def _is_mine(self, shown: str) -> bool:
        return is_lesson(shown) or any(self._shown(path) == shown for path in self._mutable())

    def _shown(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _text(self, path: Path) -> str:
        return text_of(self._root, path)

    def _log(self) -> SessionLog:
        places = self._checked(self.log_file), self._checked(self.archive_folder)
        log = SessionLog(*places, self.name, self._marks)
        for path in log.archives():
            self._checked(path)
        return log

    def _checked(self, path: Path) -> Path:
        return checked(self._root, path)


# --- retired decisions ---------------------------------------------------------------------------------


def retired_decisions(store: MemoryStore) -> list[Decision]:
    """The retired decisions, each with the time of its retirement; what was decided later is a new decision."""
    times = {id: at for id, at in store.dismissed_at().items() if id.startswith("D-")}
    retired: dict[str, Decision] = {}
    for decision in _known(store) if times else ():
        if decision.id in times:
            retired.setdefault(decision.id, replace(decision, at=times[decision.id]))
            if len(retired) == len(times):
                break
    return list(retired.values())


def is_decided_since(decision: Decision, gone: Decision) -> bool:
    return (decision.at or 0.0) > (gone.at if gone.at is not None else math.inf)


def _known(store: MemoryStore) -> Iterator[Decision]:
    for entry in store.entries().entries:
        yield from entry.decisions
    file = store.reference_file.name
    for change in store.history(file):
        try:
            text = (store.content(file, change.n) or b"").decode("utf-8", "replace")
        except HoldfastError:  # a damaged version
            continue
        yield from reference_md.parse_reference(text).reference.decisions


# --- answers given -------------------------------------------------------------------------------------


class AnswerGiven(Struct, frozen=True):
    """An answer from the record, and when it was given."""

    at: float
    id: str


def record_answer(project: Project, id: str, at: float) -> None:
    files.append(_path(project), encode_json_lines([AnswerGiven(at, id)]), project.lock("answered"))


def answers_given(project: Project) -> list[AnswerGiven]:
    """The answers, oldest first. A torn line is skipped."""
    return read_json_lines(_path(project), AnswerGiven)


def _path(project: Project) -> Path:
    return project.memory / "answered.jsonl"
