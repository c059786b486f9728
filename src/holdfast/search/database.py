"""The index's SQLite file: schema, format number, transactions, and errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from holdfast.core.errors import FormatTooNew, StoreError

T = TypeVar("T")
INDEX_FORMAT = 5
"""Also counts changes of how text is split into terms: an older index is emptied, and filled again by its owner."""

BUSY_SECONDS = 60

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE chunk (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, hash BLOB NOT NULL, kind TEXT NOT NULL,
    project TEXT NOT NULL, session TEXT NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL, at REAL,
    title TEXT NOT NULL, text TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX chunk_by_time ON chunk (at);
CREATE INDEX chunk_by_kind ON chunk (kind, project);
CREATE TABLE passage (
    n INTEGER PRIMARY KEY AUTOINCREMENT, chunk INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL);
CREATE INDEX passage_of_chunk ON passage (chunk);
CREATE TABLE series (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE turn (chunk INTEGER PRIMARY KEY, series INTEGER NOT NULL, place REAL NOT NULL);
CREATE INDEX turn_in_series ON turn (series, place);
CREATE VIRTUAL TABLE passage_words USING fts5(title, body, names, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE passage_word USING fts5vocab(passage_words, row);
CREATE VIRTUAL TABLE whole_words USING fts5(title, body, names, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE whole_word USING fts5vocab(whole_words, row);
"""
# passage_words has every passage; whole_words has, as one text, each chunk that is more than one passage.

_DELETED_TABLES = (
    *("meta", "chunk", "passage", "series", "turn"),
    *("passage_word", "passage_words", "whole_word", "whole_words"),
)


class Database:
    """One connection, for one thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writes = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise refused(path, error) from error
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        (number,) = self.row("PRAGMA user_version") or (0,)
        if number > INDEX_FORMAT:
            raise FormatTooNew(
                f"was written by a newer holdfast (format {number}, this one knows {INDEX_FORMAT})",
                where=str(self.path),
                fix="Upgrade holdfast, or delete the index: it is made again",
            )
        if number < INDEX_FORMAT:
            self._refuse_others()
            self._use_write_ahead_log()
            with self.writing():
                (number,) = self.row("PRAGMA user_version") or (0,)
                if number < INDEX_FORMAT:  # no other process was faster
                    self._make_tables()
        self.ask(
            "PRAGMA synchronous=NORMAL"
        )  # with a write-ahead log a power cut loses the last saves, not the file
        self.ask("PRAGMA journal_size_limit=16777216")
        self.ask("PRAGMA temp_store=MEMORY")
        self.ask("PRAGMA mmap_size=1073741824")
        self.ask("PRAGMA cache_size=-65536")

    def _refuse_others(self) -> None:
        """Refuses another program's database: its tables may have the same names as ours."""
        if self.number("SELECT count(*) FROM sqlite_master") and not self.number(
            "SELECT count(*) FROM sqlite_master WHERE name = 'passage_words'"
        ):
            raise not_ours(self.path)

    def _use_write_ahead_log(self) -> None:
        """SQLite does not wait here if two processes create the file at once, so we retry."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise refused(self.path, error) from error
                time.sleep(0.01)
            except sqlite3.Error as error:
                raise refused(self.path, error) from error

    def _make_tables(self) -> None:
        for table in _DELETED_TABLES:
            self.ask(f"DROP TABLE IF EXISTS {table}")
        for statement in _SCHEMA.split(";"):
            self.ask(statement)
        self.new_generation()
        self.ask(f"PRAGMA user_version={INDEX_FORMAT}")

    def new_generation(self) -> str:
        name = os.urandom(6).hex()
        self.set_meta("generation", name)
        return name

    # --- queries -----------------------------------------------------------------------------------------

    def ask(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as error:
            raise refused(self.path, error) from error

    def row(self, statement: str, values: Sequence[object] = ()) -> tuple[int, ...] | None:
        try:
            first_row: tuple[int, ...] | None = self.ask(statement, values).fetchone()
            return first_row
        except sqlite3.Error as error:
            raise refused(self.path, error) from error

    def number(self, statement: str, values: Sequence[object] = ()) -> int:
        """The single number that a query returns; 0 for none."""
        row = self.row(statement, values)
        return row[0] or 0 if row else 0

    def meta(self, key: str) -> str:
        row = self.row("SELECT value FROM meta WHERE key = ?", (key,))
        return str(row[0]) if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self.ask("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A write transaction. It locks at once: one that reads first and writes later would be refused."""
        self._writes += 1
        yield from self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A read transaction: all queries see the same state."""
        yield from self._transaction("BEGIN")

    def _transaction(self, begin: str) -> Iterator[None]:
        self.ask(begin)
        try:
            yield
            self.ask("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def changes_seen(self) -> tuple[int, int]:
        """A value that differs after any change, by us or by another process."""
        return self.number("PRAGMA data_version"), self._writes

    def close(self) -> None:
        self._db.close()


def portions(values: Sequence[T], size: int = 500) -> list[list[T]]:
    """Splits values into groups that fit into one statement."""
    return [list(values[at : at + size]) for at in range(0, len(values), size)]


class BusyIndex(StoreError):
    """Another process has been writing for too long."""


class DamagedIndex(StoreError):
    """The file is not a usable index. It is derived, so its owner can rebuild it from the texts."""


def not_ours(path: Path) -> DamagedIndex:
    return DamagedIndex("this is another program's database", where=str(path), fix="Name another file")


def refused(path: Path, error: Exception) -> StoreError:
    """The error of SQLite or the disk, with what to do. Only a damaged index should be deleted, not a busy one."""
    words = str(error)
    if "locked" in words or "busy" in words:
        return BusyIndex("the search index is in use by another process", where=str(path), fix="Try again")
    if "no such table" in words or "no such column" in words:
        return not_ours(path)
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in words:
        return StoreError("this index was closed", where=str(path), fix="Open it again")
    if isinstance(error, sqlite3.ProgrammingError) and "thread" in words:
        fix = "Open one in each thread: they share what is in it"
        return StoreError("an index belongs to the thread that opened it", where=str(path), fix=fix)
    if isinstance(error, sqlite3.DatabaseError) and ("not a database" in words or "malformed" in words):
        fix = "If it was one, delete it: it is derived, and made again from the memory. If not, name another file"
        return DamagedIndex(f"not a search index, or a damaged one ({words})", where=str(path), fix=fix)
    fix = "Check that the directory is there, is yours and has space"
    return StoreError(f"the search index cannot be used: {words}", where=str(path), fix=fix)
