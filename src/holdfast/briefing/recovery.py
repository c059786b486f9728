"""Builds the digest that lets a session continue where the last one stopped: current.md and handoffs.

`resume` uses this and must be fast, so nothing heavy is imported here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.core.errors import UsageError
from holdfast.core.folders import text_of
from holdfast.memory.current import Current, CurrentFile, NextStep, parse_current
from holdfast.memory.current_digest import PLACE, branches_of, digest
from holdfast.model.line import Line
from holdfast.model.memory import Owner
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of

if TYPE_CHECKING:
    from holdfast.briefing.projects import Naming
    from holdfast.memory.store import MemoryStore

BUDGET = 600
NO_BRANCH = "\n"  # not a valid branch name
MOST_LINES = 20
LONGEST = 600


def recovery(
    machine: Machine, project: Project, branch: str | None = None, budget: int = BUDGET, name: str = ""
) -> list[Line]:
    """The digest for a session on this branch, by default the checked-out one. Writes nothing.

    `name` is a project of this repository, by default that of the branch.
    """
    if not project.memory.is_dir():
        return []
    if branch is None:
        branch = branch_of(project.root) if _in_git(project) else None
    return _Teller(machine, project).told(branch, budget, name)


class _Teller:
    """Builds the digest of a repository's state for any branch."""

    def __init__(
        self, machine: Machine, project: Project, file: CurrentFile | None = None, *, here: bool = True
    ) -> None:
        self.file = file or state_of(project)
        self._now = machine.now().timestamp()
        self._clean = partial(_as_told, machine)
        self._own = project.title
        # A new work tree has no link yet, and the digest must not point to a missing path.
        linked = os.path.lexists(project.window / "local")
        self._place = PLACE if linked or not here else f"{project.memory.as_posix()}/"
        current = self.file.current
        several = any(
            item.project
            for items in (current.next, current.todo, current.done, current.questions)
            for item in items
        )
        self._naming: Naming | None = None
        if several or len(current.projects) > 1:
            from holdfast.briefing.projects import naming

            self._naming = naming(machine, project)

    def branches(self) -> set[str]:
        """The branches with a digest of their own; '' stands for all others."""
        chosen = self._naming.branches if self._naming else ()
        return {"", *branches_of(self.file.current), *chosen}

    def told(self, branch: str | None, budget: int, name: str = "") -> list[Line]:
        if self._naming is None:
            return digest(self.file, branch, budget, self._now, self._clean, place=self._place)
        chosen = name or self._naming.of_branch(branch or "")
        project = "" if chosen == self._own else chosen
        return digest(self.file, branch, budget, self._now, self._clean, project, chosen, place=self._place)


def knows_branch(project: Project, branch: str) -> bool:
    """Whether git has this branch, here or on a remote, or memory keeps something for it."""
    from holdfast.core.git import git_text

    if not _in_git(project) or branch in branches_of(state_of(project).current):
        return True
    return bool(
        git_text(
            project.root, "for-each-ref", "--count=1", f"refs/heads/{branch}", f"refs/remotes/*/{branch}"
        )
    )


def state_of(project: Project) -> CurrentFile:
    return parse_current(text_of(project.memory, project.memory / "current.md"))


def recoveries(
    machine: Machine, project: Project, budget: int, file: CurrentFile | None = None
) -> dict[str, list[Line]]:
    """The digest for every branch with its own state; '' is for all others.

    `NO_BRANCH` is for use outside git, and for a detached HEAD.
    """
    if not project.memory.is_dir():
        return {}
    teller = _Teller(machine, project, file, here=False)  # for all work trees; the hook adapts the paths
    lines_by_branch = {branch: teller.told(branch, budget) for branch in teller.branches()}
    return {**lines_by_branch, NO_BRANCH: teller.told(None, budget)}


def _in_git(project: Project) -> bool:
    """Whether the project is in git, even if no branch is checked out."""
    return project.identity_file.name == "holdfast-id"


def _as_told(machine: Machine, text: str) -> str:
    """A person's text without secrets and hidden characters, for a model; the file keeps the original."""
    from holdfast.guard.hidden_text import visible

    return visible(machine.clean(text))


def starts(machine: Machine, project: Project, file: CurrentFile | None = None) -> dict[str, list[Line]]:
    """The start lines of a new session, by branch. The index line is left out if it would be alone."""
    lines_by_branch = {
        branch: [line for line in lines if line.kind != "old"]
        for branch, lines in recoveries(machine, project, BUDGET, file).items()
    }
    if (anywhere := lines_by_branch.pop(NO_BRANCH, None)) and not _in_git(project):
        lines_by_branch[""] = anywhere
    return {
        branch: lines
        for branch, lines in lines_by_branch.items()
        if any(line.kind != "index" for line in lines)
    }


def hand_over(machine: Machine, project: Project, text: str, branch: str, by: Owner, *, add: bool) -> int:
    """Writes a handoff, a step per line, and returns the number of steps."""
    from holdfast.store.gate import admit

    whole = admit(machine, project, text, "what is handed over")
    lines = [line.strip().removeprefix("- ").removeprefix("* ").strip() for line in whole.splitlines()]
    wanted = [line for line in lines if line]
    if not wanted:
        raise UsageError("there is nothing to hand over", fix="Say what is next: holdfast handoff TEXT")
    if len(wanted) > MOST_LINES or any(len(line) > LONGEST for line in wanted):
        raise UsageError(
            f"too long for the start of a session: at most {MOST_LINES} lines of {LONGEST} characters",
            fix="Shorten it, and refer to a file for the rest",
        )
    now = machine.now().timestamp() // 60 * 60
    steps = [NextStep(text=line, branch=branch, by=by, at=now) for line in wanted]

    def handed(file: CurrentFile) -> Current:
        before = [step for step in file.current.next if add or not _handed_on(step, branch)]
        return replace(file.current, next=(*steps, *before))

    project.prepare()
    _store(project).change_current(handed, "handoff")
    return len(steps)


def take_back(project: Project, branch: str) -> int:
    """Removes the handoff of a branch, and returns its number of steps."""
    steps = handed_over(project, branch)
    if steps:

        def without(file: CurrentFile) -> Current:
            remaining = tuple(step for step in file.current.next if not _handed_on(step, branch))
            return replace(file.current, next=remaining)

        _store(project).change_current(without, "handoff --clear")
    return len(steps)


def handed_over(project: Project, branch: str) -> Sequence[NextStep]:
    if not project.memory.is_dir():
        return ()
    return [step for step in state_of(project).current.next if _handed_on(step, branch)]


def _store(project: Project) -> MemoryStore:
    from holdfast.memory.store import MemoryStore

    return MemoryStore(project, project.title)


def _handed_on(step: NextStep, branch: str) -> bool:
    return bool(step.by) and step.branch == branch
