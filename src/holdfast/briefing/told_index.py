"""Writes told.db: sessions, commits and documents with the words they are found by and the lines they may be told in.

It is derived and can be deleted. Sources are added as they come; `hooks/telling.py` reads it.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from operator import mul
from pathlib import Path
from typing import NamedTuple

from holdfast.core import files
from holdfast.core.errors import StoreError
from holdfast.core.patterns import lazy_regex
from holdfast.core.stopwords import ENGLISH, OTHER_LANGUAGES
from holdfast.core.sync_folders import is_discarding
from holdfast.core.tokens import count_tokens
from holdfast.core.words import words
from holdfast.hooks.meaning import UNIT
from holdfast.hooks.telling import FORMAT, NAME, RARE, USUAL_LENGTHS, Telling, impact
from holdfast.model.source import Source
from holdfast.model.statement import Statement

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE word (word TEXT PRIMARY KEY, weight REAL NOT NULL, sources BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE source (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, at REAL, title TEXT NOT NULL,
    who TEXT NOT NULL, project TEXT NOT NULL, branches TEXT NOT NULL, everywhere REAL, turns TEXT NOT NULL,
    worth REAL NOT NULL, vector BLOB NOT NULL, stamp TEXT NOT NULL);
CREATE TABLE line (
    source INTEGER NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
    who TEXT NOT NULL, worth REAL NOT NULL, text TEXT NOT NULL, tokens INTEGER NOT NULL, words TEXT NOT NULL,
    PRIMARY KEY (source, position)) WITHOUT ROWID;
CREATE TABLE follows (earlier INTEGER NOT NULL, later INTEGER NOT NULL, PRIMARY KEY (earlier, later)) WITHOUT ROWID;
"""
_MOST_TURNS = 200
_MOST_WORDS = 400  # of one turn
_AT_ONCE = 500
_EMBEDDED = 256  # sources whose vectors are made together
_RELATED = 8  # sessions that are compared with a new one
# Of 9 sessions that amend another, 7 share so much with it; of other pairs that one prompt finds, 4 in 100.
_SHARED, _NEAR = 0.24, 0.55
_REVERTED = "reverted"  # the status of a line that was agreed on until its commits were taken back
_BACKGROUND = "background.txt"
_NUMBER = lazy_regex(r"\d+")


class Placed(NamedTuple):
    """A session that counts on some branches only, and from a moment on everywhere."""

    id: str
    branches: str  # one a line
    everywhere: float | None
    stamp: str


class ToldIndex:
    """An open told.db. Sources that changed get a new number; the postings of the old one lead nowhere."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def stamps(self) -> dict[str, str]:
        """The sources in it, each with the stamp of what it was made from."""
        return dict(self._db.execute("SELECT id, stamp FROM source"))

    def meta(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def bound_to_branches(self, now: float) -> list[Placed]:
        """The sessions that do not count everywhere yet."""
        query = (
            "SELECT id, branches, everywhere, stamp FROM source WHERE kind = 'session' AND branches <> '' "
            "AND (everywhere IS NULL OR everywhere > ?) ORDER BY id"
        )
        return [Placed(*row) for row in self._db.execute(query, (now,))]

    def count_from(self, id: str, at: float) -> None:
        """From this moment on a session counts on every branch."""
        self._db.execute("UPDATE source SET everywhere = ? WHERE id = ?", (at, id))

    def count_on(self, id: str, branches: Iterable[str]) -> None:
        self._db.execute("UPDATE source SET branches = ? WHERE id = ?", ("\n".join(branches), id))

    def taken_back(self) -> list[str]:
        """The sessions whose commits were reverted."""
        query = "SELECT id FROM source WHERE number IN (SELECT source FROM line WHERE status = ?) ORDER BY id"
        return [id for (id,) in self._db.execute(query, (_REVERTED,))]

    def take_back(self, sessions: Iterable[str]) -> None:
        """What was agreed in these sessions does not hold any more; what was taken back before and is not now, does."""
        self._db.execute("UPDATE line SET status = 'agreed' WHERE status = ?", (_REVERTED,))
        self._db.executemany(
            "UPDATE line SET status = ? WHERE status = 'agreed' AND source = (SELECT number FROM source WHERE id = ?)",
            [(_REVERTED, session) for session in sessions],
        )

    def remove(self, ids: Iterable[str]) -> None:
        for id in ids:
            rows = self._db.execute("DELETE FROM source WHERE id = ? RETURNING number", (id,)).fetchall()
            self._db.executemany("DELETE FROM line WHERE source = ?", rows)

    def remove_all(self, kind: str) -> None:
        self._db.execute(
            "DELETE FROM line WHERE source IN (SELECT number FROM source WHERE kind = ?)", (kind,)
        )
        self._db.execute("DELETE FROM source WHERE kind = ?", (kind,))

    def put(self, sources: Iterable[Source]) -> int:
        """Adds sources, or replaces those with the same id; returns how many."""
        (last,) = self._db.execute("SELECT coalesce(max(number), 0) FROM source").fetchone()
        postings: dict[str, array[int]] = defaultdict(lambda: array("I"))
        number = first = int(last)
        size = 0
        for number, (source, vector) in enumerate(_with_vectors(sources), first + 1):
            self.remove([source.id])
            turns = [_words(turn) for turn in source.turns[:_MOST_TURNS]]
            counts = Counter(word for turn in turns for word in turn)
            length = sum(counts.values())
            for word, count in counts.items():
                postings[word].extend((number, impact(count, length, USUAL_LENGTHS[source.kind])))
            size += len(counts)
            self._db.execute(
                "INSERT INTO source VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                _row(number, source, turns, vector),
            )
            self._db.executemany(
                "INSERT INTO line VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _lines(number, source)
            )
            if size > 2_000_000:
                self._add_postings(postings)
                postings.clear()
                size = 0
        self._add_postings(postings)
        return number - first

    def _add_postings(self, postings: dict[str, array[int]]) -> None:
        names = sorted(postings)
        for start in range(0, len(names), _AT_ONCE):
            part = names[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            rows = self._db.execute(f"SELECT word, sources FROM word WHERE word IN ({marks})", part)
            known = dict(rows.fetchall())
            self._db.executemany(
                "INSERT OR REPLACE INTO word VALUES (?, ?, ?)",
                ((word, weight_of(word), known.get(word, b"") + postings[word].tobytes()) for word in part),
            )

    def last(self) -> int:
        """The highest number that a source has."""
        return int(self._db.execute("SELECT coalesce(max(number), 0) FROM source").fetchone()[0])

    def link_sessions(self, after: int) -> None:
        """Notes which sessions with a number above `after` are about the same subject as an earlier or later one.

        What the later one says comes first: it amends the earlier one, or goes on with it.
        """
        rows = self._db.execute(
            "SELECT number, at, turns, vector FROM source WHERE number > ? AND kind = 'session' AND at IS NOT NULL",
            (after,),
        ).fetchall()
        self._count_sources()
        for number, at, turns, vector in rows:
            own = set(turns.split())
            for other in Telling(self._db, turns, None, "", 0.0).nearest("session", _RELATED):
                if other == number:
                    continue
                ((other_at, other_turns, other_vector),) = self._db.execute(
                    "SELECT at, turns, vector FROM source WHERE number = ?", (other,)
                ).fetchall()
                if other_at is None or not is_same_subject(
                    own, set(other_turns.split()), vector, other_vector
                ):
                    continue
                pair = (other, number) if other_at < at else (number, other)
                self._db.execute("INSERT OR IGNORE INTO follows VALUES (?, ?)", pair)

    def _count_sources(self) -> None:
        (sources,) = self._db.execute("SELECT count(*) FROM source").fetchone()
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('sources', ?)", (str(sources),))


def without_pipe(path: Path) -> Path:
    """The path of a derived file, once no pipe stands in its place: SQLite would wait for it for ever."""
    if path.is_fifo():
        path.unlink()
    return path


@contextmanager
def open_told(memory: Path) -> Iterator[ToldIndex]:
    """The index of a memory, in one write transaction. A damaged file, or one of another format, is made anew."""
    path = memory / NAME
    try:
        with closing(_opened(without_pipe(path))) as db:
            try:
                index = ToldIndex(db)
                yield index
                index._count_sources()
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # a full disk has ended it already
                    db.execute("ROLLBACK")
                raise
    except sqlite3.Error as error:
        fix = "Check the disk; the file is derived, and you can delete it"
        raise StoreError(str(error), where=str(path), fix=fix) from error


def _opened(path: Path) -> sqlite3.Connection:
    for attempt in (1, 2):
        db = sqlite3.connect(path, timeout=30, isolation_level=None)
        try:
            db.execute(f"PRAGMA synchronous={'OFF' if is_discarding() else 'NORMAL'}")
            db.execute("BEGIN IMMEDIATE")
            if not _is_current(db):
                raise sqlite3.DatabaseError("another format")
            break
        except sqlite3.DatabaseError as error:
            db.close()
            # An OperationalError is the disk's or another process's: the file itself may be sound.
            if attempt == 2 or isinstance(error, sqlite3.OperationalError):
                raise
            files.discard([path, path.with_name(f"{NAME}-journal")])
            _create(path)
    return db


def is_same_subject(some: set[str], other: set[str], vector: bytes, other_vector: bytes) -> bool:
    """Whether two sessions are about the same thing, by the words that they share and by what they say."""
    fewer = min(sum(map(weight_of, some)), sum(map(weight_of, other)))
    shared = sum(map(weight_of, some & other))
    if not fewer or shared / fewer < _SHARED:
        return False
    mine, theirs = memoryview(vector).cast("b"), memoryview(other_vector).cast("b")
    product: int = sum(map(mul, mine, theirs))
    return product / UNIT**2 >= _NEAR


def _is_current(db: sqlite3.Connection) -> bool:
    try:
        rows: list[tuple[str]] = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return False
        raise
    return len(rows) == 1 and rows[0][0] == FORMAT


def _create(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        if _is_current(db):  # another process was first
            db.execute("ROLLBACK")
            return
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        languages = "\n".join(" ".join(sorted(listed)) for listed in OTHER_LANGUAGES.values())
        values = {
            "format": FORMAT,
            "empty": " ".join(sorted(ENGLISH)),
            "languages": languages,
            "sources": "0",
        }
        db.executemany("INSERT INTO meta VALUES (?, ?)", values.items())
        db.executemany("INSERT INTO word VALUES (?, ?, x'')", _background().items())
        db.execute("COMMIT")


def _with_vectors(sources: Iterable[Source]) -> Iterator[tuple[Source, bytes]]:
    """Each source with the vector of what it may be told in."""
    from holdfast.search.embed.static import StaticTable

    table: StaticTable | None = None
    batch: list[Source] = []

    def embedded() -> Iterator[tuple[Source, bytes]]:
        nonlocal table
        if batch:
            table = table or StaticTable()
            texts = [" ".join([source.title, *map(_text, _agreed(source))]) for source in batch]
            yield from zip(batch, table.embed(texts), strict=True)
            batch.clear()

    for source in sources:
        batch.append(source)
        if len(batch) == _EMBEDDED:
            yield from embedded()
    yield from embedded()


def _agreed(source: Source) -> list[Statement]:
    return [statement for statement in source.statements if statement.status == "agreed"]


def _text(statement: Statement) -> str:
    return statement.text


def _row(number: int, source: Source, turns: Sequence[Sequence[str]], vector: bytes) -> tuple[object, ...]:
    found_by = "\n".join(" ".join(dict.fromkeys(turn[:_MOST_WORDS])) for turn in turns)
    branches = "\n".join(source.branches)
    identity = (number, source.id, source.kind, source.at, source.title, source.who, source.project)
    worth = sum(statement.worth for statement in _agreed(source))
    return (*identity, branches, source.everywhere_from, found_by, worth, vector, source.stamp)


def _lines(number: int, source: Source) -> Iterator[tuple[object, ...]]:
    for position, statement in enumerate(source.statements):
        text = told_text(statement, source)
        yield (
            number,
            position,
            statement.id,
            statement.kind,
            statement.status,
            statement.who,
            statement.worth,
            text,
            count_tokens(text),
            line_words(text),
        )


def line_words(text: str) -> str:
    """The words and numbers of a line, by which the hook finds it."""
    return " ".join(dict.fromkeys((*_words(text), *_NUMBER.findall(text))))


def told_text(statement: Statement, source: Source) -> str:
    """A statement as it stands in a line: with the question that it answers, where it has one."""
    text = " ".join(statement.text.split())
    subject = " ".join(statement.subject.split()) if source.kind == "session" else ""
    return f"{subject} → {text}" if subject else text


def _words(text: str) -> list[str]:
    return words(text, ENGLISH)


def weight_of(word: str) -> float:
    return _background().get(word, RARE)


@cache
def _background() -> dict[str, float]:
    """How much a word says that is common in the talk of people and coding agents; `scripts/background.py` counts."""
    text = Path(__file__).with_name(_BACKGROUND).read_text(encoding="utf-8")
    pairs = (line.split(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {word: int(weight) / 10 for word, weight in pairs}
