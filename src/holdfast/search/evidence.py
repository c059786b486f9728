"""What the index says for each chunk that may answer, by words, by meaning and by name."""

from __future__ import annotations

from msgspec import Struct

from holdfast.search import fuse
from holdfast.search.doubt import Claim
from holdfast.search.terms import Chosen

_FEW_WORDS = 2


class Candidate(Struct, frozen=True):
    """A chunk that may answer: its passages (number, start, stop), its kind and its moment."""

    id: str
    passages: list[tuple[int, int, int]]
    kind: str
    at: float | None


class Ranked(Struct, frozen=True):
    """A chunk with its place in the order and what a person is told of it."""

    value: float
    number: int
    best: tuple[int, int, int]
    cosine: float
    claim: Claim | None  # none for what is named or held word for word: that is beyond doubt


class Evidence(Struct, frozen=True):
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

    def of(self, number: int, candidate: Candidate) -> tuple[float, float, float]:
        """A chunk's coverage by its best passage and by all of it, and its largest cosine."""
        numbers = [passage for passage, _, _ in candidate.passages]
        passage = max(self.by_passage.get(n, 0.0) for n in numbers) / self.chosen.passage_weight
        if len(numbers) == 1:
            return passage, passage, self.cosines.get(numbers[0], 0.0)
        whole = self.by_whole.get(number, 0.0) / self.chosen.whole_weight
        return passage, whole, max(self.cosines.get(n, 0.0) for n in numbers)

    def claim(self, candidate: Candidate, coverage: float, cosine: float) -> Claim:
        numbers = [passage for passage, _, _ in candidate.passages]
        held = max(numbers, key=lambda number: (self.by_passage.get(number, 0.0), -number))
        return Claim(held, coverage, cosine if self.cosines else None)

    def best_passage(self, candidate: Candidate) -> tuple[int, int, int]:
        def worth(place: tuple[int, int, int]) -> tuple[float, int]:
            words = self.by_passage.get(place[0], 0.0) / self.chosen.passage_weight
            return words + fuse.MEANING * self.cosines.get(place[0], 0.0), -place[1]

        return max(candidate.passages, key=worth)
