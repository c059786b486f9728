"""Removes a project's memory from this machine: shown first, backed up first."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from holdfast.app.portability import back_up, is_memory
from holdfast.app.wiring import Machine
from holdfast.store import leaving
from holdfast.store.canonical import canonical_files
from holdfast.store.layout import Project
from holdfast.store.transplant import Taken


class Purged(Struct, frozen=True, kw_only=True):
    """What is removed with a memory, and where its backup lies."""

    memory: str
    files: int
    bytes: int
    shown: tuple[str, ...]
    backup: str | None
    done: bool


def plan_purge(project: Project) -> Purged | None:
    """What `purge` would remove; None when there is nothing."""
    if not project.memory.is_dir():
        return None
    found = canonical_files(project.memory).files
    size = sum((project.memory / name).stat().st_size for name in found)
    return Purged(
        memory=str(project.memory),
        files=len(found),
        bytes=size,
        shown=tuple(str(path) for path in leaving.shown_of(project)),
        backup=None,
        done=False,
    )


def purge(machine: Machine, project: Project, version: str, *, backup: bool = True) -> Purged | None:
    """Removes a project's memory and what the repository shows of it; the ledger that git has stays."""
    plan = plan_purge(project)
    if plan is None:
        return None
    kept: list[str] = []

    def keep(taken: Taken) -> None:
        if any(is_memory(source.path) for source in taken.sources) or taken.left_out:
            kept.append(back_up(machine, project, version, taken))

    leaving.remove_memory(project, keep if backup else None)
    leaving.remove_shown(project)
    return replace(plan, backup=kept[0] if kept else None, done=True)
