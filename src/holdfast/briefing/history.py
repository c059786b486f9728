"""Reads the log of a project, archived sessions included, and moves older ones to the archive on request."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.briefing.projects import memory_of
from holdfast.core import files
from holdfast.core.errors import NotFound
from holdfast.memory.read import known_projects
from holdfast.memory.session_log import LONGEST
from holdfast.model.memory import LogEntry
from holdfast.store.line_grammar import Problem
from holdfast.store.machine import Machine
from holdfast.store.project import Project


def logged(machine: Machine, project: Project, name: str = "") -> tuple[list[LogEntry], list[Problem]]:
    """Entries of a project, oldest first, and unreadable lines; without a name, the project of this branch."""
    if name and name not in known_projects(project):
        projects = ", ".join(known_projects(project)) or "none yet"
        raise NotFound(f"no project {name!r} in this repository", fix=f"There are: {projects}")
    log = memory_of(machine, project, name).entries()
    return list(log.entries), list(log.problems)


def entry_of(entries: Sequence[LogEntry], session: str) -> LogEntry:
    """The entry of a session, by its id or an unambiguous prefix of it."""
    matches = [entry for entry in entries if entry.session == session] or [
        entry for entry in entries if entry.session.startswith(session)
    ]
    if not matches:
        raise NotFound(f"no session {session!r} in the log", fix="holdfast log lists them")
    if len(matches) > 1:
        ids = ", ".join(entry.session[:12] for entry in matches[:4])
        raise NotFound(f"{len(matches)} sessions begin with {session!r}", fix=f"Type more of the id: {ids}")
    return matches[0]


class Archived(Struct, frozen=True, kw_only=True):
    """How many sessions were moved, and how many are left in the log; `lines` is its length before the move."""

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
    due = store.too_old(longest=limit)  # raises if the log cannot be parsed
    lines = (files.read(store.log_file) or b"").count(b"\n")
    moved = len(due)
    if due and not dry_run:
        project.prepare()
        moved = store.archive(longest=limit)
    return Archived(
        project=store.name,
        moved=moved,
        left=len(store.latest()) - (moved if dry_run else 0),
        lines=lines,
        folder=f"projects/{store.name}/archive",
        done=bool(moved) and not dry_run,
    )
