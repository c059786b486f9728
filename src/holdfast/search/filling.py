"""Puts chunks into the tables of an index and takes them out: their rows, their passages and their words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct

from holdfast.model.search import Changes, Chunk
from holdfast.search import lexical
from holdfast.search.contract import checked, storable, typed
from holdfast.search.database import Database
from holdfast.search.embedding import Embedding
from holdfast.search.generations import Generations
from holdfast.search.passages import CLOSELY, spans

_TOGETHER = 500
_COLUMNS = "id, hash, kind, project, session, path, line, at, title, text"


class Ready(Struct, frozen=True):
    """A chunk with all that is written for it, worked out before the lock is taken."""

    chunk: Chunk
    hash: bytes
    spans: list[tuple[int, int]]
    vectors: list[bytes]


class Filling:
    """The writer's side of one index."""

    def __init__(self, database: Database, generations: Generations, embedding: Embedding) -> None:
        self._db = database
        self._generations = generations
        self._embedding = embedding

    def put(self, chunks: Iterable[Chunk]) -> tuple[Changes, list[int]]:
        """What that did, and the numbers of the passages that are gone by it."""
        given = {chunk.id: typed(chunk) for chunk in chunks}  # of two with one id the later counts
        hashes = {id: _hash(chunk) for id, chunk in given.items()}
        known = self._hashes(given)
        changed = [id for id in given if known.get(id) != hashes[id]]
        if not changed:
            return Changes(unchanged=len(given)), []
        ready = made_ready(
            self._embedding, [checked(given[id]) for id in changed], [hashes[id] for id in changed]
        )
        added = updated = 0
        gone: list[int] = []
        with self._db.writing():
            known = self._hashes(changed)  # as it is now that nobody else writes
            ready = [one for one in ready if known.get(one.chunk.id) != one.hash]
            rows: list[tuple[int, bytes]] = []
            for one in ready:
                if one.chunk.id in known:
                    gone += self._remove(one.chunk.id)
                    updated += 1
                else:
                    added += 1
                rows += self._insert(one)
            self._generations.write(rows)
        return Changes(added=added, updated=updated, unchanged=len(given) - added - updated), gone

    def delete(self, ids: Iterable[str]) -> tuple[int, list[int]]:
        """How many there were, and the numbers of the passages that are gone."""
        present = self._hashes([id for id in ids if isinstance(id, str) and storable(id) == id])
        count, gone = 0, []
        if present:
            with self._db.writing():
                for id in self._hashes(present):
                    gone += self._remove(id)
                    count += 1
        return count, gone

    def _insert(self, one: Ready) -> list[tuple[int, bytes]]:
        chunk = one.chunk
        marks = ", ".join("?" * 10)
        number = self._db.ask(
            f"INSERT INTO chunk ({_COLUMNS}) VALUES ({marks})",
            (
                chunk.id,
                one.hash,
                chunk.kind,
                chunk.project,
                chunk.session,
                chunk.path,
                chunk.line,
                chunk.when,
                chunk.title,
                chunk.text,
            ),
        ).lastrowid
        assert number is not None
        return self.insert_words(number, chunk.title, chunk.text, one.spans, one.vectors)

    def insert_words(
        self, number: int, title: str, text: str, places: Sequence[tuple[int, int]], vectors: Sequence[bytes]
    ) -> list[tuple[int, bytes]]:
        """The passages of a chunk and their words; their vectors, each with its number, are left to the caller."""
        rows = []
        for (start, stop), vector in zip(places, vectors, strict=True):
            statement = "INSERT INTO passage (chunk, start, stop) VALUES (?, ?, ?)"
            passage = self._db.ask(statement, (number, start, stop)).lastrowid
            assert passage is not None
            self._words("passage_words", passage, title, text[start:stop], names=start < CLOSELY)
            rows.append((passage, vector))
        if len(places) > 1:
            self._words("whole_words", number, title, text)
        return rows

    def _words(
        self, table: str, number: int, title: str, text: str, command: str = "", *, names: bool = True
    ) -> None:
        """A dump's later pieces are without names: their words are enough, and names are most of the work."""
        columns = "rowid, title, body, names"
        values = (number, title, text, lexical.names(f"{title} {text[:CLOSELY]}") if names else "")
        if command:
            self._db.ask(
                f"INSERT INTO {table} ({table}, {columns}) VALUES (?, ?, ?, ?, ?)", (command, *values)
            )
        else:
            self._db.ask(f"INSERT INTO {table} ({columns}) VALUES (?, ?, ?, ?)", values)

    def _remove(self, id: str) -> list[int]:
        """The numbers of the passages that are gone. FTS5 is told what it was given, for it keeps no text."""
        ((number, title, text),) = self._db.ask("SELECT n, title, text FROM chunk WHERE id = ?", (id,))
        statement = "SELECT n, start, stop FROM passage WHERE chunk = ?"
        passages = self._db.ask(statement, (number,)).fetchall()
        for passage, start, stop in passages:
            self._words("passage_words", passage, title, text[start:stop], "delete", names=start < CLOSELY)
        if len(passages) > 1:
            self._words("whole_words", number, title, text, "delete")
        self._db.ask("DELETE FROM passage WHERE chunk = ?", (number,))
        self._db.ask("DELETE FROM chunk WHERE n = ?", (number,))
        return [passage for passage, _, _ in passages]

    def _hashes(self, ids: Collection[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        listed = [id for id in ids if id]
        for at in range(0, len(listed), _TOGETHER):
            some = listed[at : at + _TOGETHER]
            marks = ", ".join("?" * len(some))
            statement = f"SELECT id, hash FROM chunk WHERE id IN ({marks})"
            found.update(self._db.ask(statement, [storable(id) for id in some]))
        return found


def made_ready(embedding: Embedding, chunks: Sequence[Chunk], hashes: Sequence[bytes]) -> list[Ready]:
    """Cut up and embedded. No lock is held meanwhile: this is nearly all of the work."""
    cut = [spans(chunk.text) for chunk in chunks]
    texts = [
        _to_embed(chunk.title, chunk.text[start:stop])
        for chunk, places in zip(chunks, cut, strict=True)
        for start, stop in places
        if start < CLOSELY
    ]
    vectors: Iterator[bytes] = iter(embedding.of_texts(texts))
    none = bytes(embedding.width)
    return [
        Ready(chunk, hash, places, [next(vectors, none) if start < CLOSELY else none for start, _ in places])
        for chunk, hash, places in zip(chunks, hashes, cut, strict=True)
    ]


def _hash(chunk: Chunk) -> bytes:
    fields = msgspec.structs.astuple(chunk)
    plain = [storable(value) if isinstance(value, str) else value for value in fields]
    return blake2b(msgspec.json.encode(plain), digest_size=16).digest()


def _to_embed(title: str, text: str) -> str:
    return f"{title}: {text}" if title else text
