"""What is believed of each model for a goal: its chance of failure, its cost and time, and how sure that is.

Every session counts, those like the goal more. The difficulty of the work is taken out (`effects.py`), so that models
are compared on what they do and not on what they were given; a model of which little is known is taken to be like the
others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import erf, log, sqrt
from typing import Literal

from msgspec import Struct

from holdfast.advise.effects import Added, Factors, Multiplied, explain_amounts, explain_failures
from holdfast.advise.rates import Belief
from holdfast.advise.similar import Alike, Goal
from holdfast.model.ledger import LedgerEntry, Outcome

FEWEST_OF_MODEL = 3
STRONGEST_PRIOR = 12.0
LIKE_WEIGHT = 2.0  # how much more a session counts that is quite like the goal
OTHER_TYPE_WEIGHT = 0.5  # of a session in a project of another type


class Candidate(Struct, frozen=True, kw_only=True):
    """One model: what is believed of it for this goal, and what that rests on."""

    model: str
    sessions: int
    like: int
    like_failed: int
    failure_rate: float
    failure_interval: tuple[float, float]
    cost: float | None
    cost_per_success: float | None
    minutes: float | None
    minutes_per_success: float | None


class Believed(Struct, frozen=True):
    """A candidate, and for comparisons how sure its failures, cost and time are."""

    candidate: Candidate
    failures: Multiplied
    cost_doubt: float
    time_doubt: float

    def safer_than(self, other: Believed) -> float:
        """The chance that it fails less: what the task itself adds to both is no difference between them."""
        return self.failures.lower(self.candidate.model, other.candidate.model)

    def takes_less_than(self, other: Believed, what: Literal["cost", "time"]) -> float:
        """The chance that a success of it takes less; what is free takes less than what is not."""
        own, others = self.per_success(what), other.per_success(what)
        if own is None or others is None:
            return 0.5
        if not own or not others:
            return 0.5 if own == others else float(own < others)
        doubt = self.cost_doubt + other.cost_doubt if what == "cost" else self.time_doubt + other.time_doubt
        return _chance((log(others) - log(own)) / sqrt(doubt))

    def per_success(self, what: Literal["cost", "time"]) -> float | None:
        return self.candidate.cost_per_success if what == "cost" else self.candidate.minutes_per_success


def _chance(distance: float) -> float:
    return (1 + erf(distance / sqrt(2))) / 2


def failed(entry: LedgerEntry) -> bool | None:
    """Whether a session counts as a failure; None when its row does not say."""
    if entry.outcome in (Outcome.FAILED, Outcome.ABANDONED) or (entry.failed or 0) > 0:
        return True
    return None if entry.failed is None else False


def beliefs(goal: Goal, judged: Sequence[LedgerEntry], like: Sequence[Alike]) -> list[Believed]:
    """For each model that was used often enough, the most used first."""
    counts = Counter(entry.model or "" for entry in judged)
    models = [model for model, n in counts.items() if n >= FEWEST_OF_MODEL]
    if not models:
        return []
    rows = _weighted(goal, judged, like)
    failures = explain_failures((factors, float(bool(failed(e))), weight) for e, factors, weight in rows)
    costs = explain_amounts(
        (factors, float(e.cost_usd), weight) for e, factors, weight in rows if e.cost_usd is not None
    )
    minutes = explain_amounts(
        (factors, e.duration_s / 60, weight) for e, factors, weight in rows if e.duration_s is not None
    )
    level = goal.complexity or _usual_complexity(goal, judged, like)
    return [
        _of_model(model, counts[model], (model, goal.kind or "", level or ""), failures, costs, minutes, like)
        for model in sorted(models, key=lambda name: (-counts[name], name))
    ]


def _of_model(
    model: str,
    sessions: int,
    factors: Factors,
    failures: Multiplied,
    costs: Added,
    minutes: Added,
    like: Sequence[Alike],
) -> Believed:
    expected = failures.predict(factors)
    strength = min(1.0 + sessions / 3, STRONGEST_PRIOR)
    belief = Belief(strength * expected, strength * (1 - expected))
    own = [one for one in like if one.entry.model == model and failed(one.entry) is not None]
    success = 1 - belief.mean
    cost, took = costs.predict(factors), minutes.predict(factors)
    candidate = Candidate(
        model=model,
        sessions=sessions,
        like=len(own),
        like_failed=sum(bool(failed(one.entry)) for one in own),
        failure_rate=belief.mean,
        failure_interval=belief.interval(),
        cost=cost,
        cost_per_success=None if cost is None else cost / success,
        minutes=took,
        minutes_per_success=None if took is None else took / success,
    )
    return Believed(candidate, failures, costs.doubt(model), minutes.doubt(model))


def _weighted(
    goal: Goal, judged: Sequence[LedgerEntry], like: Sequence[Alike]
) -> list[tuple[LedgerEntry, Factors, float]]:
    """Sessions like the goal count more, and all together for no more than uneven weights are worth."""
    more = {one.entry.session: 1 + LIKE_WEIGHT * one.score for one in like}
    weights = [more.get(entry.session, 1.0) * _same_type(goal, entry) for entry in judged]
    worth = sum(weights) / sum(weight * weight for weight in weights)
    return [(entry, _factors(entry), weight * worth) for entry, weight in zip(judged, weights, strict=True)]


def _same_type(goal: Goal, entry: LedgerEntry) -> float:
    another = goal.project_type and entry.project_type and goal.project_type != entry.project_type
    return OTHER_TYPE_WEIGHT if another else 1.0


def _factors(entry: LedgerEntry) -> Factors:
    return entry.model or "", entry.kind or "", entry.complexity or ""


def _usual_complexity(goal: Goal, judged: Sequence[LedgerEntry], like: Sequence[Alike]) -> str | None:
    """Nobody knows beforehand how hard it will be: as hard as the like of it, or else as its kind of task."""
    weights: Counter[str] = Counter()
    for one in like:
        if one.entry.complexity:
            weights[one.entry.complexity] += one.score  # type: ignore[assignment]
    if not weights:
        weights.update(e.complexity for e in judged if e.complexity and goal.kind and e.kind == goal.kind)
    return min(weights, key=lambda level: (-weights[level], level)) if weights else None
