"""Reads the transcripts of a project into a scratch store: the record of each session, and the steps that it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.backtest.past import Relocation
from holdfast.backtest.scratch import make
from holdfast.backtest.walk import Followed, Notebook, Walk, joined
from holdfast.core.patterns import lazy_regex
from holdfast.flows.distill import Conclusions
from holdfast.flows.find_transcripts import (
    SessionSource,
    TranscriptSearch,
    discover,
    importers_for,
    search_paths,
    sources_of_project,
)
from holdfast.flows.import_sessions import import_sources
from holdfast.model.events import DistilledSession
from holdfast.sessions.cursor import SourceCursor
from holdfast.sessions.store import CaptureStore
from holdfast.store.denied import Denied
from holdfast.store.machine import Machine
from holdfast.store.project import Project, worktrees

Progress = Callable[[int, int, str], None]


_SESSION_ID = lazy_regex(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


class PastSession(Struct, frozen=True):
    record: DistilledSession
    walk: Walk
    cursors: tuple[SourceCursor, ...]

    @property
    def started(self) -> float:
        return self.record.started or 0.0

    @property
    def ended(self) -> float:
        return self.record.ended or self.started


class Sessions(Struct, frozen=True):
    """Sessions by their start; `undated` counts those whose transcripts have no times."""

    dated: list[PastSession]
    undated: int = 0


def transcripts_of(machine: Machine, project: Project, paths: Sequence[Path] = ()) -> TranscriptSearch:
    """The named transcripts, else those that agents recorded in this project, without excluded folders."""
    if paths:
        return search_paths(paths, importers_for(None))
    search = discover(machine, importers_for(None), {}, project)
    settings = machine.settings(project)
    denied = Denied(project.memory).sessions
    sources = [
        source
        for source in sources_of_project(search.sources, project)
        if not settings.excludes(source.glance.cwd, machine.user_home) and source.glance.part not in denied
    ]
    return TranscriptSearch(sources, [], search.warnings)


def newest_of(search: TranscriptSearch, most: int) -> tuple[TranscriptSearch, int]:
    """The transcripts of the newest sessions, and how many sessions there are in all; 0 if none is left out."""
    begins: dict[str, float] = {}
    for source in search.sources:
        if not _is_subagent(source):
            name = _named(source)
            begins[name] = min(_begun(source), begins.get(name, _begun(source)))
    if not most or most >= len(begins):
        return search, 0
    first = sorted(begins.values())[-most]
    chosen = [
        source
        for source in search.sources
        if (_begun(source) if _is_subagent(source) else begins[_named(source)]) >= first
    ]
    return TranscriptSearch(chosen, search.skipped, search.warnings), len(begins)


def _named(source: SessionSource) -> str:
    """The session that a transcript names: its part of a file, else the id at the end of the file's name."""
    name = source.glance.part or (source.path.parent if source.path.stem == "events" else source.path).stem
    found = _SESSION_ID.search(name)
    return found[0] if found else source.key


def _is_subagent(source: SessionSource) -> bool:
    return (
        bool(source.glance.parent)
        or source.path.parent.name == "subagents"
        or source.path.stem.startswith("agent-")
    )


def _begun(source: SessionSource) -> float:
    return source.glance.started if source.glance.started is not None else source.mtime_ns / 1e9


def read_sessions(
    machine: Machine,
    project: Project,
    search: TranscriptSearch,
    folder: Path,
    root: Path,
    progress: Progress | None = None,
) -> Sessions:
    """Reads them below `folder`; what sessions did in `project` is given as if it had been done in `root`."""
    work = make(folder / "read")
    reader = Machine(env={**machine.env, "HOLDFAST_HOME": str(folder / "read-home")}, cwd=work)
    scratch = reader.project()
    notebooks: dict[str, Notebook] = {}
    sources = [_followed(source, notebooks) for source in search.sources]
    import_sources(reader, scratch, TranscriptSearch(sources), progress, remembers=False)
    if not scratch.capture.exists():
        return Sessions([])
    store = CaptureStore(scratch.capture)
    try:
        return _concluded(machine, project, reader, scratch, store, notebooks, root)
    finally:
        store.close()


def _followed(source: SessionSource, notebooks: dict[str, Notebook]) -> SessionSource:
    return replace(source, importer=Followed(source.importer, notebooks, source.key))


def _concluded(
    machine: Machine,
    project: Project,
    reader: Machine,
    scratch: Project,
    store: CaptureStore,
    notebooks: dict[str, Notebook],
    root: Path,
) -> Sessions:
    denied = Denied(project.memory)
    conclusions = Conclusions(reader, scratch, denied)
    named = dict.fromkeys(session for _, session in store.stamps().values())
    found: list[PastSession] = []
    for session in named.keys() - {""} - denied.sessions:
        cursors = store.cursors_of(session)
        concluded = conclusions.of(session, cursors)
        if concluded is not None and (walk := _walk_of(cursors, notebooks, concluded.record.sources)).steps:
            found.append(PastSession(concluded.record, walk, tuple(cursors)))
    folders = Counter(one.record.cwd for one in found)
    relocation = Relocation(root, [project.root, *worktrees(project)], folders)
    dated = [_moved(one, relocation) for one in found if one.record.started is not None]
    dated.sort(key=lambda one: (one.started, one.record.session))
    return Sessions(dated, len(found) - len(dated))


def _walk_of(cursors: Sequence[SourceCursor], notebooks: dict[str, Notebook], sources: Sequence[str]) -> Walk:
    """The steps of the transcripts that the record was made from, in its order."""
    by_path = {cursor.path: cursor for cursor in cursors}
    known = [by_path[path] for path in sources if path in by_path and path in notebooks]
    main = [notebooks[cursor.path].walk for cursor in known if cursor.own == cursor.session]
    others = [notebooks[cursor.path].walk for cursor in known if cursor.own != cursor.session]
    return joined(main, others) if main else joined(others, ())


def _moved(one: PastSession, relocation: Relocation) -> PastSession:
    walk = one.walk
    walk.cwd = relocation.text(walk.cwd)
    for step in walk.steps:
        step.cwd = relocation.text(step.cwd)
        if step.did != "said":
            step.text = relocation.text(step.text)
        if step.paths:
            step.paths = tuple(map(relocation.text, step.paths))
    return PastSession(relocation.record(one.record), walk, one.cursors)
