"""Finds the chunks that may answer a query: by shared words, by meaning, or by an id in the query."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.model.search import Grounds, Hit
from holdfast.search import lexical, terms
from holdfast.search.contract import Query, Scope
from holdfast.search.database import Database, portions
from holdfast.search.embed.static import UNIT
from holdfast.search.terms import Chosen
from holdfast.search.vectors import VectorFile

# --- evidence corrected for chance ---------------------------------------------------------------------


class Claim(Struct, frozen=True):
    """The evidence for a chunk: its best passage, that passage's coverage of the query, and the largest cosine."""

    passage: int
    coverage: float
    cosine: float | None


def remaining_evidence(
    database: Database,
    chosen: Chosen,
    condition: tuple[str, list[object]],
    claims: Sequence[Claim | None],
    least: float,
    lift: float = 0.0,
) -> list[float]:
    """The evidence of each claim, corrected for chance; infinite for no claim.

    `condition` selects the chunks that may answer, `lift` is how much too small the embedder's cosines are. A claim
    that cannot reach `least` is skipped.
    """
    where, values = condition
    among = f"SELECT count(*) FROM (SELECT 1 FROM chunk WHERE {where} LIMIT {terms.MANY})"
    texts = database.number(among, values)

    def left_of(claim: Claim | None, rarest: float) -> float:
        if claim is None:
            return math.inf
        cosine = None if claim.cosine is None else claim.cosine + lift
        return terms.evidence(claim.coverage, rarest, cosine, texts)

    passages = {claim.passage for claim in claims if claim and left_of(claim, 0.0) >= least}
    rarest = _rarest_words(database, chosen, passages)
    return [left_of(claim, rarest.get(claim.passage, 0.0) if claim else 0.0) for claim in claims]


def _rarest_words(database: Database, chosen: Chosen, passages: set[int]) -> dict[int, float]:
    """Passage → the share of the query that its rarest matching word makes up."""
    rarest: dict[int, float] = {}
    # Reads all passages with a word and skips most of them: a query for each passage takes four times as long.
    holding = "SELECT rowid FROM passage_words WHERE passage_words MATCH ?"
    for word, share in zip(chosen.words, chosen.shares, strict=True) if passages else ():
        for (number,) in database.ask(holding, [lexical.match_any([word])]):
            if number in passages and share > rarest.get(number, 0.0):
                rarest[number] = share
    return rarest


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


_BY_WORDS = 300  # passages that are examined further
_BY_MEANING = 200
_BEFORE_SCOPE = 5000  # nearest passages that are checked first for those in the scope
_SORTS_OF_SESSION = ("session", "ledger")  # prefixes of the ids of chunks about a whole session
_BEGINS_AN_ID = lazy_regex(r"(?=.*\d)[0-9A-Za-z][0-9A-Za-z_-]{7,99}")  # people see the first eight characters
_MOST_ALIKE = 5
_LOOKS_LIKE_AN_ID = lazy_regex(r"[^\W\d_].*[\d\W_]|[\d\W_].*[^\W\d_]")  # `it` and `2` are ordinary words
_LETTER_AND_HASH = lazy_regex(r"[A-Za-z]-[0-9A-Za-z]{4,12}")  # our own ids, as they are typed


class Candidates:
    """Queries one database and its vectors, inside a read transaction."""

    def __init__(self, database: Database, vectors: VectorFile | None) -> None:
        self._db = database
        self._vectors = vectors

    def by_words(
        self, table: str, words: Sequence[str], factors: Sequence[float], scope: Scope
    ) -> dict[int, float]:
        """Row number → BM25; in a small index the sum over words, each times its factor."""
        if not factors:
            return self._matching(table, words, scope)
        scores: dict[int, float] = {}
        for word, factor in zip(words, factors, strict=True):
            for number, value in self._matching(table, [word], scope).items():
                scores[number] = scores.get(number, 0.0) + value * factor
        return scores

    def _matching(self, table: str, words: Sequence[str], scope: Scope) -> dict[int, float]:
        if not words:
            return {}
        chunk = "rowid" if table == "whole_words" else "(SELECT chunk FROM passage WHERE n = found.rowid)"
        condition, values = scope.condition()
        limit = (
            ""
            if scope.is_everything
            else f"AND EXISTS (SELECT 1 FROM chunk WHERE n = {chunk} AND {condition})"
        )
        cursor = self._db.ask(
            f"SELECT rowid, -rank FROM {table} AS found WHERE {table} MATCH ? "
            f"AND rank MATCH 'bm25({terms.FIELD_WEIGHTS})' {limit} ORDER BY rank LIMIT {_BY_WORDS}",
            [lexical.match_any(words), *(values if limit else [])],
        )
        return dict(cursor)

    def holding(self, signs: Sequence[str], chosen: Chosen, scope: Scope) -> dict[int, float]:
        """Passage → score by substrings: the first passage of a chunk that contains one counts."""
        condition, values = scope.condition()
        scores: dict[int, float] = {}
        for sign in signs:
            statement = (
                "SELECT n, instr(text, ?) AS place FROM chunk "
                f"WHERE place > 0 AND {condition} ORDER BY at DESC, id LIMIT {_BY_WORDS}"
            )
            for number, place in self._db.ask(statement, [sign, *values]).fetchall():
                first = "SELECT n FROM passage WHERE chunk = ? AND start < ? ORDER BY start DESC LIMIT 1"
                passage = self._db.number(first, (number, place))
                scores[passage] = scores.get(passage, 0.0) + chosen.passage_weight / len(signs)
        return scores

    def by_meaning(self, question: Query) -> dict[int, float]:
        """Passage → cosine, for the nearest ones."""
        if self._vectors is None or question.vector is None or not any(question.vector):
            return {}
        last = self._db.number("SELECT max(n) FROM passage")
        if question.scope.is_everything:
            dots = self._vectors.nearest(question.vector, _BY_MEANING, last, None)
        else:
            dots = self._nearest_in_scope(self._vectors, question.vector, last, question.scope)
        return {number: dot / UNIT**2 for number, dot in dots.items()}

    def _nearest_in_scope(
        self, vectors: VectorFile, vector: bytes, last: int, scope: Scope
    ) -> dict[int, int]:
        """The nearest passages of the chunks in the scope.

        Listing a scope that covers most of a large index takes seconds. So look at the nearest passages of the whole
        index first: if enough of them are in the scope, they are its nearest too. A small scope is listed.
        """
        if last > 2 * _BEFORE_SCOPE:
            near = vectors.nearest(vector, _BEFORE_SCOPE, last, None)
            inside = self._in_scope(sorted(near, key=lambda number: (-near[number], number)), scope)
            if len(inside) >= _BY_MEANING:
                least = near[inside[_BY_MEANING - 1]]
                return {number: near[number] for number in inside if near[number] >= least}
        condition, values = scope.condition()
        statement = (
            "SELECT passage.n FROM passage JOIN chunk ON chunk.n = passage.chunk "
            f"WHERE {condition} ORDER BY passage.n"
        )
        among = [n for (n,) in self._db.ask(statement, values)]
        return vectors.nearest(vector, _BY_MEANING, last, among)

    def _in_scope(self, passages: Sequence[int], scope: Scope) -> list[int]:
        """The passages whose chunks are in the scope, in the given order, until there are enough."""
        condition, values = scope.condition()
        inside: list[int] = []
        for portion in portions(passages):
            marks = ", ".join("?" * len(portion))
            # CROSS JOIN fixes the join order: otherwise SQLite scans all chunks of a kind.
            statement = (
                "SELECT passage.n FROM passage CROSS JOIN chunk ON chunk.n = passage.chunk "
                f"WHERE passage.n IN ({marks}) AND {condition}"
            )
            in_scope = {n for (n,) in self._db.ask(statement, [*portion, *values])}
            inside += [number for number in portion if number in in_scope]
            if len(inside) >= 2 * _BY_MEANING:
                break
        return inside

    def complete(self, cosines: dict[int, float], candidates: dict[int, Candidate], question: Query) -> None:
        """Adds the missing cosines of all passages of all candidates."""
        if self._vectors is None or question.vector is None or not any(question.vector):
            return
        missing = [
            n for candidate in candidates.values() for n, _, _ in candidate.passages if n not in cosines
        ]
        for number, dot in self._vectors.dots(question.vector, missing).items():
            cosines[number] = dot / UNIT**2

    def named(self, question: Query) -> set[int]:
        """Chunks whose id is in the query; for `kind:id` the id or its first characters are enough."""
        words = {word.strip("\"'`()[]<>,;:!?.…") for word in question.text[:2000].split()[:50]} - {""}
        ids = {word for word in words if len(words) == 1 or _LOOKS_LIKE_AN_ID.search(word)}
        ids |= {word[0].upper() + word[1:].lower() for word in ids if _LETTER_AND_HASH.fullmatch(word)}
        condition, values = question.scope.condition()
        marks = ", ".join("?" * len(ids))
        statement = f"SELECT n FROM chunk WHERE id IN ({marks}) AND {condition}"
        numbers = {n for (n,) in self._db.ask(statement, [*sorted(ids), *values])}
        for word in ids:
            if _BEGINS_AN_ID.fullmatch(word):
                for sort in _SORTS_OF_SESSION:
                    statement = (
                        f"SELECT n FROM chunk WHERE id >= ? AND id < ? AND {condition} LIMIT {_MOST_ALIKE}"
                    )
                    start = f"{sort}:{word.lower()}"
                    numbers |= {n for (n,) in self._db.ask(statement, [start, f"{start}\uffff", *values])}
        return numbers

    def of(self, passages: Sequence[int], chunks: Sequence[int], scope: Scope) -> dict[int, Candidate]:
        numbers = set(chunks)
        for some in portions(sorted(set(passages))):
            marks = ", ".join("?" * len(some))
            numbers.update(
                n for (n,) in self._db.ask(f"SELECT chunk FROM passage WHERE n IN ({marks})", some)
            )
        found: dict[int, Candidate] = {}
        condition, values = scope.condition()
        for some in portions(sorted(numbers)):
            marks = ", ".join("?" * len(some))
            statement = (
                "SELECT chunk.n, id, kind, at, passage.n, start, stop, series, place FROM chunk "
                "JOIN passage ON passage.chunk = chunk.n LEFT JOIN turn ON turn.chunk = chunk.n "
                f"WHERE chunk.n IN ({marks}) AND {condition}"
            )
            for n, id, kind, at, number, start, stop, series, place in self._db.ask(
                statement, [*some, *values]
            ):
                candidate = found.get(n)
                if candidate is None:
                    candidate = found[n] = Candidate(id, [], kind, at, series or 0, place or 0.0)
                candidate.passages.append((number, start, stop))
        return found


# --- hits ----------------------------------------------------------------------------------------------

_REASON_WORDS = 6
_LONGEST_SHOWN = 1500
_TELLING_COSINE = 0.3


def hit_of(
    database: Database,
    one: Ranked,
    best: tuple[int, int, int],
    cosine: float,
    evidence: QueryEvidence,
    is_weak: bool,
    otherwise: str = "like it in parts",
    context: str = "",
) -> Hit:
    """Builds the hit; `otherwise` is the reason if no word or meaning can be named."""
    statement = "SELECT id, kind, title, text, path, line, session, project, at, data FROM chunk WHERE n = ?"
    ((id, kind, title, text, path, line, session, project, at, data),) = database.ask(
        statement, (one.number,)
    )
    _, start, stop = best
    shown_terms = evidence.chosen.shown
    if stop - start > _LONGEST_SHOWN:
        start, stop = lexical.around(shown_terms, text, start, stop, _LONGEST_SHOWN)
    passage = text[start:stop].strip() if (start, stop) != (0, len(text)) else text
    words = lexical.held(shown_terms, f"{title} {passage}", _REASON_WORDS)
    words = words or [sign for sign in evidence.signs if sign in passage]
    meaning = f"{cosine:.2f}" if cosine >= _TELLING_COSINE else ""
    grounds = Grounds(
        one.number in evidence.named, tuple(words), meaning, is_weak, context="" if words else context
    )
    skipped = len(text[start:stop]) - len(text[start:stop].lstrip()) if start else 0
    return Hit(
        id=id,
        kind=kind,
        text=passage,
        path=path,
        line=line + text.count("\n", 0, start + skipped) if line else 0,
        session=session,
        project=project,
        date="" if at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)),
        score=round(terms.score(one.value), 4),
        why=grounds.text(otherwise),
        grounds=grounds,
        data=data,
    )
