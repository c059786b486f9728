"""What a model does to failures, cost and time once the difficulty of its work is taken out.

A model that was given the hard tasks looks worse than it is. So each value is explained by its model, its kind of task
and its complexity together, every effect shrunk toward none by how little is known of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import exp, log

from msgspec import Struct

from holdfast.advise.rates import cumulated

ROUNDS = 25
PRIOR_FAILURES = 2.0  # expected failures' worth of doubt that a model, kind or level differs from the rest
PRIOR_SESSIONS = 3.0  # the same for logarithms of cost and time
LEAST, MOST = 0.002, 0.95
LEAST_SPREAD = 0.05  # no two sessions cost quite the same
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
    """A base rate and factors on it, for failures; `shapes` is how many failures each model's factor is worth."""

    base: float
    effects: tuple[Mapping[str, float], ...]
    shapes: Mapping[str, float]

    def predict(self, factors: Factors) -> float:
        rate = self.base
        for effect, value in zip(self.effects, factors, strict=True):
            rate *= effect.get(value, 1.0)
        return min(max(rate, LEAST), MOST)

    def lower(self, one: str, other: str) -> float:
        """The chance that one model's factor is below another's. Both are believed as Gamma distributions."""
        shape, others = (self.shapes.get(model, PRIOR_FAILURES) for model in (one, other))
        rate, others_rate = (
            own / self.effects[MODEL].get(model, 1.0) for model, own in ((one, shape), (other, others))
        )
        return cumulated(rate / (rate + others_rate), shape, others)


def _shape(failed: float, n: float) -> float:
    """Failures, of which n sessions have at most n: the more of them failed, the better their share is known."""
    share = (failed + 0.5) / (n + 1)
    return PRIOR_FAILURES + failed / max(1 - share, 0.25)


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
    sessions_of: defaultdict[str, float] = defaultdict(float)
    for factors, cell in cells.items():
        sessions_of[factors[MODEL]] += cell.n
    shapes = {model: _shape(happened[model], n) for model, n in sessions_of.items()}
    return Multiplied(base, tuple(effects), shapes)


class Added(Struct, frozen=True):
    """A typical value and factors on it, for cost and time, which spread by factors and not by sums.

    What is free has no logarithm: `paid` is for each model the share of sessions that took anything at all.
    """

    base: float
    effects: tuple[Mapping[str, float], ...]
    spread: float  # variance of what is left unexplained
    paid: Mapping[str, float]
    known: Mapping[str, float]

    def predict(self, factors: Factors) -> float | None:
        """The mean, which lies above the typical value by as much as the spread says; None of what is not known."""
        paid = self.paid.get(factors[MODEL])
        if not paid:
            return paid
        effects = [effect.get(value, 0.0) for effect, value in zip(self.effects, factors, strict=True)]
        return paid * exp(min(self.base + sum(effects) + self.spread / 2, 30.0))

    def doubt(self, model: str) -> float:
        """The variance of the logarithm of what is predicted for a model."""
        return max(self.spread, LEAST_SPREAD) / (self.known.get(model, 0.0) + 1.0)


def explain_amounts(observed: Iterable[tuple[Factors, float, float]]) -> Added:
    rows = [row for row in observed if row[1] >= 0]
    weights: defaultdict[str, float] = defaultdict(float)
    paying: defaultdict[str, float] = defaultdict(float)
    for factors, value, weight in rows:
        weights[factors[MODEL]] += weight
        paying[factors[MODEL]] += weight * (value > 0)
    paid = {model: paying[model] / weight for model, weight in weights.items() if weight}
    cells = _cells((factors, log(value), weight) for factors, value, weight in rows if value > 0)
    sessions = sum(cell.n for cell in cells.values())
    base = sum(cell.total for cell in cells.values()) / sessions if sessions else 0.0
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
    spread = min(max(unexplained, 0.0) / max(sessions - 1, 1), 4.0)
    return Added(base, tuple(effects), spread, paid, weights)
