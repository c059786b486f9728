"""Archives of other machines that wait for a person's trust: `~/.holdfast/received/<project>/<hash>/`.

They lie apart from the memory, so that nothing that reads the memory can tell agents anything of them. Search does read
them, and marks what it finds.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.store.bundle import SHARED_LEDGER, Manifest
from holdfast.store.json_files import decode_json, encode_json
from holdfast.store.project import Project

RECEIVED = "received"
_NOTE = "archive.json"
_DIGITS = 12  # of the hash, in the name of the folder


class WaitingArchive(Struct, frozen=True, kw_only=True):
    """`hash` is that of the archive as it came, `at` when it came. `folder` has it unpacked and cleaned."""

    hash: str
    at: float
    manifest: Manifest
    folder: Path

    @property
    def id(self) -> str:
        return self.hash[:8]

    @property
    def shared(self) -> Path:
        return self.folder / SHARED_LEDGER

    def memory_of(self, project: Project) -> Project:
        """The project with the memory of the archive, and a window that does not exist."""
        memory = self.folder / "memory"
        return replace(
            project, memory=memory, window=self.folder / "window", identity_file=self.folder / "id"
        )


class _Note(Struct):
    hash: str = ""
    at: float = 0.0
    manifest: Manifest | None = None


def folder_for(home: Path, project: Project, hash: str) -> Path:
    return home / RECEIVED / project.memory.name / hash[:_DIGITS]


def note_archive(folder: Path, hash: str, at: float, manifest: Manifest) -> None:
    """Completes a folder: without this note it is what a crash left."""
    note = encode_json(_Note(hash, at, manifest))
    files.replace(folder / _NOTE, note, folder.with_name(".lock"), files.ANYTHING)


def waiting_archives(home: Path, project: Project) -> list[WaitingArchive]:
    """The archives that wait in this project, the oldest first."""
    parent = home / RECEIVED / project.memory.name
    found = []
    for name in sorted(os.listdir(parent)) if parent.is_dir() else ():
        path = parent / name / _NOTE
        if not name.startswith(".") and path.is_file():
            note = decode_json(
                files.read(path), _Note, path, "Remove the folder, and restore the archive again"
            )
            if note.manifest is not None:
                found.append(
                    WaitingArchive(hash=note.hash, at=note.at, manifest=note.manifest, folder=parent / name)
                )
    return sorted(found, key=lambda archive: archive.at)


def team_waiting(home: Path, project: Project) -> Project:
    """The project with the memory of what others of the team shared and nobody here has agreed to yet."""
    folder = home / RECEIVED / project.memory.name / "team"
    return replace(project, memory=folder / "memory", window=folder / "window", identity_file=folder / "id")
