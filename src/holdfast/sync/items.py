"""What a memory holds, item by item, and how items from elsewhere are written into it.

A family is one kind of item and the files in which it lies. `read` gives every item of the memory; `write` puts changed
ones in, so that the managed part of a file depends on its items alone: the same items make the same bytes, whatever way
they came. A person's own lines around them stay where they are, and never travel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from holdfast.core.errors import NameRefused
from holdfast.core.hashes import blake2b
from holdfast.core.names import safe_name
from holdfast.store.line_grammar import readable
from holdfast.store.machine import Machine
from holdfast.store.project import Project

if TYPE_CHECKING:
    from holdfast.memory.store import MemoryStore

T = TypeVar("T")
REASON = "sync"
Items = dict[str, Any]


class Read(Struct):
    """The items of a family. `whole` lists the prefixes of which nothing can be missing by accident: an item that was
    there before was taken out by a person. `absent` has those whose file is gone: an accident, and it is written again.
    """

    items: Items = {}
    whole: set[str] = set()
    absent: set[str] = set()
    problems: list[str] = []


class Family(Protocol):
    prefix: str

    def read(self) -> Read: ...

    def write(self, changed: Mapping[str, Any], everything: Callable[[], Items]) -> None:
        """`changed` has None for what is gone; `everything` gives all items of the family as they are now."""


def key_of(*parts: str) -> str:
    return "/".join(quote(part, safe=" :.@+=,~") for part in parts)


def parts_of(key: str) -> list[str]:
    return [unquote(part) for part in key.split("/")]


# By kind, how many parts a key has, and which of them become the names of files and folders.
_SHAPES = {
    "fact": (3, 3, (1,)),
    "register": (3, 3, (1,)),
    "question": (3, 3, (1,)),
    "passage": (4, 4, (1,)),
    "log": (3, 3, (1,)),
    "row": (4, 4, ()),
    "record": (2, 2, ()),
    "lesson": (3, 3, (2,)),
    "line": (3, 3, ()),
    "taught": (2, 2, ()),
    "choice": (3, 4, ()),
    "file": (2, 2, (1,)),
    "state": (3, 4, ()),
    "team": (3, 3, ()),
    "settled": (2, 2, ()),
    "roster": (2, 3, ()),
}


def is_well_formed(key: str) -> bool:
    """Whether a key that came from elsewhere names an item. Of kinds that a later version adds nothing is known."""
    kind, *rest = parts_of(key)
    if kind not in _SHAPES:
        return bool(kind)
    least, most, names = _SHAPES[kind]
    if not least <= len(rest) + 1 <= most or key != key_of(kind, *rest):
        return False
    try:
        for place in names:
            if name := rest[place - 1]:  # '' is the repository's main project
                safe_name(name)
    except NameRefused:
        return False
    return True


def short_hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def plain(value: Any) -> Any:
    """A value as JSON can say it: halves of characters and bytes that are no UTF-8 are replaced."""
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {readable(str(key)): plain(item) for key, item in value.items()}
    return value


def built_in(value: Struct) -> Any:
    """A value without what it has by default, so that a field that a later version adds changes nothing."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(value)}
    values = {
        name: msgspec.to_builtins(getattr(value, name))
        for name, default in defaults.items()
        if getattr(value, name) != default
    }
    return plain(values)


class Place(Struct, frozen=True):
    """The memory that is synced. The repository's main project is '' in keys: folders are called differently."""

    machine: Machine
    project: Project
    group: str = ""

    def names(self) -> list[str]:
        from holdfast.memory.read import known_projects

        return sorted({*known_projects(self.project), self.project.title})

    def outside(self, name: str) -> str:
        return "" if name == self.project.title else name

    def store(self, name: str) -> MemoryStore:
        """The store of a project as keys name it."""
        from holdfast.sync.said_store import AsSaid

        return AsSaid(self.project, name or self.project.title, self.machine.clock.seconds, self.group)


def by_project(keys: Mapping[str, Any]) -> dict[str, Items]:
    """Items by the project in their key, which is its second part."""
    found: dict[str, Items] = {}
    for key, body in keys.items():
        found.setdefault(parts_of(key)[1], {})[key] = body
    return found
