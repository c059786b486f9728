"""Search over what a project knows, or all projects on this machine: the index kept up to date, then asked.

The index is derived. It is brought up to date by whoever asks, and by the capture that runs after a session; an
import by hand leaves it alone, because that would double the time it takes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.app.wiring import Machine
from holdfast.errors import HoldfastError
from holdfast.model.search import Chunk, Hit
from holdfast.search import FLOOR as FLOOR
from holdfast.search import Index
from holdfast.search import open as open_index
from holdfast.search.database import INDEX_FORMAT, DamagedIndex
from holdfast.store import files
from holdfast.store.layout import Project
from holdfast.store.places import text_of

KINDS = ("state", "history", "fact", "question", "lesson", "knowledge", "ledger")
PLACE = ".holdfast/local"
LESSONS = f"{PLACE}/lessons"  # all of them as one, wherever they lie
_FORMAT = 1


class Indexed(Struct, kw_only=True):
    """What bringing an index up to date did."""

    files: int = 0
    chunks: int = 0
    added: int = 0
    removed: int = 0
    problems: list[str] = []


class _Seen(Struct):
    """Which pieces each file had when it was last indexed, and the stamp it had then."""

    format: int = _FORMAT
    index: int = 0
    files: dict[str, tuple[str, list[str]]] = {}


def search(
    machine: Machine,
    project: Project,
    query: str,
    k: int = 10,
    kinds: Collection[str] | None = None,
    *,
    name: str = "",
    everywhere: bool = False,
    floor: float = 0.0,
    nearest: bool = False,
) -> list[Hit]:
    """The best hits, in this project or in all of this machine's that are not excluded.

    Nothing where no text holds a word of the query and none is near it in meaning, unless the `nearest` are wanted.
    """
    found: list[Hit] = []
    places = memories(machine, project) if everywhere else [project]

    def ask(place: Project) -> list[Hit]:
        with opened(machine, place) as index:
            return index.search(
                query, k, machine.now(), kinds, name or None, floor=floor, fitting=not nearest
            )

    for place in places:
        if not place.memory.is_dir():
            continue
        try:
            hits = ask(place)
        except DamagedIndex:  # it is derived, and nobody should have to know that it is there
            update_index(machine, place, rebuild=True)
            hits = ask(place)
        found += hits if place is project else _of_others(hits, place)
    return sorted(found, key=lambda hit: -hit.score)[:k]


def _of_others(hits: list[Hit], place: Project) -> list[Hit]:
    """Hits of another repository; what is personal is in every index and was found here already."""
    return [_elsewhere(hit, place) for hit in hits if not hit.path.startswith("~")]


def _elsewhere(hit: Hit, place: Project) -> Hit:
    """A hit of another repository: named by it, and its path from the root of the file system."""
    path = hit.path.replace(PLACE, str(place.memory), 1)
    if path.startswith(".holdfast/"):
        path = path.replace(".holdfast", str(place.window), 1)
    return msgspec.structs.replace(hit, project=hit.project or place.title, path=path)


def memories(machine: Machine, project: Project) -> list[Project]:
    """This project first, then every other one on this machine; what is excluded is not read."""
    found = [project]
    settings = machine.settings()
    folder = machine.home / "projects"
    for memory in sorted(folder.iterdir()) if folder.is_dir() else []:
        root = text_of(memory, memory / "root").strip() if memory.is_dir() else ""
        if root and memory != project.memory and not settings.excludes(root, machine.user_home):
            home = Path(root)
            found.append(Project(home, home / ".holdfast", memory, home / ".holdfast" / "id"))
    return found


def opened(machine: Machine, project: Project) -> Index:
    """The index of a project, as its files are now."""
    update_index(machine, project)
    return _open(machine, project)


def _open(machine: Machine, project: Project) -> Index:
    return open_index(project.memory / "index.db", machine.settings().embedder)


def update_index(machine: Machine, project: Project, *, rebuild: bool = False) -> Indexed:
    """Puts in what is new and takes out what is gone; files whose stamp is unchanged are not even read."""
    try:
        return _updated(machine, project, rebuild=rebuild)
    except DamagedIndex:
        return _updated(machine, project, rebuild=True)


def _updated(machine: Machine, project: Project, *, rebuild: bool) -> Indexed:
    done = Indexed()
    if rebuild:
        files.discard(path for path in project.memory.glob("index*") if path.is_file())
    before, stamps = _seen(project), _stamps(machine, project)
    if any(_differing(before, stamps)):
        with files.lock(project.lock("index")):
            # As it is now that nobody else is at it: another process may have done the same just before.
            before, stamps = _seen(project), _stamps(machine, project)
            changed, gone = _differing(before, stamps)
            if changed or gone:
                before = _take_in(machine, project, before, stamps, done)
    done.files = len(stamps)
    done.chunks = len({id for _, ids in before.files.values() for id in ids})
    return done


def _stamps(machine: Machine, project: Project) -> dict[str, str]:
    stamps = {shown: _stamp(path) for shown, path in memory_files(project)}
    if any(folder.is_dir() for folder in _lesson_folders(machine, project)):
        from holdfast.app.learned_chunks import lessons_stamp

        if stamp := lessons_stamp(machine, project):
            stamps[LESSONS] = stamp
    return stamps


def _lesson_folders(machine: Machine, project: Project) -> Iterator[Path]:
    """Where lessons may lie. Most people have none yet, and need not wait until what reads them is loaded."""
    return (place / "lessons" for place in (machine.home, project.memory, project.window))


def _differing(before: _Seen, stamps: dict[str, str]) -> tuple[list[str], list[str]]:
    """The files that are new or changed, and those that are gone."""
    changed = [shown for shown, stamp in stamps.items() if before.files.get(shown, ("",))[0] != stamp]
    return changed, [shown for shown in before.files if shown not in stamps]


def _take_in(
    machine: Machine, project: Project, before: _Seen, stamps: dict[str, str], done: Indexed
) -> _Seen:
    changed, gone = _differing(before, stamps)
    now = _Seen(
        index=INDEX_FORMAT, files={shown: kept for shown, kept in before.files.items() if shown not in gone}
    )
    with _open(machine, project) as index:
        chunks: list[Chunk] = []
        for shown in changed:
            pieces = _pieces(machine, project, shown, done)
            if pieces is not None:
                chunks += pieces
                now.files[shown] = (stamps[shown], [piece.id for piece in pieces])
        changes = index.put_many({chunk.id: chunk for chunk in chunks}.values())
        stay = {id for _, ids in now.files.values() for id in ids}
        # The index itself says what it holds: one that was left half way knows more than was noted. Where a file
        # could not be read, what was known of it stays.
        held = {id for _, ids in before.files.values() for id in ids} if done.problems else set(index.ids())
        done.added = changes.added + changes.updated
        done.removed = index.delete_many(sorted(held - stay))
    files.replace(_seen_file(project), msgspec.json.encode(now), project.lock("hot"), files.ANYTHING)
    return now


def _pieces(machine: Machine, project: Project, shown: str, done: Indexed) -> list[Chunk] | None:
    """None for a file that cannot be read now: what was known of it stays findable."""
    # Loaded only where something changed: most searches find the index as it should be.
    from holdfast.app.chunking import chunks_of_file, chunks_of_ledger
    from holdfast.app.ledger import read_ledger, rows

    try:
        if shown == LESSONS or shown.endswith("session.json"):
            from holdfast.app.learned_chunks import knowledge_chunks, lesson_chunks

            return lesson_chunks(machine, project) if shown == LESSONS else knowledge_chunks(project, shown)
        if shown.endswith("ledger.md"):
            return chunks_of_ledger(shown, rows(read_ledger(project)), project.title)
        relative = Path(shown).relative_to(PLACE)
        name = relative.parts[1] if relative.parts[0] == "projects" else ""
        return chunks_of_file(shown, text_of(project.memory, project.memory / relative), name)
    except HoldfastError as error:
        done.problems.append(error.line())
        return None


def memory_files(project: Project) -> Iterator[tuple[str, Path]]:
    """Everything that can be found, by the name it is shown under; the reference last: it says more than a log."""
    memory = project.memory
    for path in (memory / "current.md", memory / "style.md", memory / "session.json", project.ledger):
        if path.is_file():
            yield f"{PLACE}/{path.name}", path
    for folder in sorted((memory / "projects").glob("*")):
        names = [*sorted(folder.glob("archive/*.md")), *(folder / name for name in _NAMES)]
        for path in names:
            if path.is_file():
                yield f"{PLACE}/{path.relative_to(memory).as_posix()}", path


_NAMES = ("log.md", "open-questions.md", "reference.md")


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size}:{status.st_mtime_ns}"


def _seen_file(project: Project) -> Path:
    return project.memory / "index.json"


def _seen(project: Project) -> _Seen:
    """What was noted of the index that is there; nothing of one that is gone, or that another format emptied."""
    nothing = _Seen(index=INDEX_FORMAT)
    data = files.read(_seen_file(project)) if (project.memory / "index.db").exists() else None
    try:
        seen = msgspec.json.decode(data or b"{}", type=_Seen)
    except msgspec.MsgspecError:
        return nothing
    return seen if (seen.format, seen.index) == (_FORMAT, INDEX_FORMAT) else nothing
