"""The default `Index`: one SQLite file and one file of vectors beside it, for several processes at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.model.search import Changes, Chunk, Hit, Stats
from holdfast.search.base import Answer, BaseIndex
from holdfast.search.database import Database
from holdfast.search.embed.static import Embedder
from holdfast.search.sqlite_source import SqliteSource, SqliteVocabulary
from holdfast.search.terms import Terms
from holdfast.search.vectors import Vanished
from holdfast.search.writer import Embedding, Generations

if TYPE_CHECKING:
    from holdfast.search.writer import IndexWriter, Layout


_TRIES = 3


class SqliteIndex(BaseIndex):
    """Satisfies `Index`. `embedder` None searches by words alone; `tell` receives messages about slow work."""

    def __init__(
        self, path: Path, embedder: Embedder | None, tell: Callable[[str], None] | None = None
    ) -> None:
        self.path = path
        self._tell = tell
        self._db = Database(path)
        super().__init__(Terms(SqliteVocabulary(self._db), embedder), Embedding(embedder))
        self._generations = Generations(self._db, self._embedding)
        if self._generations.is_behind():
            self._layout.make_anew()

    # The writer is imported only when needed: most commands only search.

    @cached_property
    def _filling(self) -> IndexWriter:
        from holdfast.search.writer import IndexWriter

        return IndexWriter(self._db, self._generations, self._embedding)

    @cached_property
    def _layout(self) -> Layout:
        from holdfast.search.writer import Layout

        return Layout(self._db, self._generations, self._embedding, self._tell)

    def close(self) -> None:
        self._generations.close()
        self._db.close()

    def put_many(self, chunks: Iterable[Chunk]) -> Changes:
        changes, gone = self._filling.put(chunks)
        if gone:
            self._layout.tidy(gone)
        return changes

    def delete_many(self, ids: Iterable[str]) -> int:
        count, gone = self._filling.delete(ids)
        if gone:
            self._layout.tidy(gone)
        return count

    def _answered(self, answer: Answer) -> list[Hit]:
        for _ in range(_TRIES):
            if self._generations.is_behind():
                self._layout.make_anew()
            with contextlib.suppress(Vanished), self._db.reading():
                return answer(SqliteSource(self._db, self._generations.current()))
        with self._db.reading():
            return answer(SqliteSource(self._db, None))

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
            vectors = self._generations.current()
            files += [vectors.path] if vectors is not None else []
            return Stats(
                chunks=self._db.number("SELECT count(*) FROM chunk"),
                passages=self._db.number("SELECT count(*) FROM passage"),
                bytes=sum(file.stat().st_size for file in files if file.exists()),
                vectors=self._embedding.name,
                kinds=dict(self._db.ask("SELECT kind, count(*) FROM chunk GROUP BY kind ORDER BY kind")),
            )
