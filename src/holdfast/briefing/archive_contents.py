"""What a memory holds, as search sees it: what an archive would bring, and what came with it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from holdfast.briefing.chunks import chunks_of_file, chunks_of_ledger, lesson_chunks
from holdfast.briefing.index import PLACE, memory_files
from holdfast.core.errors import HoldfastError
from holdfast.core.folders import text_of
from holdfast.ledger.rows import read_ledger, rows
from holdfast.model.search import Chunk
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

INSTRUCTING = ("lesson", "decision", "knowledge", "state", "fact")
"""Kinds whose text reaches agents as it stands: lessons, decisions, lines of style.md, next steps and notes, facts."""


class Contents(Struct, frozen=True):
    chunks: tuple[Chunk, ...]
    sessions: frozenset[str]

    def counts(self) -> dict[str, int]:
        """How many of each kind, without what only repeats a session."""
        counts = {"session": len(self.sessions)} if self.sessions else {}
        for chunk in self.chunks:
            if chunk.kind not in ("history", "ledger"):
                counts[chunk.kind] = counts.get(chunk.kind, 0) + 1
        return counts

    def instructions(self) -> list[tuple[str, str]]:
        """The kind and the text of everything that agents would see as it stands."""
        return [(chunk.kind, chunk.text) for chunk in self.chunks if chunk.kind in INSTRUCTING]

    def names(self) -> set[str]:
        """The ids and sessions by which something of it is known again."""
        ids = {chunk.id.removeprefix("lesson:") for chunk in self.chunks}
        return ids | {f"session:{session}" for session in self.sessions} | set(self.sessions)


def contents_of(machine: Machine, project: Project) -> Contents:
    """All that a memory holds. A file that cannot be read is left out: the commands that read it say why."""
    chunks: dict[str, Chunk] = {}
    sessions = {row.session for row in rows(read_ledger(project))}
    for shown, path in memory_files(project):
        if path.suffix != ".md" or path.name == "ledger.md":
            continue
        try:
            found = chunks_of_file(shown, text_of(project.memory, path), _name(shown, project))
        except HoldfastError:
            continue
        chunks |= {chunk.id: chunk for chunk in found}
    chunks |= {chunk.id: chunk for chunk in lesson_chunks(machine, project)}
    chunks |= {
        chunk.id: chunk
        for chunk in chunks_of_ledger([(row, "", 0) for row in rows(read_ledger(project))], project.title)
    }
    sessions |= {chunk.session for chunk in chunks.values() if chunk.session}
    sessions |= CaptureStore.glimpse(
        project.capture, lambda store: {record.session for record in store.all_records()}, set()
    )
    return Contents(tuple(chunks.values()), frozenset(sessions))


def _name(shown: str, project: Project) -> str:
    relative = Path(shown).relative_to(PLACE)
    return relative.parts[1] if relative.parts[0] == "projects" else project.title
