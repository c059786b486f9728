"""The read model of a repository's memory: each file is read and parsed once per command.

Code that shows or searches memory reads through here; code that changes a file uses `MemoryStore`, under its lock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from holdfast.core.errors import HoldfastError
from holdfast.memory.current import Current, CurrentFile
from holdfast.memory.decisions import DecisionsFile, SessionPassages, passage_statement
from holdfast.memory.reference import Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import LogEntry, OpenItem, Question
from holdfast.model.statement import Statement, StatementKind, Status, statement_of, statements_in
from holdfast.store.project import Project

T = TypeVar("T")
_UNREADABLE = (HoldfastError, OSError)


def known_projects(project: Project) -> list[str]:
    """The repository's projects that have a folder in the memory."""
    folder = project.memory / "projects"
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def or_nothing(read: Callable[[], Iterable[T]]) -> Iterable[T]:
    """The result of `read`; empty if a file cannot be read, because `doctor` reports that."""
    try:
        return read()
    except _UNREADABLE:
        return ()


class ParsedMonth(NamedTuple):
    """A file of decisions as it was read: its time and size, and what it holds."""

    stamp: tuple[int, int]
    file: DecisionsFile


class ProjectMemory:
    """The memory of all projects of a repository, or of one.

    A file that cannot be read is left out. With `strict` it is an error. `months` keeps parsed files of decisions for
    the next reading, in a process that reads often.
    """

    def __init__(
        self,
        project: Project,
        name: str = "",
        *,
        strict: bool = False,
        months: dict[Path, ParsedMonth] | None = None,
    ) -> None:
        self.project = project
        self.name = name or project.title
        self._common = MemoryStore(project, self.name)
        self._stores = [self._common] if name else []
        for folder in [] if name else known_projects(project):
            with contextlib.suppress(HoldfastError):  # the name of the folder is not one of a project
                self._stores.append(MemoryStore(project, folder))
        self._left_out: tuple[type[Exception], ...] = () if strict else _UNREADABLE
        self._parsed: dict[tuple[object, str], Any] = {}
        self._months = months

    @cached_property
    def dismissed(self) -> set[str]:
        """Ids of items that a person removed."""
        results = self._each(MemoryStore.dismissed, self._stores or [self._common])
        return {id for _, ids in results for id in ids}

    def current_file(self) -> CurrentFile:
        """The parsed current.md. Raises StoreError if its markers are broken."""
        return self._once(MemoryStore.current, self._common)

    @property
    def current(self) -> Current:
        """The state; empty if it cannot be read."""
        try:
            return self.current_file().current
        except self._left_out:
            return Current()

    def references(self) -> Iterator[tuple[str, Reference]]:
        """Facts and decisions, with the name of their project."""
        return ((name, file.reference) for name, file in self._each(MemoryStore.facts))

    def questions(self) -> Iterator[tuple[str, Question]]:
        files = self._each(MemoryStore.questions)
        return ((name, question) for name, file in files for question in file.questions)

    def entries(self) -> Iterator[tuple[str, LogEntry]]:
        """The sessions in the logs, without the archive."""
        return ((name, entry) for name, entries in self._each(MemoryStore.latest) for entry in entries)

    def passages(self, *, newest_first: bool = False) -> Iterator[tuple[str, SessionPassages]]:
        """What each session settled and found, with the name of its project. A month is read when it is reached."""
        for store in self._stores:
            for path in reversed(store.months()) if newest_first else store.months():
                try:
                    file = self._month(store, path)
                except self._left_out:
                    continue
                sections = reversed(file.sections) if newest_first else file.sections
                yield from ((store.name, section) for section in sections)

    def _month(self, store: MemoryStore, path: Path) -> DecisionsFile:
        """A file of decisions; one that has not changed since it was parsed for `months` is not parsed again."""
        read = partial(MemoryStore.decisions, path=path)
        if self._months is None:
            return self._once(read, store, path.name)
        stat = path.stat()
        stamp = stat.st_mtime_ns, stat.st_size
        known = self._months.get(path)
        if known is None or known.stamp != stamp:
            known = self._months[path] = ParsedMonth(stamp, read(store))
        return known.file

    def statements(self, *kinds: StatementKind) -> Iterator[Statement]:
        """All statements of these kinds: those of the register, and the passages of sessions."""
        yield from self.register(*kinds)
        yield from (statement for statement in self.passage_statements() if statement.kind in kinds)

    def passage_statements(self) -> Iterator[Statement]:
        """All passages, whatever their kind and status."""
        for name, section in self.passages():
            for passage in section.passages:
                yield passage_statement(passage, section, name)

    def register(self, *kinds: StatementKind) -> Iterator[Statement]:
        """The statements of these kinds without passages, each kind from the file that is canonical for it."""
        for name, reference in self.references() if {"fact", "decision"} & {*kinds} else ():
            for known_fact in reference.facts if "fact" in kinds else ():
                status: Status = "agreed" if known_fact.did_not_show is None else "rejected"
                statement = statement_of(known_fact.fact, name, "reference.md")
                yield statement.with_status(status if known_fact.retired_at is None else "retired")
            for decision in reference.decisions if "decision" in kinds else ():
                yield statement_of(decision, name, "reference.md")
        for name, question in self.questions() if "answer" in kinds else ():
            yield statement_of(question, name, "open-questions.md")
        for name, entry in self.entries() if {"finding", "dead_end"} & {*kinds} else ():
            yield from (
                statement for statement in statements_in(entry, name, "log.md") if statement.kind in kinds
            )
        if "next_step" in kinds:
            steps = (
                OpenItem(text=step.text, owner=step.by, branch=step.branch, session=step.session, at=step.at)
                for step in self.current.next
            )
            yield from (statement_of(item, source="current.md") for item in (*self.current.todo, *steps))

    def _each(
        self, read: Callable[[MemoryStore], T], stores: Iterable[MemoryStore] | None = None
    ) -> Iterator[tuple[str, T]]:
        for store in self._stores if stores is None else stores:
            try:
                parsed = self._once(read, store)
            except self._left_out:
                continue
            yield store.name, parsed

    def _once(self, read: Callable[[MemoryStore], T], store: MemoryStore, part: str = "") -> T:
        key = (part or read, store.name)
        if key not in self._parsed:
            self._parsed[key] = read(store)
        parsed: T = self._parsed[key]
        return parsed
