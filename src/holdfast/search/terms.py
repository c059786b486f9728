"""Chooses the words of a query to look up, by their frequencies in the index; also fusion, passages and spelling."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.search import lexical
from holdfast.search.embed.static import UNIT, Embedder
from holdfast.search.lexical import differ_by_a_slip, is_one_slip_apart

Table = Literal["passage_words", "whole_words"]
"""Of each passage, and of each chunk that is more than one."""

# --- fusion of words, meaning and time -----------------------------------------------------------------

MEANING = 0.5
RECENCY = 1.0
_FRESH_DAYS, _OLD_DAYS = 0.25, 30.0
_DAY = 86_400.0
GRACE = _DAY
"""By how much something may be newer than now: clocks and time zones differ."""

_TITLE, _BODY, _NAMES = 2.0, 1.0, 1.0
FIELD_WEIGHTS = f"{_TITLE}, {_BODY}, {_NAMES}"

EXACT = 1.0
"""What holding the question word for word adds, for kinds where that counts: more than likeness can."""

AS_ASKED = 1.1
"""The factor of a chunk of any other kind that holds several words just as they are asked for."""

NAMED = 2.0
"""What it adds that the question says the chunk's id."""

_LONE = 0.5  # of the rarest word that question and text share: one word in common is chance as often as not
_CHANCE = 0.03  # for each doubling: the best of many texts that have nothing to do with it is nearer than that of a few
_FEW, MANY = 16, 4096  # texts between which that was measured
UNRELATED = 0.42
"""What the nearest text's cosine stays below in 85 of 100 questions that nothing answers, by the table that is shipped:
the evidence that is asked for was set with it. An embedder with another has its cosines lifted or lowered to this."""

_UNKNOWN = 0.3  # for a cosine, where texts have no vectors


def inverse_frequency(texts: int, holding: int) -> float:
    """The idf of FTS5's bm25()."""
    return max(1e-6, math.log((texts - holding + 0.5) / (holding + 0.5)))


def relevance(passage: float, whole: float, cosine: float) -> float:
    """How well a chunk answers: `passage` and `whole` are the coverages by its best passage and by all of it."""
    return (passage + whole) / 2 + MEANING * max(cosine, 0.0)


def evidence(passage: float, rarest: float, cosine: float | None, texts: int) -> float:
    """What speaks for a chunk when chance is taken off; `rarest` is the coverage by its rarest word alone, 0 where
    the question has no other, and `texts` is among how many it was found."""
    chance = _CHANCE * math.log2(min(max(texts, _FEW), MANY) / _FEW)
    near = _UNKNOWN if cosine is None else max(cosine, 0.0)
    return passage - _LONE * rarest + near - chance


_K1, _B = 1.2, 0.75  # of FTS5's bm25()


class Lengths(Struct, frozen=True):
    """Mean lengths in characters: of chunks, of passages, and of chunks of more than one passage.

    FTS5 judges a passage by the mean passage and a long chunk by the mean long chunk, so that next to short notes a
    long text would always seem to say a word often for its length. `*_to_all` bring both to the mean of all chunks.
    """

    chunk: float = 1.0
    passage: float = 1.0
    whole: float = 1.0

    @classmethod
    def of(cls, passages: int, wholes: int, total: int, later: int, laters: int) -> Lengths:
        """From the sum over all passages, and that over the `laters` which are not the first of their chunk.

        A long chunk's first passage is taken to be as long as its others: what it is needs a look at each chunk.
        """
        return cls(total / (passages - laters), total / passages, later / laters * (laters + wholes) / wholes)

    def passage_to_all(self, length: int) -> float:
        if self.chunk == self.passage:  # every chunk is one passage
            return 1.0
        return _damping(length / self.chunk) / _damping(length / self.passage)

    def whole_to_all(self, length: int) -> float:
        return _damping(length / self.chunk) / _damping(length / self.whole)


def _damping(length: float) -> float:
    """What BM25 makes of a word that a text of this relative length says once."""
    return 1.0 / (1.0 + _K1 * (1.0 - _B + _B * length))


def recency(age: float) -> float:
    """1 for now, falling with the logarithm of the age to 0 at a month; 0 for what is dated in the future."""
    if age < -GRACE:
        return 0.0
    days = age / _DAY
    faded = math.log1p(max(days, 0.0) / _FRESH_DAYS) / math.log1p(_OLD_DAYS / _FRESH_DAYS)
    return max(0.0, 1.0 - faded)


def score(value: float) -> float:
    """A rank value as a number between 0 and 1."""
    return value / (1.0 + value)


def value_of(score: float) -> float:
    """The rank value of a score."""
    return score / (1.0 - score)


# --- passages ------------------------------------------------------------------------------------------

_SHORT = 900  # a text up to this is one passage: it was cut by meaning already
_AIM = 600
CLOSELY = 1_000_000  # characters; what comes after them is a dump, and is cut into fewer and longer pieces
_COARSE_AIM = 5000
_BREAK = lazy_regex(r"\n+|(?<=[.!?。！？])\s+")


def spans(text: str) -> list[tuple[int, int]]:
    """Where the passages begin and end; they cover the text without gaps."""
    if len(text) <= _SHORT:
        return [(0, len(text))]
    passages: list[tuple[int, int]] = []
    start = last = 0
    for place in _pieces(text):
        if place - start > _aim(start) and last > start:
            passages.append((start, last))
            start = last
        last = place
    passages.append((start, len(text)))
    return passages


def _pieces(text: str) -> Iterator[int]:
    """Where a sentence ends, and every so many characters where none does."""
    at = 0
    for match in _BREAK.finditer(text):
        while match.end() - at > _aim(at):
            at += _aim(at)
            yield at
        at = match.end()
        yield at
    while len(text) - at > _aim(at):
        at += _aim(at)
        yield at
    yield len(text)


def _aim(at: int) -> int:
    return _AIM if at < CLOSELY else _COARSE_AIM


# --- spelling ------------------------------------------------------------------------------------------

_SHORT_WORD = (
    6  # letters; one of them replaced makes another word of a shorter one as often as not: login, logic
)
_LEAST_KNOWN = 4
_LEAST_BEFORE_ENDING = 5
_SAME_WORD = 0.6  # cosine: `colour` and `color` have 0.96, `cache` and `catch` 0.03
_ENDINGS = frozenset(
    ("able", "ance", "ant", "ate", "ated", "ates", "ating", "ation", "ations", "ator", "ence", "ent", "ents", "ible",
     "ical", "icate", "ication", "ing", "ings", "ion", "ions", "isation", "ise", "ised", "ising", "ism", "ist", "ity",
     "ive", "ization", "ize", "ized", "izing", "ment", "ments", "ness", "ous")
)  # fmt: skip


def is_whole(stem: str) -> bool:
    """Whether a stem consists of whole characters (`stemming.CUT`)."""
    return stem.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in stem)


def is_slip(written: str, stem: str, known: str) -> bool:
    """Whether `written`, with the stem `stem`, may be a typo of a word with the indexed stem `known`."""
    if len(known) < _LEAST_KNOWN:
        return False
    if is_one_slip_apart(stem, known):
        is_replaced = len(stem) == len(known) and sorted(stem) != sorted(known)
        return len(stem) >= _SHORT_WORD or not is_replaced
    # A slip in the ending keeps it from being taken off: `migratoin` has no stem but itself.
    if len(known) < _LEAST_BEFORE_ENDING or not written.startswith(known):
        return False
    ending = written[len(known) :]
    return any(differ_by_a_slip(ending, suffix) for suffix in _ENDINGS)


def is_other_word(embedder: Embedder | None, written: str, known: str) -> bool:
    """Whether a word is not a typo: the embedder knows it, with another meaning than `known`."""
    knows = getattr(embedder, "knows", None)
    if embedder is None or knows is None or not knows(written):
        return False
    written_vector, known_vector = (array("b", vector) for vector in embedder.embed([written, known]))
    return sum(a * b for a, b in zip(written_vector, known_vector, strict=True)) < _SAME_WORD * UNIT**2


_COMMON = 0.1  # share of passages above which a word is dropped when others remain
_SMALL = 5000  # passages; in a small index common words still tell texts apart, and cost nothing
POSTINGS = 25_000  # rows that one question may have scored: the rarest words first
_LARGE_VOCABULARY = 50_000  # passages above which no near spelling is looked for
_MOST_REMEMBERED = 50_000
_FEWEST = (
    30  # texts; fewer are weighed as if they were so many: of four, two are no sign that a word is common
)


class Chosen(Struct, frozen=True):
    """The words to look up, how much a text could score with them, and (word, stem) to show.

    `asked` is how many different words the question has, known or not; `shares` for each word how much of a passage's
    score it can make up, 0 where the question has no other.
    `passage_idf` and `whole_idf` are what each word weighs in a BM25; `passage_factors` and `whole_factors` by how much
    FTS5 makes too little of it because it knows few texts, empty where it knows enough.
    """

    words: list[str]
    asked: int
    shares: list[float]
    passage_weight: float
    whole_weight: float
    shown: list[tuple[str, str]]
    passage_idf: list[float] = []
    whole_idf: list[float] = []
    passage_factors: list[float] = []
    whole_factors: list[float] = []
    lengths: Lengths = Lengths()


class Counts(Struct, frozen=True):
    """How many passages and how many chunks of more than one passage there are, and how long they are."""

    passages: int = 0
    wholes: int = 0
    lengths: Lengths = Lengths()


class Vocabulary(Protocol):
    """What an index knows of its words."""

    def seen(self) -> object:
        """A value that differs after any change of the index."""

    def counts(self) -> Counts: ...

    def frequencies(self, table: Table, stems: Sequence[str]) -> dict[str, int]:
        """How many passages, or long chunks, contain each stem."""

    def beginning(self, start: str) -> Iterable[tuple[int, str]]:
        """The stems that begin so, each after the number of passages that contain it."""

    def stems(self, terms: Sequence[str]) -> dict[str, str]:
        """The stem of each term, as the index has it."""


class Terms:
    """Stems and frequencies, remembered until the index changes."""

    def __init__(self, vocabulary: Vocabulary, embedder: Embedder | None = None) -> None:
        self._vocabulary = vocabulary
        self._embedder = embedder
        self._seen: object = None
        self._frequencies: dict[tuple[Table, str], int] = {}
        self._counts = Counts()

    def choose(self, terms: Sequence[str]) -> Chosen:
        self._refresh()
        stems = self._vocabulary.stems(terms[:2000])
        counted = self._counted("passage_words", stems.values())
        counts = {term: counted[stem] for term, stem in stems.items()}
        mended = self._mend_spelling(stems, counts)
        found_terms = sorted((term for term in stems if counts[term]), key=lambda term: counts[term])
        chosen = self._affordable(found_terms, counts)
        unknown = [term for term in stems if not counts[term]][: lexical.MOST_TERMS - len(chosen)]
        known = [stems[term] for term in chosen]
        weighed = list(dict.fromkeys([*known, *(stems[term] for term in unknown)]))
        passage_idf = self._idf("passage_words", weighed)
        whole_idf = self._idf("whole_words", weighed)
        weight = sum(passage_idf.values()) or 1.0
        return Chosen(
            [stems[term] if term in mended else term for term in chosen],
            len(weighed),
            [passage_idf[stem] / weight if len(weighed) > 1 else 0.0 for stem in known],
            weight,
            sum(whole_idf.values()) or 1.0,
            [("" if term in mended else lexical.shown(term), stems[term]) for term in chosen],
            [passage_idf[stem] for stem in known],
            [whole_idf.get(stem, 0.0) for stem in known],
            self._factors("passage_words", known),
            self._factors("whole_words", known),
            self._counts.lengths,
        )

    def _affordable(self, known: Sequence[str], counts: dict[str, int]) -> list[str]:
        """The rarest words, within the cost limit of a query; common ones only if there are no others."""
        passages = self._counts.passages
        most = passages * _COMMON if passages > _SMALL else passages
        chosen: list[str] = []
        cost = 0
        for term in known[: lexical.MOST_TERMS]:
            cost += counts[term]
            if chosen and (counts[term] > most or cost > POSTINGS):
                break
            chosen.append(term)
        return chosen

    def _texts(self, table: Table) -> int:
        return self._counts.passages if table == "passage_words" else self._counts.wholes

    def _idf(self, table: Table, stems: Sequence[str]) -> dict[str, float]:
        """What each stem weighs; nothing where there are no texts."""
        texts = self._texts(table)
        counted = max(texts, _FEWEST)
        frequencies = self._counted(table, stems)
        return {stem: inverse_frequency(counted, frequencies[stem]) for stem in stems} if texts else {}

    def _factors(self, table: Table, stems: Sequence[str]) -> list[float]:
        texts = self._texts(table)
        if not 0 < texts < _FEWEST:
            return []
        frequencies = self._counted(table, stems)
        return [
            inverse_frequency(_FEWEST, frequencies[stem]) / inverse_frequency(texts, frequencies[stem])
            for stem in stems
        ]

    def _refresh(self) -> None:
        seen = self._vocabulary.seen()
        if seen == self._seen and len(self._frequencies) < _MOST_REMEMBERED:
            return
        self._frequencies.clear()
        self._counts = self._vocabulary.counts()
        self._seen = seen

    def _counted(self, table: Table, stems: Iterable[str]) -> dict[str, int]:
        """How many passages, or long chunks, contain each stem."""
        wanted = list(dict.fromkeys(stems))
        if missing := [stem for stem in wanted if (table, stem) not in self._frequencies]:
            for stem, count in self._vocabulary.frequencies(table, missing).items():
                self._frequencies[table, stem] = count
        return {stem: self._frequencies[table, stem] for stem in wanted}

    def _mend_spelling(self, stems: dict[str, str], counts: dict[str, int]) -> set[str]:
        """Replaces a word that no text contains by the most frequent one a typo away, if it is not a word itself."""
        mended: set[str] = set()
        if self._counts.passages > _LARGE_VOCABULARY:
            return mended
        for term, stem in list(stems.items()):
            if counts[term] or len(stem) < 4 or not stem.isalpha():
                continue
            known = self._vocabulary.beginning(stem[:2])
            near = [(doc, word) for doc, word in known if is_slip(term, stem, word) and is_whole(word)]
            if near and not is_other_word(self._embedder, term, max(near)[1]):
                counts[term], stems[term] = max(near)
                mended.add(term)
        return mended
