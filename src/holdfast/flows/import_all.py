"""Imports the sessions of all projects, each into the memory of the project it was recorded in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.agent_kit.contract import Importer, Warned
from holdfast.core.errors import CopiedProject, HoldfastError
from holdfast.flows.find_transcripts import (
    SessionSource,
    TranscriptSearch,
    discover,
    importers_for,
    sources_of_project,
)
from holdfast.flows.import_sessions import ImportReport, Progress, import_sources
from holdfast.store.machine import Machine
from holdfast.store.project import Project, place_of


class Everything(Struct):
    """Results by project, by agent, and by directory for those that no longer exist or have another project's id."""

    projects: dict[str, ImportReport] = {}
    agents: dict[str, int] = {}
    homeless: dict[str, int] = {}
    copies: dict[str, int] = {}
    excluded: int = 0
    warnings: list[Warned] = []

    def total(self) -> ImportReport:
        total = ImportReport(warnings=list(self.warnings))
        for report in self.projects.values():
            total.add(report)
        return total

    def details(self) -> dict[str, Any]:
        return {
            "projects": {
                root: {name: getattr(report, name) for name in ("sessions", "added", "updated", "unchanged")}
                for root, report in self.projects.items()
            },
            "agents": self.agents,
            "without_directory": self.homeless,
            "copied": self.copies,
            "excluded": self.excluded,
        }


def import_everything(machine: Machine, agent: str | None, progress: Progress | None) -> Everything:
    """Imports all transcripts by the project of their directory. Excluded directories are not read."""
    result = Everything()
    settings = machine.settings()
    groups: dict[Path, tuple[Project, list[SessionSource]]] = {}
    importers = importers_for(agent)
    result.agents = {importer.agent: 0 for importer in importers}
    search = discover(machine, importers, {})
    result.warnings = search.warnings
    for item in search.sources:
        cwd = item.glance.cwd
        result.agents[item.importer.agent] += 1
        if settings.excludes(cwd, machine.user_home):
            result.excluded += 1
        elif (place := place_of(cwd)) is None:
            folder = cwd or "(no directory)"
            result.homeless[folder] = result.homeless.get(folder, 0) + 1
        else:
            try:
                project = machine.project(place)
            except CopiedProject as error:
                result.copies[error.where] = result.copies.get(error.where, 0) + 1
                if result.copies[error.where] == 1:
                    result.warnings.append(Warned(error.where, 0, error.code, error.line()))
                continue
            groups.setdefault(project.memory, (project, []))[1].append(item)
    inside = _inside_projects(machine, importers)
    for project, sources in groups.values():
        for source in sources_of_project(discover(machine, inside, {}, project).sources, project):
            result.agents[source.importer.agent] += 1
            sources.append(source)
        try:
            result.projects[str(project.root)] = import_sources(
                machine, project, TranscriptSearch(sources), progress
            )
        except HoldfastError as error:
            result.warnings.append(Warned(str(project.root), 0, error.code, error.line()))
    return result


def _inside_projects(machine: Machine, importers: Sequence[Importer]) -> list[Importer]:
    """Importers of agents that store sessions in the project itself, so that they have no folder of their own."""
    return [importer for importer in importers if not list(importer.roots(machine.places()))]
