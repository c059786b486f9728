"""Splits text into the word pieces of BERT's uncased vocabulary, as the model's own tokenizer does."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

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
