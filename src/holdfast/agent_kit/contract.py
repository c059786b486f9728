"""The contract of a reader: how one agent's session files are found, recognised and read.

`docs/contributing/add-an-agent.md` shows how one is written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from holdfast.model.events import Event
from holdfast.store.machine import Places


class Warned(Struct, frozen=True):
    """A part of a source that could not be read. The rest was read."""

    path: str
    line: int
    code: str
    message: str


class Glance(Struct, frozen=True):
    """What a quick look at a file tells about a session: enough to sort and to choose.

    A file that holds several sessions names them in `part`, each with its own `size` and `changed` (any
    numbers that differ when the session differs); for one session per file the file's own are taken. `parent` is
    the part whose subagent this one is.
    """

    cwd: str = ""
    started: float | None = None
    part: str = ""
    size: int | None = None
    changed: int | None = None
    parent: str = ""


class Claims(Protocol):
    """Agents copy histories between files: claims ensure that each line is counted once."""

    def repeated(self, key: str) -> bool:
        """Whether any source has the key already; if not, claim it for this one."""

    def foreign(self, key: str) -> bool:
        """Whether another source has claimed the key; if none has, claim it for this one."""


class Reading(Protocol):
    """One pass over a source, from where the last one stopped."""

    warnings: list[Warned]

    def events(self) -> Iterator[Event]: ...

    def position(self) -> int:
        """Bytes consumed so far; valid when `events` is exhausted."""

    def state(self) -> bytes:
        """State that the next pass needs to continue."""


class Importer(Protocol):
    agent: str
    title: str
    appends: bool
    """Whether a session only grows at its end: the next pass then continues, otherwise it starts from the beginning."""
    copies: bool
    """Whether these are copies of other agents' sessions, which count only where the original is missing."""

    def roots(self, places: Places) -> Iterable[Path]:
        """Return the folders in which this agent keeps its sessions, whether or not they exist."""

    def candidates(self, root: Path) -> Iterable[Path]:
        """The files below a folder that could be transcripts of this agent, by name."""

    def recognise(self, path: Path, head: bytes) -> bool:
        """Whether the content is this agent's, whatever the file's name."""

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        """The sessions that a recognised file holds."""

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> Reading: ...


def usual_folder(places: Places, variable: str, *usual: str) -> Path:
    """The folder that a variable names, else the usual one in the user's home."""
    moved = places.env.get(variable, "").strip()
    return Path(moved) if moved else places.home.joinpath(*usual)


def editor_folders(places: Places) -> Iterator[Path]:
    """Where editors made from VS Code keep their data, on each system."""
    yield usual_folder(places, "XDG_CONFIG_HOME", ".config")
    yield places.home / "Library" / "Application Support"
    if roaming := places.env.get("APPDATA", "").strip():
        yield Path(roaming)


class BaseReader:
    """What a reader may leave out."""

    appends = False
    copies = False


class OneSessionPerFile(BaseReader, ABC):
    """For agents that append each session to a file of its own."""

    appends = True

    @abstractmethod
    def glance(self, path: Path, head: bytes) -> Glance:
        """The one session, from the first bytes of the file."""

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        return (self.glance(path, head),)


class ReadAnew(ABC):
    """For sources that are read whole each time: the next pass needs no state."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._size = 0
        self.warnings: list[Warned] = []

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """The events of the source."""

    def position(self) -> int:
        return self._size

    def state(self) -> bytes:
        return b""
