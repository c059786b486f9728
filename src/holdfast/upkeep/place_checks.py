"""Checks of `holdfast doctor` about places: whose memory this folder uses, and which memories have none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime

from holdfast.core.place import Place, read_registry
from holdfast.flows.lesson_sharing import to_trust
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.registration import folder_of, registered_folders
from holdfast.store.waiting import waiting_archives
from holdfast.upkeep.memories import StoredMemory, stored_memories

Results = Iterator[tuple[str, str]]
_MB = 1_000_000


def check_place(machine: Machine, project: Project) -> Results:
    """Where the memory of this folder is registered."""
    place = project.place()
    if place is None or not project.memory.is_dir():
        return
    folders = registered_folders(str(project.memory))
    here = folder_of(os.path.realpath(project.identity_file))
    if needs_registration(place):
        moved = [folder for folder in folders if folder != here and not os.path.isdir(folder)]
        what = f"moved here from {moved[0]}" if moved else "not fully registered yet"
        yield "note", f"{here}: {what}. The next session records that, or holdfast doctor --fix now."
    else:
        yield "ok", f"registered for {here}"
    for folder in folders:
        if folder != here and os.path.isdir(folder):
            yield "note", f"{folder} shares this memory: one of them joined it with holdfast init --join."


def needs_registration(place: Place) -> bool:
    registry = read_registry(place.memory)
    return registry.is_legacy or registry.by_path(os.path.realpath(place.identity_file)) is None


def check_memories(machine: Machine, here: Project | None = None) -> Results:
    """Memories whose folder is gone, but not the one of a folder that was moved here. Nothing is removed by itself."""
    in_use = here.memory.name if here is not None else ""
    orphans = [memory for memory in stored_memories(machine) if memory.is_orphan and memory.id != in_use]
    for memory in sorted(orphans, key=lambda memory: memory.last_used):
        yield "note", _orphan(memory)


def check_trust(machine: Machine, project: Project) -> Results:
    """What came from elsewhere and reaches no agent until a person agrees."""
    archives = waiting_archives(machine.home, project)
    lessons = to_trust(machine, project) if project.known else []
    counts = ((len(archives), "archive"), (len(lessons), "shared lesson"))
    parts = [f"{count} {word}{'s' if count != 1 else ''}" for count, word in counts if count]
    if parts:
        verb = "waits" if len(archives) + len(lessons) == 1 else "wait"
        yield (
            "note",
            f"{' and '.join(parts)} {verb} for your trust, and agents see nothing of it: holdfast trust",
        )


def _orphan(memory: StoredMemory) -> str:
    used = (
        f"last used {datetime.fromtimestamp(memory.last_used, UTC):%Y-%m-%d}"
        if memory.last_used
        else "no session yet"
    )
    size = f"{memory.bytes / _MB:,.1f} MB" if memory.bytes >= _MB else f"{max(1, memory.bytes // 1000)} kB"
    sessions = f"{memory.sessions} session{'s' if memory.sessions != 1 else ''}"
    what = f"{memory.id} ({sessions}, {used}, {size}): {memory.folders[0]} is gone"
    keep = f"In its new folder run holdfast init --join {memory.id}"
    return f"{what}. {keep}; holdfast prune --memory {memory.id} removes it."
