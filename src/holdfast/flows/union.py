"""Adds to a memory what another one knows more: nothing that is here changes its words, and nothing is lost.

What was forgotten or taken out here does not come back with what comes from elsewhere.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import NameRefused, NotALesson
from holdfast.core.names import safe_name
from holdfast.ledger.markdown import LedgerFile
from holdfast.ledger.store import LedgerStore, missing_rows
from holdfast.lessons.proposals import allowed
from holdfast.lessons.store import LessonStore, read_file
from holdfast.memory.current import Current, CurrentFile
from holdfast.memory.reference import Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.events import DistilledSession
from holdfast.model.memory import Question
from holdfast.sessions.store import CaptureStore
from holdfast.store.bundle import CAPTURE, canonical_files
from holdfast.store.denied import Denied
from holdfast.store.line_grammar import Problem
from holdfast.store.project import Project
from holdfast.store.versions import is_lesson

REASON = "restore --merge"
T = TypeVar("T")
_MANAGED = ("log.md", "reference.md", "open-questions.md")


class Added(Struct, kw_only=True):
    """How much came in, by kind. `problems` are lines of the other memory that could not be read."""

    rows: int = 0
    sessions: int = 0
    facts: int = 0
    decisions: int = 0
    questions: int = 0
    answers: int = 0
    next: int = 0
    todo: int = 0
    records: int = 0
    files: int = 0
    problems: list[str] = []

    @property
    def total(self) -> int:
        return sum(getattr(self, name) for name in self.__struct_fields__ if name != "problems")


class Union:
    """One memory into another. Both are copies that nobody else writes; `here` is the one that grows."""

    def __init__(self, here: Project, there: Project, titles: tuple[str, str], group: str, at: float) -> None:
        self.here, self.there = here, there
        self._title_here, self._title_there = titles
        self._group = group
        self._at = at
        self.added = Added()
        self._denied = Denied(here.memory)
        self._no_ids, self._no_sessions = set(self._denied.ids), set(self._denied.sessions)

    def run(self, shared: Sequence[Path]) -> Added:
        """`shared` are ledgers of repositories: the other one's, whose rows come in, and ours, whose are here."""
        self._add_rows(shared)
        self._add_lines()
        for name in _projects(self.there):
            self._add_project(name)
        self._add_current()
        self._add_records()
        self._add_files()
        return self.added

    # --- rows and lines --------------------------------------------------------------------------------

    def _add_rows(self, shared: Sequence[Path]) -> None:
        store = _ledger_of(self.here)
        known, new = store.read(), _ledger_of(self.there).read()
        theirs, *ours = [LedgerStore(path, path.with_suffix(".lock")).read() for path in shared]
        there = [*known.entries, *(entry for ledger in ours for entry in ledger.entries)]
        self._no_sessions |= {entry.session for entry in there if entry.forgotten}
        rows = missing_rows([*new.entries, *missing_rows(theirs.entries, new.entries)], there)
        rows = [row for row in rows if row.session not in self._no_sessions]
        store.append(rows)
        self.added.rows = len(rows)
        self._report(new, theirs)
        # forgotten there: it is not taken from there either
        self._no_sessions |= {row.session for row in rows if row.forgotten}

    def _report(self, *ledgers: LedgerFile) -> None:
        self.added.problems += [problem.message for ledger in ledgers for problem in ledger.problems]

    def _add_lines(self) -> None:
        """Lists of one line for each thing, such as what was dismissed: the lines that are missing."""
        for path in sorted(self.there.memory.glob("*.jsonl")):
            target = self.here.memory / path.name
            if target.exists():
                known = set(files.read_lines(target))
                lines = [
                    line for line in files.read_lines(path) if line.endswith(b"\n") and line not in known
                ]
                if lines:
                    files.append(target, b"".join(lines), self.here.lock("memory"))

    # --- projects --------------------------------------------------------------------------------------

    def _add_project(self, name: str) -> None:
        """The repository's own project there is the own one here, whatever the folders are called."""
        theirs = MemoryStore(self.there, name)
        ours = self._store(self._title_here if name == self._title_there else name)
        entries = theirs.entries()
        self._warn(entries.problems)
        known = {entry.session for entry in ours.entries().entries} | self._no_sessions
        found = [entry for entry in entries.entries if entry.session not in known and entry.at is not None]
        new = [self._denied.left_of(self._stripped(entry)) for entry in found]
        if new:
            ours.record(*new)
        self.added.sessions += len(new)
        self._add_facts(theirs, ours)
        self._add_questions(theirs, ours)

    def _add_facts(self, theirs: MemoryStore, ours: MemoryStore) -> None:
        file = theirs.facts()
        self._warn(file.problems)
        out = ours.dismissed() | self._no_ids
        now = ours.facts().reference
        known = {fact.id for kept in now.facts for fact in (kept.fact, *kept.was)}
        decided = {decision.id for decision in now.decisions}
        theirs_now = self._stripped(file.reference)
        facts = [
            kept
            for kept in theirs_now.facts
            if kept.fact.id not in known | out and self._denied.lets(kept.fact)
        ]
        decisions = [
            one for one in theirs_now.decisions if one.id not in decided | out and self._denied.lets(one)
        ]
        if facts or decisions:

            def with_more(reference: Reference) -> Reference:
                return Reference(
                    facts=(*reference.facts, *facts), decisions=(*reference.decisions, *decisions)
                )

            ours.change_facts(with_more, REASON)
        self.added.facts += len(facts)
        self.added.decisions += len(decisions)

    def _add_questions(self, theirs: MemoryStore, ours: MemoryStore) -> None:
        file = theirs.questions()
        self._warn(file.problems)
        out = ours.dismissed() | self._no_ids
        known = {question.id: question for question in ours.questions().questions}
        asked = [one for one in map(self._stripped, file.questions) if self._denied.lets(one)]
        new = [one for one in asked if one.id not in known.keys() | out]
        answered = {one.id: one for one in asked if one.answer and one.id in known and known[one.id].open}

        def with_more(questions: tuple[Question, ...]) -> Iterable[Question]:
            for question in questions:
                told = answered.get(question.id)
                yield (
                    question
                    if told is None
                    else replace(question, answer=told.answer, by=told.by, answered_at=told.answered_at)
                )
            yield from new

        if new or answered:
            ours.change_questions(with_more, REASON)
        self.added.questions += len(new)
        self.added.answers += len(answered)

    # --- the state -------------------------------------------------------------------------------------

    def _add_current(self) -> None:
        """Next steps and to-dos that are missing; everything else of the state is this memory's own."""
        theirs = MemoryStore(self.there, self._title_there).current()
        self._warn(theirs.problems)
        ours = self._store(self._title_here)
        if not files.read(ours.current_file):
            return  # there is none: the file itself is taken
        file = ours.current()
        out = ours.dismissed() | self._no_ids
        steps = {(step.branch, step.text) for step in file.current.next}
        items = {item.id for item in (*file.current.todo, *file.ticked)} | out
        gone = self._no_sessions
        next_ = [
            self._stripped(step)
            for step in theirs.current.next
            if (step.branch, step.text) not in steps and step.session not in gone
        ]
        todo = [
            self._stripped(item)
            for item in theirs.current.todo
            if item.id not in items and item.session not in gone
        ]

        def with_more(read: CurrentFile) -> Current:
            now = read.current
            return replace(now, next=(*now.next, *next_), todo=(*now.todo, *todo))

        if next_ or todo:
            ours.change_current(with_more, REASON)
        self.added.next, self.added.todo = len(next_), len(todo)

    # --- the rest --------------------------------------------------------------------------------------

    def _add_records(self) -> None:
        """What is known of sessions beyond their rows. How far transcripts were read there means nothing here."""
        none: list[DistilledSession] = []
        records = CaptureStore.glimpse(self.there.capture, lambda store: store.all_records(), none)
        if not records:
            return
        store = CaptureStore(self.here.capture)
        try:
            with store.transaction():
                for record in records:
                    if record.session not in self._no_sessions and store.record(record.session) is None:
                        store.put_record(self._stripped(record))
                        self.added.records += 1
        finally:
            store.close()

    def _add_files(self) -> None:
        """Files that are not here at all; versions are those of the files there, and stay there."""
        for name in canonical_files(self.there.memory).files:
            top, _, rest = name.partition("/")
            managed = top == "projects" and (name.endswith(_MANAGED) or "/archive/" in name)
            if name in ("name", "ledger.md", CAPTURE) or top == "history" or managed:
                continue
            if rest and top == "projects":
                project, _, inner = rest.partition("/")
                own = self._title_here if project == self._title_there else project
                target = self.here.memory / "projects" / own / inner
            else:
                target = self.here.memory / name
            if not target.exists() and not self._is_kept_away(name):
                target.parent.mkdir(parents=True, exist_ok=True)
                if name.endswith(".md") and self._denied.texts:
                    text = (self.there.memory / name).read_text("utf-8", "surrogateescape")
                    target.write_text(self._denied.strip(text), "utf-8", "surrogateescape")
                else:
                    shutil.copyfile(self.there.memory / name, target)
                self.added.files += 1

    def _is_kept_away(self, name: str) -> bool:
        """A lesson that was rejected or forgotten here."""
        if not is_lesson(name) or not name.endswith(".md"):
            return False
        try:
            lesson = read_file(self.there.memory / name, name).lesson
        except NotALesson:
            return False
        rejected = set(LessonStore(self.here).choices().rejected_rules())
        return rejected.issuperset(lesson.rules) or allowed(lesson, self._denied).rules != lesson.rules

    def _stripped(self, value: T) -> T:
        """Whatever comes in, without texts that were forgotten here."""
        if not self._denied.texts:
            return value
        return msgspec.convert(_walk(msgspec.to_builtins(value), self._denied.strip), type(value))

    def _store(self, name: str) -> MemoryStore:
        return MemoryStore(self.here, name, clock=lambda: self._at, group=self._group)

    def _warn(self, problems: Iterable[Problem]) -> None:
        self.added.problems += [problem.message for problem in problems]


def _walk(value: Any, strip: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return strip(value)
    if isinstance(value, dict):
        return {key: _walk(item, strip) for key, item in value.items()}
    return [_walk(item, strip) for item in value] if isinstance(value, list | tuple) else value


def _ledger_of(project: Project) -> LedgerStore:
    return LedgerStore(project.ledger, project.lock("ledger"))


def _projects(project: Project) -> list[str]:
    folder = project.memory / "projects"
    found: list[str] = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        with contextlib.suppress(NameRefused):
            found.append(safe_name(path.name))
    return found
