"""Whether a text answers at all: the words that it shares with a question and its nearness, less what chance gives.

Ranking says which text comes first. Of many texts that have nothing to do with a question one still comes first, and
mostly by one word: `build` of a shelf and of a program. docs/benchmarks.md says how the parts were found.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.search import fuse, lexical
from holdfast.search.database import Database
from holdfast.search.terms import Chosen

_TOGETHER = 500


class Claim(Struct, frozen=True):
    """What speaks for a chunk: its passage with most of the question, that one's coverage, and its largest cosine."""

    passage: int
    coverage: float
    cosine: float | None


class Doubt:
    """What the texts that may answer must stand up to."""

    def __init__(
        self, database: Database, question: str, chosen: Chosen, condition: tuple[str, list[object]]
    ) -> None:
        self._db = database
        self._chosen = chosen
        self._says_nothing = not lexical.says_something(question)
        where, values = condition
        among = f"SELECT count(*) FROM (SELECT 1 FROM chunk WHERE {where} LIMIT {fuse.MANY})"
        self._texts = database.number(among, values)

    def evidence(self, claims: Sequence[Claim], floor: float) -> list[float]:
        """For each claim what is left of it; what cannot reach the floor is not looked into."""
        at_most = [self._of(claim, 0.0) for claim in claims]
        passages = {claim.passage for claim, most in zip(claims, at_most, strict=True) if most >= floor}
        rarest = self._rarest_words(sorted(passages))
        return [self._of(claim, rarest.get(claim.passage, 0.0)) for claim in claims]

    def _of(self, claim: Claim, rarest: float) -> float:
        coverage = 0.0 if self._says_nothing else claim.coverage
        return fuse.evidence(coverage, rarest, claim.cosine, self._texts)

    def _rarest_words(self, passages: Sequence[int]) -> dict[int, float]:
        """Passage → how much of the question the rarest word makes up that it holds."""
        rarest: dict[int, float] = {}
        for at in range(0, len(passages), _TOGETHER):
            some = passages[at : at + _TOGETHER]
            marks = ", ".join("?" * len(some))
            statement = f"SELECT rowid FROM passage_words WHERE passage_words MATCH ? AND rowid IN ({marks})"
            for word, share in zip(self._chosen.words, self._chosen.shares, strict=True):
                for (number,) in self._db.ask(statement, [lexical.match_any([word]), *some]):
                    rarest[number] = max(rarest.get(number, 0.0), share)
        return rarest
