"""What `~/.holdfast` keeps beside a project's memory: it goes with the last memory, and what stays is named."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.core import files, folders
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.upkeep.memories import StoredMemory, stored_memories

# Made again where it is needed, or worth nothing without a memory. Locks go last.
_OURS = ("cache", "clock", "copies-offered", "projects", "trust", "hosts", "locks")
# They make an archive of this machine one that needs no trust, and this machine's entries its own.
_IDENTITY = ("machine", "machine.key")
_ARCHIVES = ("backups", "exports")


class Emptied(Struct, frozen=True, kw_only=True):
    """What stays: other projects' memories, or files of the person's own. Nothing if the folder itself is gone."""

    memories: int = 0
    left: tuple[str, ...] = ()


def other_memories(machine: Machine, project: Project) -> list[StoredMemory]:
    return [memory for memory in stored_memories(machine) if memory.id != project.memory.name]


def archives(machine: Machine) -> list[Path]:
    """The backups and exports under `~/.holdfast`: each holds a memory."""
    return [path for name in _ARCHIVES for path in _inside(machine.home / name)]


def empty_own_folder(machine: Machine, *, archives_too: bool = False) -> Emptied:
    """After a purge: if no project has a memory and no agent our hooks, removes what is nobody's.

    `archives_too`: backups and exports as well, and the key that recognises them.
    """
    home = machine.home
    memories = [path for path in _inside(home / "projects") if path.is_dir() and path.name[:1] != "."]
    if memories:
        return Emptied(memories=len(memories))
    if any(path.suffix == ".json" for path in _inside(home / "hosts")):
        return Emptied(left=_names(home))  # the record of a file that another repository's hooks are in
    for name in (*_OURS, *(_ARCHIVES if archives_too else ())):
        _remove(home / name)
    for folder in list(_inside(home)):
        with contextlib.suppress(OSError):  # not empty
            os.rmdir(folder)
    if archives_too or set(_names(home)) <= set(_IDENTITY):
        files.discard([home / name for name in _IDENTITY])
        with contextlib.suppress(OSError):
            os.rmdir(home)
    return Emptied(left=_names(home))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        folders.remove(path)
    else:
        files.discard([path])


def _inside(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(folder.iterdir())


def _names(folder: Path) -> tuple[str, ...]:
    return tuple(path.name for path in _inside(folder))
