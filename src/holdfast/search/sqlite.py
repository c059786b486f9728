"""The default `Index`: one SQLite file and one file of vectors beside it, for several processes at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

import msgspec
from msgspec import Struct

from holdfast.errors import UsageError
from holdfast.model.search import Changes, Chunk, Hit, Stats
from holdfast.search import fuse, lexical
from holdfast.search.contract import NEAR, NO_WORD, When, checked, seconds, storable, typed
from holdfast.search.database import Database
from holdfast.search.embed.contract import Embedder
from holdfast.search.lookup import Lookup, Question, Scope
from holdfast.search.passages import CLOSELY, spans
from holdfast.search.terms import Terms
from holdfast.search.vectors import Vanished, VectorFile

_MOST_HITS = 1000
_MOST_HOLES = 10_000  # rows of vectors that nothing uses before the index is laid out anew
_TOGETHER = 500
_TRIES = 3
_COLUMNS = "id, hash, kind, project, session, path, line, at, title, text"


class _Ready(Struct, frozen=True):
    """A chunk with all that is written for it, worked out before the lock is taken."""

    chunk: Chunk
    hash: bytes
    spans: list[tuple[int, int]]
    vectors: list[bytes]


class SqliteIndex:
    """Satisfies `Index`. `embedder` None searches by words alone; `tell` hears of work that takes its time."""

    def __init__(
        self, path: Path, embedder: Embedder | None, tell: Callable[[str], None] | None = None
    ) -> None:
        self.path = path
        self._embedder = embedder
        self._tell = tell
        self._lift = fuse.UNRELATED - getattr(embedder, "unrelated", fuse.UNRELATED)
        self._db = Database(path)
        self._terms = Terms(self._db)
        self._file: VectorFile | None = None
        if self._needs_layout():
            self._lay_out_anew()

    def __enter__(self) -> SqliteIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._db.close()

    # --- putting and taking away -------------------------------------------------------------------------

    def put(
        self,
        id: str,
        text: str,
        kind: str = "history",
        when: When = None,
        *,
        title: str = "",
        path: str = "",
        line: int = 0,
        session: str = "",
        project: str = "",
    ) -> bool:
        chunk = Chunk(
            id=id,
            text=text,
            kind=kind,
            when=seconds(when),
            title=title,
            path=path,
            line=line,
            session=session,
            project=project,
        )
        return self.put_many([chunk]).unchanged == 0

    def put_many(self, chunks: Iterable[Chunk]) -> Changes:
        given = {chunk.id: typed(chunk) for chunk in chunks}  # of two with one id the later counts
        hashes = {id: _hash(chunk) for id, chunk in given.items()}
        known = self._hashes(given)
        changed = [id for id in given if known.get(id) != hashes[id]]
        if not changed:
            return Changes(unchanged=len(given))
        ready = self._made_ready([checked(given[id]) for id in changed], [hashes[id] for id in changed])
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
            self._write_vectors(rows)
        self._tidy(gone)
        return Changes(added=added, updated=updated, unchanged=len(given) - added - updated)

    def delete(self, id: str) -> bool:
        return self.delete_many([id]) > 0

    def delete_many(self, ids: Iterable[str]) -> int:
        present = self._hashes([id for id in ids if isinstance(id, str) and storable(id) == id])
        if not present:
            return 0
        count, gone = 0, []
        with self._db.writing():
            for id in self._hashes(present):
                gone += self._remove(id)
                count += 1
        self._tidy(gone)
        return count

    def _made_ready(self, chunks: Sequence[Chunk], hashes: Sequence[bytes]) -> list[_Ready]:
        """Cut up and embedded. No lock is held meanwhile: this is nearly all of the work."""
        cut = [spans(chunk.text) for chunk in chunks]
        vectors: Iterator[bytes] = iter(())
        if self._embedder is not None:
            texts = [
                _to_embed(chunk.title, chunk.text[start:stop])
                for chunk, places in zip(chunks, cut, strict=True)
                for start, stop in places
                if start < CLOSELY
            ]
            vectors = iter(_embedded(self._embedder, texts))
        none = bytes(self._embedder.width) if self._embedder is not None else b""
        return [
            _Ready(
                chunk, hash, places, [next(vectors, none) if start < CLOSELY else none for start, _ in places]
            )
            for chunk, hash, places in zip(chunks, hashes, cut, strict=True)
        ]

    def _insert(self, one: _Ready) -> list[tuple[int, bytes]]:
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
        return self._insert_words(number, chunk.title, chunk.text, one.spans, one.vectors)

    def _insert_words(
        self, number: int, title: str, text: str, places: Sequence[tuple[int, int]], vectors: Sequence[bytes]
    ) -> list[tuple[int, bytes]]:
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

    # --- vectors -----------------------------------------------------------------------------------------

    def _vectors(self) -> VectorFile | None:
        """The file that belongs to the database as it is now."""
        if self._embedder is None:
            return None
        path = self.path.with_name(f"{self.path.stem}-{self._db.meta('generation')}.vec")
        if self._file is None or self._file.path != path:
            if self._file is not None:
                self._file.close()
            leading = getattr(self._embedder, "leading", self._embedder.width)
            self._file = VectorFile(path, self._embedder.width, leading)
        return self._file

    def _write_vectors(self, rows: Sequence[tuple[int, bytes]]) -> None:
        vectors = self._vectors()
        if vectors is None or not rows:
            return
        first = rows[0][0]
        if first == 1:
            vectors.create()
        elif vectors.rows() < first - 1:
            return  # earlier rows are lost; the next question finds the file too short and has it made again
        vectors.write(rows)

    def _needs_layout(self) -> bool:
        """Whether vectors are missing, or are another embedder's."""
        vectors = self._vectors()
        if vectors is None or self._embedder is None:
            return False
        if self._db.meta("embedder") != self._embedder.name:
            return True
        return vectors.rows() < self._db.number("SELECT max(n) FROM passage")

    def _lay_out_anew(self, however_it_is: bool = False) -> None:
        """Number all passages from one and embed them again: the file is gone, of another model, or full of holes."""
        with self._db.writing():
            if not however_it_is and not self._needs_layout():
                return  # another process was faster
            self._say_what_is_made_anew()
            for table in ("passage_words", "whole_words"):
                self._db.ask(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            self._db.ask("DELETE FROM passage")
            self._db.ask("DELETE FROM sqlite_sequence WHERE name = 'passage'")
            self._db.new_generation()
            self._db.set_meta("embedder", self._embedder.name if self._embedder else "")
            last = ""
            while some := self._db.ask(
                f"SELECT n, id, title, text FROM chunk WHERE id > ? ORDER BY id LIMIT {_TOGETHER}", (last,)
            ).fetchall():
                last = some[-1][1]
                chunks = [Chunk(id=id, title=title, text=text) for _, id, title, text in some]
                rows: list[tuple[int, bytes]] = []
                for (number, *_), one in zip(some, self._made_ready(chunks, [b""] * len(some)), strict=True):
                    chunk = one.chunk
                    rows += self._insert_words(number, chunk.title, chunk.text, one.spans, one.vectors)
                self._write_vectors(rows)
        vectors = self._vectors()
        if vectors is not None:
            vectors.sweep(self.path.stem)

    def _say_what_is_made_anew(self) -> None:
        """An index that changes its embedder keeps its owner waiting: he should know what for."""
        made_by = self._db.meta("embedder")
        chunks = self._db.number("SELECT count(*) FROM chunk")
        if self._tell is None or self._embedder is None or not chunks or made_by == self._embedder.name:
            return
        before = f", in place of {made_by}" if made_by else ""
        self._tell(f"The search index is made anew with {self._embedder.name}{before}: {chunks:,} pieces.")

    def _tidy(self, gone: Sequence[int]) -> None:
        if not gone:
            return
        vectors = self._vectors()
        if vectors is not None:
            vectors.blank(sorted(gone))
        last = self._db.number("SELECT max(n) FROM passage")
        if last > _MOST_HOLES and last > 2 * self._db.number("SELECT count(*) FROM passage"):
            self._lay_out_anew(however_it_is=True)

    # --- asking ------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        k: int = 10,
        now: When = None,
        kinds: Collection[str] | None = None,
        project: str | Collection[str] | None = None,
        *,
        before: When = None,
        floor: float = 0.0,
        fitting: bool = False,
    ) -> list[Hit]:
        if not isinstance(query, str) or not isinstance(k, int):
            raise UsageError("a question is a text, and k a whole number", fix="As in search('why', k=5)")
        if k < 1 or not query.strip():
            return []
        text = lexical.composed(storable(query[: lexical.LONGEST_QUERY]))
        projects = [project] if isinstance(project, str) else project
        if isinstance(kinds, str):
            raise UsageError("kinds is a text", fix="Give a list of kinds, as in kinds=['fact']")
        scope = Scope(
            None if kinds is None else tuple(sorted(set(kinds))),
            None if projects is None else tuple(sorted(set(projects))),
            seconds(before),
        )
        vector = self._vector(text)
        least = self._least(text) if fitting else None
        question = Question(text, scope, seconds(now), vector, least, self._lift)
        for _ in range(_TRIES):
            if self._needs_layout():
                self._lay_out_anew()
            with contextlib.suppress(Vanished), self._db.reading():
                lookup = Lookup(self._db, self._terms, self._vectors())
                return lookup.answer(question, min(k, _MOST_HITS), floor)
        with self._db.reading():
            return Lookup(self._db, self._terms, None).answer(question, min(k, _MOST_HITS), floor)

    def _vector(self, query: str) -> bytes | None:
        """The meaning of a question; none of one in letters that the embedder cannot read."""
        read = self._read(query)
        if self._embedder is None or not read.strip():
            return None
        (vector,) = _embedded(self._embedder, [lexical.without_small_words(read)])
        return vector

    def _read(self, query: str) -> str:
        """What the embedder understands of a question."""
        reads = getattr(self._embedder, "reads", None)
        return query if reads is None else str(reads(query))

    def _least(self, query: str) -> float:
        """How near a text must be that shares no word with the question: what is no word is near to anything."""
        knows = getattr(self._embedder, "knows", None)
        return NEAR if knows is None or knows(lexical.without_small_words(self._read(query))) else NO_WORD

    def ids(self) -> Iterator[str]:
        return iter([id for (id,) in self._db.ask("SELECT id FROM chunk ORDER BY id")])

    def text(self, id: str) -> str:
        return next((text for (text,) in self._db.ask("SELECT text FROM chunk WHERE id = ?", [id])), "")

    def mark(self) -> str:
        return self._db.meta("mark")

    def set_mark(self, mark: str) -> None:
        with self._db.writing():
            self._db.set_meta("mark", mark)

    def stats(self) -> Stats:
        with self._db.reading():
            files = [self.path, self.path.with_name(self.path.name + "-wal")]
            vectors = self._vectors()
            files += [vectors.path] if vectors is not None else []
            return Stats(
                chunks=self._db.number("SELECT count(*) FROM chunk"),
                passages=self._db.number("SELECT count(*) FROM passage"),
                bytes=sum(file.stat().st_size for file in files if file.exists()),
                vectors=self._embedder.name if self._embedder is not None else "",
                kinds=dict(self._db.ask("SELECT kind, count(*) FROM chunk GROUP BY kind ORDER BY kind")),
            )


def _embedded(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """A vector for each text. One of another width would shift all that come after it in the file."""
    vectors = embedder.embed(texts)
    if len(vectors) != len(texts) or any(
        not isinstance(vector, bytes) or len(vector) != embedder.width for vector in vectors
    ):
        fix = f"It must give {embedder.width} signed bytes for each of {len(texts)} texts"
        raise UsageError(f"the embedder {embedder.name!r} does not keep to its contract", fix=fix)
    return vectors


def _hash(chunk: Chunk) -> bytes:
    from hashlib import blake2b  # a question needs none, and should not wait for it

    return blake2b(
        msgspec.json.encode(
            [storable(value) if isinstance(value, str) else value for value in _fields(chunk)]
        ),
        digest_size=16,
    ).digest()


def _fields(chunk: Chunk) -> tuple[object, ...]:
    return msgspec.structs.astuple(chunk)


def _to_embed(title: str, text: str) -> str:
    return f"{title}: {text}" if title else text
