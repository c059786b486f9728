"""Which file of vectors belongs to the database as it is now: the one of its generation."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.search.database import Database
from holdfast.search.embedding import Embedding
from holdfast.search.vectors import VectorFile


class Generations:
    """The current file, opened anew whenever the index was laid out anew, by us or by another process."""

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
