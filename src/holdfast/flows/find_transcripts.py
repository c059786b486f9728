"""Which transcripts there are: named by hand, this project's own, or every project's."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
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
_IGNORED_DIRECTORIES = frozenset((".git", "node_modules", "__pycache__", ".venv", ".holdfast"))


class Found(Struct, frozen=True):
    """A session that some importer recognises: a file, or a part of one.

    `key` identifies it in the capture store and in messages: one spelling for one file. It is asked for often,
    and made once, because every folder on the way is looked at for it.
    """

    path: Path
    importer: Importer
    size: int
    mtime_ns: int
    glance: Glance
    key: str = ""
    headless: bool | None = None  # what is known of it from elsewhere, where the transcript does not say

    def __post_init__(self) -> None:
        name = path_text(os.path.realpath(self.path))
        force_setattr(self, "key", f"{name}#{self.glance.part}" if self.glance.part else name)


class Search(Struct):
    """What was looked at: transcripts, and files that are none."""

    found: list[Found] = []
    skipped: list[str] = []
    warnings: list[Warned] = []

    def settled(self) -> Search:
        """Each session once, however often it was named; with what is wrong with agents of other packages."""
        failed = [Warned("holdfast.agents", 0, "agent-failed", line) for line in problems]
        found = list({item.key: item for item in self.found}.values())
        return Search(found, self.skipped, [*self.warnings, *failed])


def importers_for(agent: str | None) -> Sequence[Importer]:
    if agent is None:
        return importers()
    if (importer := importer_of(agent)) is None:
        known = ", ".join(sorted(one.agent for one in importers()))
        raise UsageError(f"no importer for agent {agent!r}", fix=f"Known agents: {known}")
    return (importer,)


def named(paths: Sequence[Path], importers: Sequence[Importer]) -> Search:
    """Files and folders given by hand. A file that nobody recognises is an error, in a folder it is skipped."""
    search = Search()
    for path in paths:
        if path.is_dir():
            before = len(search.found)
            for file in _files_below(path):
                _look_or_warn(file, importers, search)
            if len(search.found) == before:
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


def discovered(
    machine: Machine,
    importers: Sequence[Importer],
    known: dict[str, tuple[int, int]],
    project: Project | None = None,
) -> Search:
    """Everything in the agents' own folders; what is known and unchanged is not even opened."""
    search = Search()
    for importer in importers:
        for root in importer.roots(machine.places(project)):
            if root.is_dir():
                for path in importer.candidates(root):
                    _look_or_warn(path, (importer,), search, known)
    return search.settled()


def of_project(found: Iterable[Found], project: Project, known: Iterable[str]) -> list[Found]:
    """Those that were recorded in this project's work tree, or in another of its worktrees."""
    roots = [Path(os.path.realpath(root)) for root in (project.root, *worktrees(project))]
    already = set(known)
    return [item for item in found if item.key in already or _belongs(item.glance.cwd, roots)]


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
    path: Path, importers: Sequence[Importer], search: Search, known: dict[str, tuple[int, int]] | None = None
) -> None:
    """One file among many: that it cannot be read must not keep the others from being read."""
    try:
        _look(path, importers, search, known)
    except TranscriptError as error:
        search.warnings.append(Warned(path_text(str(path)), 0, "unreadable", error.problem))


def _look(
    path: Path, importers: Sequence[Importer], search: Search, known: dict[str, tuple[int, int]] | None = None
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
        search.found.append(Found(path, importers[0], status.st_size, status.st_mtime_ns, Glance()))
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
        search.found.append(Found(path, importer, size, changed, glance))


def _recognising(importers: Sequence[Importer], path: Path, head: bytes) -> Importer | None:
    return next((importer for importer in importers if importer.recognise(path, head)), None)


def _glances(importer: Importer, path: Path, head: bytes, size: int) -> Iterable[Glance]:
    """The sessions of a file. A pasted image in the first prompt can push its directory far down the file."""
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


# Finds where an agent keeps one session: hosts name a file, a file of many sessions, or nothing at all.

SHORTEST_ID = 8  # some agents put only the beginning of an id into a file's name
STORES = (".db", ".sqlite", ".vscdb")
TWICE = frozenset(
    ("cursor",)
)  # these write a session into a file and, with its times and costs, into a store


def located(machine: Machine, project: Project, agent: str, session: str, transcript: str) -> list[Found]:
    """The session's own transcript; none where it was not written yet, or is gone."""
    (importer,) = importers_for(agent)
    path = Path(transcript)
    paths = (path,) if transcript and path.is_absolute() else _candidates(machine, project, importer, session)
    for candidate in paths:
        found = _in(candidate, importer, session) if candidate.is_file() else []
        if found:
            others = _stores(machine, project, importer, session) if agent in TWICE else ()
            return [
                *found,
                *(item for path in others if path != candidate for item in _in(path, importer, session)),
            ]
    return []


def _in(path: Path, importer: Importer, session: str) -> list[Found]:
    """What a file holds of the session: all of it, unless it holds others too. Its subagents follow it."""
    found = named([path], (importer,)).found
    kept = [item for item in found if item.glance.part in ("", session)]
    others = [item for item in found if item.glance.parent]
    for item in kept:  # which grows on the way: subagents have subagents
        kept += [other for other in others if other.glance.parent == item.glance.part and other not in kept]
    return kept


def _stores(machine: Machine, project: Project, importer: Importer, session: str) -> Iterator[Path]:
    """The files of many sessions that hold this one."""
    for root in importer.roots(machine.places(project)):
        for path in importer.candidates(root) if root.is_dir() else ():
            if path.suffix in STORES and _holds(path, importer, session):
                yield path


def _holds(path: Path, importer: Importer, session: str) -> bool:
    try:
        return any(item.glance.part == session for item in named([path], (importer,)).found)
    except TranscriptError:
        return False  # not a store that this agent still writes


def _candidates(machine: Machine, project: Project, importer: Importer, session: str) -> Iterator[Path]:
    """Files that carry the session's id in their name or folder, then those that may hold many sessions."""
    if len(session) < SHORTEST_ID:
        return
    short = []
    for root in importer.roots(machine.places(project)):
        for path in importer.candidates(root) if root.is_dir() else ():
            within = os.path.relpath(path, root)
            if session in within:
                yield path
            elif session[:SHORTEST_ID] in within:
                short.append(path)
    yield from short
    yield from _stores(machine, project, importer, session)
