"""Exports a project's memory to an archive, restores an archive, and purges a memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.archive_contents import contents_of
from holdfast.core import files, folders
from holdfast.core.errors import NotFound, StoreError
from holdfast.core.stamp import Stamp
from holdfast.flows import transplant
from holdfast.flows.received import receive
from holdfast.flows.refresh import refresh
from holdfast.flows.remember import rewrite_current
from holdfast.flows.transplant import Taken
from holdfast.flows.union import REASON, Added, Union
from holdfast.ledger.intake import corrections
from holdfast.ledger.store import LedgerStore, missing_rows
from holdfast.lessons.store import LessonStore
from holdfast.memory.store import MemoryStore
from holdfast.model.origin import Origin
from holdfast.store.bundle import (
    FORMAT,
    MEMORY,
    SHARED_LEDGER,
    Manifest,
    already_exists,
    canonical_files,
    check_bundle,
    unpack_bundle,
    write_bundle,
)
from holdfast.store.machine import Machine
from holdfast.store.machine_key import hash_of, origin_of, sign
from holdfast.store.memory_files import CAPTURE
from holdfast.store.origins import TakenIn, add_archive
from holdfast.store.project import FORMAT as MEMORY_FORMAT
from holdfast.store.project import Project, require_format
from holdfast.store.trust import Trust
from holdfast.store.versions import new_group
from holdfast.store.waiting import WaitingArchive

Mode = Literal["new", "merge", "replace"]


class Exported(Struct, frozen=True, kw_only=True):
    """An archive that was written, or would be if `done` is false. `bytes` is its unpacked size."""

    path: str
    title: str
    files: int
    bytes: int
    size: int | None
    left_out: tuple[tuple[str, str], ...]
    done: bool


class Restored(Struct, frozen=True, kw_only=True):
    """The contents of an archive, and what happened to it. `added` counts what a merge added; None otherwise."""

    path: str
    title: str
    made: str
    version: str
    mode: Mode
    files: int
    bytes: int
    added: Added | None
    backup: str | None
    done: bool
    origin: Origin = "archive"


def export(
    machine: Machine,
    project: Project,
    target: str | None,
    version: str,
    *,
    force: bool = False,
    dry_run: bool = False,
) -> Exported:
    """Writes an archive. The default target is in `~/.holdfast/exports`, named after project and day."""
    folders.recover(project.memory)
    if not project.memory.is_dir() or transplant.is_empty(project):
        raise NotFound(
            "this project has no memory yet", where=str(project.root), fix="Run holdfast import first"
        )
    require_format(project)
    path = _target(machine, project, target)
    if target is None and not force:
        path = _free(path)
    if dry_run:
        if not force and os.path.lexists(path):
            raise already_exists(path)
        listing = canonical_files(project.memory)
        return Exported(
            path=str(path),
            title=project.title,
            files=len(listing.files),
            bytes=_size(project, listing.files),
            size=None,
            left_out=listing.left_out,
            done=False,
        )
    if path.parent == machine.home / "exports":
        files.make_private(path.parent)
    with transplant.quiet(project):
        folders.sweep(project.memory)
        with folders.staging(project.memory) as work:
            return _write(machine, project, path, version, transplant.take(project, work), force=force)


def _size(project: Project, names: Iterable[str]) -> int:
    return sum((project.memory / name).stat().st_size for name in names)


def _target(machine: Machine, project: Project, target: str | None) -> Path:
    day = machine.now().astimezone().strftime("%Y-%m-%d")
    name = f"holdfast-{project.title}-{day}.tar.gz"
    if target is None:
        # The default is never inside a repository: one `git add .` would publish private data.
        return machine.home / "exports" / name
    path = machine.cwd / Path(target).expanduser()
    path = path / name if path.is_dir() else path
    if not path.parent.is_dir():
        raise NotFound("there is no such folder", where=str(path.parent), fix="Create it first")
    return path


def _free(path: Path) -> Path:
    """The path, or the same with the next number: two exports of one day are both kept."""
    stem, number = path.name.removesuffix(".tar.gz"), 1
    while os.path.lexists(path):
        number += 1
        path = path.with_name(f"{stem}-{number}.tar.gz")
    return path


def _write(
    machine: Machine, project: Project, path: Path, version: str, taken: Taken, *, force: bool = False
) -> Exported:
    manifest = Manifest(
        format=FORMAT,
        holdfast=version,
        made=machine.now().isoformat(timespec="seconds"),
        title=project.title,
        memory_format=MEMORY_FORMAT,
        members=tuple(source.member() for source in taken.sources),
    )
    size = write_bundle(path, sign(machine.home, manifest), taken.sources, force=force)
    return Exported(
        path=str(path),
        title=project.title,
        files=len(manifest.members),
        bytes=manifest.bytes,
        size=size,
        left_out=taken.left_out,
        done=True,
    )


def back_up(machine: Machine, project: Project, version: str, taken: Taken) -> str:
    """Backs up what is about to be removed to a new archive in `~/.holdfast/backups`."""
    if lost := [name for name, _ in taken.left_out if name != CAPTURE]:
        where = str(project.memory / lost[0])
        fix = "Move it away, and run the command again"
        raise StoreError("cannot be taken into the backup", where=where, fix=fix)
    moment = machine.now().strftime("%Y%m%dT%H%M%S%f")
    folder = machine.home / "backups"
    files.make_private(folder)
    path = folder / f"holdfast-{project.title}-{moment}.tar.gz"
    return _write(machine, project, path, version, taken).path


# --- restore ---------------------------------------------------------------------------------------------


def restore(
    machine: Machine, project: Project, file: str, version: str, mode: Mode, *, dry_run: bool = False
) -> Restored:
    """Restores an archive. Nothing is written before the whole archive has been read and checked."""
    path = machine.cwd / Path(file).expanduser()
    manifest = check_bundle(path)
    if not dry_run:
        _require_trust(machine, project, str(path), hash_of(manifest), origin_of(machine.home, manifest))
    require_room(project, manifest)
    _look(project, mode)
    run = _Restoring(machine, project, path, manifest, version, mode, dry_run=dry_run)
    done = not (dry_run and mode != "merge") and run.put()
    return run.result(path, done=done)


def take_in(
    machine: Machine, project: Project, archive: WaitingArchive, version: str, mode: Mode
) -> Restored:
    """Restores an archive that waited for trust."""
    _require_trust(machine, project, str(archive.folder), archive.hash, "other_archive")
    run = _Restoring(machine, project, archive.folder, archive.manifest, version, mode, unpacked=True)
    return run.result(archive.folder, done=run.put())


def _look(project: Project, mode: Mode) -> None:
    project.check_window()
    require_format(project)
    if mode == "new" and project.memory.is_dir() and not transplant.is_empty(project):
        raise StoreError(
            "this project already has a memory",
            where=str(project.memory),
            fix="--merge adds what is missing and keeps everything here; --replace makes a backup and replaces it",
        )


def _require_trust(machine: Machine, project: Project, where: str, hash: str, origin: Origin) -> None:
    """Raises StoreError for an archive of another machine that no person here has agreed to."""
    if origin != "archive" and not Trust(machine.home, project).has_archive(hash):
        fix = "holdfast restore FILE keeps it separate; holdfast trust shows its contents and reads it in"
        raise StoreError("it was made on another machine and is not trusted", where=where, fix=fix)


def require_room(project: Project, manifest: Manifest) -> None:
    place = next(folder for folder in project.memory.parents if folder.is_dir())
    free = shutil.disk_usage(place).free
    if manifest.bytes > free:
        raise StoreError(
            f"the archive unpacks to {manifest.bytes >> 20} MB, and {free >> 20} MB are free",
            where=str(place),
            fix="Free some space and try again",
        )


def unpack_cleaned(
    machine: Machine, project: Project, path: Path, manifest: Manifest, incoming: Path
) -> Project:
    """Unpacks an archive to a new folder, without secrets and what was forgotten here."""
    unpack_bundle(path, manifest, incoming)
    files.make_private(incoming / "memory")
    database = incoming / "memory" / CAPTURE
    if database.exists() and (problem := transplant.why_not_capture(database)):
        raise StoreError(
            f"its {CAPTURE} cannot be used: {problem}", where=str(path), fix="Nothing was changed"
        )
    there = transplant.at(project, incoming / "memory")
    receive(machine, project, there, incoming / SHARED_LEDGER)
    return there


class _Restoring:
    """Restores one archive into one project."""

    def __init__(
        self,
        machine: Machine,
        project: Project,
        path: Path,
        manifest: Manifest,
        version: str,
        mode: Mode,
        *,
        dry_run: bool = False,
        unpacked: bool = False,
    ) -> None:
        self.machine, self.project, self.path = machine, project, path
        self.manifest, self.version, self.mode, self.dry_run = manifest, version, mode, dry_run
        self._unpacked = unpacked
        self.added: Added | None = None
        self.backup: str | None = None
        self.origin = origin_of(machine.home, manifest)
        self.names: set[str] = set()

    def put(self) -> bool:
        """Puts the new memory in place."""
        project = self.project
        if not transplant.put(project, self._prepared, look=lambda: _look(project, self.mode)):
            if self.mode == "merge" and not self.dry_run:  # an earlier restore may have died before this
                project.prepare()
                refresh(self.machine, project)
            return False
        project.prepare()
        refresh(self.machine, project)
        return True

    def _prepared(self, stage: Path, before: Taken | None) -> bool:
        """Builds the new memory, and notes what comes from where: what is in place without that counts as our own."""
        if not self.build(stage, before):
            return False
        manifest = self.manifest
        taken_in = TakenIn(
            hash=hash_of(manifest),
            origin=self.origin,
            title=manifest.title,
            made=manifest.made,
            at=self.machine.now().timestamp(),
        )
        if before is None:
            add_archive(stage / "memory", stage / "origins.lock", taken_in, self.names)
            # By it the next command knows where this belongs, if this one dies before it registers the place.
            root = os.fsencode(f"{self.project.root}\n")
            files.replace(stage / "memory" / "root", root, stage / "root.lock", files.ANYTHING)
        else:  # the new memory gets the file of the old one
            add_archive(self.project.memory, self.project.lock("origins"), taken_in, self.names)
        return True

    def result(self, path: Path, *, done: bool) -> Restored:
        return Restored(
            path=str(path),
            title=self.manifest.title,
            made=self.manifest.made,
            version=self.manifest.holdfast,
            mode=self.mode,
            files=len(self.manifest.members),
            bytes=self.manifest.bytes,
            added=self.added,
            backup=self.backup,
            done=done,
            origin=self.origin,
        )

    def build(self, stage: Path, before: Taken | None) -> bool:
        """Builds the new memory in `stage/memory`. False if there is nothing to put in place."""
        incoming = stage / "incoming"
        if self._unpacked:
            transplant.copy_unpacked(self.path, incoming)
            there = transplant.at(self.project, incoming / "memory")
            receive(self.machine, self.project, there, incoming / SHARED_LEDGER)
        else:
            there = unpack_cleaned(self.machine, self.project, self.path, self.manifest, incoming)
        self._correct_stamps(incoming)
        if self.origin == "other_archive":  # only sessions of this machine make lessons active by themselves
            LessonStore(there).note(lambda record: replace(record, captured={}, shown={}))
        self.names = contents_of(self.machine, there).names()
        if before is not None:
            self.names -= contents_of(self.machine, self.project).names()
        if self.mode == "merge" and before is not None:
            return self._merge(stage, incoming, before)
        self._add_shared_rows(incoming)
        if before is not None and _holds_memory(before):
            self.backup = back_up(self.machine, self.project, self.version, before)
        folders.put(incoming / "memory", stage / "memory")
        return not self.dry_run

    def _merge(self, stage: Path, incoming: Path, before: Taken) -> bool:
        transplant.write_sources(stage, before.sources)
        files.make_private(stage / "memory")
        target, source = (transplant.at(self.project, folder / "memory") for folder in (stage, incoming))
        title, group, now = self.project.title, new_group(), self.machine.clock.seconds()
        union = Union(target, source, (title, self.manifest.title), group, now, self._bound / 1000)
        self.added = union.run([incoming / SHARED_LEDGER, stage / SHARED_LEDGER])
        if self.added.total:  # current.md summarises the other files
            rewrite_current(MemoryStore(target, title, lambda: now, group), {}, now, REASON)
        return bool(self.added.total) and not self.dry_run

    def _correct_stamps(self, incoming: Path) -> None:
        """Clamps rows that claim to be later than the archive, or than now."""
        for path in (incoming / "memory" / "ledger.md", incoming / SHARED_LEDGER):
            if path.is_file():
                ledger = LedgerStore(path, path.with_suffix(".lock"))
                ledger.append(corrections(ledger.read().entries, self._bound))

    @cached_property
    def _bound(self) -> int:
        """The latest moment, in milliseconds, at which anything in the archive can have been written."""
        now = self.machine.clock.now()
        try:
            made = datetime.fromisoformat(self.manifest.made)
        except ValueError:
            return now
        return min(now, Stamp.of_time(made if made.tzinfo else made.replace(tzinfo=UTC)).wall)

    def _add_shared_rows(self, incoming: Path) -> None:
        """Adds rows that the other repository shared through git and this one does not have."""
        shared = LedgerStore(incoming / SHARED_LEDGER, incoming / "shared.lock").read().entries
        ledger = LedgerStore(incoming / "memory" / "ledger.md", incoming / "ledger.lock")
        window = self.project.window_ledger
        window_rows = (
            LedgerStore(window, incoming / "window.lock").read().entries if window is not None else []
        )
        ledger.append(missing_rows(shared, [*ledger.read().entries, *window_rows]))


def _holds_memory(taken: Taken) -> bool:
    """Whether there is more than the `name` file of every prepared memory."""
    paths = {source.path for source in taken.sources}
    return any(path.startswith(MEMORY) for path in paths - {f"{MEMORY}name"})


# --- purge -----------------------------------------------------------------------------------------------


class Purged(Struct, frozen=True, kw_only=True):
    """What is removed with a memory, and where its backup is."""

    memory: str
    files: int
    bytes: int
    shown: tuple[str, ...]
    backup: str | None
    done: bool


def plan_purge(project: Project) -> Purged | None:
    """What `purge` would remove; None if there is no memory."""
    if not project.memory.is_dir():
        return None
    names = canonical_files(project.memory).files
    return Purged(
        memory=str(project.memory),
        files=len(names),
        bytes=_size(project, names),
        shown=tuple(str(path) for path in transplant.shown_of(project)),
        backup=None,
        done=False,
    )


def purge(machine: Machine, project: Project, version: str, *, backup: bool = True) -> Purged | None:
    """Removes a project's memory and its files in the repository, except a ledger that git tracks."""
    plan = plan_purge(project)
    if plan is None:
        return None
    backups: list[str] = []

    def keep(taken: Taken) -> None:
        if _holds_memory(taken) or taken.left_out:
            backups.append(back_up(machine, project, version, taken))

    transplant.remove_memory(project, keep if backup else None)
    transplant.remove_shown(project)
    return replace(plan, backup=backups[0] if backups else None, done=True)
