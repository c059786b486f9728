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

from holdfast.errors import StoreError
from holdfast.store import files, swap
from holdfast.store.bundle import MEMORY, SHARED_LEDGER
from holdfast.store.bundle_writing import Source
from holdfast.store.canonical import CAPTURE, MACHINE_FILES, canonical_files
from holdfast.store.capture import CAPTURE_FORMAT, CaptureStore
from holdfast.store.layout import FORMAT, Project
from holdfast.store.syncing import sync_directory

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
    swap.recover(project.memory)
    if not project.memory.is_dir():
        with swap.staging(project.memory) as stage:
            look()
            if not build(stage, None):
                return False
            _finish(project, stage / "memory")
            swap.put(stage / "memory", project.memory)
        with quiet(project, wholly=True):
            swap.sweep(project.memory)
        return True
    with quiet(project, wholly=True):
        swap.sweep(project.memory)
        with swap.staging(project.memory) as stage:
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
    old = swap.swap(new, project.memory)
    _late_letters(old, project.memory)
    swap.remove(old)
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
    swap.remove(new / "locks")  # those that were used to make it
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
