"""`sync.db`: what a synced memory knows of other machines. It exists only where a person runs `holdfast sync`.

For each entry: that it is known, for good; and, until it is replaced or forgotten, its line and signature. It is
derived from the memory and the targets, but for what nobody has fetched yet, so it is written durably.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core import files
from holdfast.core.errors import FormatTooNew, StoreError

NAME = "sync.db"
_FORMAT = 1
_FIX = "Move it away and run holdfast sync: it is made again"
_SCHEMA = """
CREATE TABLE entry (id TEXT PRIMARY KEY, stamp TEXT, author TEXT, machine TEXT, scope TEXT, key TEXT, line BLOB,
    signature BLOB, gone INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID; -- gone: 1 forgotten, 2 its packs must go
CREATE INDEX entry_of_key ON entry (key);
CREATE TABLE edge (parent TEXT, child TEXT, PRIMARY KEY (parent, child)) WITHOUT ROWID;
CREATE TABLE head (key TEXT, id TEXT, PRIMARY KEY (key, id)) WITHOUT ROWID;
CREATE TABLE shown (key TEXT PRIMARY KEY, digest TEXT, id TEXT) WITHOUT ROWID;
CREATE TABLE stale (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE pack (target TEXT, place TEXT, name TEXT, size INTEGER, state TEXT,
    PRIMARY KEY (target, place, name)) WITHOUT ROWID;
CREATE TABLE content (target TEXT, id TEXT, place TEXT, name TEXT, PRIMARY KEY (target, id, place, name)) WITHOUT ROWID;
CREATE INDEX content_of_pack ON content (target, place, name);
CREATE TABLE refused (what TEXT PRIMARY KEY, why TEXT, who TEXT) WITHOUT ROWID;
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""


class Row(Struct, frozen=True):
    """An entry as it is kept. `line` is b'' once it was replaced or forgotten."""

    id: str
    stamp: str
    author: str
    scope: str
    key: str
    line: bytes
    signature: bytes


class Shown(Struct, frozen=True):
    """What the memory's files said of an item when they were last read or written, and the entry that said so."""

    digest: str
    id: str


class PackRow(Struct, frozen=True):
    """A pack of a target. `state` is `read`, `own`, or why nothing could be read: `sealed`, `newer`, `refused`."""

    place: str
    name: str
    size: int
    state: str


class SyncJournal:
    """The caller holds the lock `sync`."""

    def __init__(self, memory: Path) -> None:
        self.path = memory / NAME
        if self.path.is_symlink():
            raise StoreError("it is a link", where=str(self.path), fix=_FIX)
        is_new = not self.path.exists()
        if is_new:
            files.make_private(memory)
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=30)
            if is_new:
                self.path.chmod(0o600)
            self._db.execute("PRAGMA trusted_schema=OFF")
            self._db.execute("PRAGMA secure_delete=ON")
            (number,) = self._db.execute("PRAGMA user_version").fetchone()
            if number > _FORMAT:
                raise FormatTooNew(
                    f"it has format {number}, and this holdfast knows {_FORMAT}",
                    where=str(self.path),
                    fix="Upgrade holdfast",
                )
            if number == 0:
                self._db.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA user_version={_FORMAT};COMMIT;")
        except sqlite3.Error as error:
            raise StoreError(f"it cannot be used: {error}", where=str(self.path), fix=_FIX) from error

    def close(self) -> None:
        self._db.close()

    def check(self) -> None:
        """Reads all of it. Raises StoreError if a part is damaged."""
        (answer,) = self._ask("PRAGMA quick_check(1)").fetchone()
        if answer != "ok":
            raise StoreError(f"it is damaged: {answer}", where=str(self.path), fix=_FIX)

    @contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """All or nothing; with `keep` false nothing, whatever happens."""
        self._ask("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.rollback()
            raise
        if keep:
            self._ask("COMMIT")
        else:
            self._db.rollback()

    def _ask(self, statement: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, tuple(values))
        except sqlite3.Error as error:
            raise StoreError(f"it cannot be used: {error}", where=str(self.path), fix=_FIX) from error

    # --- entries ---------------------------------------------------------------------------------------

    def knows(self, id: str) -> bool:
        return self._ask("SELECT 1 FROM entry WHERE id = ?", (id,)).fetchone() is not None

    def author(self, id: str) -> str:
        """Who wrote an entry; '' for one that is not known."""
        row = self._ask("SELECT author FROM entry WHERE id = ?", (id,)).fetchone()
        return "" if row is None else str(row[0])

    def said_by(self, author: str, scope: str) -> list[str]:
        """The ids of all that an author said, also of what was replaced."""
        rows = self._ask("SELECT id FROM entry WHERE author = ? AND scope = ? ORDER BY id", (author, scope))
        return [id for (id,) in rows]

    def lineage(self, ids: Iterable[str]) -> tuple[str, ...]:
        """These entries and all that they replaced. An entry names them all: what came between may never travel."""
        marks = ",".join("?" * len(ids := tuple(ids)))
        rows = self._ask(
            f"WITH RECURSIVE before(id) AS (SELECT id FROM entry WHERE id IN ({marks})"
            " UNION SELECT edge.parent FROM edge JOIN before ON edge.child = before.id) SELECT id FROM before",
            ids,
        )
        return tuple(sorted({*ids, *(id for (id,) in rows)}))

    def is_gone(self, id: str) -> bool:
        row = self._ask("SELECT gone FROM entry WHERE id = ?", (id,)).fetchone()
        return row is not None and row[0] == 1

    def add(self, row: Row, machine: str, parents: Collection[str], *, gone: bool = False) -> bool:
        """Adds an entry; False if it is known. What it replaces keeps its id only."""
        if self.knows(row.id):
            return False
        line, signature = (b"", b"") if gone else (row.line, row.signature)
        self._ask(
            "INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?)",
            (row.id, row.stamp, row.author, machine, row.scope, row.key, line, signature, gone),
        )
        for parent in parents:
            self._ask("INSERT OR IGNORE INTO edge VALUES (?,?)", (parent, row.id))
            known = self._ask("SELECT key FROM entry WHERE id = ?", (parent,)).fetchone()
            if known is not None and known[0] == row.key:
                self._ask("DELETE FROM head WHERE key = ? AND id = ?", (row.key, parent))
                self._ask("UPDATE entry SET line = x'', signature = x'' WHERE id = ?", (parent,))
        child = self._ask(
            "SELECT 1 FROM edge JOIN entry ON entry.id = edge.child WHERE edge.parent = ? AND entry.key = ?",
            (row.id, row.key),
        ).fetchone()
        if child is not None:
            self._ask("UPDATE entry SET line = x'', signature = x'' WHERE id = ?", (row.id,))
        elif not gone:
            self._ask("INSERT INTO head VALUES (?,?)", (row.key, row.id))
        self._ask("INSERT OR IGNORE INTO stale VALUES (?)", (row.key,))
        return True

    def heads(self, key: str) -> list[Row]:
        rows = self._ask(f"{_HEADS} WHERE head.key = ? ORDER BY entry.stamp, entry.id", (key,))
        return [Row(*row) for row in rows]

    def all_heads(self, prefix: str = "") -> Iterator[list[Row]]:
        """The heads of each key that begins with `prefix`, key by key, the earliest first."""
        rows = self._ask(
            f"{_HEADS} WHERE head.key >= ? AND head.key < ? ORDER BY head.key, entry.stamp, entry.id",
            (prefix, f"{prefix}\U0010ffff"),
        )
        group: list[Row] = []
        for row in (Row(*values) for values in rows.fetchall()):
            if group and group[0].key != row.key:
                yield group
                group = []
            group.append(row)
        if group:
            yield group

    def keys_of_others(self, authors: Collection[str]) -> set[str]:
        """The keys of items in this memory whose last entry somebody with another key wrote."""
        rows = self._ask(
            "SELECT head.key, entry.author FROM head JOIN entry ON entry.id = head.id WHERE entry.scope = 'own'"
        )
        return {key for key, author in rows if author not in authors}

    def divided(self) -> list[str]:
        """The keys with more than one head."""
        rows = self._ask("SELECT key FROM head GROUP BY key HAVING count(*) > 1 ORDER BY key")
        return [key for (key,) in rows]

    def purge(self, is_gone: Callable[[Row], bool]) -> list[str]:
        """Takes the content of entries away for good, and returns their keys. Their ids stay: none comes back."""
        rows = self._ask(
            "SELECT id, stamp, author, scope, key, line, signature FROM entry WHERE line != x''"
        ).fetchall()
        return [
            row.key
            for row in (Row(*values) for values in rows)
            if is_gone(row) and self.drop(row.id, row.key)
        ]

    def unpack_replaced(self) -> None:
        """Something was forgotten. What was replaced has no line here to be judged by, but one in packs, which go."""
        self._ask("UPDATE entry SET gone = 2 WHERE line = x'' AND gone = 0")

    def drop(self, id: str, key: str) -> bool:
        self._ask("UPDATE entry SET line = x'', signature = x'', gone = 1 WHERE id = ?", (id,))
        self._ask("DELETE FROM head WHERE key = ? AND id = ?", (key, id))
        self._ask("INSERT OR IGNORE INTO stale VALUES (?)", (key,))
        return True

    def void(self, author: str, scope: str) -> None:
        """Takes away all that an author said: it counts for nobody, and its packs are to go."""
        for (key,) in self._ask(
            "SELECT DISTINCT key FROM entry WHERE author = ? AND scope = ? AND line != x''", (author, scope)
        ).fetchall():
            self._ask("INSERT OR IGNORE INTO stale VALUES (?)", (key,))
        self._ask(
            "DELETE FROM head WHERE id IN (SELECT id FROM entry WHERE author = ? AND scope = ?)",
            (author, scope),
        )
        self._ask(
            "UPDATE entry SET line = x'', signature = x'', gone = 1 WHERE author = ? AND scope = ?",
            (author, scope),
        )

    # --- what the files show -----------------------------------------------------------------------------

    def shown(self) -> dict[str, Shown]:
        return {key: Shown(digest, id) for key, digest, id in self._ask("SELECT key, digest, id FROM shown")}

    def show(self, key: str, digest: str, id: str) -> None:
        if digest:
            self._ask("INSERT OR REPLACE INTO shown VALUES (?,?,?)", (key, digest, id))
        else:
            self._ask("DELETE FROM shown WHERE key = ?", (key,))

    def stale(self) -> list[str]:
        """The keys that have changed since the files were written."""
        return [key for (key,) in self._ask("SELECT key FROM stale ORDER BY key")]

    def outdate(self, keys: Iterable[str]) -> None:
        """The files must be written again."""
        for key in keys:
            self._ask("INSERT OR IGNORE INTO stale VALUES (?)", (key,))

    def fresh(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._ask("DELETE FROM stale WHERE key = ?", (key,))

    # --- packs -------------------------------------------------------------------------------------------

    def packs(self, target: str) -> dict[tuple[str, str], PackRow]:
        rows = self._ask("SELECT place, name, size, state FROM pack WHERE target = ?", (target,))
        return {(place, name): PackRow(place, name, size, state) for place, name, size, state in rows}

    def put_pack(self, target: str, pack: PackRow, ids: Iterable[str]) -> None:
        self._ask(
            "INSERT OR REPLACE INTO pack VALUES (?,?,?,?,?)",
            (target, pack.place, pack.name, pack.size, pack.state),
        )
        for id in ids:
            self._ask("INSERT OR IGNORE INTO content VALUES (?,?,?,?)", (target, id, pack.place, pack.name))

    def drop_pack(self, target: str, place: str, name: str) -> None:
        for table in ("pack", "content"):
            self._ask(
                f"DELETE FROM {table} WHERE target = ? AND place = ? AND name = ?", (target, place, name)
            )

    def reread(self, target: str, states: Collection[str]) -> None:
        """Packs in these states are read again: a key or a member was added."""
        for state in states:
            self._ask("DELETE FROM pack WHERE target = ? AND state = ?", (target, state))

    def reread_all(self, states: Collection[str]) -> None:
        """The same for all targets, whose state counts as unknown."""
        for state in states:
            self._ask("DELETE FROM pack WHERE state = ?", (state,))
        self._ask("DELETE FROM note WHERE name LIKE 'state %'")

    def ids_in(self, target: str, place: str, name: str) -> list[str]:
        rows = self._ask(
            "SELECT id FROM content WHERE target = ? AND place = ? AND name = ?", (target, place, name)
        )
        return [id for (id,) in rows]

    def unsent(self, target: str) -> list[Row]:
        """The entries that are in no pack of this target, the earliest first."""
        rows = self._ask(
            f"{_HEADS} WHERE NOT EXISTS (SELECT 1 FROM content WHERE content.target = ? AND content.id = entry.id)"
            " ORDER BY entry.stamp, entry.id",
            (target,),
        )
        return [Row(*row) for row in rows.fetchall()]

    def live_in(self, target: str, place: str, name: str) -> list[Row]:
        """The entries of a pack that still count."""
        rows = self._ask(
            f"{_HEADS} JOIN content ON content.id = entry.id WHERE content.target = ? AND content.place = ?"
            " AND content.name = ? ORDER BY entry.stamp, entry.id",
            (target, place, name),
        )
        return [Row(*row) for row in rows.fetchall()]

    def gone_in(self, target: str, place: str, name: str) -> int:
        """How many entries of a pack are forgotten, or were taken back from the team: the pack must not stay."""
        row = self._ask(
            "SELECT count(*) FROM content JOIN entry ON entry.id = content.id"
            " WHERE content.target = ? AND content.place = ? AND content.name = ?"
            " AND (entry.gone OR (entry.scope = 'team' AND entry.line = x''))",
            (target, place, name),
        ).fetchone()
        return int(row[0])

    # --- notes -------------------------------------------------------------------------------------------

    def refuse(self, what: str, why: str, who: str) -> bool:
        """Notes what was refused; False if it was before."""
        return self._ask("INSERT OR IGNORE INTO refused VALUES (?,?,?)", (what, why, who)).rowcount > 0

    def note(self, name: str) -> str:
        row = self._ask("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
        return "" if row is None else str(row[0])

    def set_note(self, name: str, value: str) -> None:
        self._ask("INSERT OR REPLACE INTO note VALUES (?,?)", (name, value))

    def count(self) -> int:
        (number,) = self._ask("SELECT count(*) FROM head").fetchone()
        return int(number)


_HEADS = (
    "SELECT entry.id, entry.stamp, entry.author, entry.scope, entry.key, entry.line, entry.signature"
    " FROM head JOIN entry ON entry.id = head.id"
)


def purge_journal(memory: Path, is_gone: Callable[[bytes], bool]) -> int:
    """Takes what is forgotten out of the journal of a memory that is synced. The next sync takes it off the targets.

    A sync and `forget` hold the lock `capture` while they change it.
    """
    if not (memory / NAME).exists():
        return 0
    journal = SyncJournal(memory)
    try:
        with journal.transaction():
            journal.unpack_replaced()
            return len(journal.purge(lambda row: is_gone(row.line)))
    finally:
        journal.close()
