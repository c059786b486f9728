"""Plugins for agents: a folder that is made for this machine, and how a person adds it in the agent itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from holdfast.agents.host_contract import SCOPES, Where
from holdfast.agents.registry import PLUGINS
from holdfast.agents.slash_commands import Plugin
from holdfast.core import files
from holdfast.core.errors import StoreError, UsageError
from holdfast.flows.hosts import host_for, interpreter_warnings, meant, where_of
from holdfast.store.machine import Machine
from holdfast.store.project import Project


def written(folder: Path) -> dict[str, bytes]:
    """What is in a folder, by its path there; nothing where there is none."""
    found = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory) / name
            data = files.read(path)
            if data is not None:
                found[path.relative_to(folder).as_posix()] = data
    return found


def write(folder: Path, wanted: Mapping[str, bytes], mark: str, lock: Path) -> bool:
    """Writes a plugin's folder, and says whether anything changed.

    `mark` is the file by which a folder of ours is known; a folder with other files is refused.
    """
    before = written(folder)
    if before == dict(wanted):
        return False
    if before and mark not in before:
        raise StoreError("holds other files", where=str(folder), fix="Name a folder that is empty or new")
    for name, data in wanted.items():
        if before.get(name) != data:
            files.replace(folder / name, data, lock, files.ANYTHING)
    for name in before.keys() - wanted.keys():
        (folder / name).unlink(missing_ok=True)
    return True


class Made(Struct, frozen=True, kw_only=True):
    """A plugin's folder as it is now. `commands` are for the person; `changed` says whether it was written."""

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
    """Writes the folder, under `~/.holdfast/plugins` unless another is named."""
    where = where_of(machine, project, tools=tools)
    place = folder or _own(machine, agent)
    plugin, host = _plugin(agent, where, place), host_for(agent)
    new = not place.exists()
    changed = write(place, plugin.files, next(iter(plugin.files)), _lock(machine, agent))
    warnings = list(interpreter_warnings(where.interpreter))
    if tools and not where.server:
        warnings.append(
            "the mcp extra is not installed, so the plugin has no tools: pip install 'holdfast[mcp]'"
        )
    if any(host.status(where, scope).installed for scope in SCOPES):
        warnings.append(
            f"{host.title} is wired by holdfast install as well. Those hooks speak and the plugin's stay silent; "
            f"one of the two is enough: holdfast uninstall {agent}"
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


def outdated(machine: Machine, project: Project) -> Iterator[str]:
    """Agents whose plugin, made before, names another interpreter or says something else than it would now."""
    where = where_of(machine, project)
    for agent in PLUGINS:
        folder = _own(machine, agent)
        if not folder.is_dir():
            continue
        now = written(folder)
        without = Where(where.home, where.env, where.project, where.interpreter)
        if now not in (_plugin(agent, where, folder).files, _plugin(agent, without, folder).files):
            yield agent


def made_before(machine: Machine) -> list[str]:
    """Agents for which a plugin was made; whether a person added it there only the agent knows."""
    return [agent for agent in PLUGINS if _own(machine, agent).is_dir()]


def _plugin(agent: str, where: Where, folder: Path) -> Plugin:
    plugin = host_for(agent).plugin(where, folder) if agent in PLUGINS else None
    if plugin is None:
        raise UsageError(
            f"no plugin for agent {agent!r}",
            fix=f"{meant(agent, PLUGINS)}Known: {', '.join(PLUGINS)}; for others: holdfast install",
        )
    return plugin


def _own(machine: Machine, agent: str) -> Path:
    return machine.home / "plugins" / agent


def _lock(machine: Machine, agent: str) -> Path:
    return machine.home / "plugins" / f"{agent}.lock"
