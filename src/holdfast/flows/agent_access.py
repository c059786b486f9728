"""Permissions of an agent's tools: like hooks, they work only where a person has enabled memory.

A person's commands work anywhere. An agent's tools read and write nothing if the project is not enabled on this
machine, or if it is excluded or switched off.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from holdfast.core.errors import CopiedProject, HoldfastError, UsageError
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.switches import switches_of


class CallCancelled(HoldfastError):
    """The client took a call back before it wrote anything."""

    code = "call-cancelled"


class AgentMachine(Machine):
    """This machine as used by an agent: what is stored through it has the agent as its author."""

    # Whether the call that is being answered was taken back; set by whoever answers it.
    is_cancelled: Callable[[], bool] = staticmethod(lambda: False)

    def clean(self, text: str) -> str:
        """Every text passes through here before it is stored, so a call that was taken back ends here."""
        self.check()
        return super().clean(text)

    def check(self) -> None:
        if self.is_cancelled():
            raise CallCancelled("the call was cancelled; nothing was written")

    @property
    def inside_agent(self) -> bool:
        return True


def permit(machine: Machine, *, reads: bool, writes: bool) -> Project:
    """The project, if an agent may read it or write to it. Raises UsageError with the reason if not."""
    from holdfast.hooks.hook import switched_off

    if isinstance(machine, AgentMachine):
        machine.check()
    if switched_off(machine.env):
        raise UsageError(
            "holdfast is switched off in this session (HOLDFAST or CI); nothing was read or written"
        )
    try:
        project = machine.project()
    except CopiedProject as error:  # where the other one lies is none of an agent's business
        raise UsageError(
            "memory is not enabled here: the folder has another folder's id; nothing was read or written",
            where=error.where,
            fix="A person must decide: holdfast init",
        ) from None
    directory = _directory(machine)
    switches = switches_of(project)
    if not (switches.enabled and project.memory.is_dir()):
        raise UsageError(
            "memory is not enabled for this project; nothing was read or written",
            where=str(project.root),
            fix="A person must enable it: holdfast init",
        )
    settings = machine.settings()
    if any(settings.excludes(str(place), machine.user_home) for place in (directory, project.root)):
        raise UsageError(
            "this directory is excluded from memory by its owner; nothing was read or written",
            where=str(directory),
        )
    no_capture, no_inject = switches.at(directory)
    if writes and no_capture:
        raise UsageError(
            "recording is switched off here; nothing was written",
            where=str(directory),
            fix="A person can switch it on: holdfast agents on --capture",
        )
    if reads and no_inject:
        raise UsageError(
            "showing memory to agents is switched off here; nothing was read",
            where=str(directory),
            fix="A person can switch it on: holdfast agents on --inject",
        )
    return project


def may_write(machine: Machine, project: Project) -> bool:
    """Whether an agent that may read may also write."""
    no_capture, _ = switches_of(project).at(_directory(machine))
    return not no_capture


def note_fault(machine: Machine, text: str) -> None:
    """Logs a line for `holdfast doctor`, if the project is enabled. Never fails."""
    from holdfast.hooks.trace import log

    try:
        memory = permit(machine, reads=False, writes=False).memory
        log(str(memory), machine.clean(text))
    except (OSError, HoldfastError):
        pass


def _directory(machine: Machine) -> Path:
    return Path(os.path.abspath(machine.cwd))
