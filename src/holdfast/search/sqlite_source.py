"""What SQLite answers for ranking: words from FTS5, meaning from the file of vectors, the rest from tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.search import lexical, terms
from holdfast.search.candidates import Candidate, Part, Row, ids_in
from holdfast.search.contract import Query, Scope
from holdfast.search.database import Database, portions
from holdfast.search.embed.static import UNIT
from holdfast.search.stemming import CUT, stems_of
from holdfast.search.terms import Chosen, Counts, Lengths, Table
from holdfast.search.vectors import VectorFile

BY_WORDS = 300  # passages that are examined further
BY_MEANING = 200
_BEFORE_SCOPE = 5000  # nearest passages that are checked first for those in the scope
MOST_ALIKE = 5
_FOLLOWERS = (
    "SELECT lender.chunk, follower.chunk FROM turn AS lender JOIN turn AS follower "
    "ON follower.series = lender.series AND follower.place = "
    "(SELECT min(place) FROM turn WHERE series = lender.series AND place > lender.place)"
)
_ROW = (
    "SELECT id, kind, title, substr(text, ?1 + 1, ?2 - ?1), path, line, session, project, at, data, length(text), "
    "CASE WHEN line > 0 AND ?1 > 0 "
    "THEN ?1 - length(replace(substr(text, 1, ?1), char(10), '')) ELSE 0 END FROM chunk WHERE n = ?3"
)


class SqliteVocabulary:
    """The words of one database."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def seen(self) -> tuple[int, int]:
        return self._db.changes_seen()

    def counts(self) -> Counts:
        passages = self._db.number("SELECT count(*) FROM passage")
        wholes = self._db.number("SELECT count(*) FROM whole_words_docsize")
        return Counts(passages, wholes, self._mean_lengths(passages, wholes) if wholes else Lengths())

    def _mean_lengths(self, passages: int, wholes: int) -> Lengths:
        sums = "SELECT sum(stop - start), sum((stop - start) * (start > 0)), sum(start > 0) FROM passage"
        total, later, laters = self._db.row(sums) or (0, 0, 0)
        return Lengths.of(passages, wholes, total, later, laters)

    def frequencies(self, table: Table, stems: Sequence[str]) -> dict[str, int]:
        counting = f"SELECT doc FROM {_VOCABULARIES[table]} WHERE term = CAST(? AS TEXT)"
        return {stem: self._db.number(counting, (stem.encode("utf-8", CUT),)) for stem in stems}

    def beginning(self, start: str) -> Iterable[tuple[int, str]]:
        query = "SELECT CAST(term AS BLOB), doc FROM passage_word WHERE term >= ? AND term < ?"
        return (
            (doc, word.decode("utf-8", CUT))
            for word, doc in self._db.ask(query, (start, f"{start}\U0010ffff"))
        )

    def stems(self, terms: Sequence[str]) -> dict[str, str]:
        return stems_of(self._db.ask, terms)


_VOCABULARIES: dict[Table, str] = {"passage_words": "passage_word", "whole_words": "whole_word"}


class SqliteSource:
    """Queries one database and its vectors, inside a read transaction."""

    def __init__(self, database: Database, vectors: VectorFile | None) -> None:
        self._db = database
        self._vectors = vectors

    def by_words(self, table: Table, chosen: Chosen, scope: Scope) -> dict[int, float]:
        """In a small index the sum over words, each times its factor."""
        factors = chosen.passage_factors if table == "passage_words" else chosen.whole_factors
        if not factors:
            return self._matching(table, chosen.words, scope)
        scores: dict[int, float] = {}
        for word, factor in zip(chosen.words, factors, strict=True):
            for number, value in self._matching(table, [word], scope).items():
                scores[number] = scores.get(number, 0.0) + value * factor
        return scores

    def _matching(self, table: str, words: Sequence[str], scope: Scope) -> dict[int, float]:
        if not words:
            return {}
        chunk = (
            "found.rowid" if table == "whole_words" else "(SELECT chunk FROM passage WHERE n = found.rowid)"
        )
        condition, values = scope.condition()
        limit = (
            ""
            if scope.is_everything
            else f"AND EXISTS (SELECT 1 FROM chunk WHERE n = {chunk} AND {condition})"
        )
        cursor = self._db.ask(
            f"SELECT rowid, -rank FROM {table} AS found WHERE {table} MATCH ? "
            f"AND rank MATCH 'bm25({terms.FIELD_WEIGHTS})' {limit} ORDER BY rank LIMIT {BY_WORDS}",
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
                f"WHERE place > 0 AND {condition} ORDER BY at DESC, id LIMIT {BY_WORDS}"
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
            dots = self._vectors.nearest(question.vector, BY_MEANING, last, None)
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
            if len(inside) >= BY_MEANING:
                least = near[inside[BY_MEANING - 1]]
                return {number: near[number] for number in inside if near[number] >= least}
        condition, values = scope.condition()
        statement = (
            "SELECT passage.n FROM passage JOIN chunk ON chunk.n = passage.chunk "
            f"WHERE {condition} ORDER BY passage.n"
        )
        among = [n for (n,) in self._db.ask(statement, values)]
        return vectors.nearest(vector, BY_MEANING, last, among)

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
            if len(inside) >= 2 * BY_MEANING:
                break
        return inside

    def cosines(self, question: Query, passages: Sequence[int]) -> dict[int, float]:
        if self._vectors is None or question.vector is None or not any(question.vector):
            return {}
        dots = self._vectors.dots(question.vector, passages)
        return {number: dot / UNIT**2 for number, dot in dots.items()}

    def named(self, question: Query) -> set[int]:
        ids, beginnings = ids_in(question.text)
        condition, values = question.scope.condition()
        marks = ", ".join("?" * len(ids))
        statement = f"SELECT n FROM chunk WHERE id IN ({marks}) AND {condition}"
        numbers = {n for (n,) in self._db.ask(statement, [*ids, *values])}
        for start in beginnings:
            statement = f"SELECT n FROM chunk WHERE id >= ? AND id < ? AND {condition} LIMIT {MOST_ALIKE}"
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

    def words_of(self, passages: Sequence[int], chosen: Chosen) -> dict[int, int]:
        # The plus sign keeps SQLite from asking FTS5 for each passage by itself, which takes longer.
        among = f"+rowid IN ({', '.join(map(str, passages))})"
        holding = f"SELECT rowid FROM passage_words WHERE passage_words MATCH ? AND {among}"
        held: dict[int, int] = {}
        for bit, word in enumerate(chosen.words):
            for (passage,) in self._db.ask(holding, (lexical.match_any([word]),)):
                held[passage] = held.get(passage, 0) | 1 << bit
        return held

    def followers(self, lenders: Sequence[int]) -> Iterable[tuple[int, int]]:
        marks = ", ".join("?" * len(lenders))
        return self._db.ask(f"{_FOLLOWERS} WHERE lender.chunk IN ({marks})", lenders)

    def around(self, series: int, place: float, most: int) -> Iterable[int]:
        turns = "SELECT chunk FROM turn WHERE series = ?"
        for sign, order in (">", "ASC"), ("<", "DESC"):
            statement = f"{turns} AND place {sign} ? ORDER BY place {order} LIMIT {most}"
            yield from (chunk for (chunk,) in self._db.ask(statement, (series, place)))

    def rows(self, parts: Sequence[Part]) -> dict[int, Row]:
        found = {}
        for number, start, stop in parts:
            ((id, kind, title, text, path, line, session, project, at, data, length, lines),) = self._db.ask(
                _ROW, (start, stop, number)
            )
            is_whole = (start, stop) == (0, length)
            line = line + lines if line else 0
            found[number] = Row(
                id, kind, title, text, path, line, session, project, at, data, start, is_whole
            )
        return found

    def listed(self, scope: Scope, most: int) -> list[Part]:
        condition, values = scope.condition()
        statement = f"SELECT n FROM chunk WHERE {condition} ORDER BY at DESC, id LIMIT {most}"
        parts = []
        for (number,) in self._db.ask(statement, values).fetchall():
            first = "SELECT start, stop FROM passage WHERE chunk = ? ORDER BY start LIMIT 1"
            ((start, stop),) = self._db.ask(first, (number,))
            parts.append((number, start, stop))
        return parts

    def texts(self, scope: Scope, most: int) -> int:
        condition, values = scope.condition()
        return self._db.number(
            f"SELECT count(*) FROM (SELECT 1 FROM chunk WHERE {condition} LIMIT {most})", values
        )

    def newest(self, before: float | None) -> float:
        condition, values = ("", []) if before is None else (" WHERE at < ?", [before])
        return self._db.number(f"SELECT max(at) FROM chunk{condition}", values)

    def has_any(self, since: float, before: float) -> bool:
        is_there = "SELECT EXISTS (SELECT 1 FROM chunk WHERE at >= ? AND at < ?)"
        return bool(self._db.number(is_there, (since, before)))
