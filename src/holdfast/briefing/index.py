"""Keeps the search index of a project in sync with its files: adds changed chunks, removes deleted ones.

A file beside the index notes which chunks each file had, so that an unchanged file is not even read. A mark in the
index must match the notes: if the index was emptied, replaced, or lost its last writes in a power cut, the mark differs
and everything is indexed again, which costs little for chunks that are already there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import FormatTooNew, HoldfastError, StoreError
from holdfast.core.folders import scratch, text_of
from holdfast.memory.shared_decisions import mirror_shared
from holdfast.model.search import Chunk, Hit
from holdfast.search import Index
from holdfast.search import open as open_index
from holdfast.search.database import BusyIndex, DamagedIndex
from holdfast.store.machine import Machine
from holdfast.store.project import Project

PLACE = ".holdfast/local"
LESSONS = f"{PLACE}/lessons"  # all lessons as one file, in whatever folder
LEDGER = f"{PLACE}/ledger.md"
SHARED_LEDGER = ".holdfast/ledger.md"
_FORMAT = 6
_QUICK = "static"  # the fast embedder
_MANY = 100


class Indexed(Struct, kw_only=True):
    """The result of an index update."""

    files: int = 0
    chunks: int = 0
    added: int = 0
    removed: int = 0
    problems: list[str] = []


class _Seen(Struct):
    """The chunks and the stamp that each file had when it was last indexed; `mark` is in the index too."""

    format: int = _FORMAT
    mark: str = ""
    files: dict[str, tuple[str, list[str]]] = {}


def ask_index(machine: Machine, project: Project, ask: Callable[[Index], list[Hit]]) -> list[Hit]:
    """Asks the index of a project after bringing it up to date.

    A damaged index is rebuilt. If it cannot be written (a sandbox, a full disk, a newer version's format), a temporary
    index is built elsewhere: a search should not need write permission.
    """
    for rebuild in (False, True):
        try:
            with _followed(machine, project, Indexed(), rebuild=rebuild) as index:
                return ask(index)
        except DamagedIndex:
            continue
        except BusyIndex:
            raise
        except (StoreError, FormatTooNew):
            break
    with _made_aside(machine, project) as index:
        return ask(index)


def update_index(machine: Machine, project: Project, *, rebuild: bool = False) -> Indexed:
    """Adds new chunks and removes deleted ones; files with an unchanged stamp are not even read."""
    done = Indexed()
    try:
        with _followed(machine, project, done, rebuild=rebuild):
            return done
    except DamagedIndex:
        done = Indexed()
        with _followed(machine, project, done, rebuild=True):
            return done


@contextmanager
def _followed(machine: Machine, project: Project, done: Indexed, *, rebuild: bool) -> Iterator[Index]:
    """The index after an update; `done` gets the result."""
    if project.memory.is_dir():
        mirror_shared(machine, project)
    if rebuild:
        files.discard(path for path in project.memory.glob("index*") if path.is_file())
    with open_index(project.memory / "index.db", machine.settings().embedder, tell=machine.tell) as index:
        before, stamps = _seen(project, index), _stamps(machine, project)
        if any(_differing(before, stamps)):
            with files.lock(project.lock("index")):
                # Read again under the lock: another process may have just updated it.
                before, stamps = _seen(project, index), _stamps(machine, project)
                if any(_differing(before, stamps)):
                    before = _take_in(machine, project, index, before, stamps, done)
        done.files = len(stamps)
        done.chunks = len({id for _, ids in before.files.values() for id in ids})
        yield index


@contextmanager
def _made_aside(machine: Machine, project: Project) -> Iterator[Index]:
    with scratch("index") as folder, open_index(folder, machine.settings().embedder) as index:
        for name in _stamps(machine, project):
            index.put_many(_pieces(machine, project, name, Indexed()) or [])
        yield index


def _stamps(machine: Machine, project: Project) -> dict[str, str]:
    stamps = {name: _stamp(path) for name, path in memory_files(project)}
    window_ledger = project.window_ledger
    if (
        window_ledger is not None and window_ledger.is_file()
    ):  # other people's rows come with git, and change no local file
        stamps[LEDGER] = f"{stamps.get(LEDGER, '')} {_stamp(window_ledger)}"
    if any(folder.is_dir() for folder in _lesson_folders(machine, project)):
        from holdfast.briefing.chunks import lessons_stamp

        if stamp := lessons_stamp(machine, project):
            stamps[LESSONS] = stamp
    return stamps


def _lesson_folders(machine: Machine, project: Project) -> Iterator[Path]:
    """The folders of lessons. Most people have none yet, and should not wait for the lesson modules to load."""
    return (place / "lessons" for place in (machine.home, project.memory, project.window))


def _differing(before: _Seen, stamps: dict[str, str]) -> tuple[list[str], list[str]]:
    """The files that are new or changed, and those that were removed."""
    changed = [name for name, stamp in stamps.items() if before.files.get(name, ("",))[0] != stamp]
    return changed, [name for name in before.files if name not in stamps]


def _take_in(
    machine: Machine, project: Project, index: Index, before: _Seen, stamps: dict[str, str], done: Indexed
) -> _Seen:
    changed, gone = _differing(before, stamps)
    now = _Seen(
        mark=os.urandom(8).hex(),
        files={name: entry for name, entry in before.files.items() if name not in gone},
    )
    chunks_by_file: dict[str, list[Chunk]] = {}
    for name in changed:
        pieces = _pieces(machine, project, name, done)
        if pieces is not None:
            chunks_by_file[name] = pieces
            now.files[name] = (stamps[name], [piece.id for piece in pieces])
    # A statement in two files is indexed as the later file has it, whichever of them changed.
    old_holders, new_holders = _holders(before, stamps), _holders(now, stamps)
    for name in sorted(
        {name for id, name in new_holders.items() if old_holders.get(id) != name} - chunks_by_file.keys()
    ):
        chunks_by_file[name] = _pieces(machine, project, name, done) or []
    chunks = [
        piece
        for name, pieces in chunks_by_file.items()
        for piece in pieces
        if new_holders.get(piece.id) == name
    ]
    if len(chunks) > _MANY and machine.settings().embedder != _QUICK:
        machine.tell(f"{len(chunks):,} pieces are being indexed for search: up to a minute per 2,000.")
    changes = index.put_many({chunk.id: chunk for chunk in chunks}.values())
    current_ids = {id for _, ids in now.files.values() for id in ids}
    # Ask the index for its ids: an interrupted update may have added more than was noted. If a file could not be read,
    # its chunks stay.
    indexed_ids = (
        {id for _, ids in before.files.values() for id in ids} if done.problems else set(index.ids())
    )
    done.added = changes.added + changes.updated
    done.removed = index.delete_many(sorted(indexed_ids - current_ids))
    index.set_mark(now.mark)
    files.replace(_seen_file(project), msgspec.json.encode(now), project.lock("hot"), files.ANYTHING)
    return now


def _holders(seen: _Seen, stamps: dict[str, str]) -> dict[str, str]:
    """For each chunk the file that takes precedence."""
    return {id: name for name in stamps if name in seen.files for id in seen.files[name][1]}


def _pieces(machine: Machine, project: Project, shown: str, done: Indexed) -> list[Chunk] | None:
    """The chunks of a file; None if it cannot be read now: then its old chunks stay."""
    # Imported only when something changed: most searches find the index up to date.
    from holdfast.briefing.chunks import chunks_of_file, chunks_of_ledger
    from holdfast.ledger.rows import read_ledger, rows

    try:
        if shown == LESSONS or shown.endswith("session.json"):
            from holdfast.briefing.chunks import knowledge_chunks, lesson_chunks

            return lesson_chunks(machine, project) if shown == LESSONS else knowledge_chunks(project, shown)
        if shown.endswith("ledger.md"):
            ledger = read_ledger(project)
            lines = {id(row): line for row, line in zip(ledger.entries, ledger.lines, strict=True)}
            # A shared ledger gives the line numbers; rows that are not in it have none.
            place = shown if project.window_ledger is None else SHARED_LEDGER
            placed = [(row, place if lines[id(row)] else shown, lines[id(row)]) for row in rows(ledger)]
            return chunks_of_ledger(placed, project.title)
        relative = Path(shown).relative_to(PLACE)
        name = relative.parts[1] if relative.parts[0] == "projects" else ""
        name = project.title if relative.name == "current.md" else name
        return chunks_of_file(shown, text_of(project.memory, project.memory / relative), name)
    except HoldfastError as error:
        done.problems.append(error.line())
        return None


def memory_files(project: Project) -> Iterator[tuple[str, Path]]:
    """All indexed files, by display name; the reference last, because it says more than a log."""
    memory = project.memory
    for path in (memory / "current.md", memory / "style.md", memory / "session.json", project.ledger):
        if path.is_file():
            yield f"{PLACE}/{path.name}", path
    for folder in sorted((memory / "projects").glob("*")):
        months = [*sorted(folder.glob("archive/*.md")), *sorted(folder.glob("decisions/*.md"))]
        names = [*months, *(folder / name for name in _NAMES)]
        for path in names:
            if path.is_file():
                yield f"{PLACE}/{path.relative_to(memory).as_posix()}", path


_NAMES = ("log.md", "open-questions.md", "reference.md")


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size}:{status.st_mtime_ns}"


def _seen_file(project: Project) -> Path:
    return project.memory / "index.json"


def _seen(project: Project, index: Index) -> _Seen:
    """The notes on this index; empty if they belong to another index, or have another format."""
    try:
        seen = msgspec.json.decode(files.read(_seen_file(project)) or b"{}", type=_Seen)
    except msgspec.MsgspecError:
        return _Seen()
    return seen if seen.format == _FORMAT and seen.mark and seen.mark == index.mark() else _Seen()
