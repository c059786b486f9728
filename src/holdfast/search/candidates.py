"""The chunks that may answer a query, what speaks for each, and where an index has them from."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.model.search import Grounds, Hit
from holdfast.search import lexical, terms
from holdfast.search.contract import Query, Scope
from holdfast.search.terms import Chosen, Table

# --- evidence corrected for chance ---------------------------------------------------------------------


class Claim(Struct, frozen=True):
    """The evidence for a chunk: its best passage, that passage's coverage of the query, and the largest cosine."""

    passage: int
    coverage: float
    cosine: float | None


def remaining_evidence(
    source: Source,
    chosen: Chosen,
    scope: Scope,
    claims: Sequence[Claim | None],
    least: float,
    lift: float = 0.0,
) -> list[float]:
    """The evidence of each claim, corrected for chance; infinite for no claim.

    `scope` selects the chunks that may answer, `lift` is how much too small the embedder's cosines are. A claim
    that cannot reach `least` is skipped.
    """
    texts = source.texts(scope, terms.MANY)

    def left_of(claim: Claim | None, rarest: float) -> float:
        if claim is None:
            return math.inf
        cosine = None if claim.cosine is None else claim.cosine + lift
        return terms.evidence(claim.coverage, rarest, cosine, texts)

    passages = [claim.passage for claim in claims if claim and left_of(claim, 0.0) >= least]
    rarest = _rarest_words(source, chosen, passages)
    return [left_of(claim, rarest.get(claim.passage, 0.0) if claim else 0.0) for claim in claims]


def _rarest_words(source: Source, chosen: Chosen, passages: Sequence[int]) -> dict[int, float]:
    """Passage → the share of the query that its rarest matching word makes up."""
    held = source.words_of(passages, chosen) if passages else {}
    return {
        passage: max(share for bit, share in enumerate(chosen.shares) if words >> bit & 1)
        for passage, words in held.items()
    }


# --- candidates ----------------------------------------------------------------------------------------

_FEW_WORDS = 2


class Candidate(Struct, frozen=True):
    """A chunk that may answer: its passages (number, start, stop), its kind, its time, and its place in a series.

    `series` is 0 for a chunk that stands alone.
    """

    id: str
    passages: list[tuple[int, int, int]]
    kind: str
    at: float | None
    series: int = 0
    place: float = 0.0


class Worth(Struct, frozen=True):
    """What speaks for a chunk by itself: the coverage by its best passage, its largest cosine, and both together."""

    passage: float
    cosine: float
    relevance: float


class Ranked(Struct, frozen=True):
    """A chunk with its rank value. It is certain if the query names it, or if it contains the query literally."""

    value: float
    number: int
    is_certain: bool


class QueryEvidence(Struct, frozen=True):
    """Scores of each passage (by_passage, cosines) and each long chunk (by_whole), and chunks named by id."""

    chosen: Chosen
    by_passage: dict[int, float]
    by_whole: dict[int, float]
    cosines: dict[int, float]
    named: set[int]
    signs: list[str]  # searched as substrings, because they contain no words

    def fits(self, least: float) -> bool:
        """Whether anything matches: by a word, by id, or by meaning alone."""
        has_match = self.by_passage or self.by_whole or self.named
        return bool(has_match) or max(self.cosines.values(), default=0.0) >= least

    @property
    def is_short_of_words(self) -> bool:
        """Whether the query has only a word or two that no text contains: then only meaning can match."""
        return not (self.by_passage or self.by_whole) and self.chosen.asked <= _FEW_WORDS

    def worth(self, number: int, candidate: Candidate) -> Worth:
        """What speaks for a chunk by its best passage, by all of it, and by its meaning."""
        lengths = self.chosen.lengths
        if len(candidate.passages) == 1:  # most chunks
            ((only, _, length),) = candidate.passages
            passage = self.by_passage.get(only, 0.0) / self.chosen.passage_weight
            whole = passage * lengths.passage_to_all(length) if passage else 0.0
            cosine = self.cosines.get(only, 0.0)
        else:
            numbers = [passage for passage, _, _ in candidate.passages]
            passage = max(self.by_passage.get(n, 0.0) for n in numbers) / self.chosen.passage_weight
            length = max(stop for _, _, stop in candidate.passages)
            whole = self.by_whole.get(number, 0.0) / self.chosen.whole_weight * lengths.whole_to_all(length)
            cosine = max(self.cosines.get(n, 0.0) for n in numbers)
        return Worth(passage, cosine, terms.relevance(passage, whole, cosine))

    def claim(self, candidate: Candidate, worth: Worth) -> Claim:
        numbers = [passage for passage, _, _ in candidate.passages]
        best_passage = max(numbers, key=lambda number: (self.by_passage.get(number, 0.0), -number))
        return Claim(best_passage, worth.passage, worth.cosine if self.cosines else None)

    def best_passage(self, candidate: Candidate) -> tuple[int, int, int]:
        def worth(place: tuple[int, int, int]) -> tuple[float, int]:
            words = self.by_passage.get(place[0], 0.0) / self.chosen.passage_weight
            return words + terms.MEANING * self.cosines.get(place[0], 0.0), -place[1]

        return max(candidate.passages, key=worth)


class Row(Struct, frozen=True):
    """A chunk with one part of its text, which begins at `line`; `is_whole` if that is all of it."""

    id: str
    kind: str
    title: str
    text: str
    path: str
    line: int
    session: str
    project: str
    at: float | None
    data: str
    start: int
    is_whole: bool


Part = tuple[int, int, int]
"""A chunk, and where a part of its text begins and ends."""


class Source(Protocol):
    """What ranking asks of an index, wherever its texts are. All answers of one `Lookup` are of one moment."""

    def by_words(self, table: Table, chosen: Chosen, scope: Scope) -> dict[int, float]:
        """Passage, or long chunk → BM25, of those with the most."""

    def holding(self, signs: Sequence[str], chosen: Chosen, scope: Scope) -> dict[int, float]:
        """Passage → score by substrings: the first passage of a chunk that contains one counts."""

    def by_meaning(self, question: Query) -> dict[int, float]:
        """Passage → cosine, for the nearest ones."""

    def cosines(self, question: Query, passages: Sequence[int]) -> dict[int, float]:
        """The cosine of each passage that has a vector."""

    def named(self, question: Query) -> set[int]:
        """Chunks whose id is in the query; for `kind:id` the id or its first characters are enough."""

    def of(self, passages: Sequence[int], chunks: Sequence[int], scope: Scope) -> dict[int, Candidate]:
        """The chunks of these passages, and these chunks, as far as they are in the scope."""

    def words_of(self, passages: Sequence[int], chosen: Chosen) -> dict[int, int]:
        """Passage → the words of the query that it holds, one bit each; not those that hold none."""

    def followers(self, lenders: Sequence[int]) -> Iterable[tuple[int, int]]:
        """Each of these turns with the chunks in the next place of its series."""

    def around(self, series: int, place: float, most: int) -> Iterable[int]:
        """At most so many turns before and after a place of a series."""

    def rows(self, parts: Sequence[Part]) -> dict[int, Row]:
        """The chunk of each part."""

    def listed(self, scope: Scope, most: int) -> list[Part]:
        """The first passages of the chunks in a scope, the newest first, then by id."""

    def texts(self, scope: Scope, most: int) -> int:
        """How many chunks the scope has, counted up to `most`."""

    def newest(self, before: float | None) -> float:
        """The time of the newest chunk, not newer than `before`; 0 if none has a time."""

    def has_any(self, since: float, before: float) -> bool:
        """Whether there is anything of that time."""


# --- what a query names ------------------------------------------------------------------------------

_BEGINS_AN_ID = lazy_regex(r"(?=.*\d)[0-9A-Za-z][0-9A-Za-z_-]{7,99}")  # people see the first eight characters
_SORTS_OF_SESSION = ("session", "ledger")  # prefixes of the ids of chunks about a whole session
_LOOKS_LIKE_AN_ID = lazy_regex(r"[^\W\d_].*[\d\W_]|[\d\W_].*[^\W\d_]")  # `it` and `2` are ordinary words
_LETTER_AND_HASH = lazy_regex(r"[A-Za-z]-[0-9A-Za-z]{4,12}")  # our own ids, as they are typed


def ids_in(text: str) -> tuple[list[str], list[str]]:
    """The ids that a query may name, and beginnings of ids."""
    words = {word.strip("\"'`()[]<>,;:!?.…") for word in text[:2000].split()[:50]} - {""}
    ids = {word for word in words if len(words) == 1 or _LOOKS_LIKE_AN_ID.search(word)}
    ids |= {word[0].upper() + word[1:].lower() for word in ids if _LETTER_AND_HASH.fullmatch(word)}
    long = [word.lower() for word in sorted(ids) if _BEGINS_AN_ID.fullmatch(word)]
    return sorted(ids), [f"{sort}:{word}" for word in long for sort in _SORTS_OF_SESSION]


# --- hits ----------------------------------------------------------------------------------------------

_REASON_WORDS = 6
_LONGEST_SHOWN = 1500
_TELLING_COSINE = 0.3


def hit_of(
    row: Row,
    one: Ranked,
    cosine: float,
    evidence: QueryEvidence,
    is_weak: bool,
    otherwise: str = "like it in parts",
    context: str = "",
) -> Hit:
    """Builds the hit; `otherwise` is the reason if no word or meaning can be named."""
    text, shown_terms = row.text, evidence.chosen.shown
    start, stop = 0, len(text)
    if stop > _LONGEST_SHOWN:
        start, stop = lexical.around(shown_terms, text, start, stop, _LONGEST_SHOWN)
    is_whole = row.is_whole and (start, stop) == (0, len(text))
    passage = text if is_whole else text[start:stop].strip()
    words = lexical.held(shown_terms, f"{row.title} {passage}", _REASON_WORDS)
    words = words or [sign for sign in evidence.signs if sign in passage]
    meaning = f"{cosine:.2f}" if cosine >= _TELLING_COSINE else ""
    grounds = Grounds(
        one.number in evidence.named, tuple(words), meaning, is_weak, context="" if words else context
    )
    is_later = row.start or start
    skipped = len(text[start:stop]) - len(text[start:stop].lstrip()) if is_later else 0
    return Hit(
        id=row.id,
        kind=row.kind,
        text=passage,
        path=row.path,
        line=row.line + text.count("\n", 0, start + skipped) if row.line else 0,
        session=row.session,
        project=row.project,
        date="" if row.at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row.at)),
        score=round(terms.score(one.value), 4),
        why=grounds.text(otherwise),
        grounds=grounds,
        data=row.data,
    )
