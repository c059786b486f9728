"""Wires agents to this machine's memory and unwires them. A plan shows every change before it is made."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from holdfast.agent_kit import slash_commands
from holdfast.agent_kit.host_contract import PROGRAM, SCOPES, SERVER, Change, Host, Scope, Where, Wired
from holdfast.agents.registry import host_of, hosts
from holdfast.briefing.prepare import prepare
from holdfast.core import files
from holdfast.core.errors import HoldfastError, StoreError, UsageError
from holdfast.core.hashes import blake2b
from holdfast.store.installation import how_to_add, interpreter_warnings
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.store.switches import enable


class Record(Struct, frozen=True, kw_only=True):
    """A change to a host's file. `before` is None if there was no file."""

    path: str
    before: bytes | None
    after: str
    made: tuple[str, ...] = ()  # directories, the innermost first


class HostFiles:
    """Changes hosts' own files so that `undo` restores every byte. Records are in `~/.holdfast/hosts/`."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def put(self, path: Path, before: bytes | None, after: bytes) -> None:
        """Replaces `before` with `after`. A file that we have already changed keeps its first record."""
        record = self.record(path)
        first = before
        if record is not None and record.after == files.digest(before):
            first = record.before
        folders = tuple(str(folder) for folder in _missing(path.parent))
        if record is not None:
            folders += record.made
        entry = Record(path=str(path), before=first, after=files.digest(after) or "", made=folders)
        # The record is written first: if we are killed in between, its hash does not match and `undo` does nothing.
        self._keep(path, entry)
        files.replace(path, after, self._lock(path), files.digest(before))

    def undo(self, path: Path) -> bool:
        """Restores the original file. False if the file has changed since, or if there is no record."""
        record = self.record(path)
        current = files.read(path)
        if record is None or current is None or files.digest(current) != record.after:
            return False
        if record.before is not None:
            files.replace(path, record.before, self._lock(path), record.after)
        else:
            self.remove(path, current)
        self.forget(path)
        return True

    def remove(self, path: Path, before: bytes) -> None:
        """Removes a file that is ours alone, and the directories that were created for it."""
        record = self.record(path)
        with files.lock(self._lock(path)):
            if files.read(path) == before:
                files.discard([path])
        _leave(record.made if record is not None else ())

    def before(self, path: Path) -> bytes | None:
        """What `undo` would restore; None if it would remove the file, or do nothing."""
        record = self.record(path)
        return record.before if record is not None else None

    def undoable(self, path: Path) -> bool:
        record = self.record(path)
        return record is not None and files.digest(files.read(path)) == record.after

    def record(self, path: Path) -> Record | None:
        data = files.read(self._record(path))
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=Record)
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"is not a valid change record: {error}",
                where=str(self._record(path)),
                fix="Delete it; holdfast then removes its own entries only",
            ) from error

    def paths(self) -> list[Path]:
        """The files that we changed and have not restored, in any repository. Broken records are skipped."""
        changed_files = []
        for record in sorted((self.home / "hosts").glob("*.json")):
            with contextlib.suppress(msgspec.MsgspecError, StoreError):
                changed_files.append(Path(msgspec.json.decode(files.read(record) or b"", type=Record).path))
        return changed_files

    def forget(self, path: Path) -> None:
        files.discard([self._record(path)])

    def _keep(self, path: Path, entry: Record) -> None:
        files.replace(self._record(path), msgspec.json.encode(entry), self._lock(path), files.ANYTHING)

    def _record(self, path: Path) -> Path:
        return self.home / "hosts" / f"{self._name(path)}.json"

    def _lock(self, path: Path) -> Path:
        return self.home / "hosts" / "locks" / f"{self._name(path)}.lock"

    @staticmethod
    def _name(path: Path) -> str:
        return f"{path.stem[:40]}-{blake2b(os.fsencode(path), digest_size=6).hexdigest()}"


def _missing(folder: Path) -> list[Path]:
    """The folders that would have to be created for this one, itself first."""
    missing = []
    while not folder.is_dir() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    return missing


def _leave(folders: tuple[str, ...]) -> None:
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:  # not empty: it contains files of others
            return


class Plan(Struct, frozen=True, kw_only=True):
    """What an install or uninstall would do, and what the user should know before and after it."""

    agent: str
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        return any(change.changes for change in self.changes)


def host_for(agent: str) -> Host:
    if (host := host_of(agent)) is None:
        agents = hosts()
        raise UsageError(
            f"no hooks for agent {agent!r}", fix=f"{meant(agent, agents)}Known: {', '.join(sorted(agents))}"
        )
    return host


def meant(agent: str, known: Collection[str]) -> str:
    """A "Did you mean" hint for an unknown agent: people type `claude` for claude-code."""
    from difflib import get_close_matches

    likely = [name for name in known if name.startswith(agent.lower()) or agent.lower().startswith(name)]
    close = likely or get_close_matches(agent.lower(), known, n=1)
    return f"Did you mean {close[0]}? " if agent and close else ""


def agents_here(machine: Machine, project: Project) -> list[str]:
    """The agents in use on this machine that can be wired."""
    where = where_of(machine, project)
    return [agent for agent in hosts() if host_for(agent).found(where)]


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
        changes += slash_commands.added(host, where, wanted=commands)
    warnings = interpreter_warnings(where.interpreter, machine.user_home)
    if tools and not where.server:
        warnings += (f"the package mcp is missing, so agents get no tools: run `{how_to_add('tools')}`",)
    other_scope = next(candidate for candidate in SCOPES if candidate != scope)
    with contextlib.suppress(HoldfastError):  # a broken file of the other scope is not part of this install
        if (status := host.status(where, other_scope)).installed:
            warnings += (
                f"{host.title} already has holdfast's hooks in {status.path} and would run both; one is enough "
                f"(holdfast agents uninstall {agent} --scope {other_scope})",
            )
    return Plan(agent=agent, changes=changes, warnings=warnings, needs=host.needs(where, scope))


def takes_commands(machine: Machine, project: Project, agent: str) -> bool:
    """Whether our slash commands can be installed in the agent's own folder."""
    host = host_of(agent)
    return host is not None and host.commands(where_of(machine, project)) is not None


def install(machine: Machine, project: Project, plan: Plan) -> None:
    """Enables the project first, so that hooks that fire in between find everything in place."""
    enable(project)
    prepare(machine, project)
    rewire(machine, plan)


def rewire(machine: Machine, plan: Plan) -> None:
    """Changes the hosts' files only: user-wide hooks serve projects that are already enabled."""
    record = HostFiles(machine.home)
    for change in plan.changes:
        if change.changes and change.after is not None:
            record.put(change.path, change.before, change.after)


def plan_uninstall(machine: Machine, project: Project, agent: str, scopes: Sequence[Scope] = SCOPES) -> Plan:
    """Restores the original bytes if the file has not changed since; otherwise removes our entries."""
    host, where = host_for(agent), where_of(machine, project)
    record = HostFiles(machine.home)
    changes: dict[Path, Change] = {}
    for scope in scopes:
        removed = slash_commands.removed(host, where) if scope == "user" else ()
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
    """A file before us. If it was edited between two installations, the record still contains the first one."""
    earlier = structs.replace(where, planned={**where.planned, path: before})
    return next((change.after for change in host.uninstall(earlier, scope) if change.path == path), before)


def uninstall(machine: Machine, plan: Plan) -> None:
    record = HostFiles(machine.home)
    # In reverse: a folder is removed with the file that it was created for, which was the first.
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
    """Files with our entries that these plans do not cover: those of other repositories."""
    reached = {change.path for plan in plans for change in plan.changes}
    remaining = []
    for path in HostFiles(machine.home).paths():
        with contextlib.suppress(HoldfastError):
            if path not in reached and SERVER.encode() in (files.read(path) or b""):
                remaining.append(path)
    return remaining


def where_of(machine: Machine, project: Project, *, tools: bool = True, status_line: bool = False) -> Where:
    server = (sys.executable, *PROGRAM, "mcp") if tools and find_spec("mcp") else ()
    return Where(machine.user_home, machine.env, project.root, sys.executable, server, {}, status_line)


def wired(machine: Machine, project: Project) -> list[Wired]:
    where = where_of(machine, project)
    return [host_for(agent).status(where, scope) for agent in hosts() for scope in SCOPES]


def hooked(machine: Machine, project: Project) -> list[str]:
    """The agents with our hooks, for this project or user-wide. A broken file counts as no hooks."""
    where, agents = where_of(machine, project), []
    for agent in hosts():
        with contextlib.suppress(HoldfastError):
            if any(host_for(agent).status(where, scope).installed for scope in SCOPES):
                agents.append(agent)
    return agents
