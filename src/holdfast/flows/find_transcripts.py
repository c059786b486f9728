"""Finds transcripts: those named by hand, those in agents' folders, and the one of a session that a hook names."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import force_setattr

from holdfast.agents.contract import Glance, Importer, Warned
from holdfast.agents.registry import importer_of, importers, problems
from holdfast.core.errors import TranscriptError, UsageError
from holdfast.core.open_files import part_of
from holdfast.guard.hidden_text import path_text
from holdfast.store.machine import Machine
from holdfast.store.project import Project, find_git, worktrees

HEAD = 64 * 1024
LONG_HEAD = 16 * 1024 * 1024
SHORTEST_ID = 8  # some agents put only the beginning of an id into a file's name
STORES = (".db", ".sqlite", ".vscdb")
# These write a session into a file and, with its times and costs, into a store.
TWICE = frozenset(("cursor",))
_IGNORED_DIRECTORIES = frozenset((".git", "node_modules", "__pycache__", ".venv", ".holdfast"))


class SessionSource(Struct, frozen=True):
    """A session that some importer recognises: a file, or a part of one.

    `key` identifies it in the capture store and in messages: one spelling for one file. It is made once, because
    resolving the path looks at every folder on the way.
    """

    path: Path
    importer: Importer
    size: int
    mtime_ns: int
    glance: Glance
    key: str = ""
    headless: bool | None = None  # what hooks say of it, where the transcript does not

    def __post_init__(self) -> None:
        name = path_text(os.path.realpath(self.path))
        force_setattr(self, "key", f"{name}#{self.glance.part}" if self.glance.part else name)


class TranscriptSearch(Struct):
    """Transcripts that were found, and files that are none."""

    sources: list[SessionSource] = []
    skipped: list[str] = []
    warnings: list[Warned] = []

    def settled(self) -> TranscriptSearch:
        """Each session once, however often it was named; with the problems of agents from other packages."""
        failed = [Warned("holdfast.agents", 0, "agent-failed", line) for line in problems]
        sources = list({source.key: source for source in self.sources}.values())
        return TranscriptSearch(sources, self.skipped, [*self.warnings, *failed])


def importers_for(agent: str | None) -> Sequence[Importer]:
    if agent is None:
        return importers()
    if (importer := importer_of(agent)) is None:
        known = ", ".join(sorted(importer.agent for importer in importers()))
        raise UsageError(f"no importer for agent {agent!r}", fix=f"Known agents: {known}")
    return (importer,)


def search_paths(paths: Sequence[Path], importers: Sequence[Importer]) -> TranscriptSearch:
    """Files and folders given by hand. A file that no agent wrote is an error; in a folder it is skipped."""
    search = TranscriptSearch()
    for path in paths:
        if path.is_dir():
            before = len(search.sources)
            for file in _files_below(path):
                _look_or_warn(file, importers, search)
            if len(search.sources) == before:
                raise TranscriptError(
                    f"no transcript of {_titles(importers)} in this folder",
                    where=str(path),
                    fix="Name a folder or file that an agent wrote",
                )
        else:
            skipped = len(search.skipped)
            _look(path, importers, search)
            if len(search.skipped) > skipped:
                raise TranscriptError(
                    f"not a transcript of {_titles(importers)}",
                    where=str(path),
                    fix="Name a session file that an agent wrote; holdfast agents lists those it knows",
                )
    return search.settled()


def discover(
    machine: Machine,
    importers: Sequence[Importer],
    known: dict[str, tuple[int, int]],
    project: Project | None = None,
) -> TranscriptSearch:
    """All transcripts in the agents' own folders. One that is known and unchanged is not opened."""
    search = TranscriptSearch()
    for importer in importers:
        for _, path in _files_of(machine, importer, project):
            _look_or_warn(path, (importer,), search, known)
    return search.settled()


def _files_of(machine: Machine, importer: Importer, project: Project | None) -> Iterator[tuple[Path, Path]]:
    """The files that may be transcripts of an agent, each with the folder of the agent that it lies in."""
    for root in importer.roots(machine.places(project)):
        if root.is_dir():
            yield from ((root, path) for path in importer.candidates(root))


def sources_of_project(
    sources: Iterable[SessionSource], project: Project, known: Container[str] = ()
) -> list[SessionSource]:
    """Those that are known here already, or were recorded in one of this project's work trees."""
    roots = [Path(os.path.realpath(root)) for root in (project.root, *worktrees(project))]
    return [source for source in sources if source.key in known or _belongs(source.glance.cwd, roots)]


def _belongs(cwd: str, roots: Sequence[Path]) -> bool:
    if not cwd:
        return False
    place = Path(os.path.realpath(cwd))
    if not any(place == root or root in place.parents for root in roots):
        return False
    if not place.is_dir():
        return True
    git = find_git(place)  # a repository inside a repository is a project of its own
    return git is None or Path(os.path.realpath(git[0])) in roots


def _look_or_warn(
    path: Path,
    importers: Sequence[Importer],
    search: TranscriptSearch,
    known: dict[str, tuple[int, int]] | None = None,
) -> None:
    """Adds one file among many; that it cannot be read must not keep the others from being read."""
    try:
        _look(path, importers, search, known)
    except TranscriptError as error:
        search.warnings.append(Warned(path_text(str(path)), 0, "unreadable", error.problem))


def _look(
    path: Path,
    importers: Sequence[Importer],
    search: TranscriptSearch,
    known: dict[str, tuple[int, int]] | None = None,
) -> None:
    path = Path(os.path.abspath(path))
    try:
        status = path.stat()
    except OSError as error:
        raise TranscriptError(
            f"cannot be read: {error.strerror}", where=str(path), fix="Check the name and the permissions"
        ) from error
    if not stat.S_ISREG(status.st_mode):
        search.skipped.append(path_text(str(path)))
        return
    if known is not None and known.get(path_text(os.path.realpath(path))) == (
        status.st_size,
        status.st_mtime_ns,
    ):
        search.sources.append(SessionSource(path, importers[0], status.st_size, status.st_mtime_ns, Glance()))
        return
    head = _head(path)
    importer = _recognising(importers, path, head)
    if importer is None and status.st_size > len(head) and b"\n" not in head:
        head = _head(path, LONG_HEAD)  # a first line longer than the head tells nothing until it is whole
        importer = _recognising(importers, path, head)
    if importer is None:
        search.skipped.append(path_text(str(path)))
        return
    for glance in _glances(importer, path, head, status.st_size):
        size = status.st_size if glance.size is None else glance.size
        changed = status.st_mtime_ns if glance.changed is None else glance.changed
        search.sources.append(SessionSource(path, importer, size, changed, glance))


def _recognising(importers: Sequence[Importer], path: Path, head: bytes) -> Importer | None:
    return next((importer for importer in importers if importer.recognise(path, head)), None)


def _glances(importer: Importer, path: Path, head: bytes, size: int) -> Iterable[Glance]:
    """The sessions of a file. A pasted image in the first prompt can push the directory far down the file."""
    glances = list(importer.sessions(path, head))
    if size > len(head) and len(glances) == 1 and not glances[0].cwd and not glances[0].part:
        return importer.sessions(path, _head(path, LONG_HEAD))
    return glances


def _head(path: Path, size: int = HEAD) -> bytes:
    try:
        return part_of(path, 0, size)
    except OSError as error:
        raise TranscriptError(
            f"cannot be read: {error.strerror}", where=str(path), fix="Check that you may read it"
        ) from error


def _files_below(folder: Path) -> Iterable[Path]:
    """Regular files, in a stable order, without following links out of the folder or in circles."""
    for directory, names, file_names in os.walk(folder, followlinks=False):
        names[:] = sorted(name for name in names if name not in _IGNORED_DIRECTORIES)
        for name in sorted(file_names):
            path = Path(directory, name)
            if path.is_file():
                yield path


def _titles(importers: Sequence[Importer]) -> str:
    return importers[0].title if len(importers) == 1 else "any agent that holdfast reads"


# --- one session -----------------------------------------------------------------------------------------


def locate_session(
    machine: Machine, project: Project, agent: str, session: str, transcript: str
) -> list[SessionSource]:
    """The transcript of a session; none where it was not written yet, or is gone.

    Hosts name a file, a file of many sessions, or nothing at all.
    """
    (importer,) = importers_for(agent)
    path = Path(transcript)
    paths = (path,) if transcript and path.is_absolute() else _candidates(machine, project, importer, session)
    for candidate in paths:
        sources = _sources_in(candidate, importer, session) if candidate.is_file() else []
        if sources:
            others = _stores(machine, project, importer, session) if agent in TWICE else ()
            for store in others:
                sources += _sources_in(store, importer, session) if store != candidate else []
            return sources
    return []


def _sources_in(path: Path, importer: Importer, session: str) -> list[SessionSource]:
    """What a file holds of the session: all of it, unless it holds others too. Its subagents follow it."""
    every = search_paths([path], (importer,)).sources
    kept = [source for source in every if source.glance.part in ("", session)]
    others = [source for source in every if source.glance.parent]
    for source in kept:  # which grows on the way: subagents have subagents
        kept += [other for other in others if other.glance.parent == source.glance.part and other not in kept]
    return kept


def _candidates(machine: Machine, project: Project, importer: Importer, session: str) -> Iterator[Path]:
    """Files that carry the session's id in their name or folder, then those that may hold many sessions."""
    if len(session) < SHORTEST_ID:
        return
    short = []
    for root, path in _files_of(machine, importer, project):
        within = os.path.relpath(path, root)
        if session in within:
            yield path
        elif session[:SHORTEST_ID] in within:
            short.append(path)
    yield from short
    yield from _stores(machine, project, importer, session)


def _stores(machine: Machine, project: Project, importer: Importer, session: str) -> Iterator[Path]:
    """The files of many sessions that hold this one."""
    for _, path in _files_of(machine, importer, project):
        with suppress(TranscriptError):  # not a store that this agent still writes
            if path.suffix in STORES and any(
                source.glance.part == session for source in search_paths([path], (importer,)).sources
            ):
                yield path
