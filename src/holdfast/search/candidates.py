"""Finds the chunks that may answer a question: those that share its words, its meaning, or whose id it says."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from holdfast.search import fuse, lexical
from holdfast.search.database import Database
from holdfast.search.embed.contract import UNIT
from holdfast.search.evidence import Candidate
from holdfast.search.question import Question, Scope
from holdfast.search.terms import Chosen
from holdfast.search.vectors import VectorFile

_BY_WORDS = 300  # passages that are looked at more closely
_BY_MEANING = 200
_BEFORE_SCOPE = 5000  # nearest passages among which those of a scope are looked for first
_SORTS_OF_SESSION = ("session", "ledger")  # what is known of a session as a whole has these before its id
_BEGINS_AN_ID = re.compile(
    r"(?=.*\d)[0-9A-Za-z][0-9A-Za-z_-]{7,99}"
)  # people are shown the first eight signs
_MOST_ALIKE = 5
_LOOKS_LIKE_AN_ID = re.compile(r"[^\W\d_].*[\d\W_]|[\d\W_].*[^\W\d_]")  # `it` and `2` are said in passing
_LETTER_AND_HASH = re.compile(r"[A-Za-z]-[0-9A-Za-z]{4,12}")  # our own ids, as they are typed


class Candidates:
    """Asks one database and its vectors, inside a read transaction."""

    def __init__(self, database: Database, vectors: VectorFile | None) -> None:
        self._db = database
        self._vectors = vectors

    def by_words(
        self, table: str, words: Sequence[str], factors: Sequence[float], scope: Scope
    ) -> dict[int, float]:
        """Row number → BM25; in a handful of texts the sum over words, each times its factor."""
        if not factors:
            return self._matching(table, words, scope)
        found: dict[int, float] = {}
        for word, factor in zip(words, factors, strict=True):
            for number, value in self._matching(table, [word], scope).items():
                found[number] = found.get(number, 0.0) + value * factor
        return found

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
            f"AND rank MATCH 'bm25({fuse.FIELD_WEIGHTS})' {limit} ORDER BY rank LIMIT {_BY_WORDS}",
            [lexical.match_any(words), *(values if limit else [])],
        )
        return dict(cursor)

    def holding(self, signs: Sequence[str], chosen: Chosen, scope: Scope) -> dict[int, float]:
        """Passage → how many of some signs it is the first of its chunk to hold, as if they were all the words."""
        condition, values = scope.condition()
        found: dict[int, float] = {}
        for sign in signs:
            statement = (
                "SELECT n, instr(text, ?) AS place FROM chunk "
                f"WHERE place > 0 AND {condition} ORDER BY at DESC, id LIMIT {_BY_WORDS}"
            )
            for number, place in self._db.ask(statement, [sign, *values]).fetchall():
                first = "SELECT n FROM passage WHERE chunk = ? AND start < ? ORDER BY start DESC LIMIT 1"
                passage = self._db.number(first, (number, place))
                found[passage] = found.get(passage, 0.0) + chosen.passage_weight / len(signs)
        return found

    def by_meaning(self, question: Question) -> dict[int, float]:
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
        """The nearest passages of the chunks that may answer.

        To list all of those takes seconds where they are most of a large index; but then they are among the nearest
        of all, and when enough of these are in the scope, they are its nearest too. A small scope is listed.
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
        """Those of some passages whose chunks may answer, in the order given, until there are enough."""
        condition, values = scope.condition()
        inside: list[int] = []
        for some in _portions(passages):
            marks = ", ".join("?" * len(some))
            # A cross join is taken as written: SQLite would rather go through all chunks of a kind.
            statement = (
                "SELECT passage.n FROM passage CROSS JOIN chunk ON chunk.n = passage.chunk "
                f"WHERE passage.n IN ({marks}) AND {condition}"
            )
            found = {n for (n,) in self._db.ask(statement, [*some, *values])}
            inside += [number for number in some if number in found]
            if len(inside) >= 2 * _BY_MEANING:
                break
        return inside

    def complete(
        self, cosines: dict[int, float], candidates: dict[int, Candidate], question: Question
    ) -> None:
        """Every passage of every candidate gets its cosine, whoever proposed it."""
        if self._vectors is None or question.vector is None or not any(question.vector):
            return
        missing = [
            n for candidate in candidates.values() for n, _, _ in candidate.passages if n not in cosines
        ]
        for number, dot in self._vectors.dots(question.vector, missing).items():
            cosines[number] = dot / UNIT**2

    def named(self, question: Question) -> set[int]:
        """Chunks whose id is said in the question; of `sort:id` the id alone will do, or the first of its signs."""
        words = {word.strip("\"'`()[]<>,;:!?.…") for word in question.text[:2000].split()[:50]} - {""}
        said = {word for word in words if len(words) == 1 or _LOOKS_LIKE_AN_ID.search(word)}
        said |= {word[0].upper() + word[1:].lower() for word in said if _LETTER_AND_HASH.fullmatch(word)}
        condition, values = question.scope.condition()
        marks = ", ".join("?" * len(said))
        statement = f"SELECT n FROM chunk WHERE id IN ({marks}) AND {condition}"
        found = {n for (n,) in self._db.ask(statement, [*sorted(said), *values])}
        for word in said:
            if _BEGINS_AN_ID.fullmatch(word):
                for sort in _SORTS_OF_SESSION:
                    statement = (
                        f"SELECT n FROM chunk WHERE id >= ? AND id < ? AND {condition} LIMIT {_MOST_ALIKE}"
                    )
                    start = f"{sort}:{word.lower()}"
                    found |= {n for (n,) in self._db.ask(statement, [start, f"{start}\uffff", *values])}
        return found

    def of(self, passages: Sequence[int], chunks: Sequence[int], scope: Scope) -> dict[int, Candidate]:
        numbers = set(chunks)
        for some in _portions(sorted(set(passages))):
            marks = ", ".join("?" * len(some))
            numbers.update(
                n for (n,) in self._db.ask(f"SELECT chunk FROM passage WHERE n IN ({marks})", some)
            )
        found: dict[int, Candidate] = {}
        condition, values = scope.condition()
        for some in _portions(sorted(numbers)):
            marks = ", ".join("?" * len(some))
            statement = (
                "SELECT chunk.n, chunk.id, chunk.kind, chunk.at, passage.n, start, stop FROM chunk "
                f"JOIN passage ON passage.chunk = chunk.n WHERE chunk.n IN ({marks}) AND {condition}"
            )
            for n, id, kind, at, number, start, stop in self._db.ask(statement, [*some, *values]):
                candidate = found.get(n)
                if candidate is None:
                    candidate = found[n] = Candidate(id, [], kind, at)
                candidate.passages.append((number, start, stop))
        return found

    # --- what is told of a hit ---------------------------------------------------------------------------


def _portions(numbers: Sequence[int] | Collection[int], size: int = 500) -> list[list[int]]:
    listed = list(numbers)
    return [listed[at : at + size] for at in range(0, len(listed), size)]
