"""Reads transcripts into edits.db: those that are new, or have changed since they were read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Protocol

from holdfast.agent_kit.contract import Glance, Importer
from holdfast.core.errors import TranscriptError
from holdfast.provenance.claude_progress import progress_edits
from holdfast.provenance.collect import EditCollector, TranscriptEdits
from holdfast.provenance.store import EditStore
from holdfast.sessions.line_claims import OnceClaims
from holdfast.store.denied import Denied
from holdfast.store.gate import session_name
from holdfast.store.machine import Machine
from holdfast.store.project import Project

EDITS = "edits.db"
_BATCH = 64


class Source(Protocol):
    """A session in a file, as the search for transcripts finds it."""

    @property
    def path(self) -> Path: ...
    @property
    def importer(self) -> Importer: ...
    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int: ...
    @property
    def glance(self) -> Glance: ...
    @property
    def key(self) -> str: ...


def open_edits(project: Project) -> EditStore:
    """The edits of a project. Without a memory they are held in memory, and nothing is written."""
    return EditStore(project.memory / EDITS if project.memory.is_dir() else None)


def unread(store: EditStore, sources: Iterable[Source]) -> list[Source]:
    """Transcripts that are new, or have changed since they were read for their edits."""
    return [source for source in sources if store.stamp_of(source.key) != (source.size, source.mtime_ns)]


def take_in(
    machine: Machine,
    project: Project,
    store: EditStore,
    sources: Iterable[Source],
    sessions: Mapping[str, str],
    progress: Callable[[int, int, str], None] | None = None,
) -> list[str]:
    """Read these transcripts; return a line for each that cannot be read. `sessions` names those that are known.

    What was forgotten stays out: its transcript is marked as read, and nothing of it is stored.
    """
    denied = Denied(project.memory)
    clean = denied.cleaner(machine.clean)
    waiting = list(sources)
    total, done, problems = sum(source.size for source in waiting), 0, list[str]()
    for start in range(0, len(waiting), _BATCH):
        with store.transaction():
            for source in waiting[start : start + _BATCH]:
                if progress is not None:
                    progress(done, total, source.path.name)
                done += source.size
                try:
                    found = edits_in(source.importer, source.path, source.glance.part)
                except TranscriptError as error:
                    problems.append(error.line())
                    continue
                name = sessions.get(source.key) or session_name(found.parent or found.session, machine.clean)
                if not name or name in denied.sessions:
                    name, found = "", TranscriptEdits()
                machine.look_over(
                    [*(prompt.text for prompt in found.prompts), *{edit.path for edit in found.edits}]
                )
                store.put(source.key, (source.size, source.mtime_ns), name, found, clean)
    if progress is not None:
        progress(total, total, "")
    return problems


def edits_in(importer: Importer, path: Path, part: str = "") -> TranscriptEdits:
    reading = importer.open(path, 0, b"", OnceClaims(), part)
    further = progress_edits(path) if importer.agent == "claude-code" else ()
    return EditCollector(importer.agent).take_all(chain(reading.events(), further))
