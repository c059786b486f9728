"""Versions of files: stores the content before and after every change, so that any version can be restored.

`history/changes.jsonl` has a line per change, written before the change is made; `history/contents/<hash>` stores
each content once. The caller holds the memory lock throughout.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core import files
from holdfast.core.errors import NotFound, StoreError
from holdfast.core.files import Held
from holdfast.core.patterns import lazy_regex
from holdfast.core.sync_folders import is_discarding, sync_names
from holdfast.store.json_files import decode_json_lines, encode_json_lines

KEPT = 50
_SLACK = 20  # pruned in batches, so that not every change rewrites the list of changes
BY_HAND = "edited by hand"
UNSAVED = "edited by hand, not saved yet"
UNDO = "undo"
_GROUP_BYTES = 5
_LESSON = lazy_regex(r"lessons/(?:(?:_candidates/)?[^/\\]+\.md|choices\.json)")
_CONTENT = lazy_regex(r"[0-9a-f]{64}")


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change of one file. `before` and `after` are hashes; None means no file.

    Changes with the same `group` were made by one command or capture, and are undone together; '' is no group.
    """

    n: int
    file: str
    at: float
    reason: str = ""
    before: str | None = None
    after: str | None = None
    group: str = ""


@lru_cache(maxsize=2)
def _parsed(journal: bytes) -> tuple[Change, ...]:
    return tuple(decode_json_lines(journal, Change))


class Versions:
    """The folder `history/` of a memory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._journal = directory / "changes.jsonl"

    def changes(self, file: str | None = None) -> list[Change]:
        """The changes, oldest first. A torn line is skipped: lines are written before the change is made."""
        changes = _parsed(files.read(self._journal) or b"")
        return [change for change in changes if file is None or change.file == file]

    def content(self, digest: str) -> bytes:
        data = files.read(self._content_file(digest))
        if data is None or files.digest(data) != digest:
            where = str(self._content_file(digest))
            raise StoreError("this version is incomplete", where=where, fix="Choose another version")
        return data

    def version(self, file: str, n: int) -> Change:
        for change in self.changes(file):
            if change.n == n:
                return change
        raise NotFound(f"{file} has no version {n}", fix=f"holdfast history {file} lists them")

    def record_all(
        self,
        held: Held,
        made: Iterable[tuple[str, bytes | None, bytes | None]],
        at: float,
        reason: str,
        group: str = "",
        *,
        lean: bool = False,
    ) -> None:
        """Stores the old and new contents of files that are about to change, and records the change.

        A manual edit since the last change is recorded first. `lean` stores only the old contents: the new one is
        in the file, until a later change stores it.
        """
        if is_discarding():  # nobody will ask for versions of what is deleted at the end
            return
        changes = self.changes()
        number = changes[-1].n + 1 if changes else 1
        last = {change.file: change for change in changes}
        added: list[Change] = []
        made = list(made)
        self._keep_all(
            held, (data for _, before, after in made for data in (before, None if lean else after))
        )
        if any(before is not None for _, before, _ in made):
            sync_names()  # before the old contents are overwritten
        for file, before, after in made:
            old, new = files.digest(before), files.digest(after)
            last_change = last.get(file)
            expected = (
                {last_change.before, last_change.after} if last_change else {None}
            )  # `before`: a crash may have prevented the change
            if old not in expected:
                last_written = last_change.after if last_change else None
                added.append(
                    Change(n=number, file=file, at=at, reason=BY_HAND, before=last_written, after=old)
                )
                number += 1
            added.append(
                Change(n=number, file=file, at=at, reason=reason, before=old, after=new, group=group)
            )
            number += 1
        if len(changes) > KEPT + _SLACK:
            pruned = _newest(changes)
            if len(changes) - len(pruned) > _SLACK:
                files.replace_held(held, self._journal, encode_json_lines([*pruned, *added]), files.ANYTHING)
                self._sweep([*pruned, *added])
                return
        if added:
            files.append_held(held, self._journal, encode_json_lines(added))

    def unsaved(self, file: str, now: bytes | None, at: float) -> Change | None:
        """A manual edit since the last change, which the next change will record."""
        changes = self.changes()
        last = next((change for change in reversed(changes) if change.file == file), None)
        digest = files.digest(now)
        if last is None or digest in (last.before, last.after):
            return None
        return Change(n=changes[-1].n + 1, file=file, at=at, reason=UNSAVED, before=last.after, after=digest)

    def before_hand_edit(self, file: str, now: bytes | None) -> bytes | None:
        """What we last wrote to a file that a person has edited since; None if it was not edited."""
        our_changes = [change for change in self.changes(file) if change.reason != BY_HAND]
        # `before`: the change was recorded, and a crash prevented it
        if (
            not our_changes
            or our_changes[-1].after is None
            or files.digest(now) in (our_changes[-1].after, our_changes[-1].before)
        ):
            return None
        return files.read(self._content_file(our_changes[-1].after))

    def last_change(self, file: str, now: bytes | None) -> Change | None:
        """Our last change of a file with the content `now`; None if there is none to undo.

        Raises StoreError if a person has edited the file since.
        """
        digest = files.digest(now)
        for change in reversed(self.changes(file)):
            if change.after == digest and change.reason != BY_HAND:
                return change
            if change.before != digest or change.reason == BY_HAND:  # else it was recorded and never made
                problem = "it has been edited by hand since holdfast last changed it"
                raise StoreError(problem, where=file, fix=f"Choose a version: holdfast history {file}")
        return None

    def rewrite(self, held: Held, edit: Callable[[str, bytes], bytes | None]) -> int:
        """Replaces every stored content with `edit(file, content)`: undo still works, but restores nothing forgotten.

        None drops a version, and so does a content that was not stored (`lean`). Contents are written first, then
        the journal, then unused contents are removed, so that an interrupted run can be repeated. Returns the number
        of contents that were changed or dropped.
        """
        changes = self.changes()
        renamed = {
            name: name if (new := edit(file, data)) == data else self._keep(held, new)
            for name, file, data in self.contents(changes)
        }
        if all(name == new for name, new in renamed.items()):
            self._sweep(changes)
            return 0
        rewritten: list[Change] = []
        for change in changes:
            ends = [name and renamed.get(name) for name in (change.before, change.after)]
            names = [name for name in (change.before, change.after) if name]
            dropped = any(renamed.get(name) is None for name in names)
            if not dropped and ends[0] != ends[1]:
                rewritten.append(replace(change, before=ends[0], after=ends[1]))
        files.replace_held(held, self._journal, encode_json_lines(rewritten), files.ANYTHING)
        self._sweep(rewritten)
        return sum(name != new for name, new in renamed.items())

    def contents(self, changes: Iterable[Change]) -> list[tuple[str, str, bytes]]:
        """The hash, the file and the content of every version in these changes."""
        names = {name: change.file for change in changes for name in (change.before, change.after) if name}
        return [
            (name, file, data)
            for name, file in names.items()
            if (data := files.read(self._content_file(name))) is not None
        ]

    def _keep(self, held: Held, data: bytes | None) -> str | None:
        self._keep_all(held, [data])
        return files.digest(data)

    def _keep_all(self, held: Held, contents: Iterable[bytes | None]) -> None:
        by_digest = {digest: data for data in contents if data is not None and (digest := files.digest(data))}
        missing: dict[Path, tuple[bytes, str | None]] = {
            path: (data, files.ANYTHING)
            for digest, data in by_digest.items()
            if files.digest(files.read(path := self._content_file(digest))) != digest
        }
        files.replace_all_held(held, missing)

    def _content_file(self, digest: str) -> Path:
        if not _CONTENT.fullmatch(digest):
            raise StoreError(
                f"{digest[:20]!r} is not a version", where=str(self._journal), fix="Delete the line"
            )
        return self.directory / "contents" / digest

    def _sweep(self, kept: Iterable[Change]) -> None:
        """Removes contents that no change refers to."""
        used = {digest for change in kept for digest in (change.before, change.after)}
        folder = self.directory / "contents"
        stored = folder.iterdir() if folder.is_dir() else ()
        files.discard([path for path in stored if _CONTENT.fullmatch(path.name) and path.name not in used])


def _newest(changes: Sequence[Change]) -> list[Change]:
    """The last changes of each file, in order."""
    count: dict[str, int] = {}
    newest: list[Change] = []
    for change in reversed(changes):
        count[change.file] = count.get(change.file, 0) + 1
        if count[change.file] <= KEPT:
            newest.append(change)
    return newest[::-1]


class Step(Struct, frozen=True, kw_only=True):
    """One file to undo. `now` and `then` are contents, None means no file; the newest change comes first."""

    file: str
    now: bytes | None
    then: bytes | None
    changes: tuple[Change, ...]


def steps_back(
    versions: Versions, names: Sequence[str], all_names: Sequence[str], read: Callable[[str], bytes | None]
) -> tuple[Step, ...]:
    """The steps that undo our last change to any of these files, with its group in `all_names`.

    Raises StoreError if a person has edited one of the files since.
    """
    last = _last_made(versions, names, read)
    if last is None:
        return ()
    touched = [last.file]
    if last.group:
        group_files = (change.file for change in versions.changes() if change.group == last.group)
        touched = [name for name in dict.fromkeys(group_files) if name in all_names]
    steps = (_step(versions, name, read(name), last) for name in touched)
    return tuple(step for step in steps if step is not None)


def _last_made(
    versions: Versions, names: Sequence[str], read: Callable[[str], bytes | None]
) -> Change | None:
    """Our last change that was made: one that was only recorded before a crash is skipped."""
    files_by_age = dict.fromkeys(change.file for change in reversed(versions.changes()))
    for name in files_by_age:
        if name in names and (change := versions.last_change(name, read(name))) is not None:
            return change
    return None


def _step(versions: Versions, name: str, now: bytes | None, last: Change) -> Step | None:
    newest = versions.last_change(name, now)
    if newest is None or newest.group != last.group:
        return None
    undone = [newest]
    digest = newest.before
    for change in reversed(versions.changes(name)):
        if change.n >= newest.n:
            continue
        if last.group and change.group == last.group and change.after == digest and change.reason != BY_HAND:
            undone.append(change)
            digest = change.before
        elif change.before != digest or change.reason == BY_HAND:
            break  # of another group, or by hand; else it was recorded and never made
    then = None if digest is None else versions.content(digest)
    return None if files.digest(now) == digest else Step(file=name, now=now, then=then, changes=tuple(undone))


def is_lesson(shown: str) -> bool:
    """Whether `LessonStore` keeps versions of this file."""
    return _LESSON.fullmatch(shown) is not None


def new_group() -> str:
    """A name for changes that are made together."""
    return os.urandom(_GROUP_BYTES).hex()
