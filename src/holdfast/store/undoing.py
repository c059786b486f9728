"""Finds the way back: which files the last change of ours touched, and what each held before it.

One command or capture may change several files, some of them more than once. That is taken back as one, and
never what a person wrote since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.store import files
from holdfast.store.versions import BY_HAND, Change, Versions


class Step(Struct, frozen=True, kw_only=True):
    """One file on its way back. `now` and `then` are contents, None is no file; the newest change comes first."""

    file: str
    now: bytes | None
    then: bytes | None
    changes: tuple[Change, ...]


def steps_back(
    versions: Versions, names: Sequence[str], all_names: Sequence[str], read: Callable[[str], bytes | None]
) -> tuple[Step, ...]:
    """What undoes the last change of ours to any of these files, with what was done to `all_names` in the same go.

    StoreError when a person has edited one of the files since: nothing of it is taken back then.
    """
    last = _last_made(versions, names, read)
    if last is None:
        return ()
    touched = [last.file]
    if last.group:
        named = (change.file for change in versions.changes() if change.group == last.group)
        touched = [name for name in dict.fromkeys(named) if name in all_names]
    steps = (_step(versions, name, read(name), last) for name in touched)
    return tuple(step for step in steps if step is not None)


def _last_made(
    versions: Versions, names: Sequence[str], read: Callable[[str], bytes | None]
) -> Change | None:
    """A change that was announced when a crash came was never made, and the one before it counts."""
    files_by_age = dict.fromkeys(change.file for change in reversed(versions.changes()))
    for name in files_by_age:
        if name in names and (change := versions.last_change(name, read(name))) is not None:
            return change
    return None


def _step(versions: Versions, name: str, now: bytes | None, last: Change) -> Step | None:
    newest = versions.last_change(name, now)
    if newest is None or newest.group != last.group:
        return None
    taken = [newest]
    digest = newest.before
    for change in reversed(versions.changes(name)):
        if change.n >= newest.n:
            continue
        if last.group and change.group == last.group and change.after == digest and change.reason != BY_HAND:
            taken.append(change)
            digest = change.before
        elif change.before != digest or change.reason == BY_HAND:
            break  # somebody else's, or a person's; else it was announced and never made
    then = None if digest is None else versions.content(digest)
    return None if files.digest(now) == digest else Step(file=name, now=now, then=then, changes=tuple(taken))
