"""What a model does to failures, cost and time once the difficulty of its work is taken out.

A model that was given the hard tasks looks worse than it is. So each value is explained by its model, its kind of task
and its complexity together, every effect shrunk toward none by how little is known of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import exp, log

from msgspec import Struct

ROUNDS = 25
PRIOR_FAILURES = 2.0  # expected failures' worth of doubt that a model, kind or level differs from the rest
PRIOR_SESSIONS = 3.0  # the same for logarithms of cost and time
LEAST, MOST = 0.002, 0.95
LEAST_AMOUNT = 0.0001  # what is free counts as next to nothing: nothing has no logarithm
MODEL, KIND, LEVEL = range(3)

Factors = tuple[str, str, str]  # model, kind of task, complexity


class _Cell(Struct):
    """The sessions that share all three factors: how many, their values in sum, and the squares of them."""

    n: float = 0.0
    total: float = 0.0
    squares: float = 0.0


def _cells(observed: Iterable[tuple[Factors, float, float]]) -> dict[Factors, _Cell]:
    cells: defaultdict[Factors, _Cell] = defaultdict(_Cell)
    for factors, value, weight in observed:
        cell = cells[factors]
        cell.n += weight
        cell.total += weight * value
        cell.squares += weight * value * value
    return cells


class Multiplied(Struct, frozen=True):
    """A base rate and factors on it, for failures; `seen` is what each model's factor rests on."""

    base: float
    effects: tuple[Mapping[str, float], ...]
    seen: Mapping[str, float]

    def predict(self, factors: Factors) -> float:
        rate = self.base
        for effect, value in zip(self.effects, factors, strict=True):
            rate *= effect.get(value, 1.0)
        return min(max(rate, LEAST), MOST)

    def doubt(self, model: str) -> float:
        """The variance of the logarithm of a model's factor: one over the failures that it rests on."""
        return 1 / (self.seen.get(model, 0.0) + PRIOR_FAILURES)


def explain_failures(observed: Iterable[tuple[Factors, float, float]]) -> Multiplied:
    """Observed over expected failures, in turn for each factor, until they agree. Each session has its weight."""
    cells = _cells(observed)
    sessions = sum(cell.n for cell in cells.values())
    base = (sum(cell.total for cell in cells.values()) + 0.5) / (sessions + 1.0)
    effects: list[dict[str, float]] = [{}, {}, {}]
    happened: dict[str, float] = {}
    for _ in range(ROUNDS):
        for place in (LEVEL, KIND, MODEL):
            happened = defaultdict(float)
            expected: defaultdict[str, float] = defaultdict(float)
            for factors, cell in cells.items():
                rate = base
                for other in range(3):
                    if other != place:
                        rate *= effects[other].get(factors[other], 1.0)
                happened[factors[place]] += cell.total
                expected[factors[place]] += cell.n * min(rate, MOST)
            effects[place] = {
                key: (happened[key] + PRIOR_FAILURES) / (expected[key] + PRIOR_FAILURES) for key in expected
            }
    return Multiplied(base, tuple(effects), happened)


class Added(Struct, frozen=True):
    """A typical value and factors on it, for cost and time, which spread by factors and not by sums."""

    base: float
    effects: tuple[Mapping[str, float], ...]
    spread: float  # variance of what is left unexplained

    def predict(self, factors: Factors) -> float:
        """The mean, which lies above the typical value by as much as the spread says."""
        effects = [effect.get(value, 0.0) for effect, value in zip(self.effects, factors, strict=True)]
        return exp(min(self.base + sum(effects) + self.spread / 2, 30.0))

    def knows(self, model: str) -> bool:
        return model in self.effects[MODEL]


def explain_amounts(observed: Iterable[tuple[Factors, float, float]]) -> Added | None:
    cells = _cells(
        (factors, log(max(value, LEAST_AMOUNT)), weight) for factors, value, weight in observed if value >= 0
    )
    sessions = sum(cell.n for cell in cells.values())
    if not sessions:
        return None
    base = sum(cell.total for cell in cells.values()) / sessions
    effects: list[dict[str, float]] = [{}, {}, {}]
    for _ in range(ROUNDS):
        for place in (LEVEL, KIND, MODEL):
            left: defaultdict[str, float] = defaultdict(float)
            known: defaultdict[str, float] = defaultdict(float)
            for factors, cell in cells.items():
                others = sum(effects[other].get(factors[other], 0.0) for other in range(3) if other != place)
                left[factors[place]] += cell.total - cell.n * (base + others)
                known[factors[place]] += cell.n
            effects[place] = {key: left[key] / (known[key] + PRIOR_SESSIONS) for key in left}
    unexplained = 0.0
    for factors, cell in cells.items():
        expected = base + sum(effects[place].get(factors[place], 0.0) for place in range(3))
        unexplained += cell.squares - 2 * expected * cell.total + cell.n * expected * expected
    return Added(base, tuple(effects), min(max(unexplained, 0.0) / max(sessions - 1, 1), 4.0))
