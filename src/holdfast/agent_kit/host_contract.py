"""The contract of a host: its configuration with and without our hooks. The callers write the messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from holdfast.core import files
from holdfast.core.text_diff import outline, unified

if TYPE_CHECKING:
    from holdfast.agent_kit.slash_commands import Plugin, SlashCommand

Scope = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("user", "project")
SERVER = "holdfast"  # the name of our tools in a host's configuration
# Hosts start this in any repository that a person opens: without the two options Python would import modules from
# there first.
PROGRAM = ("-E", "-P", "-m", "holdfast")


class Change(Struct, frozen=True, kw_only=True):
    """One file of a host, before and after. None: the file does not exist."""

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
    """The state of a host in one scope. `missing` are the hooks that are absent or wrong; `older` those of an earlier
    version, which work and lack what was added since.
    """

    agent: str
    scope: Scope
    path: Path
    installed: bool
    missing: tuple[str, ...]
    older: tuple[str, ...] = ()


class Where(Struct, frozen=True):
    """What a host needs to know about the machine. `server` starts our tools; () if they are not wanted.

    `status_line`: whether to add our status line, if the host supports one and no other is set.
    """

    home: Path
    env: dict[str, str]
    project: Path
    interpreter: str
    server: tuple[str, ...] = ()
    planned: dict[Path, bytes | None] = {}
    status_line: bool = False

    @property
    def server_entry(self) -> dict[str, Any]:
        """Return the server entry in the form that most hosts use."""
        program, *words = self.server
        return {"command": program, "args": words}

    def read(self, path: Path) -> bytes | None:
        """Return the content of a file after the changes planned so far."""
        return self.planned[path] if path in self.planned else files.read(path)

    def folder(self, variable: str, *usual: str) -> Path:
        """The folder that a variable names, else the usual one in the user's home."""
        moved = self.env.get(variable)
        return (Path(moved).expanduser() if moved else self.home.joinpath(*usual)).absolute()


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
        """Whether this machine uses the agent."""

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        """What the person still has to do in the host itself."""

    def commands(self, where: Where) -> Commands | None:
        """How slash commands of a person's own are written; None where the host has none."""

    def plugin(self, where: Where, folder: Path) -> Plugin | None:
        """Our hooks, tools and commands as one folder; None where the host takes none."""


Commands = tuple[Path, str, "Callable[[SlashCommand, str], str]"]
"""The folder in which an agent looks for commands, how such a file ends, and what makes one."""


class BaseHost:
    """What a host may leave out."""

    def needs(self, where: Where, scope: Scope) -> tuple[str, ...]:
        return ()

    def commands(self, where: Where) -> Commands | None:
        return None

    def plugin(self, where: Where, folder: Path) -> Plugin | None:
        return None
