"""Finds transcripts: by path, in the agents' folders, or by the session id that a hook reports."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import force_setattr

from holdfast.agent_kit.contract import Glance, Importer, Warned
from holdfast.agents.registry import importer_of, importers, problems
from holdfast.core.errors import TranscriptError, UsageError
from holdfast.core.open_files import part_of
from holdfast.guard.hidden_text import path_text
from holdfast.store.machine import Machine
from holdfast.store.project import Project, find_git, worktrees

HEAD = 64 * 1024
LONG_HEAD = 16 * 1024 * 1024
SHORTEST_ID = 8  # some agents put only the start of an id into a file name
STORES = (".db", ".sqlite", ".vscdb")
# Agents that write a session to a file and also, with times and costs, to a store.
TWICE = frozenset(("cursor",))
_IGNORED_DIRECTORIES = frozenset((".git", "node_modules", "__pycache__", ".venv", ".holdfast"))


class Stamps(Protocol):
    """Size and time of each transcript when it was last read, by its real path."""

    def get(self, path: str, /) -> tuple[int, int] | None: ...


class SessionSource(Struct, frozen=True):
    """A session that an importer recognises: a file, or a part of one.

    `key` identifies it in the capture store and in messages: one spelling for one file. It is computed once, because
    resolving a path has to check every folder in it.
    """

    path: Path
    importer: Importer
    size: int
    mtime_ns: int
    glance: Glance
    key: str = ""
    headless: bool | None = None  # as hooks report it, for transcripts that do not record it

    def __post_init__(self) -> None:
        name = path_text(os.path.realpath(self.path))
        force_setattr(self, "key", f"{name}#{self.glance.part}" if self.glance.part else name)


class TranscriptSearch(Struct):
    """The transcripts found, and the files that are not transcripts."""

    sources: list[SessionSource] = []
    skipped: list[str] = []
    warnings: list[Warned] = []

    def settled(self) -> TranscriptSearch:
        """Each session once, however often its path was given; with the problems of agents from other packages."""
        failed = [Warned("holdfast.agents", 0, "agent-failed", line) for line in problems]
        sources = list({source.key: source for source in self.sources}.values())
        return TranscriptSearch(sources, self.skipped, [*self.warnings, *failed])


def importers_for(agent: str | None) -> Sequence[Importer]:
    if agent is None:
        return importers()
    if (importer := importer_of(agent)) is None:
        names = ", ".join(sorted(importer.agent for importer in importers()))
        raise UsageError(f"no importer for agent {agent!r}", fix=f"Known agents: {names}")
    return (importer,)


def search_paths(paths: Sequence[Path], importers: Sequence[Importer]) -> TranscriptSearch:
    """Searches these files and folders. A file that is not a transcript is an error; inside a folder it is skipped."""
    search = TranscriptSearch()
    for path in paths:
        if path.is_dir():
            count = len(search.sources)
            for file in _files_below(path):
                _look_or_warn(file, importers, search)
            if len(search.sources) == count:
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
    known: Stamps,
    project: Project | None = None,
) -> TranscriptSearch:
    """All transcripts in the agents' own folders. Known files that have not changed are not opened."""
    search = TranscriptSearch()
    for importer in importers:
        for _, path in _files_of(machine, importer, project):
            _look_or_warn(path, (importer,), search, known)
    return search.settled()


def _files_of(machine: Machine, importer: Importer, project: Project | None) -> Iterator[tuple[Path, Path]]:
    """The files that may be transcripts of an agent, each with the agent's folder that contains it."""
    for root in importer.roots(machine.places(project)):
        if root.is_dir():
            yield from ((root, path) for path in importer.candidates(root))


def sources_of_project(
    sources: Iterable[SessionSource], project: Project, known: Container[str] = ()
) -> list[SessionSource]:
    """The sources that are already known here, or were recorded in one of this project's work trees."""
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
    known: Stamps | None = None,
) -> None:
    """Adds one file of many. If it cannot be read, a warning is added and the search continues."""
    try:
        _look(path, importers, search, known)
    except TranscriptError as error:
        search.warnings.append(Warned(path_text(str(path)), 0, "unreadable", error.problem))


def _look(
    path: Path,
    importers: Sequence[Importer],
    search: TranscriptSearch,
    known: Stamps | None = None,
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
        head = _head(path, LONG_HEAD)  # a first line longer than the head must be read completely
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
            f"cannot be read: {error.strerror}",
            where=str(path),
            fix="Check that you have permission to read it",
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
    """The transcript of a session; empty if it is not written yet, or was deleted.

    A host reports a file, a file with many sessions, or nothing at all.
    """
    (importer,) = importers_for(agent)
    path = Path(transcript)
    paths = (path,) if transcript and path.is_absolute() else _candidates(machine, project, importer, session)
    for candidate in paths:
        sources = _sources_in(candidate, importer, session) if candidate.is_file() else []
        if sources:
            stores = _stores(machine, project, importer, session) if agent in TWICE else ()
            for store in stores:
                sources += _sources_in(store, importer, session) if store != candidate else []
            return sources
    return []


def _sources_in(path: Path, importer: Importer, session: str) -> list[SessionSource]:
    """The sources of a session in a file, then its subagents. In a file of one session, all sources belong to it."""
    all_sources = search_paths([path], (importer,)).sources
    selected = [source for source in all_sources if source.glance.part in ("", session)]
    subagents = [source for source in all_sources if source.glance.parent]
    for source in selected:  # grows during the loop: subagents have subagents
        selected += [
            subagent
            for subagent in subagents
            if subagent.glance.parent == source.glance.part and subagent not in selected
        ]
    return selected


def _candidates(machine: Machine, project: Project, importer: Importer, session: str) -> Iterator[Path]:
    """Files with the session's id in their path, then files that may contain many sessions."""
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
    """The files with many sessions that contain this one."""
    for _, path in _files_of(machine, importer, project):
        with suppress(TranscriptError):  # not a store in this agent's current format
            if path.suffix in STORES and any(
                source.glance.part == session for source in search_paths([path], (importer,)).sources
            ):
                yield path
