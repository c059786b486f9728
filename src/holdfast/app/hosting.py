"""Wires agents to this machine's memory and unwires them: what would change is shown before it is changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol, cast

from msgspec import Struct

from holdfast.app.preparing import prepare
from holdfast.app.switches import enable
from holdfast.app.wiring import Machine
from holdfast.errors import UsageError
from holdfast.store.host_files import HostFiles
from holdfast.store.layout import Project, find_git
from holdfast.text.diff import unified

Scope = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("user", "project")

# agent -> the module that knows its host. Loaded when it is asked for, as commands and importers are.
HOSTS = {"claude-code": "holdfast.hosts.claude_code"}


class Change(Struct, frozen=True, kw_only=True):
    """One file of a host, before and after. None: there is no such file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """What changes, as `diff -u` shows it."""
        return unified(self.before, self.after, str(self.path))


class Wired(Struct, frozen=True, kw_only=True):
    """How a host stands in one scope. `missing` are the hooks that are not there or not as they should be."""

    agent: str
    scope: Scope
    path: Path
    installed: bool
    missing: tuple[str, ...]


class Where(Struct, frozen=True):
    """What a host needs to know of the machine."""

    home: Path
    env: dict[str, str]
    project: Path
    interpreter: str


class Host(Protocol):
    """One agent's hooks: how its configuration looks with and without ours. Pure but for reading that file."""

    agent: str
    title: str

    def install(self, where: Where, scope: Scope) -> Change: ...

    def uninstall(self, where: Where, scope: Scope) -> Change: ...

    def status(self, where: Where, scope: Scope) -> Wired: ...


class Plan(Struct, frozen=True, kw_only=True):
    """What an install or uninstall would do, and what the person should know before it is done."""

    agent: str
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()


def host_for(agent: str) -> Host:
    if agent not in HOSTS:
        raise UsageError(f"no hooks for agent {agent!r}", fix=f"Known: {', '.join(sorted(HOSTS))}")
    return cast(Host, import_module(HOSTS[agent]).HOST)


def plan_install(machine: Machine, project: Project, agent: str, scope: Scope) -> Plan:
    where = where_of(machine, project)
    change = host_for(agent).install(where, scope)
    return Plan(agent=agent, changes=(change,), warnings=_warnings(where.interpreter))


def install(machine: Machine, project: Project, plan: Plan) -> None:
    """Enables the project first: hooks that come alive in between find everything in its place."""
    enable(project)
    prepare(machine, project)
    rewire(machine, plan)


def rewire(machine: Machine, plan: Plan) -> None:
    """Changes the hosts' files only: hooks of the user are for projects that are enabled already."""
    record = HostFiles(machine.home)
    for change in plan.changes:
        if change.changes and change.after is not None:
            record.put(change.path, change.before, change.after)


def plan_uninstall(machine: Machine, project: Project, agent: str, scopes: Sequence[Scope] = SCOPES) -> Plan:
    """To the byte where nothing else changed since; else without our entries."""
    host, where = host_for(agent), where_of(machine, project)
    record = HostFiles(machine.home)
    changes = []
    for scope in scopes:
        change = host.uninstall(where, scope)
        if change.before is not None and record.undoable(change.path):
            change = Change(path=change.path, before=change.before, after=record.before(change.path))
        changes.append(change)
    return Plan(agent=agent, changes=tuple(changes))


def uninstall(machine: Machine, plan: Plan) -> None:
    record = HostFiles(machine.home)
    for change in plan.changes:
        if not change.changes or record.undo(change.path):
            continue
        if change.after is not None:
            record.put(change.path, change.before, change.after)
        record.forget(change.path)


def where_of(machine: Machine, project: Project) -> Where:
    return Where(machine.user_home, machine.env, project.root, sys.executable)


def wired(machine: Machine, project: Project) -> list[Wired]:
    where = where_of(machine, project)
    return [host_for(agent).status(where, scope) for agent in HOSTS for scope in SCOPES]


def _warnings(interpreter: str) -> tuple[str, ...]:
    inside = find_git(Path(interpreter).parent)
    if inside is None:
        return ()
    return (
        f"{interpreter} lies inside the repository {inside[0]}: hooks stop working when that is moved, cleaned or "
        "deleted. Install holdfast outside of it (pipx install holdfast, uv tool install holdfast) to be safe.",
    )
