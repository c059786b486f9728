"""Whether a text answers at all: the words that it shares with a question and its nearness, less what chance gives.

Ranking says which text comes first. Of many texts that have nothing to do with a question one still comes first, and
mostly by one word: `build` of a shelf and of a program. docs/benchmarks.md says how the parts were found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from holdfast.search import fuse, lexical
from holdfast.search.database import Database
from holdfast.search.terms import Chosen


class Claim(Struct, frozen=True):
    """What speaks for a chunk: its passage with most of the question, that one's coverage, and its largest cosine."""

    passage: int
    coverage: float
    cosine: float | None


class Doubt:
    """What the texts that may answer must stand up to."""

    def __init__(
        self, database: Database, chosen: Chosen, condition: tuple[str, list[object]], lift: float = 0.0
    ) -> None:
        """`condition` says which chunks may answer, `lift` by how much the embedder's cosines are too small."""
        self._db = database
        self._chosen = chosen
        self._lift = lift
        where, values = condition
        among = f"SELECT count(*) FROM (SELECT 1 FROM chunk WHERE {where} LIMIT {fuse.MANY})"
        self._texts = database.number(among, values)

    def evidence(self, claims: Sequence[Claim | None], least: float) -> list[float]:
        """For each claim what is left of it, without end for none; what cannot reach `least` is not looked into."""
        at_most = [self._of(claim, 0.0) for claim in claims]
        passages = {one.passage for one, most in zip(claims, at_most, strict=True) if one and most >= least}
        rarest = self._rarest_words(passages)
        return [self._of(claim, rarest.get(claim.passage, 0.0) if claim else 0.0) for claim in claims]

    def _of(self, claim: Claim | None, rarest: float) -> float:
        if claim is None:
            return math.inf
        cosine = None if claim.cosine is None else claim.cosine + self._lift
        return fuse.evidence(claim.coverage, rarest, cosine, self._texts)

    def _rarest_words(self, passages: set[int]) -> dict[int, float]:
        """Passage → how much of the question the rarest word makes up that it holds."""
        rarest: dict[int, float] = {}
        if not passages:
            return rarest
        # All that hold a word are read, and most passed over: to ask for each passage takes four times as long.
        holding = "SELECT rowid FROM passage_words WHERE passage_words MATCH ?"
        for word, share in zip(self._chosen.words, self._chosen.shares, strict=True):
            for (number,) in self._db.ask(holding, [lexical.match_any([word])]):
                if number in passages and share > rarest.get(number, 0.0):
                    rarest[number] = share
        return rarest
