"""Plugins for agents: a folder that is made for this machine, and how a person adds it in the agent itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from msgspec import Struct

from holdfast.app.hosting import SCOPES, Where, host_for, interpreter_warnings, meant, where_of
from holdfast.app.wiring import Machine
from holdfast.errors import UsageError
from holdfast.store import plugin_files
from holdfast.store.layout import Project

AGENTS = ("claude-code", "codex", "copilot", "gemini")


class Plugin(Protocol):
    """What `hosts/plugins.py` makes."""

    @property
    def title(self) -> str: ...
    @property
    def files(self) -> dict[str, bytes]: ...
    @property
    def commands(self) -> tuple[str, ...]: ...
    @property
    def update(self) -> str: ...
    @property
    def needs(self) -> tuple[str, ...]: ...


class Made(Struct, frozen=True, kw_only=True):
    """A plugin's folder as it is now. `commands` are for the person; `changed` says whether it was made anew."""

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
    plugin = _plugin(agent, where, place)
    new = not place.exists()
    changed = plugin_files.write(place, plugin.files, next(iter(plugin.files)), _lock(machine, agent))
    warnings = list(interpreter_warnings(where.interpreter))
    if tools and not where.server:
        warnings.append(
            "the mcp extra is not installed, so the plugin has no tools: pip install 'holdfast[mcp]'"
        )
    if any(host_for(agent).status(where, scope).installed for scope in SCOPES):
        warnings.append(
            f"{plugin.title} is wired by holdfast install as well. Those hooks speak and the plugin's stay silent; "
            f"one of the two is enough: holdfast uninstall {agent}"
        )
    return Made(
        agent=agent,
        title=plugin.title,
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
    for agent in AGENTS:
        folder = _own(machine, agent)
        if not folder.is_dir():
            continue
        now = plugin_files.written(folder)
        without = Where(where.home, where.env, where.project, where.interpreter)
        if now not in (_plugin(agent, where, folder).files, _plugin(agent, without, folder).files):
            yield agent


def made_before(machine: Machine) -> list[str]:
    """Agents for which a plugin was made; whether a person added it there only the agent knows."""
    return [agent for agent in AGENTS if _own(machine, agent).is_dir()]


def _plugin(agent: str, where: Where, folder: Path) -> Plugin:
    if agent not in AGENTS:
        raise UsageError(
            f"no plugin for agent {agent!r}",
            fix=f"{meant(agent, AGENTS)}Known: {', '.join(AGENTS)}; for others: holdfast install",
        )
    makers = import_module("holdfast.hosts.plugins").PLUGINS
    return cast("Callable[[Where, Path], Plugin]", makers[agent])(where, folder)


def _own(machine: Machine, agent: str) -> Path:
    return machine.home / "plugins" / agent


def _lock(machine: Machine, agent: str) -> Path:
    return machine.home / "plugins" / f"{agent}.lock"
