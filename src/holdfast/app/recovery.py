"""What a session needs to go on where the last one stopped: the digest of current.md, and what is handed over.

Loaded by `resume`, which answers in a few times the start of an interpreter: nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.app.wiring import Machine
from holdfast.errors import UsageError
from holdfast.model.memory import Owner
from holdfast.store.layout import Project, branch_of
from holdfast.store.places import text_of
from holdfast.text.current_digest import FILE_INDEX, DigestLine, branches_of, digest
from holdfast.text.current_md import Current, CurrentFile, NextStep, parse_current

if TYPE_CHECKING:
    from holdfast.store.memory import MemoryStore

BUDGET = 600
START_BUDGET = 300
NO_BRANCH = "\n"  # no branch is called so
MOST_LINES = 20
LONGEST = 600


def recovery(
    machine: Machine, project: Project, branch: str | None = None, budget: int = BUDGET
) -> list[DigestLine]:
    """What a session on this branch (the one checked out) is told. Nothing is written."""
    if not project.memory.is_dir():
        return []
    on = branch_of(project.root) or None if branch is None else branch
    return digest(state_of(project), on, budget, machine.now().timestamp(), partial(_as_told, machine))


def state_of(project: Project) -> CurrentFile:
    return parse_current(text_of(project.memory, project.memory / "current.md"))


def recoveries(machine: Machine, project: Project, budget: int) -> dict[str, list[DigestLine]]:
    """The digest for every branch that has a state of its own; '' is for all others.

    Outside git, and where nothing is checked out, there is no branch to tell apart: that is `NO_BRANCH`.
    """
    if not project.memory.is_dir():
        return {}
    file, now = state_of(project), machine.now().timestamp()
    branches = {"", *branches_of(file.current)}
    clean = partial(_as_told, machine)
    told = {branch: digest(file, branch, budget, now, clean) for branch in branches}
    return {**told, NO_BRANCH: digest(file, None, budget, now, clean)}


def _as_told(machine: Machine, text: str) -> str:
    """A person's own words as a model may be told them: the file keeps them, secrets and hidden signs included."""
    from holdfast.guard.visible import visible

    return visible(machine.clean(text))


def starts(machine: Machine, project: Project) -> dict[str, list[DigestLine]]:
    """What a new session is told, by branch. Where to look is told beside something to look for, not alone."""
    told = recoveries(machine, project, START_BUDGET)
    told.pop(NO_BRANCH, None)
    return {
        branch: lines for branch, lines in told.items() if any(line.reason != FILE_INDEX for line in lines)
    }


def hand_over(machine: Machine, project: Project, text: str, branch: str, by: Owner, *, add: bool) -> int:
    """Writes down what is next in somebody's own words, a step per line; how many steps there are."""
    lines = [line.strip().removeprefix("- ").removeprefix("* ").strip() for line in text.splitlines()]
    wanted = [machine.clean(line) for line in lines if line]
    if not wanted:
        raise UsageError("there is nothing to hand over", fix="Say what is next: holdfast handoff TEXT")
    if len(wanted) > MOST_LINES or any(len(line) > LONGEST for line in wanted):
        raise UsageError(
            f"that is too much for a start: at most {MOST_LINES} lines of {LONGEST} characters are told",
            fix="Shorten it, and point to a file for the rest",
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
    """Removes what was handed over on a branch; how many steps there were."""
    gone = handed_over(project, branch)
    if gone:

        def without(file: CurrentFile) -> Current:
            kept = tuple(step for step in file.current.next if not _handed_on(step, branch))
            return replace(file.current, next=kept)

        _store(project).change_current(without, "handoff --clear")
    return len(gone)


def handed_over(project: Project, branch: str) -> Sequence[NextStep]:
    if not project.memory.is_dir():
        return ()
    return [step for step in state_of(project).current.next if _handed_on(step, branch)]


def _store(project: Project) -> MemoryStore:
    from holdfast.store.memory import MemoryStore

    return MemoryStore(project, project.title)


def _handed_on(step: NextStep, branch: str) -> bool:
    return bool(step.by) and step.branch == branch
