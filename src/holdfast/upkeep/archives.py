"""Archives of other machines: kept apart until a person has seen what is in them and trusts exactly that content."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from holdfast.briefing.archive_contents import Contents, contents_of
from holdfast.core import files, folders
from holdfast.core.errors import NotFound
from holdfast.flows.portability import (
    Mode,
    Restored,
    require_room,
    restore,
    take_in,
    unpack_cleaned,
)
from holdfast.flows.transplant import is_empty
from holdfast.store.bundle import Manifest, check_bundle
from holdfast.store.machine import Machine
from holdfast.store.machine_key import hash_of, origin_of
from holdfast.store.project import Project
from holdfast.store.trust import Trust
from holdfast.store.waiting import RECEIVED, WaitingArchive, folder_for, note_archive, waiting_archives


class Received(Struct, frozen=True):
    """An archive of another machine, and what is in it. `is_new` is false if it waited already."""

    archive: WaitingArchive
    contents: Contents
    is_new: bool = False

    def as_json(self) -> dict[str, object]:
        manifest = self.archive.manifest
        return {
            "id": self.archive.id,
            "hash": self.archive.hash,
            "origin": "other_archive",
            "title": manifest.title,
            "made": manifest.made,
            "version": manifest.holdfast,
            "holds": self.contents.counts(),
            "instructs": [{"kind": kind, "text": text} for kind, text in self.contents.instructions()],
        }


def needs_trust(machine: Machine, project: Project, file: str) -> bool:
    """Whether an archive was made elsewhere, and no person here agreed to it."""
    manifest = check_bundle(machine.cwd / Path(file).expanduser())
    is_ours = origin_of(machine.home, manifest) == "archive"
    return not (is_ours or Trust(machine.home, project).has_archive(hash_of(manifest)))


def keep_apart(machine: Machine, project: Project, file: str) -> Received:
    """Unpacks and cleans an archive beside the memory, where search finds it and nothing else does."""
    path = machine.cwd / Path(file).expanduser()
    manifest = check_bundle(path)
    known = next(
        (one for one in waiting_archives(machine.home, project) if one.hash == hash_of(manifest)), None
    )
    if known is not None:
        return Received(known, contents_of(machine, known.memory_of(project)))
    require_room(project, manifest)
    _unpack(machine, project, path, manifest)
    project.prepare()  # the archive waits for this project, so it must have an id
    archive = next(one for one in waiting_archives(machine.home, project) if one.hash == hash_of(manifest))
    return Received(archive, contents_of(machine, archive.memory_of(project)), is_new=True)


def _unpack(machine: Machine, project: Project, path: Path, manifest: Manifest) -> None:
    place = folder_for(machine.home, project, hash_of(manifest))
    for folder in (machine.home, machine.home / RECEIVED):
        files.make_private(folder)
    with folders.staging(place) as stage:
        incoming = stage / "incoming"
        unpack_cleaned(machine, project, path, manifest, incoming)
        note_archive(incoming, hash_of(manifest), machine.now().timestamp(), manifest)
        folders.remove(place)
        folders.put(incoming, place)


def waiting(machine: Machine, project: Project) -> list[Received]:
    return [
        Received(archive, contents_of(machine, archive.memory_of(project)))
        for archive in waiting_archives(machine.home, project)
    ]


def find_waiting(machine: Machine, project: Project, wanted: str) -> Received | None:
    """A waiting archive by its hash or the beginning of it, or by its title."""
    found = [
        one
        for one in waiting(machine, project)
        if (len(wanted) >= 4 and one.archive.hash.startswith(wanted)) or one.archive.manifest.title == wanted
    ]
    if len(found) > 1:
        listed = ", ".join(one.archive.id for one in found)
        raise NotFound(f"{wanted!r} fits {len(found)} archives: {listed}", fix="Type more of the id")
    return found[0] if found else None


def accept(machine: Machine, project: Project, received: Received, version: str) -> Restored:
    """Trusts exactly this content, and adds it to the memory. What is here stays."""
    archive = received.archive
    Trust(machine.home, project).give_archive(archive.hash, machine.now().timestamp())
    mode: Mode = "new" if not project.memory.is_dir() or is_empty(project) else "merge"
    done = take_in(machine, project, archive, version, mode)
    folders.remove(archive.folder)
    return done


def restore_trusted(machine: Machine, project: Project, file: str, version: str, mode: Mode) -> Restored:
    """Restores an archive of another machine that a person has agreed to."""
    manifest = check_bundle(machine.cwd / Path(file).expanduser())
    Trust(machine.home, project).give_archive(hash_of(manifest), machine.now().timestamp())
    done = restore(machine, project, file, version, mode)
    folders.remove(folder_for(machine.home, project, hash_of(manifest)))
    return done


def drop(received: Received) -> None:
    """Removes a waiting archive. The file that it came from stays where it is."""
    folders.remove(received.archive.folder)
