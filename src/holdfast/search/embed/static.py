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
import unicodedata
from array import array
from collections.abc import Sequence
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# --- the contract of an embedder -----------------------------------------------------------------------

UNIT = 300
"""The length of every vector: a unit vector times this, rounded, fits into signed bytes but for rare outliers.

The cosine of two texts is the dot product of their vectors over UNIT squared. Whole numbers are summed exactly in
whatever order, so the same texts have the same cosine with numpy, without it, and on every machine.
"""


class Embedder(Protocol):
    """A way to embed text. `name` is stored with the vectors: another name means they are made again.

    One that orders its values, those that tell texts apart first, may have a whole number `leading`: so many of them
    are enough to choose among more than 100,000 texts which ones are compared by all. One that makes strange words up
    from pieces may have `knows(text)`: whether any word of a text means something to it. The pieces of what is no word
    are near to anything, nearer than words on another subject. One that was made for
    some scripts may have `reads(text)`: the part of a question in letters that it understands. To an English model all
    Cyrillic is near to all Cyrillic, by its letters. One on another scale than the shipped table may have
    a number `unrelated`: what the cosine of the nearest of some hundred texts stays below in 85 of 100 questions that
    none of them answers (`fuse.UNRELATED` unless told). Evidence is measured from there; ranking is not.
    """

    name: str
    width: int

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """For each text `width` signed bytes of length UNIT; all zero for a text that says nothing."""


# --- word pieces ---------------------------------------------------------------------------------------

UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"

_LONGEST_WORD = 100  # the original gives up on longer words, and so do we
_MOST_REMEMBERED = 200_000  # words whose pieces are kept; blobs must not fill the memory
_MIDDLE = "##"


def _is_han(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )


def _is_punctuation(code: int, category: str) -> bool:
    """The original counts every ASCII sign as punctuation, also `$` and `^`, which Unicode calls symbols."""
    is_ascii_sign = 33 <= code <= 126 and not chr(code).isalnum()
    return is_ascii_sign or category.startswith("P")


class _Letters(dict[int, str]):
    """What becomes of each character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = result = self._treat(code)
        return result

    @staticmethod
    def _treat(code: int) -> str:
        char = chr(code)
        if char in "\t\n\r":
            return " "
        category = unicodedata.category(char)
        if code in (0, 0xFFFD) or category in {"Cc", "Cf", "Co", "Cs", "Mn"}:
            return ""
        if category == "Zs":
            return " "
        if _is_han(code) or _is_punctuation(code, category):
            return f" {char} "
        return char


class _Latin(dict[int, str | int]):
    """Each character as it is, but a space for a letter of another script, worked out when it is first met."""

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        is_foreign = code > 127 and char.isalpha() and "LATIN" not in unicodedata.name(char, "")
        self[code] = result = " " if is_foreign else code
        return result


_latin = _Latin()


def latin(text: str) -> str:
    """A text without letters of other scripts: the vocabulary has those one by one, and they mean nothing."""
    return text if text.isascii() else text.translate(_latin)


class WordPiece:
    """A vocabulary and the greedy longest match over it."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._numbers = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        self._letters = _Letters()
        self._known: dict[str, tuple[int, ...]] = {}
        self.unknown = self._numbers[UNKNOWN]
        self.start = self._numbers[START]
        self.end = self._numbers[END]

    @classmethod
    def read(cls, path: Path) -> WordPiece:
        return cls(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))

    def words(self, text: str) -> list[str]:
        """Lower-case words and single signs, without accents."""
        if not text.isascii():
            text = unicodedata.normalize("NFD", text)
        return text.lower().translate(self._letters).split()

    def has_word(self, text: str) -> bool:
        """Whether any word of the text is in the vocabulary as a whole; letters and syllables are no words."""
        return any(
            word in self._numbers and (len(word) > 2 or not word.isascii()) for word in self.words(text)
        )

    def pieces(self, text: str, most: int | None = None) -> list[int]:
        """The numbers of the pieces of `text`, `most` of them at the utmost."""
        found: list[int] = []
        known = self._known
        for word in self.words(text):
            numbers = known.get(word)
            found.extend(self._pieces_of_word(word) if numbers is None else numbers)
            if most is not None and len(found) >= most:
                return found[:most]
        return found

    def _pieces_of_word(self, word: str) -> tuple[int, ...]:
        numbers = self._longest_matches(word)
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        self._known[word] = numbers
        return numbers

    def _longest_matches(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (self.unknown,)
        found: list[int] = []
        at = 0
        while at < len(word):
            for end in range(len(word), at, -1):
                piece = word[at:end] if at == 0 else _MIDDLE + word[at:end]
                number = self._numbers.get(piece)
                if number is not None:
                    break
            else:
                return (self.unknown,)
            found.append(number)
            at = end
        return tuple(found)


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
