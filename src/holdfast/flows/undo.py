"""The versions of the files that change: which there are, what a change did, and the way back."""

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
from holdfast.lessons.notes import CHOICES, decode_choices
from holdfast.lessons.states import lesson_store
from holdfast.memory.store import MemoryStore
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.versions import UNDO, UNSAVED, Change, Step, new_group

__all__ = [
    "UNDO",
    "Changed",
    "FileVersions",
    "Undone",
    "change_and_diff",
    "changes_of",
    "files_with_versions",
    "undo",
    "undo_personal",
]


class FileVersions(Struct, frozen=True, kw_only=True):
    """A file that keeps versions, and its last change."""

    file: str
    changes: int
    last_at: datetime
    last_reason: str


class Changed(Struct, frozen=True, kw_only=True):
    """One change of a file. `added` and `removed` are lines, None where a version is no longer there."""

    n: int
    file: str
    at: datetime
    reason: str
    group: str
    added: int | None
    removed: int | None


class Undone(Struct, frozen=True, kw_only=True):
    """What became of one file. `changes` are those that were taken back, the newest first."""

    file: str
    changes: tuple[Changed, ...]
    added: int
    removed: int
    diff: str
    gone: bool  # the file itself is taken back: it had not been there before


def files_with_versions(machine: Machine, project: Project) -> list[FileVersions]:
    by_file: dict[str, list[Change]] = {}
    store = memory_of(machine, project)
    for change in store.history():
        by_file.setdefault(change.file, []).append(change)
    for name, changes in by_file.items():
        changes[:0] = filter(None, [store.unsaved(name)])
    return [
        FileVersions(file=name, changes=len(found), last_at=_moment(found[0].at), last_reason=found[0].reason)
        for name, found in by_file.items()
    ]


def changes_of(machine: Machine, project: Project, file: str, last: int | None = None) -> list[Changed]:
    """Newest first."""
    store = memory_of(machine, project)
    named = _named(machine, file)
    found = [*filter(None, [store.unsaved(named)]), *store.history(named)]
    return [_changed(store, change) for change in (found[:last] if last else found)]


def change_and_diff(machine: Machine, project: Project, n: int, file: str | None) -> tuple[Changed, str]:
    store = memory_of(machine, project)
    change = _unsaved(machine, store, n, file) or _numbered(machine, store, n, file)
    before, after = _contents(store, change)
    return _changed(store, change), unified(before, after, change.file)


def undo(
    machine: Machine, project: Project, file: str | None, *, to: int | None = None, dry_run: bool = False
) -> list[Undone]:
    """Takes back the last change of ours with all that was done in the same go, or goes to one version of a file."""
    store = memory_of(machine, project)
    dry_run = dry_run or not project.memory.is_dir()
    if not dry_run:
        project.prepare()
    if to is not None:
        done = _go_to(machine, project, store, _numbered(machine, store, to, file), dry_run=dry_run)
    else:
        named = _named(machine, file) if file is not None else None
        steps = store.steps_back(named) if dry_run else store.undo(named)
        done = [_undone(store, step.file, step.now, step.then, step.changes) for step in steps]
        if not dry_run:
            done += _shared_as_before(machine, project, steps)
    if done and not dry_run:
        refresh(machine, project)
    return done


def _shared_as_before(machine: Machine, project: Project, steps: Sequence[Step]) -> list[Undone]:
    """Lessons lie in git, which keeps their versions: what was chosen then says which of them belong there."""
    step = next((step for step in steps if step.file == f"lessons/{CHOICES}"), None)
    if step is None:
        return []
    from holdfast.flows.lesson_sharing import share_as_before

    path = project.memory / "lessons" / CHOICES
    was, now = (decode_choices(data, path) for data in (step.now, step.then))
    gone, again = share_as_before(machine, project, was, now)
    return [
        Undone(
            file=f".holdfast/lessons/{name}.md", changes=(), added=0, removed=0, diff="", gone=name in gone
        )
        for name in (*gone, *again)
    ]


def undo_personal(machine: Machine, project: Project, *, dry_run: bool = False) -> list[Undone]:
    """The same for this user's own lessons, which belong to no project."""
    store = lesson_store(machine, project, new_group())
    steps = store.personal_steps_back() if dry_run else store.undo_personal()
    if steps and not dry_run:
        refresh(machine, project)
    return [
        Undone(
            file=f"~/.holdfast/{step.file}",
            changes=tuple(_plainly(change) for change in step.changes),
            added=count(step.now, step.then)[0],
            removed=count(step.now, step.then)[1],
            diff=unified(step.now, step.then, step.file),
            gone=step.then is None,
        )
        for step in steps
    ]


def _plainly(change: Change) -> Changed:
    return Changed(
        n=change.n,
        file=change.file,
        at=_moment(change.at),
        reason=change.reason,
        group=change.group,
        added=None,
        removed=None,
    )


def _go_to(
    machine: Machine, project: Project, store: MemoryStore, change: Change, *, dry_run: bool
) -> list[Undone]:
    now, then = store.bytes_of(change.file), store.content(change.file, change.n)
    if now == then:
        return []
    if not dry_run:
        store.restore(change.file, change.n)
    newer = tuple(later for later in store.history(change.file) if later.n > change.n)
    return [_undone(store, change.file, now, then, newer)]


def _numbered(machine: Machine, store: MemoryStore, n: int, file: str | None) -> Change:
    """A change by its number, which no other change has."""
    named = _named(machine, file) if file is not None else None
    for change in store.history(named):
        if change.n == n:
            return change
    which = store.shown_name(named) if named is not None else "this project"
    fix = f"holdfast history {file or 'FILE'} lists them"
    raise NotFound(f"{which} has no version {n}", fix=fix)


def _unsaved(machine: Machine, store: MemoryStore, n: int, file: str | None) -> Change | None:
    """What somebody wrote since, where it is listed with this number."""
    change = store.unsaved(_named(machine, file)) if file is not None else None
    return change if change is not None and change.n == n else None


def _named(machine: Machine, file: str) -> str:
    """A file as the store knows it: by its name, or by a path from where the person stands."""
    if not file.strip() or "\0" in file:
        raise UsageError("the name of a file is empty", fix="Name one, such as current.md")
    return (
        os.path.join(machine.cwd, file)
        if os.sep in file and os.path.exists(os.path.join(machine.cwd, file))
        else file
    )


def _changed(store: MemoryStore, change: Change) -> Changed:
    plain = _plainly(change)
    with suppress(HoldfastError):  # a version that is no longer whole is still listed
        added, removed = count(*_contents(store, change))
        return replace(plain, added=added, removed=removed)
    return plain


def _undone(
    store: MemoryStore, file: str, now: bytes | None, then: bytes | None, changes: tuple[Change, ...]
) -> Undone:
    added, removed = count(now, then)
    return Undone(
        file=file,
        changes=tuple(_changed(store, change) for change in changes),
        added=added,
        removed=removed,
        diff=unified(now, then, file),
        gone=then is None,
    )


def _contents(store: MemoryStore, change: Change) -> tuple[bytes | None, bytes | None]:
    def of(digest: str | None) -> bytes | None:
        return None if digest is None else store.versions.content(digest)

    after = store.bytes_of(change.file) if change.reason == UNSAVED else of(change.after)
    return of(change.before), after


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
