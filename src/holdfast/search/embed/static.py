"""The default embedder: a table with a vector for each word piece, distilled from all-MiniLM-L6-v2.

A text is the weighted sum of its pieces. `scripts/distill_embeddings.py` made the table and says how. Numbers are
whole until the last step, so that the plain loop and numpy give the same bytes; the loop serves a single query
faster than numpy is imported.
"""

from __future__ import annotations

import math
import mmap
import os
import sys
from array import array
from collections.abc import Sequence
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.search.embed.contract import UNIT
from holdfast.search.embed.wordpiece import WordPiece, latin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = os.path.dirname(__file__)
TABLE, VOCABULARY = "static.i8", "vocab.txt"
WIDTH = 384
LARGEST_WEIGHT = 4095  # with at most 256 pieces the sums of squares stay below 2**63

_MOST_PIECES = 256
_FEW = 12  # texts; for more than this numpy is worth its import


class StaticTable:
    """Embeds with the table that is shipped."""

    name = "minilm-static-1"
    width = WIDTH
    leading = 128  # the table lies on its principal axes: four fifths of what tells texts apart are in these

    def __init__(self) -> None:
        self._pieces = WordPiece.read(Path(FOLDER, VOCABULARY))
        with open(Path(FOLDER, TABLE), "rb") as file:
            self._table = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._count = len(self._table) // (WIDTH + 2)
        self._weights = array("H", self._table[self._count * WIDTH :])
        if sys.byteorder == "big":
            self._weights.byteswap()
        self._matrix: NDArray[np.int8] | None = None

    def reads(self, text: str) -> str:
        return latin(text)

    def knows(self, text: str) -> bool:
        return self._pieces.has_word(text)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        pieces = [self._pieces.pieces(text, _MOST_PIECES) for text in texts]
        if len(texts) <= _FEW and sys.modules.get("numpy") is None:
            return [self._embed_plainly(numbers) for numbers in pieces]
        try:
            import numpy
        except ImportError:
            return [self._embed_plainly(numbers) for numbers in pieces]
        if self._matrix is None:
            flat = numpy.frombuffer(self._table, dtype=numpy.int8, count=self._count * WIDTH)
            self._matrix = flat.reshape(self._count, WIDTH)
        return [self._embed_with_numpy(numbers) for numbers in pieces]

    def _embed_plainly(self, pieces: Sequence[int]) -> bytes:
        sums = [0] * WIDTH
        for piece in pieces:
            row = memoryview(self._table)[piece * WIDTH : (piece + 1) * WIDTH].cast("b")
            weight = self._weights[piece]
            sums = [total + weight * value for total, value in zip(sums, row, strict=True)]
        factor = _factor(sum(map(mul, sums, sums)))
        return array("b", [max(-127, min(127, round(value * factor))) for value in sums]).tobytes()

    def _embed_with_numpy(self, pieces: Sequence[int]) -> bytes:
        import numpy

        assert self._matrix is not None
        # Doubles hold every whole number that can arise, and their product is many times faster than that of ints.
        weights = numpy.array([self._weights[piece] for piece in pieces], dtype=numpy.float64)
        sums = weights @ self._matrix[pieces].astype(numpy.float64)
        whole = sums.astype(numpy.int64)
        factor = _factor(int(whole @ whole))
        scaled: NDArray[np.float64] = numpy.clip(numpy.rint(sums * factor), -127, 127)
        return scaled.astype(numpy.int8).tobytes()


def _factor(squares: int) -> float:
    return UNIT / math.sqrt(squares) if squares else 0.0
