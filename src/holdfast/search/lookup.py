"""Answers a question from the index: weighs what words, meaning and time say for each candidate, and orders them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.model.search import EXACT_FIRST, TIMELESS, Hit
from holdfast.search import fuse, lexical, spaceless
from holdfast.search.candidates import Candidates
from holdfast.search.contract import FITTING, FLOOR
from holdfast.search.database import Database
from holdfast.search.doubt import Claim, Doubt
from holdfast.search.evidence import Candidate, Evidence, Ranked
from holdfast.search.passages import CLOSELY
from holdfast.search.question import Question, Scope
from holdfast.search.telling import hit_of
from holdfast.search.terms import Chosen, Terms
from holdfast.search.vectors import VectorFile

_LOOKED_AT_FOR_WORDING = 50


class Lookup:
    """One question's way through one database, inside a read transaction."""

    def __init__(self, database: Database, terms: Terms, vectors: VectorFile | None) -> None:
        self._db = database
        self._terms = terms
        self._found = Candidates(database, vectors)

    def answer(self, question: Question, k: int, floor: float) -> list[Hit]:
        evidence = self._evidence(question)
        if question.least is not None and not evidence.fits(question.least):
            return []
        candidates = self._found.of(
            [*evidence.by_passage, *evidence.cosines], [*evidence.by_whole, *evidence.named], question.scope
        )
        self._found.complete(evidence.cosines, candidates, question)
        now = self._newest(question.scope.before) if question.now is None else question.now
        ranked = [
            one
            for number, candidate in candidates.items()
            if (one := self._ranked(number, candidate, evidence, question.text, now)) is not None
        ]
        left: dict[int, float] = {}
        if floor > 0 or (question.least is not None and not evidence.is_short_of_words):
            left = self._left_of(ranked, evidence.chosen, question, floor)
            if question.least is not None and max(left.values(), default=0.0) < FITTING:
                return []
            ranked = [one for one in ranked if floor <= 0 or left[one.number] >= floor]
        elif question.least is not None:
            left = {one.number: one.cosine + question.lift for one in ranked if one.claim is not None}

        # Equal values are told apart by what a rebuilt index has too: never by row numbers.
        def order(one: Ranked) -> tuple[float, float, str]:
            return -one.value, -(candidates[one.number].at or 0), candidates[one.number].id

        ranked.sort(key=order)
        if ranked and len(question.text.split()) > 1:
            # What is worth less than that comes in no case among the first k.
            least = ranked[:k][-1].value / fuse.AS_ASKED
            near = [one for one in ranked[:_LOOKED_AT_FOR_WORDING] if one.value >= least]
            ranked[: len(near)] = [
                self._by_wording(one, candidates[one.number].kind, question.text) for one in near
            ]
            ranked.sort(key=order)
        return [hit_of(self._db, one, evidence, left.get(one.number, FLOOR) < FLOOR) for one in ranked[:k]]

    def listed(self, scope: Scope, k: int) -> list[Hit]:
        """All that may answer, newest first."""
        condition, values = scope.condition()
        statement = f"SELECT n FROM chunk WHERE {condition} ORDER BY at DESC, id LIMIT {k}"
        numbers = [number for (number,) in self._db.ask(statement, values)]
        chosen = Chosen([], 0, [], 1.0, 1.0, [], [], [])
        nothing = Evidence(chosen, {}, {}, {}, set(), [])
        hits = []
        for number in numbers:
            statement = "SELECT n, start, stop FROM passage WHERE chunk = ? ORDER BY start LIMIT 1"
            (first,) = self._db.ask(statement, (number,))
            one = Ranked(1.0, number, first, 0.0, None)
            hits.append(hit_of(self._db, one, nothing, is_weak=False, otherwise="its date"))
        return hits

    def _evidence(self, question: Question) -> Evidence:
        """What words, meaning and names say of any chunk at all."""
        chosen = self._terms.choose(lexical.query_terms(question.text))
        signs = [] if _has_words(chosen) else spaceless.sought_as_it_stands(question.text)
        if signs:
            by_passage = self._found.holding(signs, chosen, question.scope)
        else:
            by_passage = self._found.by_words(
                "passage_words", chosen.words, chosen.passage_factors, question.scope
            )
        by_whole = self._found.by_words("whole_words", chosen.words, chosen.whole_factors, question.scope)
        cosines, named = self._found.by_meaning(question), self._found.named(question)
        return Evidence(chosen, by_passage, by_whole, cosines, named, signs)

    def _left_of(
        self, ranked: Sequence[Ranked], chosen: Chosen, question: Question, floor: float
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
        self, number: int, candidate: Candidate, evidence: Evidence, query: str, now: float
    ) -> Ranked | None:
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
        return Ranked(value, number, evidence.best_passage(candidate), cosine, claim)

    def _by_wording(self, one: Ranked, kind: str, query: str) -> Ranked:
        """What holds several words as they are asked for is before what holds them in another order."""
        _, start, stop = one.best
        if kind in EXACT_FIRST or not self._holds(one.number, query, start, stop):
            return one
        return replace(one, value=one.value * fuse.AS_ASKED)

    def _holds(self, number: int, query: str, start: int = 0, stop: int = CLOSELY) -> bool:
        wanted = " ".join(query.casefold().split()).strip("\"'`?")
        if not 2 < len(wanted) <= 200:
            return False
        statement = "SELECT substr(text, ?, ?), title FROM chunk WHERE n = ?"
        ((text, title),) = self._db.ask(statement, (start + 1, stop - start, number))
        return lexical.holds(" ".join(lexical.composed(f"{title} {text}").casefold().split()), wanted)


def _has_words(chosen: Chosen) -> bool:
    """Whether any word of a question is one to FTS5: a single character of a script without spaces hardly ever is."""
    return any(len(word) > 1 or not spaceless.has_run(word) for word in chosen.words)
