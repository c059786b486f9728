"""Keywords of a goal for the ledger: enough to recognise a session, never its text, a path or a key."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache

from holdfast.text.prose import prose_of
from holdfast.text.stopwords import ENGLISH, OTHER_LANGUAGES, SHORT_TERMS, WEAK
from holdfast.text.words import Word, words_of

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\s+->\s+")
_HEADING = re.compile(r"^#{1,3}\s+")
_SENTENCES = 400
_TITLE_WORDS = 3

_LABELS = {"option", "plan", "step", "phase", "point", "item", "choice", "part", "appendix", "section", "b"}
_LANGUAGE_BEFORE = {"in", "using", "from", "with", "of"}
_GO_BEFORE = {"to", "let", "lets", "we", "i", "you", "they", "it", "should", "can", "will", "would", "could"}
_GO_BEFORE |= {"must", "gonna", "then", "and", "don", "not", "did", "ll"}
_GO_AFTER = {"through", "with", "ahead", "back", "over", "deeper", "forward", "wrong", "away"}
_GO_AFTER_START = _GO_AFTER | {"to", "into", "on", "for", "and", "in", "find", "look", "see", "get", "check"}
_FORBIDDEN = re.compile(r"[\s/\\|\x00-\x1f\x7f]")


class _Candidate:
    """A word that may become a keyword, with what speaks for it."""

    __slots__ = ("acronym", "count", "order", "said", "text", "titled")

    def __init__(self, word: Word, order: int) -> None:
        self.text = word.text
        self.order = order
        self.count = 0
        self.said = self.titled = self.acronym = False

    def seen(self, word: Word, titled: bool) -> None:
        self.count += 1
        self.said |= word.said
        self.titled |= titled
        self.acronym |= word.acronym

    @property
    def weight(self) -> float:
        weight = 3.0 if self.titled else 0.5 * self.acronym
        weight += min(self.count - 1, 4) * 0.7
        return weight - 1.5 * (not self.said) - 2.5 * (self.text in WEAK)


def keywords(goal: str, limit: int = 8) -> tuple[str, ...]:
    """The telling words of `goal` in the order of their first appearance, at most `limit` of them.

    Secrets are removed by the caller before; markers left in their place vanish. Never raises.
    """
    prose = prose_of(goal)
    found = _candidates(list(_sentences(prose.lines)))
    if not found:
        found = _candidates(list(_sentences(prose.complaints[:3])))
    chosen = sorted(found, key=lambda candidate: (-candidate.weight, candidate.order))[: max(limit, 0)]
    return tuple(candidate.text for candidate in sorted(chosen, key=lambda candidate: candidate.order))


def _sentences(lines: Iterable[str]) -> Iterator[tuple[bool, list[Word]]]:
    """Each sentence with its words, and whether it is a heading."""
    number = 0
    for line in lines:
        is_heading = bool(_HEADING.match(line))
        for sentence in _SENTENCE_END.split(line):
            number += 1
            if number > _SENTENCES:
                return
            yield is_heading, list(words_of(sentence))


def _candidates(sentences: Sequence[tuple[bool, list[Word]]]) -> list[_Candidate]:
    stops = _stop_words([word.text for _, words in sentences for word in words])
    found: dict[str, _Candidate] = {}
    titled_so_far = headings = order = 0
    for is_heading, words in sentences:
        titled = titled_so_far < _TITLE_WORDS or (is_heading and headings == 0)
        headings += is_heading
        for index, word in enumerate(words):
            if not _tells_something(words, index, stops):
                continue
            known = found.setdefault(singular(word.text), _Candidate(word, order))
            order += 1
            known.seen(word, titled)
            titled_so_far += titled and word.text not in WEAK
    return list(found.values())


def _stop_words(words: Sequence[str]) -> frozenset[str]:
    """English always; another language when its small words are in the text as much as the English ones."""
    present = set(words)
    english = len(present & ENGLISH)
    stops = ENGLISH
    for listed, own in _other_languages():
        hits = len(present & own)
        if hits and hits * 2 >= english:
            stops |= listed
    return stops


@cache
def _other_languages() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Each language's small words, with and without accents, and those of them that are not English."""
    lists = [listed | {_unaccented(word) for word in listed} for listed in OTHER_LANGUAGES.values()]
    return tuple((frozenset(listed), frozenset(listed - ENGLISH)) for listed in lists)


def _tells_something(words: Sequence[Word], index: int, stops: frozenset[str]) -> bool:
    word = words[index]
    text = word.text
    if _FORBIDDEN.search(text):
        return False
    before = words[index - 1].text if index else ""
    after = words[index + 1].text if index + 1 < len(words) else ""
    if text == "go":
        return _is_language_go(before, after)
    if text in {"c", "r"}:
        return before not in _LABELS and after != "d" and (text == "c" or before in _LANGUAGE_BEFORE)
    if text in SHORT_TERMS:
        return word.acronym or text not in stops
    if text in stops and not (word.acronym and text not in ENGLISH):
        return False
    return len(text) > 2 or word.acronym or (len(text) == 2 and not _needs_three(text))


def _is_language_go(before: str, after: str) -> bool:
    if before in _LANGUAGE_BEFORE:
        return True
    if not before:
        return after not in _GO_AFTER_START
    return before not in _GO_BEFORE and after not in _GO_AFTER


def _needs_three(text: str) -> bool:
    """Alphabets, where two letters are a particle; Han, Kana and Hangul say a word in two signs."""
    return text[0] < "\u0e00"


@lru_cache(20_000)
def singular(word: str) -> str:
    """The form under which singular and plural meet."""
    if len(word) <= 3 or not word.isascii() or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word.removesuffix("s")


def _unaccented(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
