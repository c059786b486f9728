"""Which words of a question are worth looking up: their frequencies in the index decide."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.search import lexical
from holdfast.search.database import Database
from holdfast.search.embed.contract import Embedder
from holdfast.search.fuse import inverse_frequency
from holdfast.search.spelling import is_other_word, is_slip

_COMMON = 0.1  # share of passages above which a word is dropped when others remain
_SMALL = 5000  # passages; in a small index common words still tell texts apart, and cost nothing
_POSTINGS = 25_000  # rows that one question may have scored: the rarest words first
_LARGE_VOCABULARY = 50_000  # passages above which no near spelling is looked for
_MOST_REMEMBERED = 50_000
_FEWEST = (
    30  # texts; fewer are weighed as if they were so many: of four, two are no sign that a word is common
)

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


class Terms:
    """Stems and frequencies, remembered until the index changes."""

    def __init__(self, database: Database, embedder: Embedder | None = None) -> None:
        self._db = database
        self._embedder = embedder
        self._seen: tuple[int, int] | None = None
        self._frequencies: dict[tuple[str, str], int] = {}
        self._passages = self._wholes = 0

    def choose(self, terms: Sequence[str]) -> Chosen:
        self._refresh()
        stems = self._stems(terms[:2000])
        counts = {term: self._frequency("passage_word", stem) for term, stem in stems.items()}
        mended = self._mend_spelling(stems, counts)
        known = sorted((term for term in stems if counts[term]), key=lambda term: counts[term])
        chosen = self._affordable(known, counts)
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
        )

    def _affordable(self, known: Sequence[str], counts: dict[str, int]) -> list[str]:
        """The rarest words, within what a question may cost; common ones only where there are no others."""
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
        known = max(texts, _FEWEST)
        total = (
            sum(inverse_frequency(known, self._frequency(table, stem)) for stem in stems) if texts else 0.0
        )
        return total or 1.0

    def _share(self, stem: str) -> float:
        return inverse_frequency(max(self._passages, _FEWEST), self._frequency("passage_word", stem))

    def _factors(self, stems: Sequence[str], table: str, texts: int) -> list[float]:
        if not 0 < texts < _FEWEST:
            return []
        held = [self._frequency(table, stem) for stem in stems]
        return [inverse_frequency(_FEWEST, count) / inverse_frequency(texts, count) for count in held]

    def _refresh(self) -> None:
        seen = self._db.changes_seen()
        if seen == self._seen and len(self._frequencies) < _MOST_REMEMBERED:
            return
        self._frequencies.clear()
        self._passages = self._db.number("SELECT count(*) FROM passage")
        self._wholes = self._db.number("SELECT count(*) FROM whole_words_docsize")
        self._seen = seen

    def _frequency(self, table: str, stem: str) -> int:
        """How many passages, or long chunks, hold a stem."""
        known = self._frequencies.get((table, stem))
        if known is None:
            known = self._db.number(f"SELECT doc FROM {table} WHERE term = ?", (stem,))
            self._frequencies[table, stem] = known
        return known

    def _stems(self, terms: Sequence[str]) -> dict[str, str]:
        """Each term with the form under which FTS5 keeps it: FTS5 itself is asked, through a table in memory."""
        # Asked every time: a question that is given up, to be asked again, takes back the tables it made.
        for table in _SAID, _SAID_WORD:
            self._db.ask(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}")
        self._db.ask("DELETE FROM temp.said")
        for number, term in enumerate(terms):
            self._db.ask("INSERT INTO temp.said (rowid, term) VALUES (?, ?)", (number + 1, term))
        found = {terms[doc - 1]: stem for stem, doc in self._db.ask("SELECT term, doc FROM temp.said_word")}
        return {term: found[term] for term in terms if term in found}

    def _mend_spelling(self, stems: dict[str, str], counts: dict[str, int]) -> set[str]:
        """A word that nothing holds stands for the most frequent one a slip away, if it is no word itself."""
        mended: set[str] = set()
        if self._passages > _LARGE_VOCABULARY:
            return mended
        for term, stem in list(stems.items()):
            if counts[term] or len(stem) < 4 or not stem.isalpha():
                continue
            start, end = stem[:2], stem[:2] + "\U0010ffff"
            near = [
                (doc, word)
                for word, doc in self._db.ask(
                    "SELECT term, doc FROM passage_word WHERE term >= ? AND term < ?", (start, end)
                )
                if is_slip(term, stem, word)
            ]
            if near and not is_other_word(self._embedder, term, max(near)[1]):
                counts[term], stems[term] = max(near)
                mended.add(term)
        return mended
