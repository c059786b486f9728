"""Import of every project's sessions, each into the memory of the project it was recorded in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.app.finding import Found, discovered, importers_for, of_project
from holdfast.app.importing import ImportReport, Progress, import_found
from holdfast.app.wiring import Machine
from holdfast.store.layout import Project
from holdfast.transcripts.contract import Importer


class Everything(Struct):
    """What was found on this machine: by project, by agent, and what has no home any more."""

    projects: dict[str, ImportReport] = {}
    agents: dict[str, int] = {}
    homeless: dict[str, int] = {}
    excluded: int = 0

    def total(self) -> ImportReport:
        total = ImportReport()
        for report in self.projects.values():
            total.sessions += report.sessions
            total.added += report.added
            total.updated += report.updated
            total.unchanged += report.unchanged
            total.bytes += report.bytes
            total.skipped += report.skipped
            total.warnings += report.warnings
        return total

    def details(self) -> dict[str, Any]:
        return {
            "projects": {
                root: {
                    "sessions": r.sessions,
                    "added": r.added,
                    "updated": r.updated,
                    "unchanged": r.unchanged,
                }
                for root, r in self.projects.items()
            },
            "agents": self.agents,
            "without_directory": self.homeless,
            "excluded": self.excluded,
        }


def import_everything(machine: Machine, agent: str | None, progress: Progress | None) -> Everything:
    """Groups all transcripts by the project their directory belongs to. Excluded directories are not read."""
    result = Everything()
    settings = machine.settings()
    groups: dict[Path, tuple[Project, list[Found]]] = {}
    importers = importers_for(agent)
    result.agents = {importer.agent: 0 for importer in importers}
    for item in discovered(machine, importers, {}):
        cwd = item.glance.cwd
        result.agents[item.importer.agent] += 1
        if settings.excludes(cwd, machine.user_home):
            result.excluded += 1
        elif not cwd or not Path(cwd).is_dir():
            place = cwd or "(no directory)"
            result.homeless[place] = result.homeless.get(place, 0) + 1
        else:
            project = machine.project(Path(cwd))
            groups.setdefault(project.memory, (project, []))[1].append(item)
    inside = _inside_projects(machine, importers)
    for project, found in groups.values():
        for item in of_project(discovered(machine, inside, {}, project), project, ()):
            result.agents[item.importer.agent] += 1
            found.append(item)
        result.projects[str(project.root)] = import_found(machine, project, found, (), progress)
    return result


def _inside_projects(machine: Machine, importers: Sequence[Importer]) -> list[Importer]:
    """Those that keep their sessions in the project itself: without one they have no place to look at."""
    return [importer for importer in importers if not list(importer.roots(machine.places()))]
