"""What an embedder makes of texts and of a question, held to its contract."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import UsageError
from holdfast.search import fuse, lexical
from holdfast.search.contract import NEAR, NO_WORD
from holdfast.search.embed.contract import Embedder


class Embedding:
    """An `Embedder` with what it may say of itself; without one, texts are searched by words alone."""

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder = embedder
        self.name = embedder.name if embedder is not None else ""
        self.width = embedder.width if embedder is not None else 0
        self.leading: int = getattr(embedder, "leading", self.width)
        self.lift: float = fuse.UNRELATED - getattr(embedder, "unrelated", fuse.UNRELATED)
        """By how much its cosines are too small for the floors."""

    def of_texts(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text. One of another width would shift all that come after it in the file."""
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
        """The meaning of a question; none of one in letters that the embedder cannot read."""
        read = self._read(query)
        if self.embedder is None or not read.strip():
            return None
        (vector,) = self.of_texts([lexical.without_small_words(read)])
        return vector

    def least(self, query: str) -> float:
        """How near a text must be that shares no word with the question: what is no word is near to anything."""
        knows = getattr(self.embedder, "knows", None)
        return NEAR if knows is None or knows(lexical.without_small_words(self._read(query))) else NO_WORD

    def _read(self, query: str) -> str:
        """What the embedder understands of a question."""
        reads = getattr(self.embedder, "reads", None)
        return query if reads is None else str(reads(query))
