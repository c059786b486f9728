"""Forgetting in archives: the backups and exports that holdfast wrote under `~/.holdfast`.

An archive of this project is written again without what is forgotten. One that may be another project's, has another
form or cannot be read is not touched: it is named, so that its owner can decide.
"""

from __future__ import annotations

import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files, folders
from holdfast.core.errors import HoldfastError
from holdfast.flows import transplant
from holdfast.store.bundle import (
    MEMORY,
    SHARED_LEDGER,
    Manifest,
    Source,
    canonical_files,
    check_bundle,
    unpack_bundle,
    write_bundle,
)
from holdfast.store.machine_key import origin_of, sign
from holdfast.store.project import Project

FOLDERS = ("backups", "exports")
_ABANDONED_S = 60.0
Edit = Callable[[Project, Path], int]
"""Removes what is forgotten from an unpacked memory and the ledger beside it; returns how much that was."""


class ArchiveFinding(Struct, frozen=True):
    """An archive that holds what is forgotten. `manifest` is None if it must stay as it is, because of `why`."""

    path: Path
    manifest: Manifest | None
    why: str = ""


def find_archives(home: Path, project: Project, holds: Callable[[bytes], bool]) -> Iterator[ArchiveFinding]:
    """The archives below `home` that hold it, or may hold it."""
    shared_title = _others_with(project) > 0
    for path in archives_in(home):
        manifest = None
        with suppress(HoldfastError):
            manifest = check_bundle(path)
        try:
            found = any(map(holds, members(path)))
        except (OSError, tarfile.TarError, EOFError):
            found = None
        upgraded = path.name.startswith(f"{project.memory.name}-")  # a plain copy, made before an upgrade
        if found is None or (manifest is None and not upgraded):
            yield ArchiveFinding(path, None, "archive that cannot be read: delete it if it may contain this")
        elif not found:
            continue
        elif manifest is None:
            yield ArchiveFinding(path, None, "backup")
        elif manifest.title != project.title:
            yield ArchiveFinding(path, None, f"archive of the project {manifest.title}")
        elif shared_title:
            yield ArchiveFinding(path, None, f"archive of one of the projects called {project.title}")
        else:
            yield ArchiveFinding(path, manifest)


def archives_in(home: Path) -> list[Path]:
    return [path for name in FOLDERS for path in sorted((home / name).glob("*.tar.gz")) if path.is_file()]


def members(path: Path) -> Iterator[bytes]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                yield file.read()


def _others_with(project: Project) -> int:
    """How many other memories have this project's title."""
    title, parent = project.title, project.memory.parent
    named = [path for path in parent.glob("*/name") if path.parent != project.memory]
    return sum((files.read(path) or b"").decode("utf-8", "replace").strip() == title for path in named)


def edit_archive(project: Project, found: ArchiveFinding, edit: Edit, *, dry_run: bool) -> int:
    """Writes an archive again without what `edit` removes, and returns how much that was."""
    if found.manifest is None:
        return 0
    with folders.staging(project.memory) as stage:
        incoming = stage / "incoming"
        unpack_bundle(found.path, found.manifest, incoming)
        files.make_private(incoming / "memory")
        there, shared = transplant.at(project, incoming / "memory"), incoming / SHARED_LEDGER
        number = edit(there, shared)
        if number and not dry_run:
            sources = [
                Source(MEMORY + name, there.memory / name) for name in canonical_files(there.memory).files
            ]
            sources += [Source(SHARED_LEDGER, shared)] if shared.exists() else []
            manifest = replace(found.manifest, members=tuple(source.member() for source in sources))
            home = project.memory.parent.parent
            if origin_of(home, found.manifest) == "archive":  # it stays an archive of this machine
                manifest = sign(home, manifest)
            write_bundle(found.path, manifest, sources, force=True)
    return number


def sweep_archives(home: Path) -> None:
    """Removes what writers of archives left behind when they were killed."""
    old = [path for name in FOLDERS for path in (home / name).glob(".holdfast-*.tmp")]
    files.discard(path for path in old if time.time() - path.stat().st_mtime > _ABANDONED_S)
