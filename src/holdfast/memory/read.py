"""The one read model: what a repository's memory says, each file read and parsed once for a command.

Who tells, searches or lists goes through here; who changes a file goes through `MemoryStore`, under its lock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any, TypeVar

from holdfast.core.errors import HoldfastError
from holdfast.memory.current import Current, CurrentFile
from holdfast.memory.reference import Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import LogEntry, OpenItem, Question
from holdfast.model.statement import Statement, statement_of, statements_in
from holdfast.store.project import Project

T = TypeVar("T")


def known_projects(project: Project) -> list[str]:
    """Those of the repository's projects that have something written down."""
    folder = project.memory / "projects"
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def or_nothing(read: Callable[[], Iterable[T]]) -> Iterable[T]:
    try:
        return read()
    except (HoldfastError, OSError):
        return ()  # `doctor` names the file and what is wrong with it


class ProjectMemory:
    """The memory of all projects of a repository. A file that cannot be read keeps nobody from the rest."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._common = MemoryStore(project, project.title)
        self._stores: list[MemoryStore] = []
        for name in known_projects(project):
            with contextlib.suppress(HoldfastError):  # a folder that no project can be called
                self._stores.append(MemoryStore(project, name))
        self._parsed: dict[tuple[str, str], Any] = {}

    @cached_property
    def dismissed(self) -> set[str]:
        """Ids of what a person took out."""
        return {id for store in self._stores or [self._common] for id in or_nothing(store.dismissed)}

    def current_file(self) -> CurrentFile:
        """current.md as read; StoreError when its markers are broken."""
        return self._once("current", self._common, MemoryStore.current)

    @property
    def current(self) -> Current:
        """The state; an empty one where it cannot be read."""
        try:
            return self.current_file().current
        except (HoldfastError, OSError):
            return Current()

    def references(self) -> Iterator[tuple[str, Reference]]:
        """Facts and decisions, with the name of the project that they are of."""
        return ((name, file.reference) for name, file in self._of_all("reference", MemoryStore.facts))

    def questions(self) -> Iterator[tuple[str, Question]]:
        files = self._of_all("questions", MemoryStore.questions)
        return ((name, question) for name, file in files for question in file.questions)

    def entries(self, *, archived: bool = False) -> Iterator[tuple[str, LogEntry]]:
        """The sessions that the logs hold; those of the archive only on demand."""
        if archived:
            files = self._of_all("archive", lambda store: store.entries().entries)
        else:
            files = self._of_all("log", MemoryStore.latest)
        return ((name, entry) for name, entries in files for entry in entries)

    def statements(self, *, archived: bool = False) -> Iterator[Statement]:
        """Everything that the files say, each statement once: as the register has it, else as the log does."""
        found: dict[str, Statement] = {}
        for name, entry in self.entries(archived=archived):
            found |= {one.id: one for one in statements_in(entry, name, "log.md")}
        found |= {one.id: statement_of(one, name, "open-questions.md") for name, one in self.questions()}
        for name, reference in self.references():
            for kept in reference.facts:
                said = statement_of(kept.fact, name, "reference.md")
                found[said.id] = said if kept.retired_at is None else said.with_status("retired")
            found |= {one.id: statement_of(one, name, "reference.md") for one in reference.decisions}
        steps = [
            OpenItem(text=step.text, owner=step.by, branch=step.branch, session=step.session, at=step.at)
            for step in self.current.next
        ]
        for item in (*self.current.todo, *steps):
            found[item.id] = statement_of(item, item.project, "current.md")
        return (one for id, one in found.items() if id not in self.dismissed)

    def _of_all(self, what: str, read: Callable[[MemoryStore], T]) -> Iterator[tuple[str, T]]:
        for store in self._stores:
            yield from or_nothing(partial(self._named, what, store, read))

    def _named(self, what: str, store: MemoryStore, read: Callable[[MemoryStore], T]) -> list[tuple[str, T]]:
        return [(store.name, self._once(what, store, read))]

    def _once(self, what: str, store: MemoryStore, read: Callable[[MemoryStore], T]) -> T:
        key = (what, store.name)
        if key not in self._parsed:
            self._parsed[key] = read(store)
        found: T = self._parsed[key]
        return found


def read_memory(project: Project) -> ProjectMemory:
    """The memory as it is now: nothing is opened before it is asked for."""
    return ProjectMemory(project)
