"""Joins what words, meaning and time say of a chunk into one number that compares across questions.

    relevance = coverage + 0.5 x cosine          rank by relevance x (1 + recency)

`coverage` is BM25 over the sum of the question's idf: about the share of the question that the text holds. Nothing
is scaled by the other candidates (as reciprocal ranks, z-scores or the best score would), so a relevance of 0.5
means the same for every question, and a question that nothing answers has no good hit. On the development sets it
ranks as well as those do; docs/benchmarks.md has the figures. Recency multiplies: it orders what is relevant and
cannot lift what is not.

    evidence = passage's coverage - 0.5 x its rarest word + cosine - 0.03 x log2 of the number of texts / 16

says whether a text answers at all, which is another question than which one comes first.
"""

from __future__ import annotations

import math

MEANING = 0.5
RECENCY = 1.0
_FRESH_DAYS, _OLD_DAYS = 0.25, 30.0
_DAY = 86_400.0
_TITLE, _BODY, _NAMES = 2.0, 1.0, 1.0
FIELD_WEIGHTS = f"{_TITLE}, {_BODY}, {_NAMES}"

EXACT = 1.0
"""What holding the question word for word adds, for kinds where that counts: more than likeness can."""

AS_ASKED = 1.1
"""The factor of a chunk of any other kind that holds several words just as they are asked for."""

NAMED = 2.0
"""What it adds that the question says the chunk's id."""

_LONE = 0.5  # of the rarest word that question and text share: one word in common is chance as often as not
_CHANCE = 0.03  # for each doubling: the best of many texts that have nothing to do with it is nearer than that of a few
_FEW, MANY = 16, 4096  # texts between which that was measured
UNRELATED = 0.42
"""What the nearest text's cosine stays below in 85 of 100 questions that nothing answers, by the table that is shipped:
the evidence that is asked for was set with it. An embedder with another has its cosines lifted or lowered to this."""

_UNKNOWN = 0.3  # for a cosine, where texts have no vectors


def inverse_frequency(texts: int, holding: int) -> float:
    """The idf of FTS5's bm25()."""
    return max(1e-6, math.log((texts - holding + 0.5) / (holding + 0.5)))


def relevance(passage: float, whole: float, cosine: float) -> float:
    """How well a chunk answers: `passage` and `whole` are coverages by its best passage and by all of it."""
    return (passage + whole) / 2 + MEANING * max(cosine, 0.0)


def evidence(passage: float, rarest: float, cosine: float | None, texts: int) -> float:
    """What speaks for a chunk when chance is taken off; `rarest` is the coverage by its rarest word alone, 0 where
    the question has no other, and `texts` is among how many it was found."""
    chance = _CHANCE * math.log2(min(max(texts, _FEW), MANY) / _FEW)
    near = _UNKNOWN if cosine is None else max(cosine, 0.0)
    return passage - _LONE * rarest + near - chance


def recency(age: float) -> float:
    """1 for now, falling with the logarithm of the age to 0 at a month; 0 for what is dated in the future."""
    days = age / _DAY
    if days < -1:  # a day of grace for clocks and time zones
        return 0.0
    faded = math.log1p(max(days, 0.0) / _FRESH_DAYS) / math.log1p(_OLD_DAYS / _FRESH_DAYS)
    return max(0.0, 1.0 - faded)


def rank_value(relevance: float, recency: float) -> float:
    return relevance * (1.0 + RECENCY * recency)


def score(value: float) -> float:
    """A rank value as a number between 0 and 1."""
    return value / (1.0 + value)
