"""Removes a project's memory and what its work trees show of it; what git has, and what others put there, stays."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from holdfast.store import files, swap
from holdfast.store.layout import IGNORE_ALL, UNION_MERGE, Project, worktrees
from holdfast.store.syncing import sync_directory
from holdfast.store.transplant import Taken, quiet, require_same, take


def remove_memory(project: Project, keep: Callable[[Taken], None] | None = None) -> None:
    """At once: it steps out of its place whole, and is deleted there. `keep` may make a copy of it first."""
    with quiet(project, wholly=True):
        swap.sweep(project.memory)
        with swap.staging(project.memory) as stage:
            if keep is not None:
                taken = take(project, stage / "work")
                keep(taken)
                require_same(project, taken)
            with files.explained(project.memory, "remove"):
                os.rename(project.memory, stage / "memory")
                sync_directory(project.memory.parent)


def shown_of(project: Project) -> list[Path]:
    """What the work trees of a project show of its memory: links, our git rules, and the project's id."""
    found = [
        path for root in (project.root, *worktrees(project)) for path in _ours_in(project, root / ".holdfast")
    ]
    if _says(project.identity_file, f"{project.memory.name}\n"):
        found.append(project.identity_file)
    return found


def remove_shown(project: Project) -> None:
    for path in shown_of(project):
        with files.explained(path, "remove"), contextlib.suppress(FileNotFoundError):
            path.unlink()
    for root in (project.root, *worktrees(project)):
        with contextlib.suppress(OSError):  # a shared ledger, a configuration: not ours to remove
            os.rmdir(root / ".holdfast")


def _ours_in(project: Project, window: Path) -> Iterator[Path]:
    if window.is_symlink() or not window.is_dir():
        return
    local = window / "local"
    linked = local.is_symlink() and Path(os.readlink(local)) == project.memory
    if linked or _says(local, f"{project.memory}\n"):
        yield local
    ledger = window / "ledger.md"
    if ledger.is_symlink() and Path(os.readlink(ledger)) == Path("local") / "ledger.md":
        yield ledger
    elif os.path.lexists(ledger):
        return  # shared in git: its rules stay with it
    for name, text in ((".gitignore", IGNORE_ALL), (".gitattributes", UNION_MERGE)):
        if _says(window / name, text):
            yield window / name


def _says(path: Path, text: str) -> bool:
    return not path.is_symlink() and path.is_file() and files.read(path) == text.encode()
