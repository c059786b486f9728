"""Plugins for agents: writes a folder for this machine, and says how to add it in the agent itself."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from holdfast.agent_kit.host_contract import SCOPES, Where
from holdfast.agent_kit.slash_commands import Plugin
from holdfast.agents.registry import PLUGINS
from holdfast.core import files
from holdfast.core.errors import StoreError, UsageError
from holdfast.flows.hosts import host_for, meant, where_of
from holdfast.store.installation import how_to_add, interpreter_warnings
from holdfast.store.machine import Machine
from holdfast.store.project import Project


def written(folder: Path) -> dict[str, bytes]:
    """The files of a folder, by relative path; empty if there is no folder."""
    contents = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory) / name
            data = files.read(path)
            if data is not None:
                contents[path.relative_to(folder).as_posix()] = data
    return contents


def write(folder: Path, wanted: Mapping[str, bytes], mark: str, lock: Path) -> bool:
    """Writes a plugin's folder, and returns whether anything changed.

    `mark` is the file that identifies a folder of ours; a folder with other files is refused.
    """
    existing = written(folder)
    if existing == dict(wanted):
        return False
    if existing and mark not in existing:
        raise StoreError("holds other files", where=str(folder), fix="Name a folder that is empty or new")
    for name, data in wanted.items():
        if existing.get(name) != data:
            files.replace(folder / name, data, lock, files.ANYTHING)
    for name in existing.keys() - wanted.keys():
        (folder / name).unlink(missing_ok=True)
    return True


class Made(Struct, frozen=True, kw_only=True):
    """A plugin's folder. `commands` are for the user to run; `changed` says whether it was written."""

    agent: str
    title: str
    folder: Path
    changed: bool
    new: bool
    commands: tuple[str, ...]
    update: str
    needs: tuple[str, ...]
    warnings: tuple[str, ...]


def make(
    machine: Machine, project: Project, agent: str, folder: Path | None = None, *, tools: bool = True
) -> Made:
    """Writes the folder; the default is in `~/.holdfast/plugins`."""
    where = where_of(machine, project, tools=tools)
    place = folder or _own(machine, agent)
    plugin, host = _plugin(agent, where, place), host_for(agent)
    new = not place.exists()
    changed = write(place, plugin.files, next(iter(plugin.files)), _lock(machine, agent))
    warnings = list(interpreter_warnings(where.interpreter, machine.user_home))
    if tools and not where.server:
        warnings.append(
            f"the package mcp is missing, so the plugin has no tools: run `{how_to_add('tools')}`"
        )
    if any(host.status(where, scope).installed for scope in SCOPES):
        warnings.append(
            f"{host.title} is also connected by holdfast agents install. Those hooks are used, and the plugin's "
            f"stay silent; one of the two is enough: holdfast agents uninstall {agent}"
        )
    return Made(
        agent=agent,
        title=host.title,
        folder=place,
        changed=changed,
        new=new,
        commands=plugin.commands,
        update=plugin.update,
        needs=plugin.needs,
        warnings=tuple(warnings),
    )


def outdated(machine: Machine, project: Project) -> Iterator[tuple[str, bool]]:
    """Agents whose existing plugin differs from what would be written now, and whether its hooks run all the same: an
    earlier version may have written them.
    """
    where = where_of(machine, project)
    for agent in PLUGINS:
        folder = _own(machine, agent)
        if not folder.is_dir():
            continue
        contents = written(folder)
        without_tools = Where(where.home, where.env, where.project, where.interpreter)
        current = (_plugin(agent, where, folder).files, _plugin(agent, without_tools, folder).files)
        if contents not in current:
            yield agent, _hooks(contents) == _hooks(current[0])


def _hooks(contents: Mapping[str, bytes]) -> dict[str, list[str]]:
    """The commands that a plugin's hooks run, by event, whatever the tools are at which they run."""
    commands: dict[str, list[str]] = {}
    for name, data in contents.items():
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            if name.endswith("hooks.json"):
                for event, groups in json.loads(data)["hooks"].items():
                    commands[event] = [hook["command"] for group in groups for hook in group["hooks"]]
    return commands


def made_before(machine: Machine) -> list[str]:
    """Agents for which a plugin was written. Only the agent knows whether the user has added it."""
    return [agent for agent in PLUGINS if _own(machine, agent).is_dir()]


def _plugin(agent: str, where: Where, folder: Path) -> Plugin:
    plugin = host_for(agent).plugin(where, folder) if agent in PLUGINS else None
    if plugin is None:
        raise UsageError(
            f"no plugin for agent {agent!r}",
            fix=f"{meant(agent, PLUGINS)}Known: {', '.join(PLUGINS)}; for others: holdfast agents install",
        )
    return plugin


def _own(machine: Machine, agent: str) -> Path:
    return machine.home / "plugins" / agent


def _lock(machine: Machine, agent: str) -> Path:
    return machine.home / "plugins" / f"{agent}.lock"
