"""The projects that the page opens, each under a short name for its addresses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from holdfast.core.errors import NotFound
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.web.contract import ALL, Opened


def open_projects(machine: Machine, folders: Sequence[str], *, everywhere: bool) -> list[Opened]:
    """The project of this directory or of the named ones; with `everywhere` every project of the machine."""
    starts = [(machine.cwd / Path(folder).expanduser()) for folder in folders] or [machine.cwd]
    chosen: list[Project] = []
    for start in starts:
        if not start.is_dir():
            raise NotFound("no such directory", where=str(start), fix="Name the project's directory")
        project = machine.project(start)
        if project.known or (project.root / ".git").exists():
            chosen.append(project)
        elif not everywhere or folders:
            raise NotFound(
                "there is no project here",
                where=str(start),
                fix="Change to a repository, or use holdfast ui --all for every project on this machine",
            )
    if everywhere:
        from holdfast.briefing.search import memories  # of one project the search is not needed to begin

        here = chosen[0] if chosen else machine.project()
        known = [project for project in memories(machine, here) if project.known]
        chosen += [project for project in known if project.memory not in {one.memory for one in chosen}]
    return _named(chosen)


def _named(projects: Iterable[Project]) -> list[Opened]:
    opened: list[Opened] = []
    taken = {ALL}
    for project in projects:
        slug, number = project.title, 2
        while slug in taken:
            slug, number = f"{project.title}-{number}", number + 1
        taken.add(slug)
        opened.append(Opened(slug, project))
    return opened
