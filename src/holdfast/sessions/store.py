"""capture.db: how far each transcript was read, and the sessions made from them. One SQLite file per project.

You can delete it: the next import reads the remaining transcripts again and finds its rows in the ledger.
It holds what the ledger must not: goals, tasks and the evidence for them, redacted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from itertools import repeat
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
from msgspec import Struct

from holdfast.core.errors import StoreError
from holdfast.core.sync_folders import is_discarding
from holdfast.language.dialogue import Message
from holdfast.model.events import DistilledSession, Lived
from holdfast.model.memory import DeadEnd
from holdfast.sessions.cursor import SourceCursor, SourceStamp
from holdfast.store.database import BUSY_SECONDS, SqliteStore
from holdfast.store.removal import Removal

T = TypeVar("T")

CAPTURE_FORMAT = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS source (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, agent TEXT NOT NULL,
    own TEXT NOT NULL, session TEXT NOT NULL,
    position INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, head BLOB NOT NULL,
    reader BLOB NOT NULL, digest BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS source_of_session ON source (session);
CREATE INDEX IF NOT EXISTS source_of_own ON source (own);
CREATE TABLE IF NOT EXISTS pending (session TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claim (key INTEGER PRIMARY KEY, source INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, started REAL, record BLOB NOT NULL) WITHOUT ROWID;
"""

R = TypeVar("R")


class _DeadEnds(Struct, frozen=True):
    dead_ends: tuple[DeadEnd, ...] = ()


class _OnlyDeadEnds(Struct, frozen=True):
    harvest: _DeadEnds = _DeadEnds()


class _Spoken(Struct, frozen=True):
    dialogue: tuple[Message, ...] = ()
    report: str = ""


class _OnlyDialogue(Struct, frozen=True):
    parent: str = ""
    first_at: float | None = None
    harvest: _Spoken = _Spoken()


_kept: ContextVar[CaptureStore | None] = ContextVar("kept", default=None)


class CaptureStore(SqliteStore):
    format = CAPTURE_FORMAT
    schema = _SCHEMA
    when_deleted = "it is made again from the transcripts, and the ledger keeps its rows"

    def __init__(self, path: Path) -> None:
        self._answers: dict[tuple[type, int], tuple[int, list[Any]]] = {}
        super().__init__(path)

    def _configure(self) -> None:
        self._use_write_ahead_log()
        self._db.execute(f"PRAGMA synchronous={'OFF' if is_discarding() else 'NORMAL'}")

    @classmethod
    def glimpse(cls, path: Path, ask: Callable[[CaptureStore], T], otherwise: T) -> T:
        """Query the store without write access; return `otherwise` if it is missing, newer or unreadable."""
        kept = _kept.get()
        if kept is not None and kept.path == path and not kept._db.in_transaction:
            with suppress(sqlite3.Error, StoreError, msgspec.MsgspecError, ValueError):
                return ask(kept)
        for mode in ("mode=ro", "mode=ro&immutable=1"):
            store = cls.__new__(cls)
            store.path = path
            store._answers = {}
            try:
                store._db = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=5)
                with closing(store._db):
                    return ask(store)
            except (sqlite3.Error, StoreError, msgspec.MsgspecError, ValueError):
                continue
        return otherwise

    @classmethod
    @contextmanager
    def kept_open(cls, path: Path) -> Iterator[Self | None]:
        """Share one connection among the glimpses within: opening a database and reading its schema takes time.

        The connection may write, though no glimpse does: the last connection to close removes the write-ahead log.
        """
        store = None
        if _kept.get() is None and path.exists():
            with suppress(StoreError):
                store = cls(path)
        if store is None:
            yield None
            return
        token = _kept.set(store)
        try:
            yield store
        finally:
            _kept.reset(token)
            store.close()

    def stamps(self) -> dict[str, tuple[SourceStamp, str]]:
        """Return every transcript read so far, with its stamp at that time and its session."""
        rows = self._ask("SELECT path, size, mtime_ns, session FROM source")
        return {path: (SourceStamp(size, mtime_ns), session) for path, size, mtime_ns, session in rows}

    def cursor(self, path: str) -> SourceCursor | None:
        return next(self._cursors("path = ?", path), None)

    def cursors_of(self, session: str) -> list[SourceCursor]:
        return list(self._cursors("session = ?", session))

    def _cursors(self, where: str, value: str) -> Iterator[SourceCursor]:
        rows = self._ask(
            "SELECT id, path, agent, own, session, position, size, mtime_ns, head, reader, digest "
            f"FROM source WHERE {where}",
            (value,),
        )
        for row in rows:
            number, path, agent, own, session, position, size, mtime_ns, head, reader, digest = row
            yield SourceCursor(
                id=number,
                path=path,
                agent=agent,
                own=own,
                session=session,
                position=position,
                stamp=SourceStamp(size, mtime_ns),
                head=head,
                reader=reader,
                digest=digest,
            )

    def root_of(self, own: str) -> str:
        """Return the session that a transcript with this id counts for, or the id itself if it is unknown."""
        row = self._ask("SELECT session FROM source WHERE own = ? AND session != ''", (own,)).fetchone()
        return str(row[0]) if row else own

    def adopt(self, own: str, session: str) -> None:
        """Reassign transcripts that named a subagent as their parent before its own parent was known."""
        if own != session:
            self._ask("UPDATE source SET session = ? WHERE session = ?", (session, own))

    def pending(self) -> list[str]:
        """Sessions with new content whose row has not been written yet."""
        return [session for (session,) in self._ask("SELECT session FROM pending ORDER BY session")]

    def mark_pending(self, session: str) -> None:
        self._ask("INSERT OR IGNORE INTO pending VALUES (?)", (session,))

    def settle(self, sessions: Iterable[str]) -> None:
        self._ask_many("DELETE FROM pending WHERE session = ?", ((session,) for session in sessions))

    def passed_over(self, path: str, stamp: SourceStamp) -> None:
        """Update the stamp of a forgotten session's transcript that has grown and is not read."""
        self._ask(
            "UPDATE source SET size = ?, mtime_ns = ? WHERE path = ?", (stamp.size, stamp.mtime_ns, path)
        )

    def empty(self, session: str) -> None:
        """Delete everything about a session except which transcripts it has, and that their lines were counted."""
        self._ask("UPDATE source SET reader = x'', digest = x'' WHERE session = ?", (session,))
        self._ask("DELETE FROM session WHERE id = ?", (session,))
        self.settle([session])

    def next_source(self) -> int:
        (number,) = self._ask("SELECT coalesce(max(id), 0) + 1 FROM source").fetchone()
        return int(number)

    def put(self, cursor: SourceCursor) -> None:
        self._ask(
            "INSERT OR REPLACE INTO source VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            (
                cursor.id,
                cursor.path,
                cursor.agent,
                cursor.own,
                cursor.session,
                cursor.position,
                cursor.stamp.size,
                cursor.stamp.mtime_ns,
                cursor.head,
                cursor.reader,
                cursor.digest,
            ),
        )

    def release(self, source: int) -> None:
        """Delete the claims of a source, which will be read again from its start."""
        self._ask("DELETE FROM claim WHERE source = ?", (source,))

    def claims_exist(self) -> bool:
        return self._ask("SELECT 1 FROM claim LIMIT 1").fetchone() is not None

    def claimed_by(self, key: int) -> int | None:
        row = self._ask("SELECT source FROM claim WHERE key = ?", (key,)).fetchone()
        return None if row is None else int(row[0])

    def claim(self, keys: Iterable[int], source: int) -> None:
        self._ask_many("INSERT OR IGNORE INTO claim VALUES (?, ?)", zip(keys, repeat(source)))

    def put_record(self, record: DistilledSession) -> None:
        self._ask(
            "INSERT OR REPLACE INTO session VALUES (?,?,?)",
            (record.session, record.started, msgspec.json.encode(record)),
        )

    def record(self, session: str) -> DistilledSession | None:
        row = self._ask("SELECT record FROM session WHERE id = ?", (session,)).fetchone()
        return None if row is None else msgspec.json.decode(row[0], type=DistilledSession)

    def select(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """For the questions in `lookup.py`."""
        return self._ask(query, values).fetchall()

    def records(self, limit: int) -> list[DistilledSession]:
        """The latest sessions, newest first."""
        return self._remembered(DistilledSession, limit)

    def dead_ends(self, limit: int) -> list[tuple[str, DeadEnd]]:
        """Return the dead ends of the latest sessions, newest first. Nothing else of them is decoded."""
        rows = self._ask("SELECT id, record FROM session ORDER BY started DESC LIMIT ?", (limit,))
        decode = msgspec.json.Decoder(_OnlyDeadEnds).decode
        return [(session, end) for session, record in rows for end in decode(record).harvest.dead_ends]

    def dialogue(self, session: str) -> list[str]:
        """What person and agent said in a session."""
        return [text for _, text in self.messages(session)]

    def messages(self, session: str) -> list[tuple[str, str]]:
        """The same with who said it, `user` or `agent`. Nothing else of the digests is decoded."""
        rows = self._ask("SELECT digest FROM source WHERE session = ? AND digest != x''", (session,))
        decode = msgspec.msgpack.Decoder(_OnlyDialogue).decode
        digests = [decode(digest) for (digest,) in rows]
        digests = [digest for digest in digests if not digest.parent]
        digests.sort(key=lambda digest: digest.first_at or 0.0)
        said = [
            message
            for digest in digests
            for message in (
                *((message.by, message.text) for message in digest.harvest.dialogue),
                ("agent", digest.harvest.report),
            )
        ]
        return [(by, text) for by, text in said if text]

    def lived(self, limit: int) -> list[Lived]:
        """Return the experience of the latest sessions, oldest first. Nothing else of them is decoded."""
        return self._remembered(Lived, limit)[::-1]

    def _remembered(self, kind: type[R], limit: int) -> list[R]:
        """Decode the latest sessions as values of this type. The shared connection never writes, so it decodes them
        again only after another connection has written."""
        (version,) = self._ask("PRAGMA data_version").fetchone()
        cached = self._answers.get((kind, limit)) if self is _kept.get() else None
        if cached is None or cached[0] != version:
            rows = self._ask("SELECT record FROM session ORDER BY started DESC LIMIT ?", (limit,)).fetchall()
            decode = msgspec.json.Decoder(kind).decode
            cached = self._answers[kind, limit] = version, [decode(record) for (record,) in rows]
        values: list[R] = cached[1]
        return list(values)

    def all_records(self) -> list[DistilledSession]:
        rows = self._ask("SELECT record FROM session ORDER BY id")
        return [msgspec.json.decode(record, type=DistilledSession) for (record,) in rows]

    def check(self) -> str:
        """Return '' if the file is intact, or else SQLite's message."""
        try:
            (answer,) = self._ask("PRAGMA quick_check(1)").fetchone()
        except sqlite3.Error as error:
            return str(error)
        return "" if answer == "ok" else str(answer)


class CaptureForgetting(CaptureStore):
    """The store with methods to erase data for good, including the pages that SQLite would leave behind."""

    @classmethod
    def look(cls, path: Path) -> CaptureForgetting | None:
        """Open the store read-only, without writing a byte; return None if it does not exist."""
        if not path.is_file():
            return None
        # In read-only mode SQLite creates files beside the database, unless it is declared immutable.
        alone = not path.with_name(f"{path.name}-wal").exists()
        store = cls.__new__(cls)
        store.path = path
        mode = "mode=ro&immutable=1" if alone else "mode=ro"
        try:
            store._db = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=5)
            store._ask("SELECT count(*) FROM source")
        except sqlite3.Error as error:
            raise StoreError(str(error), where=str(path), fix="Run holdfast doctor") from error
        return store

    def sessions(self) -> set[str]:
        query = "SELECT session FROM source UNION SELECT id FROM session UNION SELECT session FROM pending"
        return {name for (name,) in self._ask(query)} - {""}

    def paths_of(self, session: str) -> list[str]:
        return [path for (path,) in self._ask("SELECT path FROM source WHERE session = ?", (session,))]

    def plain_records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, record in self._ask("SELECT id, record FROM session ORDER BY id"):
            yield name, msgspec.json.decode(record)

    def count(self, removal: Removal) -> int:
        """Count the records and transcripts that hold what is to be forgotten."""
        return sum(1 for _ in self._changes(removal)) + sum(
            self._holds(session) for session in removal.sessions
        )

    def _holds(self, session: str) -> int:
        query = (
            "SELECT (SELECT count(*) FROM session WHERE id = ?) + (SELECT count(*) FROM source "
            "WHERE session = ? AND length(digest) + length(reader) > 0)"
        )
        return int(self._ask(query, (session, session)).fetchone()[0])

    def forget(self, removal: Removal) -> int:
        """Erase the data. SQLite overwrites what it deletes, and VACUUM returns the pages freed before."""
        self._ask("PRAGMA secure_delete=ON")
        self._ask("PRAGMA temp_store=MEMORY")
        number = self.count(removal)
        with self.transaction():
            for statement, values in list(self._changes(removal)):
                self._ask(statement, values)
            for session in sorted(removal.sessions):
                self.empty(session)
        self._erase_pages()
        return number

    def rewrite(self, edit: Callable[[Any], Any]) -> int:
        """Replace every record and digest with `edit` of its plain value; return how many it changed."""
        self._ask("PRAGMA secure_delete=ON")
        self._ask("PRAGMA temp_store=MEMORY")
        changes = list(self._edits(edit, frozenset()))
        with self.transaction():
            for statement, values in changes:
                self._ask(statement, values)
        if changes:
            self._erase_pages()
        return len(changes)

    def _erase_pages(self) -> None:
        self._ask("VACUUM")
        (busy, _, _) = self._ask("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreError(
                f"somebody has been reading it for {BUSY_SECONDS} s, and an old copy of its pages is left",
                where=str(self.path),
                fix="Run the command again when no other holdfast runs",
            )

    def _changes(self, removal: Removal) -> Iterator[tuple[str, tuple[object, ...]]]:
        if removal.phrases or removal.ids:
            yield from self._edits(removal.plain, removal.sessions)

    def _edits(
        self, edit: Callable[[Any], Any], without: frozenset[str]
    ) -> Iterator[tuple[str, tuple[object, ...]]]:
        """The statements that replace every value which `edit` changes, except those of the sessions `without`."""
        for name, record in self._ask("SELECT id, record FROM session"):
            if name not in without:
                new = _edited(
                    record,
                    edit,
                    msgspec.json.decode,
                    lambda value: msgspec.json.encode(msgspec.convert(value, DistilledSession)),
                )
                if new != record:
                    yield "UPDATE session SET record = ? WHERE id = ?", (new, name)
        for number, session, reader, digest in self._ask("SELECT id, session, reader, digest FROM source"):
            if session not in without:
                new_reader, new_digest = (
                    _edited(data, edit, msgspec.msgpack.decode, msgspec.msgpack.encode)
                    for data in (reader, digest)
                )
                if (new_reader, new_digest) != (reader, digest):
                    yield (
                        "UPDATE source SET reader = ?, digest = ? WHERE id = ?",
                        (new_reader, new_digest, number),
                    )


def _edited(
    data: bytes, edit: Callable[[Any], Any], decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]
) -> bytes:
    if not data:
        return data
    before = decode(data)
    after = edit(before)
    return data if after == before else encode(after)
