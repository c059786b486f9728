"""What a host is: how its own configuration looks with our hooks and without. The use case owns the words."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from holdfast.core import files
from holdfast.core.text_diff import outline, unified

__all__ = ["PROGRAM", "SCOPES", "SERVER", "Change", "Host", "Scope", "Where", "Wired"]


Scope = Literal["user", "project"]


SCOPES: tuple[Scope, ...] = ("user", "project")


SERVER = "holdfast"  # what our tools are called in a host's configuration


# Hosts start this in whatever repository a person has opened: without the two options Python would take modules from
# there first, and run them.
PROGRAM = ("-E", "-P", "-m", "holdfast")


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
