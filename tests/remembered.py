"""A project with something of every kind in its memory, for tests of what is done to a memory as a whole."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from holdfast.briefing.projects import memory_of
from holdfast.memory.current import Current, CurrentFile, NextStep
from holdfast.memory.reference import KeptFact, Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Decision, Fact, Finding, LogEntry, OpenItem, Question
from holdfast.store.bundle import canonical_files
from holdfast.store.machine import Machine
from holdfast.store.memory_files import CAPTURE
from holdfast.store.project import Project

AT = 1_767_621_720.0
DAY = 86_400.0


def entry(session: str, day: int = 0) -> LogEntry:
    at = AT + day * DAY
    found = Finding(text=f"{session} found something", session=session, at=at)
    return LogEntry(session=session, agent="codex", at=at, context=f"work of {session}", findings=(found,))


def with_more(word: str) -> tuple[NextStep, OpenItem, KeptFact, Decision, Question]:
    return (
        NextStep(text=f"go on with {word}"),
        OpenItem(text=f"tidy up {word}"),
        KeptFact(fact=Fact(text=f"{word} listens on 8080", command="ss -ltn", evidence="*:8080")),
        Decision(text=f"keep {word} small", rationale="it is easier to read"),
        Question(text=f"Who owns {word}?"),
    )


def remember(repo: Path, word: str, *, sessions: int = 3, name: str = "") -> MemoryStore:
    """One capture's worth of memory: every file is changed once, in one go."""
    machine = Machine(cwd=repo)
    project = machine.project()
    project.prepare()
    store = memory_of(machine, project, name)
    step, item, fact, decision, question = with_more(word)
    store.record(*(entry(f"{word}-{number}", number) for number in range(sessions)))

    def state(file: CurrentFile) -> Current:
        now = file.current
        return replace(now, next=(*now.next, step), todo=(*now.todo, item))

    def reference(now: Reference) -> Reference:
        return Reference(facts=(*now.facts, fact), decisions=(*now.decisions, decision))

    store.change_facts(reference, f"capture {word}")
    store.change_questions(lambda questions: (*questions, question), f"capture {word}")
    store.change_current(state, f"capture {word}")
    return store


def project_at(repo: Path) -> Project:
    return Machine(cwd=repo).project()


def contents(project: Project) -> dict[str, bytes]:
    """Every canonical file but the database, whose bytes may differ where its content does not."""
    names = canonical_files(project.memory).files
    return {name: (project.memory / name).read_bytes() for name in names if name != CAPTURE}


def everything(folder: Path) -> dict[str, bytes | str]:
    """Every file and link below a folder, to see that nothing changed."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = f"-> {path.readlink()}"
        elif path.is_file():
            found[str(path)] = path.read_bytes()
    return found
