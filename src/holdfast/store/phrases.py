"""Finds phrases in a text by windows of words, ignoring case and the blanks between words.

The phrase itself is not needed: a hash of its folded words and their number are enough. Only whole words match: `rest`
is not found in `restart`. A long phrase is also recognised by its start, because stored texts may be cut.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from holdfast.core.patterns import lazy_regex

FORGOTTEN = "[forgotten]"
SHORTEST = 4
HEAD = 16
_LEAST_CUT = 2  # words of a phrase that identify it at the cut end of a text

# Scripts without blanks between words, and Hangul, whose words have endings: every character is a word.
_SIGNS = (
    r"\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_MARKS = r"\u0300-\u036f"
_BLANKS = r"\s\u00ad\u200b-\u200f\u2060\ufeff"
_TOKEN = lazy_regex(
    rf"{re.escape(FORGOTTEN)}|[{_SIGNS}]|(?:(?![{_SIGNS}])[^\W_]|[{_MARKS}])+|[^\w{_BLANKS}]|_"
)
_EDGE = "\"'“”‘’«»`"
_END = f".,;:!?…{_EDGE}"
# ASCII, and dashes, quotes, arrows, boxes and ticks, which are no part of a word: a word here is ASCII, too.
_PLAIN = lazy_regex(r"[\x00-\x7f\u2010-\u2027\u2190-\u21ff\u2500-\u2767]*")
_NOTHING = "\0"  # the folded form of `[forgotten]`: equal to no word


class Token(Struct, frozen=True):
    """A folded word or sign, and its position."""

    folded: str
    start: int
    stop: int


def tokens(text: str) -> list[Token]:
    return [
        Token(_NOTHING if match[0] == FORGOTTEN else _fold(match[0]), match.start(), match.end())
        for match in _TOKEN.finditer(text)
    ]


@lru_cache(maxsize=8192)
def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def words_of_phrase(phrase: str) -> tuple[str, ...]:
    """The folded words of a phrase, without surrounding quotes and final punctuation."""
    return tuple(token.folded for token in tokens(phrase.strip().strip(_EDGE).rstrip(_END)))


def whole_key(words: Sequence[str]) -> str:
    return "\x1f".join(words)


def head_key(words: Sequence[str], number: int) -> str:
    """The key of the first words of a phrase with `number` words."""
    return f"{number}\x1e{whole_key(words[:HEAD])}"


class Windows:
    """Finds phrases of given lengths; `known` says whether a key belongs to a phrase."""

    def __init__(self, lengths: Collection[int], known: Callable[[str], bool]) -> None:
        self._lengths = sorted(set(lengths), reverse=True)
        self._known = known

    def __bool__(self) -> bool:
        return bool(self._lengths)

    def found_in(self, text: str) -> bool:
        return bool(self._lengths) and bool(self.spans(text))

    def strip(self, text: str) -> str:
        """The text with `[forgotten]` for every phrase."""
        return replaced(text, self.spans(text)) if self._lengths else text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The positions of phrases: start, and end after the last character."""
        words = tokens(text) if self._lengths else []
        folded = [token.folded for token in words]
        spans: list[tuple[int, int]] = []
        place = 0
        while place < len(words):
            size = self._size_at(folded, place)
            if size:
                spans.append((words[place].start, words[place + size - 1].stop))
            place += size or 1
        return spans

    def _size_at(self, folded: Sequence[str], place: int) -> int:
        remaining = len(folded) - place
        for number in self._lengths:
            if number > HEAD and remaining >= HEAD:
                if not self._known(head_key(folded[place : place + HEAD], number)):
                    continue
                if remaining < number:
                    return remaining  # its end was cut off
            if remaining >= number and self._known(whole_key(folded[place : place + number])):
                return number
        return 0


class Phrases(Windows):
    """Phrases given in full: also finds the start of a phrase at the end of a cut text."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self.words = [words for phrase in phrases if (words := words_of_phrase(phrase))]
        keys = {whole_key(words) for words in self.words}
        keys |= {head_key(words, len(words)) for words in self.words if len(words) > HEAD}
        super().__init__([len(words) for words in self.words], keys.__contains__)
        # A long word of each phrase, or of its start: where none of them is, no phrase is. '' is everywhere.
        self._needed = [
            max(filter(_is_plain_word, words[:HEAD]), key=len, default="") for words in self.words
        ]

    def spans(self, text: str) -> list[tuple[int, int]]:
        is_cut = text.rstrip().endswith("…")
        if not is_cut and (text.isascii() or _PLAIN.fullmatch(text)):
            lowered = text.lower()
            if not any(word in lowered for word in self._needed):
                return []
        spans = super().spans(text)
        if self.words and is_cut:
            cut = self._cut(tokens(text[: text.rindex("…")]))
            if cut is not None and (not spans or spans[-1][1] <= cut[0]):
                spans.append(cut)
        return spans

    def _cut(self, found: Sequence[Token]) -> tuple[int, int] | None:
        """The position of a phrase that is cut off by the end of the text, perhaps inside a word."""
        for words in self.words:
            for size in range(min(len(words), len(found)), 0, -1):
                last = [token.folded for token in found[-size:]]
                long_enough = size >= _LEAST_CUT or (len(words) == 1 and len(last[0]) >= SHORTEST)
                if (
                    long_enough
                    and last[:-1] == list(words[: size - 1])
                    and words[size - 1].startswith(last[-1])
                ):
                    return found[-size].start, found[-1].stop
        return None


def _is_plain_word(word: str) -> bool:
    return word.isascii() and word.isalnum()


def replaced(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    place = 0
    for start, stop in spans:
        pieces += [text[place:start], FORGOTTEN]
        place = stop
    return "".join([*pieces, text[place:]])
