"""Chooses the words of a query to look up, by their frequencies in the index; also fusion, passages and spelling."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.search import lexical
from holdfast.search.database import Database
from holdfast.search.embed.static import UNIT, Embedder
from holdfast.search.lexical import differ_by_a_slip, is_one_slip_apart

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
    """Whether a stem consists of whole characters (`_CUT`)."""
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
_POSTINGS = 25_000  # rows that one question may have scored: the rarest words first
_LARGE_VOCABULARY = 50_000  # passages above which no near spelling is looked for
_MOST_REMEMBERED = 50_000
_FEWEST = (
    30  # texts; fewer are weighed as if they were so many: of four, two are no sign that a word is common
)

# The stemmer counts bytes, not characters. Before an ending that it takes off it removes one of two equal bytes, and
# some characters end in such a pair: a stem may end within one.
_CUT = "surrogateescape"
_SAID = "said USING fts5(term, tokenize='porter unicode61')"
_SAID_WORD = "said_word USING fts5vocab(temp, said, instance)"


class Chosen(Struct, frozen=True):
    """The words to look up, how much a text could score with them, and (word, stem) to show.

    `asked` is how many different words the question has, known or not; `shares` for each word how much of a passage's
    score it can make up, 0 where the question has no other.
    `passage_factors` and `whole_factors` are by how much FTS5 makes too little of each word because it knows few
    texts; empty where it knows enough.
    """

    words: list[str]
    asked: int
    shares: list[float]
    passage_weight: float
    whole_weight: float
    shown: list[tuple[str, str]]
    passage_factors: list[float]
    whole_factors: list[float]
    lengths: Lengths = Lengths()


class Terms:
    """Stems and frequencies, remembered until the index changes."""

    def __init__(self, database: Database, embedder: Embedder | None = None) -> None:
        self._db = database
        self._embedder = embedder
        self._seen: tuple[int, int] | None = None
        self._frequencies: dict[tuple[str, str], int] = {}
        self._passages = self._wholes = 0
        self._lengths = Lengths()

    def choose(self, terms: Sequence[str]) -> Chosen:
        self._refresh()
        stems = self._stems(terms[:2000])
        counts = {term: self._frequency("passage_word", stem) for term, stem in stems.items()}
        mended = self._mend_spelling(stems, counts)
        found_terms = sorted((term for term in stems if counts[term]), key=lambda term: counts[term])
        chosen = self._affordable(found_terms, counts)
        unknown = [term for term in stems if not counts[term]][: lexical.MOST_TERMS - len(chosen)]
        weighed = list(dict.fromkeys(stems[term] for term in (*chosen, *unknown)))
        weight = self._weight(weighed, "passage_word", self._passages)
        return Chosen(
            [stems[term] if term in mended else term for term in chosen],
            len(weighed),
            [self._share(stems[term]) / weight if len(weighed) > 1 else 0.0 for term in chosen],
            weight,
            self._weight(weighed, "whole_word", self._wholes),
            [("" if term in mended else lexical.shown(term), stems[term]) for term in chosen],
            self._factors([stems[term] for term in chosen], "passage_word", self._passages),
            self._factors([stems[term] for term in chosen], "whole_word", self._wholes),
            self._lengths,
        )

    def _affordable(self, known: Sequence[str], counts: dict[str, int]) -> list[str]:
        """The rarest words, within the cost limit of a query; common ones only if there are no others."""
        most = self._passages * _COMMON if self._passages > _SMALL else self._passages
        chosen: list[str] = []
        cost = 0
        for term in known[: lexical.MOST_TERMS]:
            cost += counts[term]
            if chosen and (counts[term] > most or cost > _POSTINGS):
                break
            chosen.append(term)
        return chosen

    def _weight(self, stems: Sequence[str], table: str, texts: int) -> float:
        counted = max(texts, _FEWEST)
        total = (
            sum(inverse_frequency(counted, self._frequency(table, stem)) for stem in stems) if texts else 0.0
        )
        return total or 1.0

    def _share(self, stem: str) -> float:
        return inverse_frequency(max(self._passages, _FEWEST), self._frequency("passage_word", stem))

    def _factors(self, stems: Sequence[str], table: str, texts: int) -> list[float]:
        if not 0 < texts < _FEWEST:
            return []
        frequencies = [self._frequency(table, stem) for stem in stems]
        return [inverse_frequency(_FEWEST, count) / inverse_frequency(texts, count) for count in frequencies]

    def _refresh(self) -> None:
        seen = self._db.changes_seen()
        if seen == self._seen and len(self._frequencies) < _MOST_REMEMBERED:
            return
        self._frequencies.clear()
        self._passages = self._db.number("SELECT count(*) FROM passage")
        self._wholes = self._db.number("SELECT count(*) FROM whole_words_docsize")
        self._lengths = self._mean_lengths() if self._wholes else Lengths()
        self._seen = seen

    def _mean_lengths(self) -> Lengths:
        """A long chunk's first passage is taken to be as long as its others: what it is needs a look at each chunk."""
        sums = "SELECT sum(stop - start), sum((stop - start) * (start > 0)), sum(start > 0) FROM passage"
        total, later, laters = self._db.row(sums) or (0, 0, 0)
        chunks = self._passages - laters
        return Lengths(
            total / chunks, total / self._passages, later / laters * (laters + self._wholes) / self._wholes
        )

    def _frequency(self, table: str, stem: str) -> int:
        """How many passages, or long chunks, contain a stem."""
        frequency = self._frequencies.get((table, stem))
        if frequency is None:
            frequency = self._db.number(
                f"SELECT doc FROM {table} WHERE term = CAST(? AS TEXT)", (stem.encode("utf-8", _CUT),)
            )
            self._frequencies[table, stem] = frequency
        return frequency

    def _stems(self, terms: Sequence[str]) -> dict[str, str]:
        """The stem of each term, computed by FTS5 itself with a table in memory."""
        # Created every time: a query that is rolled back and retried also rolls back its tables.
        for table in _SAID, _SAID_WORD:
            self._db.ask(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}")
        self._db.ask("DELETE FROM temp.said")
        for number, term in enumerate(terms):
            self._db.ask("INSERT INTO temp.said (rowid, term) VALUES (?, ?)", (number + 1, term))
        stem_by_term = {
            terms[doc - 1]: stem.decode("utf-8", _CUT)
            for stem, doc in self._db.ask("SELECT CAST(term AS BLOB), doc FROM temp.said_word")
        }
        return {term: stem_by_term[term] for term in terms if term in stem_by_term}

    def _mend_spelling(self, stems: dict[str, str], counts: dict[str, int]) -> set[str]:
        """Replaces a word that no text contains by the most frequent one a typo away, if it is not a word itself."""
        mended: set[str] = set()
        if self._passages > _LARGE_VOCABULARY:
            return mended
        for term, stem in list(stems.items()):
            if counts[term] or len(stem) < 4 or not stem.isalpha():
                continue
            start, end = stem[:2], stem[:2] + "\U0010ffff"
            query = "SELECT CAST(term AS BLOB), doc FROM passage_word WHERE term >= ? AND term < ?"
            known = ((doc, word.decode("utf-8", _CUT)) for word, doc in self._db.ask(query, (start, end)))
            near = [(doc, word) for doc, word in known if is_slip(term, stem, word) and is_whole(word)]
            if near and not is_other_word(self._embedder, term, max(near)[1]):
                counts[term], stems[term] = max(near)
                mended.add(term)
        return mended
