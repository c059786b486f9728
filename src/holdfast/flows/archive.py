"""Moves older sessions of a project's log to its archive when somebody asks for it."""

from __future__ import annotations

from msgspec import Struct

from holdfast.briefing.projects import memory_of
from holdfast.core import files
from holdfast.memory.session_log import LONGEST
from holdfast.store.machine import Machine
from holdfast.store.project import Project


class Archived(Struct, frozen=True, kw_only=True):
    """Sessions that were moved and that are left in the log; `lines` it had before."""

    project: str
    moved: int
    left: int
    lines: int
    folder: str
    done: bool


def archive(
    machine: Machine, project: Project, *, longest: int | None = None, dry_run: bool = False
) -> Archived:
    store = memory_of(machine, project)
    limit = longest or LONGEST
    due = store.too_old(longest=limit)  # checks that the log is a file of ours before anything is done
    lines = (files.read(store.log_file) or b"").count(b"\n")
    moved = len(due)
    if due and not dry_run:
        project.prepare()
        moved = store.archive(longest=limit)
    return Archived(
        project=store.name,
        moved=moved,
        left=store.logged() - (moved if dry_run else 0),
        lines=lines,
        folder=f"projects/{store.name}/archive",
        done=bool(moved) and not dry_run,
    )
