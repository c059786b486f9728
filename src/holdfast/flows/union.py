"""Merges another memory into this one: adds what is missing, and leaves existing entries unchanged.

Items that were forgotten or dismissed here are not imported from the other memory.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import NameRefused, NotALesson
from holdfast.core.names import safe_name
from holdfast.ledger.store import LedgerStore, missing_rows
from holdfast.lessons.proposals import allowed
from holdfast.lessons.store import LessonStore, read_file
from holdfast.memory.current import Current, CurrentFile
from holdfast.memory.decisions import FOLDER, DecisionsFile
from holdfast.memory.read import known_projects
from holdfast.memory.reference import Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.events import DistilledSession
from holdfast.model.memory import Decision, Fact, Question
from holdfast.model.times import no_later_than
from holdfast.sessions.store import CaptureStore
from holdfast.store.bundle import canonical_files
from holdfast.store.denied import Denied
from holdfast.store.line_grammar import Problem
from holdfast.store.memory_files import CAPTURE, kind_of
from holdfast.store.project import Project

REASON = "restore --merge"
T = TypeVar("T")
_MANAGED = ("log.md", "reference.md", "open-questions.md")


class Added(Struct, kw_only=True):
    """How many items were added, by kind. `problems` are lines of the other memory that could not be read."""

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
    """Merges `there` into `here`. Both are copies that no other process writes."""

    def __init__(
        self, here: Project, there: Project, titles: tuple[str, str], group: str, at: float, made: float
    ) -> None:
        self.here, self.there = here, there
        self._title_here, self._title_there = titles
        self._group, self._at, self._made = group, at, made
        self.added = Added()
        self._denied = Denied(here.memory)
        self._forgotten = set(self._denied.sessions)

    def run(self, shared: Sequence[Path]) -> Added:
        """Runs the merge. `shared` are the two repositories' ledgers: the other one's, then this one's."""
        self._add_rows(shared)
        self._add_lines()
        for name in known_projects(self.there):
            with contextlib.suppress(NameRefused):
                self._add_project(safe_name(name))
        self._add_current()
        self._add_records()
        self._add_files()
        return self.added

    def _add_rows(self, shared: Sequence[Path]) -> None:
        store, their_store = (
            LedgerStore(side.ledger, side.lock("ledger")) for side in (self.here, self.there)
        )
        theirs, ours = (LedgerStore(path, path.with_suffix(".lock")).read() for path in shared)
        known_rows = [*store.read().entries, *ours.entries]
        self._forgotten |= {entry.session for entry in known_rows if entry.forgotten}
        their_ledger = their_store.read()
        rows = missing_rows(
            [*their_ledger.entries, *missing_rows(theirs.entries, their_ledger.entries)], known_rows
        )
        rows = [row for row in rows if row.session not in self._forgotten]
        store.append(rows)
        self.added.rows = len(rows)
        self.added.problems += [problem.message for problem in (*their_ledger.problems, *theirs.problems)]
        # Sessions that were forgotten in the other memory are not imported at all.
        self._forgotten |= {row.session for row in rows if row.forgotten}

    def _add_lines(self) -> None:
        """Adds missing lines to the files with one item per line, such as the dismissed ids."""
        for path in sorted(self.there.memory.glob("*.jsonl")):
            target = self.here.memory / path.name
            if target.exists():
                known_lines = set(files.read_lines(target))
                lines = [
                    line
                    for line in files.read_lines(path)
                    if line.endswith(b"\n") and line not in known_lines
                ]
                if lines:
                    files.append(target, b"".join(lines), self.here.lock("memory"))

    # --- projects --------------------------------------------------------------------------------------

    def _add_project(self, name: str) -> None:
        """The other repository's main project becomes this one's main project, whatever the folders are called."""
        theirs = MemoryStore(self.there, name)
        ours = self._store(self._title_here if name == self._title_there else name)
        entries = theirs.entries()
        self._warn(entries.problems)
        known_sessions = {entry.session for entry in ours.entries().entries} | self._forgotten
        new = [
            self._denied.left_of(self._strip(entry))
            for entry in entries.entries
            if entry.session not in known_sessions and entry.at is not None
        ]
        if new:
            ours.record(*new)
        self.added.sessions += len(new)
        self._add_facts(theirs, ours)
        self._add_questions(theirs, ours)
        for path in theirs.months():
            self._add_passages(theirs.decisions(path), ours)

    def _add_passages(self, file: DecisionsFile, ours: MemoryStore) -> None:
        """Adds passages to the files of their months, which both memories may have."""
        self._warn(file.problems)
        known_ids = {
            (section.session, passage.id)
            for path in ours.months()
            for section in ours.decisions(path).sections
            for passage in section.passages
        }
        unwanted = self._unwanted(ours)
        sections = []
        for section in map(self._strip, file.sections):
            passages = tuple(
                passage
                for passage in section.passages
                if (section.session, passage.id) not in known_ids
                and passage.id not in unwanted
                and self._denied.lets(passage)
            )
            if passages and section.session not in self._forgotten:
                sections.append(replace(section, passages=passages))
        ours.record_passages(sections, REASON)
        self.added.decisions += sum(len(section.passages) for section in sections)

    def _add_facts(self, theirs: MemoryStore, ours: MemoryStore) -> None:
        file = theirs.facts()
        self._warn(file.problems)
        new, now = self._strip(file.reference), ours.facts().reference
        known_ids = {item.id for kept in now.facts for item in (kept.fact, *kept.was)}
        known_ids |= {decision.id for decision in now.decisions} | self._unwanted(ours)
        facts = [kept for kept in new.facts if self._is_new(kept.fact, known_ids)]
        decisions = [decision for decision in new.decisions if self._is_new(decision, known_ids)]

        def merged(reference: Reference) -> Reference:
            return Reference(facts=(*reference.facts, *facts), decisions=(*reference.decisions, *decisions))

        if facts or decisions:
            ours.change_facts(merged, REASON)
        self.added.facts += len(facts)
        self.added.decisions += len(decisions)

    def _add_questions(self, theirs: MemoryStore, ours: MemoryStore) -> None:
        file = theirs.questions()
        self._warn(file.problems)
        known_questions = {question.id: question for question in ours.questions().questions}
        asked = [question for question in map(self._strip, file.questions) if self._denied.lets(question)]
        new = [
            question for question in asked if question.id not in known_questions.keys() | self._unwanted(ours)
        ]
        answered = {
            question.id: question
            for question in asked
            if question.answer and question.id in known_questions and known_questions[question.id].open
        }

        def merged(questions: tuple[Question, ...]) -> Iterable[Question]:
            for question in questions:
                answer = answered.get(question.id, question)
                yield replace(question, answer=answer.answer, by=answer.by, answered_at=answer.answered_at)
            yield from new

        if new or answered:
            ours.change_questions(merged, REASON)
        self.added.questions += len(new)
        self.added.answers += len(answered)

    def _add_current(self) -> None:
        """Adds missing next steps and to-dos; the rest of the state is this memory's own."""
        theirs = MemoryStore(self.there, self._title_there).current()
        self._warn(theirs.problems)
        ours = self._store(self._title_here)
        if not files.read(ours.current_file):
            return  # `_add_files` takes the whole file
        file = ours.current()
        steps = {(step.branch, step.text) for step in file.current.next}
        items = {item.id for item in (*file.current.todo, *file.ticked)} | self._unwanted(ours)
        next_ = [
            self._strip(step)
            for step in theirs.current.next
            if (step.branch, step.text) not in steps and step.session not in self._forgotten
        ]
        todo = [
            self._strip(item)
            for item in theirs.current.todo
            if item.id not in items and item.session not in self._forgotten
        ]

        def merged(read: CurrentFile) -> Current:
            now = read.current
            return replace(now, next=(*now.next, *next_), todo=(*now.todo, *todo))

        if next_ or todo:
            ours.change_current(merged, REASON)
        self.added.next, self.added.todo = len(next_), len(todo)

    # --- records and files -----------------------------------------------------------------------------

    def _add_records(self) -> None:
        """Adds session records. Cursors are not copied: they point into the other machine's transcripts."""
        none: list[DistilledSession] = []
        records = CaptureStore.glimpse(self.there.capture, lambda store: store.all_records(), none)
        if not records:
            return
        with closing(CaptureStore(self.here.capture)) as store, store.transaction():
            for record in records:
                if record.session not in self._forgotten and store.record(record.session) is None:
                    store.put_record(self._strip(record))
                    self.added.records += 1

    def _add_files(self) -> None:
        """Copies files that are missing here, except versions: those belong to the other memory's files."""
        for name in canonical_files(self.there.memory).files:
            top, _, rest = name.partition("/")
            managed = top == "projects" and (
                name.endswith(_MANAGED) or "/archive/" in name or f"/{FOLDER}/" in name
            )
            if name in ("name", "ledger.md", CAPTURE) or top == "history" or managed:
                continue
            target = self.here.memory / name
            if rest and top == "projects":
                project, _, inner = rest.partition("/")
                folder = self._title_here if project == self._title_there else project
                target = self.here.memory / "projects" / folder / inner
            if target.exists() or self._is_unwanted_lesson(name):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".md") and self._denied.texts:
                text = (self.there.memory / name).read_text("utf-8", "surrogateescape")
                target.write_text(self._denied.strip(text), "utf-8", "surrogateescape")
            else:
                shutil.copyfile(self.there.memory / name, target)
            self.added.files += 1

    def _is_unwanted_lesson(self, name: str) -> bool:
        """Whether it is a lesson that was rejected or forgotten here."""
        if kind_of(name).forget != "lesson" or not name.endswith(".md"):
            return False
        try:
            lesson = read_file(self.there.memory / name, name).lesson
        except NotALesson:
            return False
        rejected = set(LessonStore(self.here).choices().rejected_rules())
        return rejected.issuperset(lesson.rules) or allowed(lesson, self._denied).rules != lesson.rules

    # --- what may come in ------------------------------------------------------------------------------

    def _is_new(self, item: Fact | Decision, known: Collection[str]) -> bool:
        return item.id not in known and self._denied.lets(item)

    def _unwanted(self, ours: MemoryStore) -> frozenset[str]:
        return self._denied.ids | ours.dismissed()

    def _strip(self, value: T) -> T:
        """The value without texts that were forgotten here, and no later than the other memory was packed."""
        value = no_later_than(value, self._made)
        if not self._denied.texts:
            return value
        return msgspec.convert(_map_texts(msgspec.to_builtins(value), self._denied.strip), type(value))

    def _store(self, name: str) -> MemoryStore:
        return MemoryStore(self.here, name, clock=lambda: self._at, group=self._group)

    def _warn(self, problems: Iterable[Problem]) -> None:
        self.added.problems += [problem.message for problem in problems]


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_texts(item, change) for key, item in value.items()}
    return [_map_texts(item, change) for item in value] if isinstance(value, list | tuple) else value
