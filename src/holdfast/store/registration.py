"""Registers where a memory belongs on this machine, and says what is wrong with a place that only has its id.

`core/place.py` decides with prepared marks alone; here git may be asked, and people are told what to do.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.core import files
from holdfast.core.errors import CopiedProject
from holdfast.core.git import git_text
from holdfast.core.place import PLACES, POINTER, SAME_PATH, Entry, Place, Registry, read_registry
from holdfast.core.reading import small_text

_MOST_ROOTS = 20
_MOST_ENTRIES = 200
_ALL_ROOTS = ("rev-list", "--max-parents=0", "--all", "HEAD")


def root_commits(root: str) -> list[str]:
    """The commits without a parent, of every branch; none outside git and before the first commit."""
    found = git_text(root, *_ALL_ROOTS) or git_text(root, *_ALL_ROOTS[:-1])
    return sorted(found.split())[:_MOST_ROOTS]


def is_same_repository(place: Place, standing: str) -> bool:
    """Whether the id file was only written again, as when a backup was put back: same path and same root commit."""
    if standing != SAME_PATH:
        return False
    entry = place.registry.by_path(os.path.realpath(place.identity_file))
    return entry is not None and _shares_a_root(place, entry)


def _shares_a_root(place: Place, entry: Entry) -> bool:
    return bool(place.checkout and set(entry.roots.split(",")).intersection(root_commits(place.root)))


def register(place: Place, lock: Path) -> None:
    """Adds a place to its memory's registry, with all that identifies it. Nothing is written if it is known so."""
    status = os.lstat(place.identity_file)
    path, tree = os.path.realpath(place.identity_file), os.path.realpath(place.root)
    unconfirmed = bool(place.private) and not place.is_confirmed()
    with files.lock(lock) as held:
        before = read_registry(place.memory)
        entry = before.by_path(path)
        if (
            not before.is_legacy
            and entry is not None
            and (entry.inode, entry.created) == (str(status.st_ino), str(status.st_mtime_ns))
            and (entry.roots or not place.checkout or not place.checkout.commit())
            and (tree in before.trees or not unconfirmed)
        ):
            return
        roots = ",".join(root_commits(place.root)) if place.checkout else ""
        new = Entry(
            path, str(status.st_ino), str(status.st_mtime_ns), roots or (entry.roots if entry else "")
        )
        others = [other for other in before.entries if not _is_replaced(other, new)]
        trees = before.trees | {tree} if unconfirmed else before.trees - {tree}
        after = Registry([*others, new][-_MOST_ENTRIES:], trees)
        target = Path(place.memory) / PLACES
        files.replace_held(held, target, after.text().encode("utf-8", "surrogateescape"), files.ANYTHING)
        recorded = small_text(os.path.join(place.memory, "root")).strip()
        if recorded and not os.path.isdir(recorded):  # it was moved here
            files.replace_held(
                held, Path(place.memory) / "root", os.fsencode(f"{place.root}\n"), files.ANYTHING
            )


def _is_replaced(other: Entry, new: Entry) -> bool:
    """Whether an entry is that of the same place, or of the same file before it was moved."""
    if not other.path or other.path == new.path:
        return True
    return (other.inode, other.created) == (new.inode, new.created) and not os.path.lexists(other.path)


def folder_of(path: str) -> str:
    """The folder that people know a registered id file by: the work tree, or a bare repository."""
    parent = os.path.dirname(path)
    return os.path.dirname(parent) if os.path.basename(parent) in (".git", ".holdfast") else parent


def registered_folders(memory: str) -> list[str]:
    """Where a memory belongs, in the order of registration."""
    paths = [entry.path for entry in read_registry(memory).entries if entry.path]
    return list(dict.fromkeys(map(folder_of, paths)))


def is_held(entry: Entry, identity: str) -> bool:
    """Whether the place of an entry still has the id."""
    return bool(entry.path) and small_text(entry.path, follow=False).strip() == identity


def has_moved(place: Place) -> bool:
    """Whether no registered place has the id any more, and this one is the same repository: it may have been moved."""
    entries = [entry for entry in place.registry.entries if entry.path]
    identity = os.path.basename(place.memory)
    if not entries or any(is_held(entry, identity) for entry in entries):
        return False
    if place.checkout is None:
        return True
    roots = {root for entry in entries for root in entry.roots.split(",") if root}
    return not roots or bool(roots.intersection(root_commits(place.root)))


def copied(place: Place, standing: str) -> CopiedProject:
    """The error for a place that has another one's id: what it looks like, and how a person decides."""
    folders = registered_folders(place.memory)
    whose = f"the memory of {folders[0]}" if folders else f"a memory called {os.path.basename(place.memory)}"
    fix = "holdfast init --join uses that memory, holdfast init --new starts a separate one"
    if standing == POINTER:
        problem = (
            f"its git directory belongs to {folders[0] if folders else 'another folder'} and does not list it"
        )
        fix = "Run git worktree repair there if it is a work tree of it, or holdfast init --join here"
    elif standing == SAME_PATH:
        problem = f"a different repository is here now, with the id of {whose}"
    elif has_moved(place):
        gone = folders[0] if folders else "elsewhere"
        problem = f"this looks like {gone}, moved here, but it may be an unpacked copy"
        fix = "holdfast init --join keeps its memory, holdfast init --new starts a separate one"
    else:
        problem = f"this is a copy: its id names {whose}"
    return CopiedProject(problem, where=place.root, fix=fix)
