"""The sessions of a project as its log has them, archived ones included."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.briefing.projects import memory_of
from holdfast.core.errors import NotFound
from holdfast.memory.read import known_projects
from holdfast.model.memory import LogEntry
from holdfast.store.line_grammar import Problem
from holdfast.store.machine import Machine
from holdfast.store.project import Project


def logged(machine: Machine, project: Project, name: str = "") -> tuple[list[LogEntry], list[Problem]]:
    """Entries of one project, the one of this branch when none is named, oldest first; and what is unreadable."""
    if name and name not in known_projects(project):
        known = ", ".join(known_projects(project)) or "none yet"
        raise NotFound(f"no project {name!r} in this repository", fix=f"There are: {known}")
    found = memory_of(machine, project, name).entries()
    return list(found.entries), list(found.problems)


def entry_of(entries: Sequence[LogEntry], session: str) -> LogEntry:
    """The entry of a session, by its id or a beginning of it that no other has."""
    found = [entry for entry in entries if entry.session == session] or [
        entry for entry in entries if entry.session.startswith(session)
    ]
    if not found:
        raise NotFound(f"no session {session!r} in the log", fix="holdfast log lists them")
    if len(found) > 1:
        ids = ", ".join(entry.session[:12] for entry in found[:4])
        raise NotFound(f"{len(found)} sessions begin with {session!r}", fix=f"Give more of the id: {ids}")
    return found[0]
