"""Compares the meaning of two texts with the embedder of the search; the embedder is loaded on first use."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable
from operator import mul

from holdfast.search.embed.static import UNIT, Embedder

_BATCH = 12  # texts that the table embeds without numpy, whose import takes longer than a few hundred words
_NUMPY_PAYS = 400


def _table() -> Embedder:
    from holdfast.search.embed.static import StaticTable

    return StaticTable()


class Meanings:
    """Satisfies `distill.paraphrase.Meaning`. Each text is embedded once."""

    def __init__(self, opened: Callable[[], Embedder] = _table) -> None:
        self._opened = opened
        self._embedder: Embedder | None = None
        self._vectors: dict[str, array[int]] = {}

    def prepare(self, texts: Iterable[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if not missing:
            return
        if self._embedder is None:
            self._embedder = self._opened()
        at_once = len(missing) if "numpy" in sys.modules or len(missing) >= _NUMPY_PAYS else _BATCH
        for start in range(0, len(missing), at_once):
            batch = missing[start : start + at_once]
            for text, vector in zip(batch, self._embedder.embed(batch), strict=True):
                self._vectors[text] = array("b", vector)

    def nearness(self, one: str, other: str) -> float:
        self.prepare((one, other))
        product: int = sum(map(mul, self._vectors[one], self._vectors[other]))
        return product / UNIT**2
