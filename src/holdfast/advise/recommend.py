"""Which model for a goal: chances of failure, cost and time per success, from past sessions; or that they do not say.

Every session counts, those like the goal more. The difficulty of the work is taken out (`effects.py`), so that models
are compared on what they do and not on what they were given; a model's chance for this goal is shrunk toward what is
expected of it, as a Beta distribution. Nothing is left to chance, and ties go to the model used more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import erf, log, sqrt
from typing import Literal

from msgspec import Struct

from holdfast.advise.effects import Added, Factors, Multiplied, explain_amounts, explain_failures
from holdfast.advise.rates import Belief
from holdfast.advise.similar import Alike, Goal, similar
from holdfast.model.ledger import LedgerEntry, Outcome

Objective = Literal["balanced", "cost", "risk", "time"]
OBJECTIVES: tuple[Objective, ...] = ("balanced", "cost", "risk", "time")
FEWEST_SESSIONS = 10  # judged ones in all, below which everything is noise
FEWEST_OF_MODEL = 3
SURE = 0.9  # the chance of being the better one, from which on one model is preferred to another
WORTH_SAYING = 0.02  # of a hundred sessions two fail less: below that nobody would notice
STRONGEST_PRIOR = 12.0
LIKE_WEIGHT = 2.0  # how much more a session counts that is quite like the goal


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


class Recommendation(Struct, frozen=True, kw_only=True):
    """`model` is None where the evidence does not single one out; `sentence` says it in words either way."""

    goal: Goal
    objective: Objective
    model: str | None
    leaning: str | None  # the better one by the estimate, however little that says
    sentence: str
    missing: str
    chance: float | None
    candidates: tuple[Candidate, ...]
    like: tuple[Alike, ...]
    sessions: int


class _Believed(Struct, frozen=True):
    """A candidate, and for comparisons the logarithm of its factor on failures with its variance."""

    candidate: Candidate
    factor: float
    doubt: float

    def better_than(self, other: _Believed) -> float:
        """The chance that it fails less: what the task itself adds to both is no difference between them."""
        distance = (other.factor - self.factor) / sqrt(self.doubt + other.doubt)
        return (1 + erf(distance / sqrt(2))) / 2


def failed(entry: LedgerEntry) -> bool | None:
    """Whether a session counts as a failure; None when its row does not say."""
    if entry.outcome in (Outcome.FAILED, Outcome.ABANDONED) or (entry.failed or 0) > 0:
        return True
    return None if entry.failed is None else False


def recommend(
    goal: Goal,
    entries: Sequence[LedgerEntry],
    objective: Objective = "balanced",
    meaning: Sequence[float] = (),
) -> Recommendation:
    like = similar(goal, entries, meaning)
    judged = [entry for entry in entries if entry.model and failed(entry) is not None]
    believed = _believed(goal, judged, like)
    if missing := _missing(judged, believed):
        return _answer(
            goal, objective, None, f"Not enough evidence: {missing}", missing, None, believed, like, judged
        )
    best, chance = _best(believed, objective)
    if best is None:
        sentence = _no_difference(believed)
        return _answer(goal, objective, None, sentence, "", chance, believed, like, judged)
    return _answer(
        goal, objective, best, _sentence(best, believed, objective), "", chance, believed, like, judged
    )


def _answer(
    goal: Goal,
    objective: Objective,
    best: _Believed | None,
    sentence: str,
    missing: str,
    chance: float | None,
    believed: Sequence[_Believed],
    like: Sequence[Alike],
    judged: Sequence[LedgerEntry],
) -> Recommendation:
    ordered = sorted(
        believed, key=lambda one: (one is not best, _loss(one, objective), -one.candidate.sessions)
    )
    return Recommendation(
        goal=goal,
        objective=objective,
        model=best.candidate.model if best else None,
        leaning=ordered[0].candidate.model if ordered else None,
        sentence=sentence,
        missing=missing,
        chance=chance,
        candidates=tuple(one.candidate for one in ordered),
        like=tuple(like),
        sessions=len(judged),
    )


# --- what is believed ------------------------------------------------------------------------------------


def _believed(goal: Goal, judged: Sequence[LedgerEntry], like: Sequence[Alike]) -> list[_Believed]:
    counts = Counter(entry.model or "" for entry in judged)
    models = [model for model, n in counts.items() if n >= FEWEST_OF_MODEL]
    if not models:
        return []
    rows = _weighted(judged, like)
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
    costs: Added | None,
    minutes: Added | None,
    like: Sequence[Alike],
) -> _Believed:
    expected = failures.predict(factors)
    strength = min(1.0 + sessions / 3, STRONGEST_PRIOR)
    belief = Belief(strength * expected, strength * (1 - expected))
    own = [one for one in like if one.entry.model == model and failed(one.entry) is not None]
    success = 1 - belief.mean
    cost = costs.predict(factors) if costs and costs.knows(model) else None
    took = minutes.predict(factors) if minutes and minutes.knows(model) else None
    candidate = Candidate(
        model=model,
        sessions=sessions,
        like=len(own),
        like_failed=sum(bool(failed(one.entry)) for one in own),
        failure_rate=belief.mean,
        failure_interval=belief.interval(),
        cost=cost,
        cost_per_success=cost / success if cost is not None else None,
        minutes=took,
        minutes_per_success=took / success if took is not None else None,
    )
    return _Believed(candidate, log(failures.effects[0].get(model, 1.0)), failures.doubt(model))


def _weighted(
    judged: Sequence[LedgerEntry], like: Sequence[Alike]
) -> list[tuple[LedgerEntry, Factors, float]]:
    """Sessions like the goal count more, and all together for no more than uneven weights are worth."""
    more = {one.entry.session: 1 + LIKE_WEIGHT * one.score for one in like}
    weights = [more.get(entry.session, 1.0) for entry in judged]
    worth = sum(weights) / sum(weight * weight for weight in weights)
    return [(entry, _factors(entry), weight * worth) for entry, weight in zip(judged, weights, strict=True)]


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


# --- the choice ------------------------------------------------------------------------------------------


def _missing(judged: Sequence[LedgerEntry], believed: Sequence[_Believed]) -> str:
    if len(judged) < FEWEST_SESSIONS:
        return (
            f"{len(judged)} session{'s' if len(judged) != 1 else ''} with a known model and result, "
            f"at least {FEWEST_SESSIONS} are needed"
        )
    if not believed:
        return f"no model has {FEWEST_OF_MODEL} sessions or more"
    if len(believed) == 1:
        return f"only {believed[0].candidate.model} was used {FEWEST_OF_MODEL} times or more, so there is no choice"
    return ""


def _loss(one: _Believed, objective: Objective) -> float:
    candidate = one.candidate
    if objective == "cost":
        return candidate.cost_per_success if candidate.cost_per_success is not None else float("inf")
    if objective == "time":
        return candidate.minutes_per_success if candidate.minutes_per_success is not None else float("inf")
    return candidate.failure_rate


def _best(believed: Sequence[_Believed], objective: Objective) -> tuple[_Believed | None, float | None]:
    """The best by the objective, and the chance that it fails less than the next; None where nothing tells."""
    ordered = sorted(
        believed, key=lambda one: (_loss(one, objective), -one.candidate.sessions, one.candidate.model)
    )
    first = ordered[0]
    if objective in ("cost", "time"):
        if _loss(first, objective) == float("inf"):
            return None, None
        second = ordered[1]
        clear = _loss(first, objective) <= 0.9 * _loss(second, objective)
        return (first if clear else None), first.better_than(second)
    rivals = [one for one in ordered[1:] if not _clearly_safer(first, one)]
    if not rivals:
        return first, min(first.better_than(one) for one in ordered[1:])
    chance = min(first.better_than(one) for one in rivals)
    if objective == "risk":
        return None, chance
    # As far as is known they fail alike: then the one whose success costs clearly less.
    alike = [one for one in (first, *rivals) if one.candidate.cost_per_success is not None]
    alike.sort(
        key=lambda one: (one.candidate.cost_per_success or 0.0, -one.candidate.sessions, one.candidate.model)
    )
    if len(alike) == len(rivals) + 1 and _loss(alike[0], "cost") <= 0.8 * _loss(alike[1], "cost"):
        return alike[0], chance
    return None, chance


def _clearly_safer(one: _Believed, other: _Believed) -> bool:
    gain = other.candidate.failure_rate - one.candidate.failure_rate
    return gain >= WORTH_SAYING and one.better_than(other) >= SURE


def _sentence(best: _Believed, believed: Sequence[_Believed], objective: Objective) -> str:
    own = best.candidate
    others = [one.candidate for one in believed if one is not best]
    rival = min(others, key=lambda one: (-one.sessions, one.model))
    risk = "lower risk" if own.failure_rate < rival.failure_rate * 0.9 else (
        "higher risk" if own.failure_rate > rival.failure_rate * 1.1 else "the same risk"
    )  # fmt: skip
    cost = ""
    if own.cost is not None and rival.cost is not None:
        cost = "lower cost" if own.cost < rival.cost * 0.9 else (
            "higher cost" if own.cost > rival.cost * 1.1 else "the same cost"
        )  # fmt: skip
    trade = ", ".join(part for part in (cost, risk) if part)
    evidence = (
        f"{own.like} sessions like this" if own.like else "no session quite like this, so by its others"
    )
    return (
        f"{own.model} ({trade} than {rival.model}): fails {own.failure_rate:.0%} against {rival.failure_rate:.0%}"
        f"{_price(own, rival)}; {evidence}, {own.sessions} in all."
    )


def _price(own: Candidate, rival: Candidate) -> str:
    if own.cost_per_success is None or rival.cost_per_success is None:
        return ""
    return f", ${own.cost_per_success:,.2f} against ${rival.cost_per_success:,.2f} per success"


def _no_difference(believed: Sequence[_Believed]) -> str:
    first, second = sorted(believed, key=lambda one: (one.candidate.failure_rate, one.candidate.model))[:2]
    return (
        f"No clear difference: {first.candidate.model} fails {first.candidate.failure_rate:.0%} and "
        f"{second.candidate.model} {second.candidate.failure_rate:.0%}, which {first.candidate.sessions} and "
        f"{second.candidate.sessions} sessions cannot tell apart. Use the one you like."
    )
