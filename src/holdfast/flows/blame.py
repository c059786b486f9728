"""Blame: which session is behind each span of a file. New and changed transcripts are read for their edits first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from holdfast.core.errors import TranscriptError
from holdfast.flows.find_transcripts import SessionSource, importers_for, search_paths
from holdfast.flows.import_sessions import Progress, recorded_here
from holdfast.provenance.index import EDITS, open_edits, take_in, unread
from holdfast.provenance.origins import FileBlame, origins_of
from holdfast.provenance.store import EditStore
from holdfast.provenance.target import Target
from holdfast.sessions.cursor import SourceStamp
from holdfast.sessions.store import CaptureStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project

KEPT_S = 7 * 86_400.0  # agents delete transcripts after weeks: until then each must have been read


def blame(machine: Machine, project: Project, target: Target, progress: Progress | None = None) -> FileBlame:
    """The origin of each span of a file. Only edits.db is written, and only if the project has a memory."""
    with closing(open_edits(project)) as store:
        problems = _update(machine, project, store, progress)
        return origins_of(project, store, target, problems)


def keep_edits(machine: Machine, project: Project) -> list[str]:
    """Read new transcripts for their edits if that is due: once a week, so that none is deleted unread."""
    with suppress(OSError):
        if time.time() - (project.memory / EDITS).stat().st_mtime < KEPT_S:
            return []
    with closing(open_edits(project)) as store:
        return _update(machine, project, store, None)


def _update(machine: Machine, project: Project, store: EditStore, progress: Progress | None) -> list[str]:
    known = CaptureStore.glimpse(project.capture, CaptureStore.stamps, dict[str, tuple[SourceStamp, str]]())
    search = recorded_here(machine, project)
    problems = [f"{warning.path}: {warning.message}" for warning in search.warnings]
    sessions = {key: session for key, (_, session) in known.items()}
    elsewhere = _imported(store, known.keys() - {source.key for source in search.sources})
    waiting = unread(store, [*search.sources, *elsewhere])
    problems += take_in(machine, project, store, waiting, sessions, progress)
    store.note_look(machine.now().timestamp())
    return problems


def _imported(store: EditStore, keys: Iterable[str]) -> Iterator[SessionSource]:
    """Transcripts that were imported by their path from somewhere else, as far as they are still there."""
    wanted = set(keys)
    for path in sorted({Path(key.partition("#")[0]) for key in wanted}):
        with suppress(OSError, TranscriptError):
            status = path.stat()
            if store.stamp_of(str(path)) != (status.st_size, status.st_mtime_ns):
                found = search_paths([path], importers_for(None)).sources
                yield from (source for source in found if source.key in wanted)
