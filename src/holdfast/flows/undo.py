"""The versions of files: lists them, shows what a change did, and undoes changes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from holdfast.briefing.projects import memory_of
from holdfast.core.errors import HoldfastError, NotFound, UsageError
from holdfast.core.text_diff import count, unified
from holdfast.flows.refresh import refresh
from holdfast.lessons.choices import CHOICES, decode_choices
from holdfast.lessons.states import lesson_store
from holdfast.memory.store import MemoryStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.versions import UNSAVED, Change, Step, new_group


class FileVersions(Struct, frozen=True, kw_only=True):
    """A file that keeps versions, and its last change."""

    file: str
    changes: int
    last_at: datetime
    last_reason: str


class FileChange(Struct, frozen=True, kw_only=True):
    """One change of a file. `added` and `removed` count lines; None if a version no longer exists."""

    n: int
    file: str
    at: datetime
    reason: str
    group: str
    added: int | None = None
    removed: int | None = None


class Undone(Struct, frozen=True, kw_only=True):
    """A file that was restored. `changes` are the undone changes, the newest first."""

    file: str
    changes: tuple[FileChange, ...] = ()
    added: int = 0
    removed: int = 0
    diff: str = ""
    gone: bool  # the file itself is removed: it did not exist before


def files_with_versions(machine: Machine, project: Project) -> list[FileVersions]:
    by_file: dict[str, list[Change]] = {}
    store = memory_of(machine, project)
    for change in store.history():
        by_file.setdefault(change.file, []).append(change)
    for name, changes in by_file.items():
        changes[:0] = filter(None, [store.unsaved(name)])
    return [
        FileVersions(
            file=name, changes=len(changes), last_at=_time(changes[0]), last_reason=changes[0].reason
        )
        for name, changes in by_file.items()
    ]


def changes_of(machine: Machine, project: Project, file: str, last: int | None = None) -> list[FileChange]:
    """The changes of a file, newest first."""
    store = memory_of(machine, project)
    name = _file_name(machine, file)
    changes = [*filter(None, [store.unsaved(name)]), *store.history(name)]
    return [_counted(store, change) for change in (changes[:last] if last else changes)]


class LatestChanges(Struct, frozen=True, kw_only=True):
    """One page of all changes of all files, the newest first."""

    changes: list[FileChange]
    total: int
    page: int
    pages: int


def latest_changes(machine: Machine, project: Project, page: int, most: int = 50) -> LatestChanges:
    """The changes of all files. Only those of this page are compared with what was before."""
    store = memory_of(machine, project)
    every = store.history()
    pages = max(1, -(-len(every) // most))
    page = min(max(page, 1), pages)
    shown = every[(page - 1) * most : page * most]
    return LatestChanges(
        changes=[_counted(store, change) for change in shown], total=len(every), page=page, pages=pages
    )


def change_and_diff(machine: Machine, project: Project, n: int, file: str | None) -> tuple[FileChange, str]:
    store = memory_of(machine, project)
    change = store.unsaved(_file_name(machine, file)) if file is not None else None
    if change is None or change.n != n:
        change = _change_by_number(machine, store, n, file)
    return _counted(store, change), unified(*_contents(store, change), change.file)


def undo(
    machine: Machine, project: Project, file: str | None, *, to: int | None = None, dry_run: bool = False
) -> list[Undone]:
    """Undoes holdfast's last change with its whole group, or restores one version of a file."""
    store = memory_of(machine, project)
    dry_run = dry_run or not project.memory.is_dir()
    if not dry_run:
        project.prepare()
    if to is not None:
        undone = _go_to(store, _change_by_number(machine, store, to, file), dry_run=dry_run)
    else:
        name = _file_name(machine, file) if file is not None else None
        steps = store.steps_back(name) if dry_run else store.undo(name)
        undone = [_undone(store, step) for step in steps]
        if not dry_run:
            undone += _restore_sharing(machine, project, steps)
    if undone and not dry_run:
        refresh(machine, project)
    return undone


def undo_personal(machine: Machine, project: Project, *, dry_run: bool = False) -> list[Undone]:
    """Undoes the last change of the user's personal lessons, which belong to no project."""
    store = lesson_store(machine, project, new_group())
    steps = store.personal_steps_back() if dry_run else store.undo_personal()
    if steps and not dry_run:
        refresh(machine, project)
    return [replace(_undone(None, step), file=f"~/.holdfast/{step.file}") for step in steps]


def _go_to(store: MemoryStore, change: Change, *, dry_run: bool) -> list[Undone]:
    now, then = store.bytes_of(change.file), store.content(change.file, change.n)
    if now == then:
        return []
    if not dry_run:
        store.restore(change.file, change.n)
    newer = tuple(later for later in store.history(change.file) if later.n > change.n)
    return [_undone(store, Step(file=change.file, now=now, then=then, changes=newer))]


def _restore_sharing(machine: Machine, project: Project, steps: Sequence[Step]) -> list[Undone]:
    """Shares the lessons that were shared then. Git has their versions; the restored choices have their names."""
    step = next((step for step in steps if step.file == f"lessons/{CHOICES}"), None)
    if step is None:
        return []
    from holdfast.flows.lesson_sharing import share_as_before

    path = project.memory / "lessons" / CHOICES
    was, now = (decode_choices(data, path) for data in (step.now, step.then))
    gone, again = share_as_before(machine, project, was, now)
    return [Undone(file=f".holdfast/lessons/{name}.md", gone=name in gone) for name in (*gone, *again)]


def _change_by_number(machine: Machine, store: MemoryStore, n: int, file: str | None) -> Change:
    """A change by its number, which is unique."""
    name = _file_name(machine, file) if file is not None else None
    for change in store.history(name):
        if change.n == n:
            return change
    which = store.shown_name(name) if name is not None else "this project"
    raise NotFound(f"{which} has no version {n}", fix=f"holdfast history {file or 'FILE'} lists them")


def _file_name(machine: Machine, file: str) -> str:
    """The name or path of a file for the store; a path is relative to the current directory."""
    if not file.strip() or "\0" in file:
        raise UsageError("the name of a file is empty", fix="Name one, such as current.md")
    path = os.path.join(machine.cwd, file)
    return path if os.sep in file and os.path.exists(path) else file


def _undone(store: MemoryStore | None, step: Step) -> Undone:
    added, removed = count(step.now, step.then)
    return Undone(
        file=step.file,
        changes=tuple(_counted(store, change) for change in step.changes),
        added=added,
        removed=removed,
        diff=unified(step.now, step.then, step.file),
        gone=step.then is None,
    )


def _counted(store: MemoryStore | None, change: Change) -> FileChange:
    """A change with its lines counted, if the store still has both versions."""
    added = removed = None
    with suppress(HoldfastError):  # a damaged version is still listed
        added, removed = count(*_contents(store, change)) if store is not None else (None, None)
    return FileChange(
        n=change.n,
        file=change.file,
        at=_time(change),
        reason=change.reason,
        group=change.group,
        added=added,
        removed=removed,
    )


def _contents(store: MemoryStore, change: Change) -> tuple[bytes | None, bytes | None]:
    def content(digest: str | None) -> bytes | None:
        return None if digest is None else store.versions.content(digest)

    after = store.bytes_of(change.file) if change.reason == UNSAVED else content(change.after)
    return content(change.before), after


def _time(change: Change) -> datetime:
    return datetime.fromtimestamp(change.at, UTC)
