"""Answers a question from the index: finds candidates by words and by meaning, and ranks them together."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Sequence

from msgspec import Struct

from holdfast.model.search import EXACT_FIRST, MEANING, TIMELESS, WEAK, WORDS, Hit
from holdfast.search import fuse, lexical, spaceless
from holdfast.search.contract import FITTING, FLOOR
from holdfast.search.database import Database
from holdfast.search.doubt import Claim, Doubt
from holdfast.search.embed.contract import UNIT
from holdfast.search.passages import CLOSELY
from holdfast.search.terms import Chosen, Terms
from holdfast.search.vectors import VectorFile

_BY_WORDS = 300  # passages that are looked at more closely
_BY_MEANING = 200
_BEFORE_SCOPE = 5000  # nearest passages among which those of a scope are looked for first
_REASON_WORDS = 6
_LONGEST_SHOWN = 1500
_TELLING_COSINE = 0.3
_SORTS_OF_SESSION = ("session", "ledger")  # what is known of a session as a whole has these before its id
_BEGINS_AN_ID = re.compile(
    r"(?=.*\d)[0-9A-Za-z][0-9A-Za-z_-]{7,99}"
)  # people are shown the first eight signs
_MOST_ALIKE = 5
_LOOKS_LIKE_AN_ID = re.compile(r"[^\W\d_].*[\d\W_]|[\d\W_].*[^\W\d_]")  # `it` and `2` are said in passing
_FEW_WORDS = 2


class Scope(Struct, frozen=True):
    """Which chunks may answer."""

    kinds: tuple[str, ...] | None = None
    projects: tuple[str, ...] | None = None
    before: float | None = None

    @property
    def is_everything(self) -> bool:
        return self == Scope()

    def condition(self) -> tuple[str, list[object]]:
        """As SQL over `chunk`."""
        parts = ["1"]
        values: list[object] = []
        for column, allowed in (("kind", self.kinds), ("project", self.projects)):
            if allowed is not None:
                parts.append(f"chunk.{column} IN ({', '.join('?' * len(allowed))})")
                values.extend(allowed)
        if self.before is not None:
            parts.append("chunk.at < ?")
            values.append(self.before)
        return " AND ".join(parts), values


class _Candidate(Struct, frozen=True):
    """A chunk that may answer: its passages (number, start, stop), its kind and its moment."""

    id: str
    passages: list[tuple[int, int, int]]
    kind: str
    at: float | None


class Question(Struct, frozen=True):
    """`least` is the cosine below which a text that shares no word with it does not fit; None where all do.

    `lift` is by how much the cosines of its embedder are smaller than those that the floors were set with.
    """

    text: str
    scope: Scope
    now: float | None
    vector: bytes | None
    least: float | None = None
    lift: float = 0.0


class _Ranked(Struct, frozen=True):
    """A chunk with its place in the order and what a person is told of it."""

    value: float
    number: int
    best: tuple[int, int, int]
    cosine: float
    claim: Claim | None  # none for what is named or held word for word: that is beyond doubt


class _Evidence(Struct, frozen=True):
    """What the index says of each passage (by_passage, cosines) and each long chunk (by_whole), and ids said."""

    chosen: Chosen
    by_passage: dict[int, float]
    by_whole: dict[int, float]
    cosines: dict[int, float]
    named: set[int]
    signs: list[str]  # what was looked for as it stands, because it has no words

    def fits(self, least: float) -> bool:
        """Whether anything answers: by a word, by its id, or by meaning alone."""
        held = self.by_passage or self.by_whole or self.named
        return bool(held) or max(self.cosines.values(), default=0.0) >= least

    @property
    def is_short_of_words(self) -> bool:
        """A word or two, none of which any text holds: only other words for it can be meant, and meaning decides."""
        return not (self.by_passage or self.by_whole) and self.chosen.asked <= _FEW_WORDS

    def of(self, number: int, candidate: _Candidate) -> tuple[float, float, float]:
        """A chunk's coverage by its best passage and by all of it, and its largest cosine."""
        numbers = [passage for passage, _, _ in candidate.passages]
        passage = max(self.by_passage.get(n, 0.0) for n in numbers) / self.chosen.passage_weight
        if len(numbers) == 1:
            return passage, passage, self.cosines.get(numbers[0], 0.0)
        whole = self.by_whole.get(number, 0.0) / self.chosen.whole_weight
        return passage, whole, max(self.cosines.get(n, 0.0) for n in numbers)

    def claim(self, candidate: _Candidate, coverage: float, cosine: float) -> Claim:
        numbers = [passage for passage, _, _ in candidate.passages]
        held = max(numbers, key=lambda number: (self.by_passage.get(number, 0.0), -number))
        return Claim(held, coverage, cosine if self.cosines else None)

    def best_passage(self, candidate: _Candidate) -> tuple[int, int, int]:
        def worth(place: tuple[int, int, int]) -> tuple[float, int]:
            words = self.by_passage.get(place[0], 0.0) / self.chosen.passage_weight
            return words + fuse.MEANING * self.cosines.get(place[0], 0.0), -place[1]

        return max(candidate.passages, key=worth)


class Lookup:
    """One question's way through one database, inside a read transaction."""

    def __init__(self, database: Database, terms: Terms, vectors: VectorFile | None) -> None:
        self._db = database
        self._terms = terms
        self._vectors = vectors

    def answer(self, question: Question, k: int, floor: float) -> list[Hit]:
        chosen = self._terms.choose(lexical.query_terms(question.text))
        signs = [] if _has_words(chosen) else spaceless.sought_as_it_stands(question.text)
        evidence = _Evidence(
            chosen,
            self._holding(signs, chosen, question.scope)
            if signs
            else self._by_words("passage_words", chosen.words, chosen.passage_factors, question.scope),
            self._by_words("whole_words", chosen.words, chosen.whole_factors, question.scope),
            self._by_meaning(question),
            self._named(question),
            signs,
        )
        if question.least is not None and not evidence.fits(question.least):
            return []
        candidates = self._candidates(
            [*evidence.by_passage, *evidence.cosines], [*evidence.by_whole, *evidence.named], question.scope
        )
        self._complete(evidence.cosines, candidates, question)
        now = self._newest(question.scope.before) if question.now is None else question.now
        ranked = [
            one
            for number, candidate in candidates.items()
            if (one := self._ranked(number, candidate, evidence, question.text, now)) is not None
        ]
        left: dict[int, float] = {}
        if floor > 0 or (question.least is not None and not evidence.is_short_of_words):
            left = self._left_of(ranked, chosen, question, floor)
            if question.least is not None and max(left.values(), default=0.0) < FITTING:
                return []
            ranked = [one for one in ranked if floor <= 0 or left[one.number] >= floor]
        elif question.least is not None:
            left = {one.number: one.cosine + question.lift for one in ranked if one.claim is not None}
        # Equal values are told apart by what a rebuilt index has too: never by row numbers.
        ranked.sort(
            key=lambda one: (-one.value, -(candidates[one.number].at or 0), candidates[one.number].id)
        )
        return [self._hit(one, evidence, left.get(one.number, FLOOR) < FLOOR) for one in ranked[:k]]

    def _left_of(
        self, ranked: Sequence[_Ranked], chosen: Chosen, question: Question, floor: float
    ) -> dict[int, float]:
        """Chunk → the evidence for it, as far as it matters."""
        if floor > 0 and not lexical.says_something(question.text):
            # Who searches for `next` means that word; nobody's task is `ok, thanks`.
            return {one.number: 0.0 if one.claim is not None else math.inf for one in ranked}
        doubt = Doubt(self._db, chosen, question.scope.condition(), question.lift)
        left = doubt.evidence([one.claim for one in ranked], min(floor, FITTING) if floor > 0 else FITTING)
        return {one.number: rest for one, rest in zip(ranked, left, strict=True)}

    def _newest(self, before: float | None) -> float:
        """The moment of the newest chunk; who asks as of a day in the past has nothing newer."""
        condition, values = ("", []) if before is None else (" WHERE at < ?", [before])
        return self._db.number(f"SELECT max(at) FROM chunk{condition}", values)

    def _ranked(
        self, number: int, candidate: _Candidate, evidence: _Evidence, query: str, now: float
    ) -> _Ranked | None:
        """None for what is not relevant at all."""
        passage, whole, cosine = evidence.of(number, candidate)
        relevance = fuse.relevance(passage, whole, cosine)
        claim: Claim | None = None
        if number in evidence.named:
            relevance += fuse.NAMED
        elif candidate.kind in EXACT_FIRST and self._holds(number, query):
            relevance += fuse.EXACT
        else:
            claim = evidence.claim(candidate, passage, cosine)
        if relevance <= 0:
            return None
        fades = candidate.kind not in TIMELESS and candidate.at is not None
        recent = fuse.recency(now - (candidate.at or 0)) if fades else 0.0
        value = fuse.rank_value(relevance, recent)
        return _Ranked(value, number, evidence.best_passage(candidate), cosine, claim)

    # --- candidates --------------------------------------------------------------------------------------

    def _by_words(
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

    def _holding(self, signs: Sequence[str], chosen: Chosen, scope: Scope) -> dict[int, float]:
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

    def _by_meaning(self, question: Question) -> dict[int, float]:
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

    def _complete(
        self, cosines: dict[int, float], candidates: dict[int, _Candidate], question: Question
    ) -> None:
        """Every passage of every candidate gets its cosine, whoever proposed it."""
        if self._vectors is None or question.vector is None or not any(question.vector):
            return
        missing = [
            n for candidate in candidates.values() for n, _, _ in candidate.passages if n not in cosines
        ]
        for number, dot in self._vectors.dots(question.vector, missing).items():
            cosines[number] = dot / UNIT**2

    def _named(self, question: Question) -> set[int]:
        """Chunks whose id is said in the question; of `sort:id` the id alone will do, or the first of its signs."""
        words = {word.strip("\"'`()[]<>,;:!?.…") for word in question.text[:2000].split()[:50]} - {""}
        said = {word for word in words if len(words) == 1 or _LOOKS_LIKE_AN_ID.search(word)}
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

    def _candidates(
        self, passages: Sequence[int], chunks: Sequence[int], scope: Scope
    ) -> dict[int, _Candidate]:
        numbers = set(chunks)
        for some in _portions(sorted(set(passages))):
            marks = ", ".join("?" * len(some))
            numbers.update(
                n for (n,) in self._db.ask(f"SELECT chunk FROM passage WHERE n IN ({marks})", some)
            )
        found: dict[int, _Candidate] = {}
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
                    candidate = found[n] = _Candidate(id, [], kind, at)
                candidate.passages.append((number, start, stop))
        return found

    # --- what is told of a hit ---------------------------------------------------------------------------

    def _holds(self, number: int, query: str) -> bool:
        wanted = " ".join(query.casefold().split()).strip("\"'`?")
        if not 2 < len(wanted) <= 200:
            return False
        statement = f"SELECT substr(text, 1, {CLOSELY}), title FROM chunk WHERE n = ?"
        ((text, title),) = self._db.ask(statement, (number,))
        return wanted in " ".join(lexical.composed(f"{title} {text}").casefold().split())

    def _hit(self, one: _Ranked, evidence: _Evidence, is_weak: bool) -> Hit:
        statement = "SELECT id, kind, title, text, path, line, session, project, at FROM chunk WHERE n = ?"
        ((id, kind, title, text, path, line, session, project, at),) = self._db.ask(statement, (one.number,))
        _, start, stop = one.best
        terms = evidence.chosen.shown
        if stop - start > _LONGEST_SHOWN:
            start, stop = lexical.around(terms, text, start, stop, _LONGEST_SHOWN)
        passage = text[start:stop].strip() if (start, stop) != (0, len(text)) else text
        reasons = ["its id"] if one.number in evidence.named else []
        words = lexical.held(terms, f"{title} {passage}", _REASON_WORDS)
        words = words or [sign for sign in evidence.signs if sign in passage]
        reasons += [f"{WORDS}{', '.join(words)}"] if words else []
        reasons += [f"{MEANING}{one.cosine:.2f}"] if one.cosine >= _TELLING_COSINE else []
        reasons += [WEAK] if is_weak else []
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
            score=round(fuse.score(one.value), 4),
            why="; ".join(reasons) or "like it in parts",
        )


def _has_words(chosen: Chosen) -> bool:
    """Whether any word of a question is one to FTS5: a single character of a script without spaces hardly ever is."""
    return any(len(word) > 1 or not spaceless.has_run(word) for word in chosen.words)


def _portions(numbers: Sequence[int] | Collection[int], size: int = 500) -> list[list[int]]:
    listed = list(numbers)
    return [listed[at : at + size] for at in range(0, len(listed), size)]
