"""Takes a consistent copy of a whole memory, and swaps or removes a memory in one step."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files, folders
from holdfast.core.errors import StoreError
from holdfast.core.sync_folders import sync_directory
from holdfast.sessions.store import CAPTURE_FORMAT, CaptureStore
from holdfast.store.bundle import MEMORY, SHARED_LEDGER, Source, canonical_files
from holdfast.store.memory_files import CAPTURE, HOLDOUT_KEY, MACHINE_FILES
from holdfast.store.project import FORMAT, IGNORE_ALL, UNION_MERGE, Project, worktrees

# Locks, in the order in which they are taken everywhere, to avoid a deadlock.
_WRITERS = ("import", "memory", "projects", "ledger-shared", "ledger")
_ALL = ("capture", *_WRITERS, "switches")
_PATIENCE_S = 120.0
_TABLES = frozenset({"source", "pending", "claim", "session"})
_INDEXES = frozenset({"source_of_session", "source_of_own"})


class Taken(Struct, frozen=True):
    """A memory at one moment. `left_out` lists the files that could not be copied, and why."""

    sources: tuple[Source, ...]
    left_out: tuple[tuple[str, str], ...]


@contextmanager
def quiet(project: Project, *, wholly: bool = False) -> Iterator[None]:
    """Holds the locks of all writers of this memory; with `wholly` also the capture and switches locks."""
    with ExitStack() as stack:
        for name in _ALL if wholly else _WRITERS:
            stack.enter_context(files.lock(project.lock(name), timeout=_PATIENCE_S))
        yield


def is_empty(project: Project) -> bool:
    """Whether nothing is stored yet beyond the files of every prepared project."""
    names = set(canonical_files(project.memory).files) - {"name"}
    if names == {CAPTURE}:
        return CaptureStore.glimpse(project.capture, lambda store: not store.records(1), False)
    return not names


def take(project: Project, work: Path) -> Taken:
    """Copies every file of the memory. The caller is inside `quiet`; the database is copied to the folder `work`."""
    listing = canonical_files(project.memory)
    left_out = list(listing.left_out)
    sources: list[Source] = []
    for name in listing.files:
        if name == CAPTURE:
            problem = _snapshot(project.capture, work / CAPTURE)
            if problem:
                left_out.append((name, f"{problem}; it will be rebuilt from the transcripts"))
            else:
                sources.append(Source(MEMORY + name, work / CAPTURE))
        elif (data := files.read(project.memory / name)) is not None:
            sources.append(Source(MEMORY + name, data))
    shared = project.window_ledger
    if shared is not None and (data := files.read(shared)) is not None:
        sources.append(Source(SHARED_LEDGER, data))
    return Taken(tuple(sources), tuple(left_out))


def _snapshot(database: Path, target: Path) -> str:
    """Copies a database that other processes may have open. Returns '' or the problem."""
    with files.explained(target, "write"):
        files.open_new(target, 0o600).close()
    try:
        with (
            closing(
                sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=30)
            ) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
    except sqlite3.Error as error:
        if "disk" in str(error) or "full" in str(error):
            raise StoreError(
                f"cannot be copied: {error}", where=str(target), fix="Free some space and try again"
            ) from error
        return str(error)
    return why_not_capture(target)


def why_not_capture(database: Path) -> str:
    """Why a database cannot be used: damage, a newer format, or objects that are not in our schema."""
    try:
        with closing(sqlite3.connect(database)) as db:
            db.execute("PRAGMA trusted_schema=OFF")
            (number,) = db.execute("PRAGMA user_version").fetchone()
            (answer,) = db.execute("PRAGMA quick_check(1)").fetchone()
            parts = db.execute("SELECT type, name FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        return str(error)
    if number > CAPTURE_FORMAT:
        return f"it has format {number}; this holdfast supports {CAPTURE_FORMAT}"
    foreign = [
        str(name)
        for kind, name in parts
        if not (kind == "table" and name in _TABLES)
        and not (kind == "index" and (name in _INDEXES or str(name).startswith("sqlite_autoindex_")))
    ]
    if foreign:
        return f"it holds {foreign[0][:40]!a}, which is not ours"
    return "" if answer == "ok" else str(answer)


def put(project: Project, build: Callable[[Path, Taken | None], bool], *, look: Callable[[], None]) -> bool:
    """Replaces the memory with the folder `memory` that `build` creates in a staging folder.

    `build` gets the staging folder and the present memory (None if there is none). If it returns False nothing
    changes. `look` repeats the caller's checks under the locks.
    """
    folders.recover(project.memory)
    if not project.memory.is_dir():
        with folders.staging(project.memory) as stage:
            look()
            if not build(stage, None):
                return False
            _finish(project, stage / "memory")
            folders.put(stage / "memory", project.memory)
        with quiet(project, wholly=True):
            folders.sweep(project.memory)
        return True
    with quiet(project, wholly=True):
        folders.sweep(project.memory)
        with folders.staging(project.memory) as stage:
            look()
            before = take(project, stage / "work")
            if not build(stage, before):
                return False
            _copy_machine_files(project.memory, stage / "memory")
            _finish(project, stage / "memory")
            require_same(project, before)
            old = folders.swap(stage / "memory", project.memory)
            _move_envelopes(old, project.memory)
            folders.remove(old)
    return True


def _copy_machine_files(old: Path, new: Path) -> None:
    """Copies the files that belong to this machine: switches, hooks' envelopes, the trace of injected lines."""
    data = {name: files.read(old / name) for name in MACHINE_FILES}
    write_sources(new, [Source(name, content) for name, content in data.items() if content is not None])
    if data[HOLDOUT_KEY] is not None:
        os.chmod(new / HOLDOUT_KEY, 0o600)
    _move_envelopes(old, new, move=shutil.copy)


def _move_envelopes(old: Path, new: Path, move: Callable[[Path, Path], object] = os.rename) -> None:
    """Moves envelopes to the new folder. Hooks take no lock, so they may post while the folders are swapped."""
    with contextlib.suppress(OSError):
        for envelope in sorted((old / "inbox").glob("*.json")):
            target = new / "inbox" / envelope.name
            if not os.path.lexists(target):
                files.make_private(target.parent)
                move(envelope, target)


def _finish(project: Project, new: Path) -> None:
    files.make_private(new)
    with files.explained(new, "make"):
        os.chmod(new, 0o700)
    folders.remove(new / "locks")  # left over from building the folder
    if not (new / "format").exists():
        write_sources(new, [Source("format", f"{FORMAT}\n".encode())])
    for folder, _, _ in os.walk(new):
        sync_directory(Path(folder))


def require_same(project: Project, before: Taken) -> None:
    """Raises Conflict if a person has edited a file in the meantime: an editor takes no lock."""
    contents: Mapping[str, bytes | Path] = {source.path: source.data for source in before.sources}
    for name in canonical_files(project.memory).files:
        if name != CAPTURE and files.read(project.memory / name) != contents.get(MEMORY + name):
            raise files.Conflict(
                "it has been changed by someone else", where=name, fix="Run the command again"
            )


def write_sources(folder: Path, sources: Iterable[Source]) -> None:
    """Writes copied files to a new folder."""
    for source in sources:
        path = folder / source.path
        with source.stream() as data, files.explained(path, "write"), files.open_new(path) as target:
            shutil.copyfileobj(data, target)
            files.finish(target)


def copy_unpacked(folder: Path, target: Path) -> None:
    """Copies an archive that was unpacked before, without what is derived."""
    with files.explained(target, "write"):
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("index*", "locks"))


def at(project: Project, memory: Path) -> Project:
    """The same project with its memory in another folder, and a window that does not exist."""
    return replace(
        project, memory=memory, window=memory.parent / "window", identity_file=memory.parent / "id"
    )


# --- removing --------------------------------------------------------------------------------------------


def remove_memory(project: Project, keep: Callable[[Taken], None] | None = None) -> None:
    """Moves the memory away in one step, then deletes it. `keep` may back it up first."""
    with quiet(project, wholly=True):
        folders.sweep(project.memory)
        with folders.staging(project.memory) as stage:
            if keep is not None:
                taken = take(project, stage / "work")
                keep(taken)
                require_same(project, taken)
            with files.explained(project.memory, "remove"):
                os.rename(project.memory, stage / "memory")
                sync_directory(project.memory.parent)


def shown_of(project: Project) -> list[Path]:
    """The files of a memory in the project's work trees: links, our git rules, and the project's id.

    Files that git tracks, and files of others, are not included.
    """
    paths = [
        path for root in (project.root, *worktrees(project)) for path in _ours_in(project, root / ".holdfast")
    ]
    if _holds(project.identity_file, f"{project.memory.name}\n"):
        paths.append(project.identity_file)
    return paths


def remove_shown(project: Project) -> None:
    files.discard(shown_of(project))
    for root in (project.root, *worktrees(project)):
        with contextlib.suppress(OSError):  # not empty: a shared ledger or a configuration stays
            os.rmdir(root / ".holdfast")


def _ours_in(project: Project, window: Path) -> Iterator[Path]:
    if window.is_symlink() or not window.is_dir():
        return
    local = window / "local"
    linked = local.is_symlink() and Path(os.readlink(local)) == project.memory
    if linked or _holds(local, f"{project.memory}\n"):
        yield local
    ledger = window / "ledger.md"
    if ledger.is_symlink() and Path(os.readlink(ledger)) == Path("local") / "ledger.md":
        yield ledger
    elif os.path.lexists(ledger):
        return  # shared in git: its rules stay with it
    if os.path.lexists(window / ".gitignore") and not _holds(window / ".gitignore", IGNORE_ALL):
        return  # so are decisions or lessons
    for name, text in ((".gitignore", IGNORE_ALL), (".gitattributes", UNION_MERGE)):
        if _holds(window / name, text):
            yield window / name


def _holds(path: Path, text: str) -> bool:
    return not path.is_symlink() and path.is_file() and files.read(path) == text.encode()
