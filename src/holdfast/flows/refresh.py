"""Rebuilds the files that are derived from the memory, after each save.

`holdfast resume` reads `resume.json` without loading the application (`hooks/resume.py`); the hooks of enabled projects
read `hot.db`. Both can be deleted. Facts are also part of the knowledge about the repository.
"""

from __future__ import annotations

import msgspec

from holdfast.briefing.recovery import BUDGET, recoveries
from holdfast.core import files
from holdfast.core.place import stamp
from holdfast.core.tokens import count_tokens
from holdfast.knowledge import store
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.switches import switches_of

FORMAT = 1


def refresh(machine: Machine, project: Project, *, prepares: bool = True) -> None:
    """Rebuilds all derived files. Without `prepares` the caller prepares the hooks' file."""
    if project.memory.is_dir():
        _prepare_resume(machine, project)
        if prepares:
            prepare_if_enabled(machine, project)
        if store.known(project):
            from holdfast.flows.repo_scan import learn_facts

            learn_facts(machine, project)


def prepare_if_enabled(machine: Machine, project: Project) -> None:
    """Prepares the hooks' file. A project without hooks needs none, and skips the import."""
    if switches_of(project).enabled:
        from holdfast.briefing.prepare import prepare

        prepare(machine, project)


def _prepare_resume(machine: Machine, project: Project) -> None:
    """Writes the answers of `holdfast resume`. They are valid until current.md or the day changes: ages are in days."""
    current = project.memory / "current.md"
    current_stamp = stamp(current)
    lines_by_branch = {
        branch: {
            "lines": [line.as_json() for line in lines],
            "tokens": sum(count_tokens(line.text) for line in lines),
        }
        for branch, lines in recoveries(machine, project, BUDGET).items()
    }
    day = machine.now().strftime("%Y-%m-%d")
    data = msgspec.json.encode(
        {"format": FORMAT, "current": current_stamp, "day": day, "told": lines_by_branch}
    )
    files.replace(project.memory / "resume.json", data, project.lock("hot"), files.ANYTHING)
