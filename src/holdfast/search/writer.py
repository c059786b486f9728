"""Adds chunks to the tables of an index and removes them: rows, passages and words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from holdfast.core.errors import UsageError
from holdfast.model.search import Changes, Chunk
from holdfast.search import lexical, terms
from holdfast.search.contract import NEAR, NO_WORD, checked, storable, typed
from holdfast.search.database import Database, portions
from holdfast.search.embed.static import Embedder
from holdfast.search.terms import CLOSELY, spans
from holdfast.search.turns import forget_turn, note_turns
from holdfast.search.vectors import VectorFile

# --- embeddings ----------------------------------------------------------------------------------------


class Embedding:
    """An `Embedder` with what it may say of itself; without one, texts are searched by words alone."""

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder = embedder
        self.name = embedder.name if embedder is not None else ""
        self.width = embedder.width if embedder is not None else 0
        self.leading: int = getattr(embedder, "leading", self.width)
        self.lift: float = terms.UNRELATED - getattr(embedder, "unrelated", terms.UNRELATED)
        """By how much its cosines are too small for the floors."""

    def of_texts(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text. A vector of another width would shift all later ones in the file."""
        if self.embedder is None:
            return []
        vectors = self.embedder.embed(texts)
        if len(vectors) != len(texts) or any(
            not isinstance(vector, bytes) or len(vector) != self.width for vector in vectors
        ):
            fix = f"It must give {self.width} signed bytes for each of {len(texts)} texts"
            raise UsageError(f"the embedder {self.name!r} does not keep to its contract", fix=fix)
        return vectors

    def of_question(self, query: str) -> bytes | None:
        """The vector of a query; None if the embedder cannot read its script."""
        read = self._read(query)
        if self.embedder is None or not read.strip():
            return None
        (vector,) = self.of_texts([lexical.without_small_words(read)])
        return vector

    def least(self, query: str) -> float:
        """The least cosine of a text that shares no word with the query: a non-word is close to anything."""
        knows = getattr(self.embedder, "knows", None)
        return NEAR if knows is None or knows(lexical.without_small_words(self._read(query))) else NO_WORD

    def _read(self, query: str) -> str:
        """The part of a query that the embedder understands."""
        reads = getattr(self.embedder, "reads", None)
        return query if reads is None else str(reads(query))


# --- the file of vectors -------------------------------------------------------------------------------


class Generations:
    """The current file, opened again whenever this or another process has rebuilt the index."""

    def __init__(self, database: Database, embedding: Embedding) -> None:
        self._db = database
        self._embedding = embedding
        self._file: VectorFile | None = None

    def current(self) -> VectorFile | None:
        """None where texts have no vectors."""
        if self._embedding.embedder is None:
            return None
        path = self._db.path.with_name(f"{self._db.path.stem}-{self._db.meta('generation')}.vec")
        if self._file is None or self._file.path != path:
            self.close()
            self._file = VectorFile(path, self._embedding.width, self._embedding.leading)
        return self._file

    def is_behind(self) -> bool:
        """Whether vectors are missing, or are another embedder's."""
        vectors = self.current()
        if vectors is None:
            return False
        if self._db.meta("embedder") != self._embedding.name:
            return True
        return vectors.rows() < self._db.number("SELECT max(n) FROM passage")

    def write(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Rows by the number of their passage, inside the database's write transaction."""
        vectors = self.current()
        if vectors is None or not rows:
            return
        first = rows[0][0]
        if first == 1:
            vectors.create()
        elif vectors.rows() < first - 1:
            return  # earlier rows are lost; the next question finds the file too short and has it made again
        vectors.write(rows)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


_COLUMNS = "id, hash, kind, project, session, path, line, at, title, text, data"


class Ready(Struct, frozen=True):
    """A chunk with all its data, computed before the lock is taken."""

    chunk: Chunk
    hash: bytes
    spans: list[tuple[int, int]]
    vectors: list[bytes]


class IndexWriter:
    """The writer's side of one index."""

    def __init__(self, database: Database, generations: Generations, embedding: Embedding) -> None:
        self._db = database
        self._generations = generations
        self._embedding = embedding

    def put(self, chunks: Iterable[Chunk]) -> tuple[Changes, list[int]]:
        """The changes, and the numbers of the removed passages."""
        by_id = {chunk.id: typed(chunk) for chunk in chunks}  # of two with one id the later counts
        hashes = {id: content_hash(chunk) for id, chunk in by_id.items()}
        stored_hashes = self._hashes(by_id)
        ready = prepared(self._embedding, by_id, hashes, stored_hashes)
        if not ready:
            return Changes(unchanged=len(by_id)), []
        added = updated = 0
        gone: list[int] = []
        with self._db.writing():
            stored_hashes = self._hashes([one.chunk.id for one in ready])  # read again under the lock
            ready = [one for one in ready if stored_hashes.get(one.chunk.id) != one.hash]
            rows: list[tuple[int, bytes]] = []
            numbered: list[tuple[int, Chunk]] = []
            for one in ready:
                chunk = one.chunk
                if chunk.id in stored_hashes:
                    gone += self._remove(chunk.id)
                    updated += 1
                else:
                    added += 1
                number = self._insert(one)
                rows += self.insert_words(number, chunk.title, chunk.text, one.spans, one.vectors)
                numbered.append((number, chunk))
            note_turns(self._db, numbered)
            self._generations.write(rows)
        return Changes(added=added, updated=updated, unchanged=len(by_id) - added - updated), gone

    def delete(self, ids: Iterable[str]) -> tuple[int, list[int]]:
        """How many chunks there were, and the numbers of the removed passages."""
        present = self._hashes([id for id in ids if isinstance(id, str) and storable(id) == id])
        count, gone = 0, []
        if present:
            with self._db.writing():
                for id in self._hashes(present):
                    gone += self._remove(id)
                    count += 1
        return count, gone

    def _insert(self, one: Ready) -> int:
        chunk = one.chunk
        marks = ", ".join("?" * 11)
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
                chunk.data,
            ),
        ).lastrowid
        assert number is not None
        return number

    def insert_words(
        self, number: int, title: str, text: str, places: Sequence[tuple[int, int]], vectors: Sequence[bytes]
    ) -> list[tuple[int, bytes]]:
        """Inserts the passages of a chunk and their words; returns the numbered vectors for the caller to write."""
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
        """The later pieces of a dump have no names: their words are enough, and names are most of the work."""
        columns = "rowid, title, body, names"
        values = (number, title, text, lexical.names(f"{title} {text[:CLOSELY]}") if names else "")
        if command:
            self._db.ask(
                f"INSERT INTO {table} ({table}, {columns}) VALUES (?, ?, ?, ?, ?)", (command, *values)
            )
        else:
            self._db.ask(f"INSERT INTO {table} ({columns}) VALUES (?, ?, ?, ?)", values)

    def _remove(self, id: str) -> list[int]:
        """Returns the numbers of the removed passages. FTS5 stores no text, so it needs the original to delete it."""
        ((number, title, text),) = self._db.ask("SELECT n, title, text FROM chunk WHERE id = ?", (id,))
        statement = "SELECT n, start, stop FROM passage WHERE chunk = ?"
        passages = self._db.ask(statement, (number,)).fetchall()
        for passage, start, stop in passages:
            self._words("passage_words", passage, title, text[start:stop], "delete", names=start < CLOSELY)
        if len(passages) > 1:
            self._words("whole_words", number, title, text, "delete")
        self._db.ask("DELETE FROM passage WHERE chunk = ?", (number,))
        self._db.ask("DELETE FROM chunk WHERE n = ?", (number,))
        forget_turn(self._db, number)
        return [passage for passage, _, _ in passages]

    def _hashes(self, ids: Collection[str]) -> dict[str, bytes]:
        hashes: dict[str, bytes] = {}
        for portion in portions([id for id in ids if id]):
            marks = ", ".join("?" * len(portion))
            statement = f"SELECT id, hash FROM chunk WHERE id IN ({marks})"
            hashes.update(self._db.ask(statement, [storable(id) for id in portion]))
        return hashes


def prepared(
    embedding: Embedding, by_id: Mapping[str, Chunk], hashes: Mapping[str, bytes], stored: Mapping[str, bytes]
) -> list[Ready]:
    """The chunks that are not stored as they are."""
    changed = [id for id in by_id if stored.get(id) != hashes[id]]
    return made_ready(embedding, [checked(by_id[id]) for id in changed], [hashes[id] for id in changed])


def made_ready(embedding: Embedding, chunks: Sequence[Chunk], hashes: Sequence[bytes]) -> list[Ready]:
    """Splits and embeds chunks. No lock is held, because this is nearly all of the work."""
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


def content_hash(chunk: Chunk) -> bytes:
    from holdfast.core.hashes import blake2b

    fields = msgspec.structs.astuple(chunk)
    plain = [storable(value) if isinstance(value, str) else value for value in fields]
    return blake2b(msgspec.json.encode(plain), digest_size=16).digest()


def _to_embed(title: str, text: str) -> str:
    return f"{title}: {text}" if title else text


_MOST_HOLES = 10_000  # unused rows of vectors before the index is rebuilt
_LAID_OUT_TOGETHER = 500


class Layout:
    """Rebuilds an index; `tell` receives messages about slow work."""

    def __init__(
        self,
        database: Database,
        generations: Generations,
        embedding: Embedding,
        tell: Callable[[str], None] | None,
    ) -> None:
        self._db = database
        self._generations = generations
        self._embedding = embedding
        self._tell = tell
        self._filling = IndexWriter(database, generations, embedding)

    def make_anew(self, however_it_is: bool = False) -> None:
        with self._db.writing():
            if not however_it_is and not self._generations.is_behind():
                return  # another process was faster
            self._say_what_is_made_anew()
            for table in ("passage_words", "whole_words"):
                self._db.ask(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            self._db.ask("DELETE FROM passage")
            self._db.ask("DELETE FROM sqlite_sequence WHERE name = 'passage'")
            self._db.new_generation()
            self._db.set_meta("embedder", self._embedding.name)
            last = ""
            while batch := self._db.ask(
                f"SELECT n, id, title, text FROM chunk WHERE id > ? ORDER BY id LIMIT {_LAID_OUT_TOGETHER}",
                (last,),
            ).fetchall():
                last = batch[-1][1]
                self._take_in([(n, Chunk(id=id, title=title, text=text)) for n, id, title, text in batch])
        vectors = self._generations.current()
        if vectors is not None:
            vectors.sweep(self._db.path.stem)

    def _take_in(self, numbered: Sequence[tuple[int, Chunk]]) -> None:
        chunks = [chunk for _, chunk in numbered]
        rows: list[tuple[int, bytes]] = []
        for (number, chunk), one in zip(
            numbered, made_ready(self._embedding, chunks, [b""] * len(chunks)), strict=True
        ):
            rows += self._filling.insert_words(number, chunk.title, chunk.text, one.spans, one.vectors)
        self._generations.write(rows)

    def _say_what_is_made_anew(self) -> None:
        """Reports a change of the embedder, which takes a while."""
        made_by = self._db.meta("embedder")
        chunks = self._db.number("SELECT count(*) FROM chunk")
        if self._tell is None or not self._embedding.name or not chunks or made_by == self._embedding.name:
            return
        before = f", in place of {made_by}" if made_by else ""
        self._tell(
            f"The search index is being rebuilt with {self._embedding.name}{before}: {chunks:,} pieces."
        )

    def tidy(self, gone: Sequence[int]) -> None:
        """Clears the vectors of removed passages, and rebuilds the index if most rows are unused."""
        if not gone:
            return
        vectors = self._generations.current()
        if vectors is not None:
            vectors.blank(sorted(gone))
        last = self._db.number("SELECT max(n) FROM passage")
        if last > _MOST_HOLES and last > 2 * self._db.number("SELECT count(*) FROM passage"):
            self.make_anew(however_it_is=True)
