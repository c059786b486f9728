"""usage.db: what every transcript on this machine used, by quarter of an hour, model and price step.

It makes `holdfast cost` fast and holds nothing that a person or an agent said: no prompt, no goal, no path. Files,
sessions and projects are hashes. You can delete it: the next run counts the transcripts that are still there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import repeat
from pathlib import Path

from msgspec import Struct

from holdfast.agent_kit.contract import Importer
from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.hashes import blake2b
from holdfast.model.events import Usage

USAGE_FORMAT = 2
QUARTER = 900  # seconds: every time zone is a whole number of them away from UTC
BUSY_SECONDS = 30
NAME = "usage.db"

# In format 1 a session that a recorder kept counted for the recorder: its sources are read again.
_FROM_1 = "UPDATE source SET size = -1 WHERE agent IN ('entire', 'generic', 'specstory')"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE source (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    position INTEGER NOT NULL, marks BLOB NOT NULL, state BLOB NOT NULL, recent BLOB NOT NULL,
    agent TEXT NOT NULL, provider TEXT NOT NULL, project BLOB NOT NULL, own BLOB NOT NULL, parent BLOB NOT NULL);
CREATE TABLE usage (
    source INTEGER NOT NULL, quarter INTEGER NOT NULL, model TEXT NOT NULL, band INTEGER NOT NULL,
    responses INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL, cache_write_1h INTEGER NOT NULL, stated REAL,
    first REAL NOT NULL, last REAL NOT NULL,
    PRIMARY KEY (source, quarter, model, band)) WITHOUT ROWID;
CREATE TABLE gap (
    source INTEGER NOT NULL, quarter INTEGER NOT NULL, reason TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (source, quarter, reason)) WITHOUT ROWID;
CREATE TABLE claim (key INTEGER PRIMARY KEY, source INTEGER NOT NULL) WITHOUT ROWID;
"""

BucketKey = tuple[int, str, int]
"""Quarter, model, price step."""


class Bucket(Struct):
    """The responses of one model and price step in one quarter of an hour."""

    first: float
    last: float
    usage: Usage = Usage()
    responses: int = 0
    stated_usd: float | None = None


class UsageSource(Struct, frozen=True):
    """A transcript, or a part of one, as the search found it."""

    path: Path
    key: str
    importer: Importer
    size: int
    mtime_ns: int
    part: str = ""
    cwd: str = ""
    started: float | None = None


class CountedSource(Struct, frozen=True, kw_only=True):
    """How far a transcript was read, and what it is, without a word of it."""

    id: int
    key: bytes
    size: int
    mtime_ns: int
    position: int = 0
    marks: bytes = b""
    state: bytes = b""
    recent: bytes = b""  # the latest responses, which the next lines may state again
    agent: str = ""  # that ran the session, not a recorder that kept it
    provider: str = ""
    project: bytes = b""
    own: bytes = b""
    parent: bytes = b""


class UsageRow(Struct, frozen=True, gc=False):
    """A bucket with what is known of its transcript."""

    source: int
    quarter: int
    model: str
    band: int
    responses: int
    usage: Usage
    stated_usd: float | None
    first: float
    last: float


class UsageCache:
    """An open usage.db. One that another program version wrote, or that is broken, is made again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.in_memory = False
        try:
            self._db = self._opened(path)
        except sqlite3.DatabaseError as error:
            if "locked" in str(error) or "readonly" in str(error) or "unable to open" in str(error):
                self._without_file()
                return
            files.discard(path.with_name(path.name + end) for end in ("", "-wal", "-shm"))
            try:
                self._db = self._opened(path)
            except sqlite3.Error:
                self._without_file()
        except OSError:
            self._without_file()

    def _without_file(self) -> None:
        """Counts in memory where nothing can be written, or a newer holdfast keeps the file."""
        self.in_memory = True
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        self._prepare(self._db)

    def _opened(self, path: Path) -> sqlite3.Connection:
        if not path.exists():
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            (number,) = db.execute("PRAGMA user_version").fetchone()
            if number > USAGE_FORMAT:
                raise sqlite3.OperationalError("unable to open: a newer holdfast wrote it")
            if number == 1:
                db.execute("BEGIN IMMEDIATE")
                db.execute(_FROM_1)
                db.execute(f"PRAGMA user_version={USAGE_FORMAT}")
                db.execute("COMMIT")
            elif number != USAGE_FORMAT:
                if db.execute("SELECT 1 FROM sqlite_master").fetchone():
                    raise sqlite3.DatabaseError("an older format")
                db.execute("PRAGMA journal_mode=WAL")
                self._prepare(db)
            db.execute("PRAGMA synchronous=NORMAL")
        except BaseException:
            db.close()
            raise
        return db

    @staticmethod
    def _prepare(db: sqlite3.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        if not db.execute("SELECT 1 FROM sqlite_master").fetchone():  # another first command was faster
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            db.execute("INSERT INTO meta VALUES ('salt', ?)", (os.urandom(16),))
            db.execute(f"PRAGMA user_version={USAGE_FORMAT}")
        db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()

    def _ask(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except (sqlite3.Error, OverflowError) as error:
            raise StoreError(
                str(error), where=str(self.path), fix=f"Delete {self.path.name}: it is made again"
            ) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._db.in_transaction:
            yield
            return
        self._ask("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._ask("ROLLBACK")
            raise
        self._ask("COMMIT")

    def meta(self, key: str) -> bytes:
        row = self._ask("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return bytes(row[0]) if row else b""

    def begin_again_unless(self, key: str, value: str) -> None:
        """Removes all counts if this was otherwise when they were made: other folders are excluded now, for example."""
        if self.meta(key) == (now := self.hashed(value)):
            return
        with self.transaction():
            for table in ("source", "usage", "gap", "claim"):
                self._ask(f"DELETE FROM {table}")
            self._ask("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, now))

    def hashed(self, name: str) -> bytes:
        """A name as it is stored. Each cache has its own salt, so that a path cannot be looked up in a table."""
        if not name:
            return b""
        return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=self._salt).digest()

    @cached_property
    def _salt(self) -> bytes:
        return self.meta("salt")

    # Sources

    def stamps(self) -> dict[bytes, tuple[int, int]]:
        return {key: (size, time) for key, size, time in self._ask("SELECT key, size, mtime_ns FROM source")}

    def changed(self, sources: Iterable[UsageSource]) -> list[UsageSource]:
        """Those that are new or have changed since they were counted, in the order in which they are counted."""
        stamps = self.stamps()
        changed = {
            source.key: source
            for source in sources
            if stamps.get(self.hashed(source.key)) != (source.size, source.mtime_ns)
        }
        # The original before its copies, a parent before its subagents: the first reader of a response owns it.
        return sorted(
            changed.values(),
            key=lambda item: (item.started or 0.0, len(item.path.parts), item.mtime_ns, item.key),
        )

    def source(self, key: bytes) -> CountedSource | None:
        row = self._ask("SELECT * FROM source WHERE key = ?", (key,)).fetchone()
        return CountedSource(**dict(zip(CountedSource.__struct_fields__, row, strict=True))) if row else None

    def identities(self) -> dict[int, tuple[bytes, str, str, bytes, bytes, bytes]]:
        """For each source: key, agent, provider, project, and the hashes of its session and its parent's."""
        rows = self._ask("SELECT id, key, agent, provider, project, own, parent FROM source")
        return {number: tuple(rest) for number, *rest in rows}

    def next_source(self) -> int:
        return int(self._ask("SELECT coalesce(max(id), 0) + 1 FROM source").fetchone()[0])

    def put(self, source: CountedSource) -> None:
        values = tuple(getattr(source, name) for name in CountedSource.__struct_fields__)
        marks = ",".join("?" * len(values))
        self._ask(f"INSERT OR REPLACE INTO source VALUES ({marks})", values)

    def release(self, source: int) -> None:
        """Removes what was counted of a source that is read again from its start."""
        for table in ("usage", "gap", "claim"):
            self._ask(f"DELETE FROM {table} WHERE source = ?", (source,))

    # Counts

    def add(self, source: int, buckets: Iterable[tuple[BucketKey, Bucket]]) -> None:
        """Adds to what is there: a transcript that grew brings only what is new."""
        for (quarter, model, band), bucket in buckets:
            used = bucket.usage
            self._ask(
                "INSERT INTO usage VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
                "responses = responses + excluded.responses, input = input + excluded.input, "
                "output = output + excluded.output, cache_read = cache_read + excluded.cache_read, "
                "cache_write = cache_write + excluded.cache_write, "
                "cache_write_1h = cache_write_1h + excluded.cache_write_1h, "
                "stated = CASE WHEN stated IS NULL THEN excluded.stated "
                "ELSE stated + coalesce(excluded.stated, 0) END, "
                "first = min(first, excluded.first), last = max(last, excluded.last)",
                (
                    source,
                    quarter,
                    model,
                    band,
                    bucket.responses,
                    used.input,
                    used.output,
                    used.cache_read,
                    used.cache_write,
                    used.cache_write_1h,
                    bucket.stated_usd,
                    bucket.first,
                    bucket.last,
                ),
            )

    def add_gaps(self, source: int, gaps: Iterable[tuple[tuple[int, str], int]]) -> None:
        for (quarter, reason), times in gaps:
            self._ask(
                "INSERT INTO gap VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET times = times + excluded.times",
                (source, quarter, reason, times),
            )

    def rows(self, since: float = 0) -> list[UsageRow]:
        found = self._ask("SELECT * FROM usage WHERE last >= ?", (since,))
        return [
            UsageRow(source, quarter, model, band, responses, Usage(*counts), stated, first, last)
            for source, quarter, model, band, responses, *counts, stated, first, last in found
        ]

    def gaps(self, since: float = 0) -> list[tuple[int, int, str, int]]:
        """Source, quarter, reason, and how often."""
        found = self._ask("SELECT * FROM gap WHERE quarter >= ?", (int(since // QUARTER * QUARTER),))
        return [(source, quarter, reason, times) for source, quarter, reason, times in found]

    # Claims, as `sessions/line_claims.py` needs them

    def claims_exist(self) -> bool:
        return self._ask("SELECT 1 FROM claim LIMIT 1").fetchone() is not None

    def claimed_by(self, key: int) -> int | None:
        row = self._ask("SELECT source FROM claim WHERE key = ?", (key,)).fetchone()
        return None if row is None else int(row[0])

    def claim(self, keys: Iterable[int], source: int) -> None:
        self._db.executemany("INSERT OR IGNORE INTO claim VALUES (?, ?)", zip(keys, repeat(source)))


class UsageStamps:
    """The stamps of counted transcripts, looked up by path."""

    def __init__(self, cache: UsageCache) -> None:
        self._stamps = cache.stamps()
        self._hashed = cache.hashed

    def get(self, path: str, /) -> tuple[int, int] | None:
        return self._stamps.get(self._hashed(path)) if self._stamps else None
