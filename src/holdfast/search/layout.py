"""Lays an index out anew, all passages numbered from one and embedded again.

For vectors that are gone, are another model's, or lie between too many that nothing uses any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.model.search import Chunk
from holdfast.search.database import Database
from holdfast.search.embedding import Embedding
from holdfast.search.filling import Filling, made_ready
from holdfast.search.generations import Generations

_MOST_HOLES = 10_000  # rows of vectors that nothing uses before the index is laid out anew
_TOGETHER = 500


class Layout:
    """One index, as it can be laid out; `tell` hears what its owner waits for."""

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
        self._filling = Filling(database, generations, embedding)

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
            while some := self._db.ask(
                f"SELECT n, id, title, text FROM chunk WHERE id > ? ORDER BY id LIMIT {_TOGETHER}", (last,)
            ).fetchall():
                last = some[-1][1]
                self._take_in([(n, Chunk(id=id, title=title, text=text)) for n, id, title, text in some])
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
        """An index that changes its embedder keeps its owner waiting: he should know what for."""
        made_by = self._db.meta("embedder")
        chunks = self._db.number("SELECT count(*) FROM chunk")
        if self._tell is None or not self._embedding.name or not chunks or made_by == self._embedding.name:
            return
        before = f", in place of {made_by}" if made_by else ""
        self._tell(f"The search index is made anew with {self._embedding.name}{before}: {chunks:,} pieces.")

    def tidy(self, gone: Sequence[int]) -> None:
        """After passages went: forget their vectors, and close up when most rows are holes."""
        if not gone:
            return
        vectors = self._generations.current()
        if vectors is not None:
            vectors.blank(sorted(gone))
        last = self._db.number("SELECT max(n) FROM passage")
        if last > _MOST_HOLES and last > 2 * self._db.number("SELECT count(*) FROM passage"):
            self.make_anew(however_it_is=True)
