"""Ranks the chunks that may answer a query: words, meaning, the turns around them, time, wording."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from holdfast.model.search import EXACT_FIRST, TIMELESS, Hit
from holdfast.search import lexical, terms
from holdfast.search.candidates import (
    Candidate,
    Claim,
    Part,
    QueryEvidence,
    Ranked,
    Source,
    Worth,
    hit_of,
    remaining_evidence,
)
from holdfast.search.context import PREVIOUS, Context, Lent
from holdfast.search.contract import FITTING, FLOOR, Query, Scope
from holdfast.search.terms import CLOSELY, Chosen, Terms

_LOOKED_AT_FOR_WORDING = 50


class Lookup:
    """Answers one query from one source."""

    def __init__(self, source: Source, words: Terms) -> None:
        self._source = source
        self._terms = words

    def answer(self, question: Query, k: int, floor: float) -> list[Hit]:
        evidence = self._evidence(question)
        if question.least is not None and not evidence.fits(question.least):
            return []
        candidates = self._source.of(
            [*evidence.by_passage, *evidence.cosines], [*evidence.by_whole, *evidence.named], question.scope
        )
        self._complete(evidence.cosines, candidates, question)
        worths = {number: evidence.worth(number, candidate) for number, candidate in candidates.items()}
        lent = self._lent(candidates, worths, evidence, question)
        now = self._source.newest(question.scope.before) if question.now is None else question.now
        ranked = self._ranked(candidates, worths, lent, evidence, question, now)
        left: dict[int, float] = {}
        if floor > 0 or (question.least is not None and not evidence.is_short_of_words):
            claims = [evidence.claim(candidates[one.number], worths[one.number]) for one in ranked]
            left = self._left_of(ranked, claims, evidence.chosen, question, floor)
            left |= _borrowed(left, lent)
            if question.least is not None and max(left.values(), default=0.0) < FITTING:
                return []
            ranked = [one for one in ranked if floor <= 0 or left[one.number] >= floor]
        elif question.least is not None:
            left = {
                one.number: worths[one.number].cosine + question.lift for one in ranked if not one.is_certain
            }

        # Break ties by values that a rebuilt index has too, never by row numbers: the newest first, not the future.
        def order(one: Ranked) -> tuple[float, float, str]:
            at = candidates[one.number].at or 0
            return -one.value, -at if at <= now + terms.GRACE else math.inf, candidates[one.number].id

        ranked.sort(key=order)
        if ranked and len(question.text.split()) > 1:
            # Chunks below this value cannot be among the first k.
            least = ranked[:k][-1].value / terms.AS_ASKED
            near = [one for one in ranked[:_LOOKED_AT_FOR_WORDING] if one.value >= least]
            ranked[: len(near)] = sorted(self._by_wording(near, candidates, evidence, question), key=order)
        best = ranked[:k]
        rows = self._source.rows([_part(one, candidates, evidence) for one in best])
        return [
            hit_of(
                rows[one.number],
                one,
                worths[one.number].cosine,
                evidence,
                left.get(one.number, FLOOR) < FLOOR,
                context=lent[one.number].reason if one.number in lent else "",
            )
            for one in best
        ]

    def listed(self, scope: Scope, k: int) -> list[Hit]:
        """All chunks in the scope, newest first."""
        parts = self._source.listed(scope, k)
        rows = self._source.rows(parts)
        nothing = QueryEvidence(Chosen([], 0, [], 1.0, 1.0, []), {}, {}, {}, set(), [])
        return [
            hit_of(rows[number], Ranked(1.0, number, False), 0.0, nothing, False, otherwise="its date")
            for number, _, _ in parts
        ]

    def _evidence(self, question: Query) -> QueryEvidence:
        """The evidence of words, meaning and names for all chunks."""
        chosen = self._terms.choose(lexical.query_terms(question.text))
        signs = [] if _has_words(chosen) else lexical.sought_as_it_stands(question.text)
        if signs:
            by_passage = self._source.holding(signs, chosen, question.scope)
        else:
            by_passage = self._source.by_words("passage_words", chosen, question.scope)
        by_whole = self._source.by_words("whole_words", chosen, question.scope)
        cosines, named = self._source.by_meaning(question), self._source.named(question)
        return QueryEvidence(chosen, by_passage, by_whole, cosines, named, signs)

    def _complete(
        self, cosines: dict[int, float], candidates: Mapping[int, Candidate], question: Query
    ) -> None:
        """Adds the missing cosines of all passages of all candidates."""
        passages = [n for candidate in candidates.values() for n, _, _ in candidate.passages]
        if missing := [n for n in passages if n not in cosines]:
            cosines |= self._source.cosines(question, missing)

    def _lent(
        self,
        candidates: dict[int, Candidate],
        worths: dict[int, Worth],
        evidence: QueryEvidence,
        question: Query,
    ) -> dict[int, Lent]:
        """What other turns lend to each chunk; adds the turns that have something to show only by that."""
        context = Context(self._source, candidates, worths)
        if not context.has_turns:
            return {}
        more = self._source.of([], context.missing(), question.scope)
        self._complete(evidence.cosines, more, question)
        candidates |= more
        worths |= {number: evidence.worth(number, candidate) for number, candidate in more.items()}
        return context.lent(evidence.chosen)

    def _ranked(
        self,
        candidates: Mapping[int, Candidate],
        worths: Mapping[int, Worth],
        lent: Mapping[int, Lent],
        evidence: QueryEvidence,
        question: Query,
        now: float,
    ) -> list[Ranked]:
        """The chunks that are relevant at all, in no order."""
        ranked = []
        literal = [number for number, candidate in candidates.items() if candidate.kind in EXACT_FIRST]
        exact = self._holding([(number, 0, CLOSELY) for number in literal], question.text)
        for number, candidate in candidates.items():
            relevance = worths[number].relevance
            if number in lent:
                relevance += lent[number].value
            is_certain = True
            if number in evidence.named:
                relevance += terms.NAMED
            elif number in exact:
                relevance += terms.EXACT
            else:
                is_certain = False
            if relevance > 0:
                if question.recency and candidate.at is not None and candidate.kind not in TIMELESS:
                    relevance *= 1.0 + question.recency * terms.recency(now - candidate.at)
                ranked.append(Ranked(relevance, number, is_certain))
        return ranked

    def _left_of(
        self,
        ranked: Sequence[Ranked],
        claims: Sequence[Claim],
        chosen: Chosen,
        question: Query,
        floor: float,
    ) -> dict[int, float]:
        """Chunk → the evidence for it, as far as it matters."""
        if floor > 0 and not lexical.says_something(question.text):
            # A search for `next` means that word; `ok, thanks` is not a task.
            return {one.number: math.inf if one.is_certain else 0.0 for one in ranked}
        least = min(floor, FITTING) if floor > 0 else FITTING
        uncertain = [None if one.is_certain else claim for one, claim in zip(ranked, claims, strict=True)]
        remaining = remaining_evidence(self._source, chosen, question.scope, uncertain, least, question.lift)
        return {one.number: evidence for one, evidence in zip(ranked, remaining, strict=True)}

    def _by_wording(
        self,
        near: Sequence[Ranked],
        candidates: Mapping[int, Candidate],
        evidence: QueryEvidence,
        question: Query,
    ) -> list[Ranked]:
        """Ranks a chunk with the words in the order of the query before one with another order."""
        parts = [
            _part(one, candidates, evidence) for one in near if candidates[one.number].kind not in EXACT_FIRST
        ]
        asked = self._holding(parts, question.text)
        return [
            replace(one, value=one.value * terms.AS_ASKED) if one.number in asked else one for one in near
        ]

    def _holding(self, parts: Sequence[Part], query: str) -> set[int]:
        """The chunks whose part, or title, holds the query word for word."""
        wanted = " ".join(query.casefold().split()).strip("\"'`?")
        if not parts or not 2 < len(wanted) <= 200:
            return set()
        rows = self._source.rows(parts)
        return {
            number
            for number, row in rows.items()
            if lexical.holds(" ".join(lexical.composed(f"{row.title} {row.text}").casefold().split()), wanted)
        }


def _part(one: Ranked, candidates: Mapping[int, Candidate], evidence: QueryEvidence) -> Part:
    _, start, stop = evidence.best_passage(candidates[one.number])
    return one.number, start, stop


def _has_words(chosen: Chosen) -> bool:
    """Whether FTS5 sees any word in a query: a single character of a script without spaces is hardly ever one."""
    return any(len(word) > 1 or not lexical.has_run(word) for word in chosen.words)


def _borrowed(left: Mapping[int, float], lent: Mapping[int, Lent]) -> dict[int, float]:
    """The evidence of turns for which less speaks than for the turn before: as much as that may lend."""
    borrowed = {}
    for number, own in left.items():
        before = (left.get(n, 0.0) for n in lent[number].before) if number in lent else ()
        most = PREVIOUS * max((value for value in before if value < math.inf), default=0.0)
        if most > own:
            borrowed[number] = most
    return borrowed
