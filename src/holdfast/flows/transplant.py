"""Takes a whole memory out, and puts one in its place: consistent, and old or new whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files, folders
from holdfast.core.errors import StoreError
from holdfast.core.sync_folders import sync_directory
from holdfast.sessions.store import CAPTURE_FORMAT, CaptureStore
from holdfast.store.bundle import CAPTURE, MACHINE_FILES, MEMORY, SHARED_LEDGER, Source, canonical_files
from holdfast.store.project import FORMAT, IGNORE_ALL, UNION_MERGE, Project, worktrees

# In the order in which the program takes them where it takes several.
_WRITERS = ("import", "memory", "projects", "ledger-shared", "ledger")
_ALL = ("capture", *_WRITERS, "switches")
_PATIENCE_S = 120.0
_TABLES = frozenset({"source", "pending", "claim", "session"})
_INDEXES = frozenset({"source_of_session", "source_of_own"})


class Taken(Struct, frozen=True):
    """A memory at one moment. `left_out` says what could not be taken along, and why."""

    sources: tuple[Source, ...]
    left_out: tuple[tuple[str, str], ...]


@contextmanager
def quiet(project: Project, *, wholly: bool = False) -> Iterator[None]:
    """Nobody of ours writes this memory meanwhile; `wholly`: nor looks for work in it."""
    with ExitStack() as stack:
        for name in _ALL if wholly else _WRITERS:
            stack.enter_context(files.lock(project.lock(name), timeout=_PATIENCE_S))
        yield


def is_empty(project: Project) -> bool:
    """Whether nothing is kept yet: at most what every prepared project has."""
    found = set(canonical_files(project.memory).files) - {"name"}
    if found == {CAPTURE}:
        return CaptureStore.glimpse(project.capture, lambda store: not store.records(1), False)
    return not found


def take(project: Project, work: Path) -> Taken:
    """Every file of the memory. The caller has made it `quiet`; `work` is a folder for what must be copied first."""
    listing = canonical_files(project.memory)
    left_out = list(listing.left_out)
    sources: list[Source] = []
    for name in listing.files:
        if name == CAPTURE:
            problem = _snapshot(project.capture, work / CAPTURE)
            if problem:
                left_out.append((name, f"{problem}; it is made again from the transcripts"))
            else:
                sources.append(Source(MEMORY + name, work / CAPTURE))
        elif (data := files.read(project.memory / name)) is not None:
            sources.append(Source(MEMORY + name, data))
    shared = project.window_ledger
    if shared is not None and (data := files.read(shared)) is not None:
        sources.append(Source(SHARED_LEDGER, data))
    return Taken(tuple(sources), tuple(left_out))


def _snapshot(database: Path, target: Path) -> str:
    """A consistent copy of a database that others may have open; '' or what is wrong with it."""
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
    """What keeps a database from being ours: damage, another format, or anything in it that is not of our schema."""
    try:
        with closing(sqlite3.connect(database)) as db:
            db.execute("PRAGMA trusted_schema=OFF")
            (number,) = db.execute("PRAGMA user_version").fetchone()
            (answer,) = db.execute("PRAGMA quick_check(1)").fetchone()
            parts = db.execute("SELECT type, name FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        return str(error)
    if number > CAPTURE_FORMAT:
        return f"it has format {number}, and this holdfast knows {CAPTURE_FORMAT}"
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
    """Puts what `build` makes of a new folder in the place of the memory.

    `build` gets the folder and the memory as it is, None where there is none; False from it changes nothing.
    `look` is asked under the locks whether all is still as the caller saw it.
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
            return _build_and_swap(project, stage, build)


def adopt(incoming: Path, stage: Path) -> None:
    """What was unpacked becomes the new memory."""
    with files.explained(stage, "write"):
        os.rename(incoming / "memory", stage / "memory")


def _build_and_swap(project: Project, stage: Path, build: Callable[[Path, Taken | None], bool]) -> bool:
    new = stage / "memory"
    before = take(project, stage / "work")
    if not build(stage, before):
        return False
    _carry(project, new)
    _finish(project, new)
    require_same(project, before)
    old = folders.swap(new, project.memory)
    _late_letters(old, project.memory)
    folders.remove(old)
    return True


def _carry(project: Project, new: Path) -> None:
    """What belongs to this machine stays here: switches, letters of hooks, what sessions were told."""
    for name in MACHINE_FILES:
        if (data := files.read(project.memory / name)) is not None:
            _write(new / name, data)
    _late_letters(project.memory, new, copy=True)


def _late_letters(old: Path, new: Path, *, copy: bool = False) -> None:
    """Hooks take no lock: what they post while folders change places is brought after."""
    with contextlib.suppress(OSError):
        for letter in sorted((old / "inbox").glob("*.json")):
            target = new / "inbox" / letter.name
            if not os.path.lexists(target):
                files.make_private(target.parent)
                (shutil.copy if copy else os.rename)(letter, target)


def _finish(project: Project, new: Path) -> None:
    files.make_private(new)
    os.chmod(new, 0o700)
    folders.remove(new / "locks")  # those that were used to make it
    if not (new / "format").exists():
        _write(new / "format", f"{FORMAT}\n".encode())
    for folder, _, _ in os.walk(new):
        sync_directory(Path(folder))


def require_same(project: Project, before: Taken) -> None:
    """Who edits by hand knows no lock; what they wrote meanwhile is not thrown away."""
    known: Mapping[str, bytes | Path] = {source.path: source.data for source in before.sources}
    for name in canonical_files(project.memory).files:
        if name != CAPTURE and files.read(project.memory / name) != known.get(MEMORY + name):
            raise files.Conflict(
                "it was changed by someone else meanwhile", where=name, fix="Run the command again"
            )


def write_sources(folder: Path, sources: tuple[Source, ...]) -> None:
    """The memory as it was taken, into a new folder."""
    for source in sources:
        path = folder / source.path
        with source.stream() as data, files.explained(path, "write"), files.open_new(path) as target:
            shutil.copyfileobj(data, target)
            files.finish(target)


def _write(path: Path, data: bytes) -> None:
    with files.explained(path, "write"), files.open_new(path) as file:
        file.write(data)
        files.finish(file)


def at(project: Project, memory: Path) -> Project:
    """The same project with its memory elsewhere, and no window that anything could be written through."""
    return replace(
        project, memory=memory, window=memory.parent / "window", identity_file=memory.parent / "id"
    )


# Removes a project's memory and what its work trees show of it; what git has, and what others put there,
# stays.


def remove_memory(project: Project, keep: Callable[[Taken], None] | None = None) -> None:
    """At once: it steps out of its place whole, and is deleted there. `keep` may make a copy of it first."""
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
    """What the work trees of a project show of its memory: links, our git rules, and the project's id."""
    found = [
        path for root in (project.root, *worktrees(project)) for path in _ours_in(project, root / ".holdfast")
    ]
    if _says(project.identity_file, f"{project.memory.name}\n"):
        found.append(project.identity_file)
    return found


def remove_shown(project: Project) -> None:
    for path in shown_of(project):
        with files.explained(path, "remove"), contextlib.suppress(FileNotFoundError):
            path.unlink()
    for root in (project.root, *worktrees(project)):
        with contextlib.suppress(OSError):  # a shared ledger, a configuration: not ours to remove
            os.rmdir(root / ".holdfast")


def _ours_in(project: Project, window: Path) -> Iterator[Path]:
    if window.is_symlink() or not window.is_dir():
        return
    local = window / "local"
    linked = local.is_symlink() and Path(os.readlink(local)) == project.memory
    if linked or _says(local, f"{project.memory}\n"):
        yield local
    ledger = window / "ledger.md"
    if ledger.is_symlink() and Path(os.readlink(ledger)) == Path("local") / "ledger.md":
        yield ledger
    elif os.path.lexists(ledger):
        return  # shared in git: its rules stay with it
    for name, text in ((".gitignore", IGNORE_ALL), (".gitattributes", UNION_MERGE)):
        if _says(window / name, text):
            yield window / name


def _says(path: Path, text: str) -> bool:
    return not path.is_symlink() and path.is_file() and files.read(path) == text.encode()
