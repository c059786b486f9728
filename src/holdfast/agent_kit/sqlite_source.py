"""Reads other programs' SQLite files while they are being written: never changes them, never locks them for long.

A database in write-ahead mode that no process has open has no `-wal` beside it; opening it the usual way would
create one. Such a file is opened as immutable instead. Beside a writer the shared index of its log is mapped
read-only: a reader that may write there takes part in laying it out and in recovering it, and a writer that
comes just then gets an error that the database is locked. Statements are finished before anything is done with
their rows, so that no lock outlives a query.
"""

from __future__ import annotations

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote

from holdfast.agent_kit.contract import BaseReader, Claims, Glance, ReadAnew, Reading, Warned
from holdfast.agent_kit.loose import Record
from holdfast.core.errors import TranscriptError
from holdfast.model.events import Event

MAGIC = b"SQLite format 3\x00"
WAIT_SECONDS = 10.0
# How a database that is in use is opened, and the seconds before each try. The index of a log that was begun
# a moment ago cannot be read yet; nor can one with a single entry, until another is added: only
# then is it opened as one that may write there.
_WAYS = (
    ("mode=ro&readonly_shm=1", 0.0),
    ("mode=ro&readonly_shm=1", 0.005),
    ("mode=ro&readonly_shm=1", 0.02),
    ("mode=ro", 0.0),
)
# A broken file may also fail in what SQLite says of it: its messages quote names from the file.
BROKEN = (sqlite3.Error, OverflowError, ValueError)
Row = dict[str, Any]
M = TypeVar("M")
M_co = TypeVar("M_co", covariant=True)


def is_sqlite(head: bytes) -> bool:
    return head.startswith(MAGIC)


def has_tables(path: Path, head: bytes, wanted: dict[str, set[str]]) -> bool:
    """Whether a file is a database with these tables and columns.

    One that cannot be read now is judged by the definitions in its first bytes, so that it is reported as
    unreadable and not as another program's.
    """
    if not is_sqlite(head):
        return False
    try:
        with opened(path) as database:
            return all(columns <= database.columns(table) for table, columns in wanted.items())
    except (TranscriptError, OSError):
        start = head.replace(b"`", b"").replace(b'"', b"").lower()
        return all(f"create table {table}".encode() in start for table in wanted)


class Database:
    """A read-only view. Texts with bad UTF-8 come with replacement characters, not as an error."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def columns(self, table: str) -> set[str]:
        return {str(row["name"]) for row in self.rows("SELECT name FROM pragma_table_info(?)", table)}

    def rows(self, query: str, *values: object) -> list[Row]:
        """Return all rows of a query, fetched at once: a half-read query would keep its lock."""
        try:
            with closing(self._connection.execute(query, values)) as cursor:
                names = [column[0] for column in cursor.description or ()]
                return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except BROKEN as error:
            raise refused(self._path, error) from error


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    try:
        connection = _connect(path)
    except (*BROKEN, OSError) as error:
        raise refused(path, error) from error
    try:
        yield Database(connection, path)
    finally:
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise OSError("no such file")
    for mode, pause in _WAYS:
        if _idle_in_wal_mode(path):
            break
        time.sleep(pause)
        connection = _open(path, mode)
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except BROKEN as error:
            connection.close()
            if "unable to open" not in str(error) and "readonly" not in str(error):
                raise
        else:
            return connection
    # Also a log without its index, in a folder that may not be written: what is in the file itself is read.
    return _open(path, "mode=ro&immutable=1")


def _open(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()).replace(chr(92), '/'))}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS, isolation_level=None)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _idle_in_wal_mode(path: Path) -> bool:
    with open(path, "rb") as file:
        header = file.read(20)
    if len(header) < 20 or header[18] != 2:
        return False
    log = path.with_name(path.name + "-wal")
    try:
        return log.stat().st_size == 0 and not path.with_name(path.name + "-shm").exists()
    except FileNotFoundError:
        return True


class StoredSession:
    """One session of a database."""

    def __init__(self, path: Path, session: str) -> None:
        self.path = path
        self.session = session
        self.size = 0
        self.warnings: list[Warned] = []

    def warn(self, problem: str) -> None:
        self.warnings.append(Warned(f"{self.path}#{self.session}", 0, "bad-row", problem[:200]))


class Store(Protocol[M_co]):
    """One session, wherever it is kept: what is known of it, and its messages, oldest first."""

    warnings: list[Warned]

    @property
    def size(self) -> int: ...

    def info(self) -> Record: ...

    def messages(self) -> Iterator[M_co]: ...


class StoreReading(ReadAnew, Generic[M]):
    """One pass over a session's store. If it fails midway, it yields the events so far, and a warning."""

    def __init__(self, store: Store[M], claims: Claims) -> None:
        super().__init__(claims)
        self._store = store
        self.warnings = store.warnings

    def position(self) -> int:
        return self._store.size

    def events(self) -> Iterator[Event]:
        try:
            yield from self._events()
        except TranscriptError as error:
            self.warnings.append(Warned(error.where, 0, "unreadable", error.problem))

    @abstractmethod
    def _events(self) -> Iterator[Event]:
        """Yield the events of the store."""


class Unreadable:
    """A database that cannot be read now: one warning, and another try with the next import."""

    def __init__(self, path: Path, look: Callable[[Path], Iterable[object]]) -> None:
        problem = "holds no session yet"
        try:
            list(look(path))
        except TranscriptError as error:
            problem = error.problem
        self.warnings = [Warned(str(path), 0, "unreadable", problem)]

    def position(self) -> int:
        return 0

    def state(self) -> bytes:
        return b""

    def events(self) -> Iterator[Event]:
        return iter(())


class DatabaseAgent(BaseReader, ABC):
    """An agent that keeps its sessions in a database and, in some versions, in files of their own.

    `tables` are those by which its database is known.
    """

    tables: dict[str, set[str]]

    @abstractmethod
    def stored_sessions(self, path: Path) -> Iterable[Glance]:
        """The sessions of a database."""

    @abstractmethod
    def stored(self, path: Path, part: str, claims: Claims) -> Reading:
        """A pass over one session of a database."""

    @abstractmethod
    def is_own_file(self, path: Path, head: bytes) -> bool:
        """Whether a file that is not a database is this agent's."""

    @abstractmethod
    def glance(self, path: Path, head: bytes) -> Glance:
        """The session of a file that is no database."""

    @abstractmethod
    def file(self, path: Path, claims: Claims) -> Reading:
        """A pass over a file that is no database."""

    def recognise(self, path: Path, head: bytes) -> bool:
        return has_tables(path, head, self.tables) if is_sqlite(head) else self.is_own_file(path, head)

    def sessions(self, path: Path, head: bytes) -> Iterable[Glance]:
        return self._listed(path) if is_sqlite(head) else (self.glance(path, head),)

    def _listed(self, path: Path) -> Iterable[Glance]:
        try:
            return list(self.stored_sessions(path))
        except TranscriptError:
            return (Glance(size=0, changed=0),)  # differs from every stamp once it can be read again

    def open(self, path: Path, offset: int, state: bytes, claims: Claims, part: str = "") -> Reading:
        if part:
            return self.stored(path, part, claims)
        with open(path, "rb") as file:
            head = file.read(len(MAGIC))
        return Unreadable(path, self.stored_sessions) if is_sqlite(head) else self.file(path, claims)


def refused(path: Path, error: Exception) -> TranscriptError:
    message = str(error)
    if "locked" in message or "busy" in message or "readonly" in message:  # its log is being reset
        return TranscriptError(
            "another program holds the database just now",
            where=str(path),
            fix="Import again when the agent has finished",
        )
    return TranscriptError(
        f"cannot be read as a database: {message}",
        where=str(path),
        fix="Check that the file is whole and that you may read it",
    )
