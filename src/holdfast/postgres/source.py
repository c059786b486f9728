"""What the team's server answers for ranking: candidates by words, meaning and name, and the texts of the best."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.search.candidates import Candidate, Part, Row, ids_in
from holdfast.search.contract import Query, Scope
from holdfast.search.embed.static import UNIT
from holdfast.search.sqlite_source import BY_MEANING, BY_WORDS, MOST_ALIKE
from holdfast.search.stemming import CUT, Splitter
from holdfast.search.terms import POSTINGS, Chosen, Counts, Lengths, Table

if TYPE_CHECKING:
    from holdfast.postgres.connection import Session

_EXACT = 20_000  # passages that are all compared: as quick as the graph, and none is missed
_MOST_LIKE = 5_000  # passages that are looked through for a spelling
_LONGEST_STEM = 500

_OF = "FROM holdfast.statement AS s WHERE s.project = %s"
_COUNTS = """SELECT coalesce(sum(changes), 0)::bigint, count(*), coalesce(sum(passages), 0)::bigint,
coalesce(sum(wholes), 0)::bigint, coalesce(sum(signs), 0)::bigint, coalesce(sum(later_signs), 0)::bigint,
coalesce(sum(later), 0)::bigint, coalesce(sum(words), 0)::bigint, coalesce(sum(whole_words), 0)::bigint
FROM holdfast.tally WHERE project = %s"""
_BY_WORDS = "SELECT n, score FROM holdfast.by_words(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
BY_ID = "FROM holdfast.by_id(%s, %s) AS s"
_NEAREST = "SELECT n, dot FROM holdfast.nearest(%s, %s, %s, %s, %s, %s, %s, %s)"
_DOTS = "SELECT n, dot FROM holdfast.dots(%s, %s, %s)"
_CANDIDATES = """WITH asked AS MATERIALIZED (
SELECT chunk FROM holdfast.by_number(%s, %s) UNION SELECT unnest(%s::bigint[]))
SELECT s.chunk, s.id, s.kind, s.at, s.n, s.start, s.stop, s.series, s.place
FROM holdfast.by_chunk(%s, (SELECT array_agg(chunk) FROM asked)) AS s WHERE true {scope}
ORDER BY s.id, s.author, s.start"""
_ROWS = """SELECT part_chunk, id, kind, title, body, path, line, session, name, at, data, part_start, is_whole
FROM holdfast.parts(%s, %s, %s, %s)"""
_HELD = """SELECT s.n, ARRAY(SELECT place - 1 FROM unnest(%s::text[]) WITH ORDINALITY AS word (stem, place)
WHERE s.words @@ word.stem::tsquery) FROM holdfast.by_number(%s, %s) AS s"""
_FOLLOWERS = "SELECT lender, follower FROM holdfast.followers(%s, %s)"
_BEGINNING = "SELECT holdfast.named_from(%s, %s, %s, %s, %s, %s, %s, %s)"


def prepare(session: Session) -> None:
    """What a session needs once: without statistics a plan sorts a whole project instead of reading it in order."""
    session.execute("SET enable_sort = off")


def as_halfvec(vector: bytes) -> str | None:
    """Signed bytes as the server reads them; None for a text that says nothing."""
    values = array("b", vector)
    return f"[{','.join(map(str, values))}]" if any(values) else None


def as_lexeme(stem: str) -> str:
    """A stem as the server stores it: whole characters, and not endless ones."""
    if not stem.isascii():
        stem = stem.encode("utf-8", CUT).decode("utf-8", "replace")
    return stem[:_LONGEST_STEM]


def quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


class PostgresVocabulary:
    """The words of one project."""

    def __init__(self, session: Session, project: str, splitter: Splitter) -> None:
        self._session, self._project, self._splitter = session, project, splitter
        self._sums = (0,) * 9

    def seen(self) -> tuple[int, ...]:
        rows: list[Any] = self._session.execute(_COUNTS, [self._project]).fetchall()
        self._sums = rows[0]
        return self._sums

    def counts(self) -> Counts:
        _, _, passages, wholes, signs, later_signs, later, _, _ = self._sums
        lengths = Lengths.of(passages, wholes, signs, later_signs, later) if wholes else Lengths()
        return Counts(passages, wholes, lengths)

    def mean(self, table: Table) -> float:
        """How many words a passage, or a long chunk, has."""
        _, _, passages, wholes, _, _, _, words, whole_words = self._sums
        return words / max(passages, 1) if table == "passage_words" else whole_words / max(wholes, 1)

    def frequencies(self, table: Table, stems: Sequence[str]) -> dict[str, int]:
        """Counted as far as it matters: a word that more texts have is too common to be looked up."""
        lexemes = {stem: as_lexeme(stem) for stem in stems}
        values = [self._project, list(lexemes.values()), table == "whole_words", POSTINGS + 1]
        asked = "SELECT stem, texts FROM holdfast.frequencies(%s, %s, %s, %s)"
        rows: list[Any] = self._session.execute(asked, values).fetchall()
        counts = dict(rows)
        return {stem: counts.get(lexeme, 0) for stem, lexeme in lexemes.items()}

    def beginning(self, start: str) -> Iterable[tuple[int, str]]:
        asked = "SELECT texts, stem FROM holdfast.beginning(%s, %s, %s)"
        rows: list[Any] = self._session.execute(
            asked, [self._project, as_lexeme(start), _MOST_LIKE]
        ).fetchall()
        return rows

    def stems(self, terms: Sequence[str]) -> dict[str, str]:
        return self._splitter.stems(terms)


class PostgresSource:
    """Queries one project, inside a transaction that sees one moment."""

    def __init__(self, session: Session, project: str, vocabulary: PostgresVocabulary) -> None:
        self._session, self._project, self._vocabulary = session, project, vocabulary

    def _ask(self, query: str, values: Sequence[object]) -> list[Any]:
        return self._session.execute(query.replace("{of}", _OF).encode(), values).fetchall()

    def by_words(self, table: Table, chosen: Chosen, scope: Scope) -> dict[int, float]:
        weights = chosen.passage_idf if table == "passage_words" else chosen.whole_idf
        if not any(weights):
            return {}
        stems = [as_lexeme(stem) for _, stem in chosen.shown]
        mean, whole = self._vocabulary.mean(table), table == "whole_words"
        values = [self._project, stems, weights, mean, whole, *_limits(scope), BY_WORDS]
        return dict(self._ask(_BY_WORDS, values))

    def holding(self, signs: Sequence[str], chosen: Chosen, scope: Scope) -> dict[int, float]:
        condition, values = _condition(scope)
        scores: dict[int, float] = {}
        for sign in signs:
            query = (
                "SELECT number FROM (SELECT DISTINCT ON (s.chunk) s.n AS number, s.at, s.id {of} "
                f"AND strpos(s.body, %s) > 0 {condition} ORDER BY s.chunk, s.start) AS found "
                "ORDER BY at DESC NULLS LAST, id LIMIT %s"
            )
            for (number,) in self._ask(query, [self._project, sign, *values, BY_WORDS]):
                scores[number] = scores.get(number, 0.0) + chosen.passage_weight / len(signs)
        return scores

    def by_meaning(self, question: Query) -> dict[int, float]:
        vector = as_halfvec(question.vector or b"")
        if vector is None:
            return {}
        every = self._vocabulary.counts().passages <= _EXACT
        values = [self._project, vector, *_limits(question.scope), every, BY_MEANING]
        rows = self._ask(_NEAREST, values)
        return {number: dot / UNIT**2 for number, dot in rows if dot > 0}

    def cosines(self, question: Query, passages: Sequence[int]) -> dict[int, float]:
        vector = as_halfvec(question.vector or b"")
        if vector is None:
            return {}
        rows = self._ask(_DOTS, [self._project, vector, list(passages)])
        return {number: dot / UNIT**2 for number, dot in rows}

    def named(self, question: Query) -> set[int]:
        ids, beginnings = ids_in(question.text)
        condition, values = _condition(question.scope)
        query = f"SELECT s.chunk {BY_ID} WHERE true {condition}"
        numbers = {n for (n,) in self._ask(query, [self._project, ids, *values])}
        for start in beginnings:
            asked = [self._project, start, f"{start}\uffff", *_limits(question.scope), MOST_ALIKE]
            numbers |= {n for (n,) in self._ask(_BEGINNING, asked)}
        return numbers

    def of(self, passages: Sequence[int], chunks: Sequence[int], scope: Scope) -> dict[int, Candidate]:
        condition, values = _condition(scope)
        found: dict[int, Candidate] = {}
        rows = self._ask(
            _CANDIDATES.replace("{scope}", condition),
            [self._project, list(set(passages)), list(set(chunks)), self._project, *values],
        )
        for chunk, id, kind, at, number, start, stop, series, place in rows:
            candidate = found.get(chunk)
            if candidate is None:
                candidate = found[chunk] = Candidate(id, [], kind, at, series, place)
            candidate.passages.append((number, start, stop))
        return found

    def words_of(self, passages: Sequence[int], chosen: Chosen) -> dict[int, int]:
        asked = [quoted(as_lexeme(stem)) for _, stem in chosen.shown]
        rows = self._ask(_HELD, [asked, self._project, list(set(passages))]) if asked else []
        return {number: sum(1 << bit for bit in bits) for number, bits in rows if bits}

    def followers(self, lenders: Sequence[int]) -> Iterable[tuple[int, int]]:
        return self._ask(_FOLLOWERS, [self._project, list(lenders)])

    def around(self, series: int, place: float, most: int) -> Iterable[int]:
        for sign, order in (">", "ASC"), ("<", "DESC"):
            query = (
                f"SELECT s.chunk {{of}} AND s.start = 0 AND s.series <> 0 AND s.series = %s AND s.place {sign} %s "
                f"ORDER BY s.place {order} LIMIT %s"
            )
            yield from (chunk for (chunk,) in self._ask(query, [self._project, series, place, most]))

    def rows(self, parts: Sequence[Part]) -> dict[int, Row]:
        columns = [list(column) for column in zip(*parts, strict=True)] or [[], [], []]
        return {
            chunk: Row(id, kind, title, text, path, line, session, name, at, data, start, is_whole)
            for chunk, id, kind, title, text, path, line, session, name, at, data, start, is_whole in self._ask(
                _ROWS, [self._project, *columns]
            )
        }

    def listed(self, scope: Scope, most: int) -> list[Part]:
        condition, values = _condition(scope)
        query = f"SELECT s.chunk, s.start, s.stop {{of}} AND s.start = 0 {condition} "
        return self._ask(
            query + "ORDER BY s.at DESC NULLS LAST, s.id LIMIT %s", [self._project, *values, most]
        )

    def texts(self, scope: Scope, most: int) -> int:
        condition, values = _condition(scope)
        query = f"SELECT count(*) FROM (SELECT 1 {{of}} AND s.start = 0 {condition} LIMIT %s) AS found"
        ((count,),) = self._ask(query, [self._project, *values, most])
        return int(count)

    def newest(self, before: float | None) -> float:
        condition, values = _condition(Scope(before=before))
        query = f"SELECT s.at {{of}} AND s.start = 0 AND s.at IS NOT NULL {condition} "
        rows = self._ask(query + "ORDER BY s.at DESC NULLS LAST LIMIT 1", [self._project, *values])
        return rows[0][0] if rows else 0.0

    def has_any(self, since: float, before: float) -> bool:
        return self.texts(Scope(since=since, before=before), 1) > 0


def _listed(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


def _limits(scope: Scope) -> list[object]:
    """A scope as the functions of the server take it."""
    return [_listed(scope.kinds), _listed(scope.projects), scope.since, scope.before]


def _condition(scope: Scope) -> tuple[str, list[object]]:
    """A scope as SQL over `s`."""
    parts: list[str] = []
    values: list[object] = []
    for column, allowed in (("kind", scope.kinds), ("name", scope.projects)):
        if allowed is not None:
            parts.append(f"AND s.{column} = ANY (%s)")
            values.append(list(allowed))
    for sign, moment in (("<", scope.before), (">=", scope.since)):
        if moment is not None:
            parts.append(f"AND s.at {sign} %s")
            values.append(moment)
    return " ".join(parts), values
