"""The memories on this machine and the folders they belong to: which have lost theirs, and how a folder joins one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import CopiedProject, NotFound, StoreError, UsageError
from holdfast.core.place import NEW, POINTER, REGISTERED, Place, identify, is_identity, locate, read_registry
from holdfast.core.reading import small_text
from holdfast.flows.portability import Purged, purge
from holdfast.flows.transplant import is_empty
from holdfast.ledger.rows import read_ledger, rows
from holdfast.store.machine import Machine
from holdfast.store.memory_files import walk_memory
from holdfast.store.project import Project, at_new_place
from holdfast.store.registration import folder_of, is_held, register

_USED = ("ledger.md", "current.md", "capture.db")  # written when a session ends


class StoredMemory(Struct, frozen=True, kw_only=True):
    """A memory in `~/.holdfast/projects`. `is_orphan`: no folder that it was registered for has its id any more."""

    id: str
    title: str
    folders: tuple[str, ...]
    is_orphan: bool
    sessions: int
    last_used: float
    bytes: int


def stored_memories(machine: Machine) -> list[StoredMemory]:
    """Every memory, by id."""
    folder = machine.home / "projects"
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    return [describe(folder / name) for name in names if is_identity(name) and (folder / name).is_dir()]


def describe(memory: Path) -> StoredMemory:
    entries = [entry for entry in read_registry(str(memory)).entries if entry.path]
    project = project_of(memory)
    return StoredMemory(
        id=memory.name,
        title=project.title,
        folders=tuple(dict.fromkeys(folder_of(entry.path) for entry in entries)),
        is_orphan=bool(entries) and not any(is_held(entry, memory.name) for entry in entries),
        sessions=len(rows(read_ledger(project))),
        last_used=max((_changed(memory / name) for name in _USED), default=0.0),
        bytes=sum(path.lstat().st_size for path, _ in walk_memory(memory) if path.is_file()),
    )


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def project_of(memory: Path) -> Project:
    """The project of a memory as it was last known. Its folder may be gone."""
    root = Path(small_text(memory / "root").strip() or memory)
    entry = next((entry for entry in read_registry(str(memory)).entries if entry.path), None)
    identity_file = Path(entry.path) if entry is not None else root / ".holdfast" / "id"
    return Project(root, root / ".holdfast", memory, identity_file)


def find_memory(machine: Machine, wanted: str) -> StoredMemory:
    """A memory by its id, its title, or a folder that it belongs to. Raises NotFound if there is not exactly one."""
    folder = os.path.realpath(machine.cwd / Path(wanted).expanduser())
    everything = stored_memories(machine)
    found = [one for one in everything if one.id == wanted] or [
        one for one in everything if one.title == wanted or folder in map(os.path.realpath, one.folders)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(one.id for one in found)
        raise NotFound(f"{wanted!r} fits {len(found)} memories: {listed}", fix="Give the id of one")
    raise NotFound(f"no memory {wanted!r} is kept on this machine", fix="holdfast du lists them")


# --- join ------------------------------------------------------------------------------------------------


class Joining(Struct, frozen=True):
    """A folder and the memory that it is to share."""

    root: str
    identity_file: str
    memory: StoredMemory


def plan_join(machine: Machine, wanted: str) -> Joining:
    """What `join` would do: with the memory that the folder's id names, or with the one that is `wanted`."""
    root, identity_file, place = _here(machine)
    standing = place.standing() if place is not None else NEW
    if not wanted:
        if place is None:
            fix = "Name the memory: holdfast init --join ID. holdfast doctor lists those without a folder"
            raise UsageError("this folder does not have another project's id", where=root, fix=fix)
        if standing == NEW:
            problem = (
                f"its id is {os.path.basename(place.memory)}, and there is no such memory on this machine"
            )
            raise UsageError(problem, where=root, fix="holdfast init starts one")
        wanted = os.path.basename(place.memory)
    memory = find_memory(machine, wanted)
    joined = Path(memory.id) == Path(os.path.basename(place.memory)) if place is not None else False
    if standing == REGISTERED and joined:
        raise UsageError("this folder already uses that memory", where=root, fix="Run holdfast init")
    if standing == POINTER and not joined:
        raise _shares_git(root)
    _require_nothing_kept(root, place, standing)
    return Joining(root, identity_file, memory)


def _require_nothing_kept(root: str, place: Place | None, standing: str) -> None:
    if place is None or standing != REGISTERED:
        return
    project = project_of(Path(place.memory))
    if not is_empty(project):
        fix = "holdfast export it, holdfast agents uninstall --all --purge, join, then holdfast restore FILE --merge"
        raise UsageError("this folder has its own memory", where=root, fix=fix)


def join(machine: Machine, plan: Joining) -> Project:
    """Lets a folder share a memory: it gets the id, and is registered."""
    memory = machine.home / "projects" / plan.memory.id
    return _settle(Project(Path(plan.root), Path(plan.root, ".holdfast"), memory, Path(plan.identity_file)))


def separate(machine: Machine, *, dry_run: bool = False) -> Project:
    """Gives a copy an id and a memory of its own."""
    root, identity_file, place = _here(machine)
    standing = place.standing() if place is not None else NEW
    if standing == POINTER:
        raise _shares_git(root)
    if standing in (REGISTERED, NEW):
        raise UsageError(
            "this folder is not a copy: it has its own memory", where=root, fix="Run holdfast init"
        )
    project = at_new_place(Path(root), Path(identity_file), machine.home)
    return project if dry_run else _settle(project)


def _here(machine: Machine) -> tuple[str, str, Place | None]:
    located = locate(str(machine.cwd), str(machine.home))
    if located is None:
        root = os.path.abspath(machine.cwd)
        return root, os.path.join(root, ".holdfast", "id"), None
    return located[0], located[1], identify(str(machine.cwd), str(machine.home))


def _settle(project: Project) -> Project:
    """Writes the id over another one, and registers the folder."""
    project.check_window()
    for folder in (project.memory.parent.parent, project.memory.parent, project.memory):
        files.make_private(folder)
    identity = f"{project.memory.name}\n".encode()
    if small_text(project.identity_file, follow=False).encode() != identity:
        if os.path.lexists(project.identity_file) and not _is_regular(project.identity_file):
            fix = "Remove it, and run the command again"
            raise StoreError("it is not a regular file", where=str(project.identity_file), fix=fix)
        files.replace(project.identity_file, identity, project.lock("layout"), files.ANYTHING)
    place = project.place()
    if place is not None:
        register(place, project.lock("layout"))
    project.prepare()
    return project


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


def _shares_git(root: str) -> UsageError:
    fix = "holdfast init --join uses that repository's memory"
    return UsageError("its git directory is another folder's, and so is its id", where=root, fix=fix)


# --- remove ----------------------------------------------------------------------------------------------


def plan_removal(machine: Machine, wanted: str) -> StoredMemory:
    """The orphan that `remove_orphan` would remove. Raises UsageError for a memory that is in use."""
    memory = find_memory(machine, wanted)
    if not memory.is_orphan:
        where = memory.folders[0] if memory.folders else str(machine.home / "projects" / memory.id)
        fix = "Run holdfast agents uninstall --all --purge there"
        raise UsageError(f"the memory {memory.id} is in use", where=where, fix=fix)
    return memory


def remove_orphan(machine: Machine, memory: StoredMemory, version: str) -> Purged | None:
    """Removes a memory whose folders are gone, after a backup."""
    return purge(machine, project_of(machine.home / "projects" / memory.id), version)


def copied_here(machine: Machine) -> CopiedProject | None:
    """Why the current directory may not use the memory that its id names; None if it may."""
    try:
        machine.project()
    except CopiedProject as error:
        return error
    return None
