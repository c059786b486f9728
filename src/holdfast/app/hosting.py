"""Wires agents to this machine's memory and unwires them: what would change is shown before it is changed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Protocol, cast

from msgspec import Struct, structs

from holdfast.app.preparing import prepare
from holdfast.app.switches import enable
from holdfast.app.wiring import Machine
from holdfast.errors import HoldfastError, UsageError
from holdfast.store import files
from holdfast.store.host_files import HostFiles
from holdfast.store.layout import Project, find_git
from holdfast.text.diff import unified
from holdfast.text.outline import outline

Scope = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("user", "project")
SERVER = "holdfast"  # what our tools are called in a host's configuration
# Hosts start this in whatever repository a person has opened: without the two options Python would take modules from
# there first, and run them.
PROGRAM = ("-E", "-P", "-m", "holdfast")

# agent -> the module that knows its host. Loaded when it is asked for, as commands and importers are.
HOSTS = {
    "claude-code": "holdfast.hosts.claude_code",
    "codex": "holdfast.hosts.codex",
    "copilot": "holdfast.hosts.copilot",
    "gemini": "holdfast.hosts.gemini",
    "opencode": "holdfast.hosts.opencode",
    "qwen": "holdfast.hosts.qwen",
    "cursor": "holdfast.hosts.cursor",
}


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

    def outline(self) -> list[str]:
        """What changes by name, as `+ hooks: SessionStart, Stop`."""
        return outline(self.before, self.after)


class Wired(Struct, frozen=True, kw_only=True):
    """How a host stands in one scope. `missing` are the hooks that are not there or not as they should be."""

    agent: str
    scope: Scope
    path: Path
    installed: bool
    missing: tuple[str, ...]


class Where(Struct, frozen=True):
    """What a host needs to know of the machine. `server` starts our tools, () where they are not wanted.

    `status_line`: a line of ours is wanted where the host has room for one and nobody else's is there.
    """

    home: Path
    env: dict[str, str]
    project: Path
    interpreter: str
    server: tuple[str, ...] = ()
    planned: dict[Path, bytes | None] = {}
    status_line: bool = False

    def read(self, path: Path) -> bytes | None:
        """A file as it will be when what was planned so far is done."""
        return self.planned[path] if path in self.planned else files.read(path)


class Host(Protocol):
    """One agent: how its own files look with our hooks and tools, and without. Pure but for reading these files.

    A file comes with each change even when nothing in it changes; `after` None removes one that is ours alone.
    """

    agent: str
    title: str

    def install(self, where: Where, scope: Scope) -> tuple[Change, ...]: ...

    def uninstall(self, where: Where, scope: Scope) -> tuple[Change, ...]: ...

    def status(self, where: Where, scope: Scope) -> Wired: ...

    def found(self, where: Where) -> bool:
        """Whether somebody uses this agent here."""

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        """What the person still has to do in the host itself."""


class Plan(Struct, frozen=True, kw_only=True):
    """What an install or uninstall would do, and what the person should know before and after it is done."""

    agent: str
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        return any(change.changes for change in self.changes)


def host_for(agent: str) -> Host:
    if agent not in HOSTS:
        raise UsageError(
            f"no hooks for agent {agent!r}", fix=f"{meant(agent, HOSTS)}Known: {', '.join(sorted(HOSTS))}"
        )
    return cast(Host, import_module(HOSTS[agent]).HOST)


def meant(agent: str, known: Collection[str]) -> str:
    """The agent that somebody may have meant, as a question: `claude` is what people call claude-code."""
    from difflib import get_close_matches

    likely = [one for one in known if one.startswith(agent.lower()) or agent.lower().startswith(one)]
    close = likely or get_close_matches(agent.lower(), known, n=1)
    return f"Did you mean {close[0]}? " if agent and close else ""


def agents_here(machine: Machine, project: Project) -> list[str]:
    """The agents that somebody uses on this machine, of those that can be wired."""
    where = where_of(machine, project)
    return [agent for agent in HOSTS if host_for(agent).found(where)]


def plan_install(
    machine: Machine,
    project: Project,
    agent: str,
    scope: Scope,
    *,
    tools: bool = True,
    status_line: bool = False,
    commands: bool = False,
) -> Plan:
    where = where_of(machine, project, tools=tools, status_line=status_line)
    host = host_for(agent)
    changes = host.install(where, scope)
    if scope == "user":
        changes += _command_files().added(agent, where, wanted=commands)
    warnings = interpreter_warnings(where.interpreter)
    if tools and not where.server:
        warnings += ("the mcp extra is not installed, so agents get no tools: pip install 'holdfast[mcp]'",)
    other = next(one for one in SCOPES if one != scope)
    with contextlib.suppress(HoldfastError):  # what stands in the other file is not asked for
        if (wired_there := host.status(where, other)).installed:
            warnings += (
                f"{host.title} has our hooks in {wired_there.path} already, and would run both: one is enough "
                f"(holdfast uninstall {agent} --scope {other})",
            )
    return Plan(agent=agent, changes=changes, warnings=warnings, needs=host.needs(where, scope))


class _CommandFiles(Protocol):
    """What `hosts/command_files.py` offers."""

    def added(self, agent: str, where: Where, *, wanted: bool) -> tuple[Change, ...]: ...

    def removed(self, agent: str, where: Where) -> tuple[Change, ...]: ...

    def has_commands(self, agent: str, where: Where) -> bool: ...


def _command_files() -> _CommandFiles:
    return cast(_CommandFiles, import_module("holdfast.hosts.command_files"))


def takes_commands(machine: Machine, project: Project, agent: str) -> bool:
    """Whether slash commands of ours can be put into an agent's own folder."""
    return _command_files().has_commands(agent, where_of(machine, project))


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
    changes: dict[Path, Change] = {}
    for scope in scopes:
        removed = _command_files().removed(agent, where) if scope == "user" else ()
        for change in (*host.uninstall(where, scope), *removed):
            first = changes.get(change.path)
            before = change.before if first is None else first.before
            if first is None and before is not None and record.undoable(change.path):
                after = _as_it_was(host, where, scope, change.path, record.before(change.path))
            else:
                after = change.after
            changes[change.path] = Change(path=change.path, before=before, after=after)
            where.planned[change.path] = after
    return Plan(agent=agent, changes=tuple(changes.values()))


def _as_it_was(host: Host, where: Where, scope: Scope, path: Path, before: bytes | None) -> bytes | None:
    """A file before us. Somebody may have edited it between two installations: then the first is still in it."""
    earlier = structs.replace(where, planned={**where.planned, path: before})
    return next((one.after for one in host.uninstall(earlier, scope) if one.path == path), before)


def uninstall(machine: Machine, plan: Plan) -> None:
    record = HostFiles(machine.home)
    # A folder goes with the file that it was made for, which came first.
    for change in reversed(plan.changes):
        if not change.changes:
            continue
        if change.after == record.before(change.path) and record.undo(change.path):
            continue
        if change.after is not None:
            record.put(change.path, change.before, change.after)
        elif change.before is not None:
            record.remove(change.path, change.before)
        record.forget(change.path)


def still_wired(machine: Machine, plans: Sequence[Plan]) -> list[Path]:
    """Files with our entries that these plans do not reach: those of other repositories."""
    reached = {change.path for plan in plans for change in plan.changes}
    found = []
    for path in HostFiles(machine.home).paths():
        with contextlib.suppress(HoldfastError):
            if path not in reached and SERVER.encode() in (files.read(path) or b""):
                found.append(path)
    return found


def where_of(machine: Machine, project: Project, *, tools: bool = True, status_line: bool = False) -> Where:
    server = (sys.executable, *PROGRAM, "mcp") if tools and find_spec("mcp") else ()
    return Where(machine.user_home, machine.env, project.root, sys.executable, server, {}, status_line)


def wired(machine: Machine, project: Project) -> list[Wired]:
    where = where_of(machine, project)
    return [host_for(agent).status(where, scope) for agent in HOSTS for scope in SCOPES]


def hooked(machine: Machine, project: Project) -> list[str]:
    """The agents that our hooks are in, here or for the person; one whose file is broken has none that work."""
    where, found = where_of(machine, project), []
    for agent in HOSTS:
        with suppress(HoldfastError):
            if any(host_for(agent).status(where, scope).installed for scope in SCOPES):
                found.append(agent)
    return found


def interpreter_warnings(interpreter: str) -> tuple[str, ...]:
    inside = find_git(Path(interpreter).parent)
    if inside is None:
        return ()
    return (
        f"{interpreter} lies inside the repository {inside[0]}: hooks stop working when that is moved, cleaned or "
        "deleted. Install holdfast outside of it (pipx install holdfast, uv tool install holdfast) to be safe.",
    )
