"""What our SQLite files have in common: they wait for other processes, and refuse what a newer holdfast wrote."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from holdfast.core.errors import FormatTooNew, StoreError

BUSY_SECONDS = 30


class SqliteStore:
    """One connection to a file with a format number, for one thread."""

    format: ClassVar[int]
    schema: ClassVar[str]
    when_deleted: ClassVar[str]
    """What becomes of a damaged file that a person deletes, for an error's last sentence."""
    when_newer: ClassVar[str] = "Upgrade holdfast"

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            self._configure()
            self._prepare()
        except sqlite3.Error as error:
            raise self._refused(error) from error

    def _configure(self) -> None:
        """Sets what SQLite does not store in the file."""

    def _use_write_ahead_log(self) -> None:
        """Wait in a loop: SQLite's busy timeout does not apply while another process creates the file."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _prepare(self) -> None:
        (number,) = self._ask("PRAGMA user_version").fetchone()
        if number > self.format:
            raise FormatTooNew(
                f"was written by a newer holdfast (format {number}, this one knows {self.format})",
                where=str(self.path),
                fix=self.when_newer,
            )
        if number < self.format:
            with self.transaction():
                if (
                    self._ask("PRAGMA user_version").fetchone()[0] < self.format
                ):  # no other process was faster
                    for statement in self.schema.split(";"):
                        self._ask(statement)
                    self._ask(f"PRAGMA user_version={self.format}")

    def _ask(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as error:
            raise self._refused(error) from error

    def _ask_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        try:
            self._db.executemany(statement, rows)
        except sqlite3.Error as error:
            raise self._refused(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Take the write lock at once: a lock that is taken later fails instead of waiting."""
        self._ask("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._ask("ROLLBACK")
            raise
        self._ask("COMMIT")

    def close(self) -> None:
        self._db.close()

    def _refused(self, error: Exception) -> StoreError:
        message = str(error)
        if "locked" in message:
            fix = "Another holdfast is using it: wait for it to finish"
        elif "malformed" in message or "not a database" in message:
            fix = f"Delete {self.path.name}: {self.when_deleted}"
        else:
            fix = "Check the disk and the permissions of the folder"
        return StoreError(message, where=str(self.path), fix=fix)
