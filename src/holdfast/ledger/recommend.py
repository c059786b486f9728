"""Recommends a model for a goal, in a sentence with its trade-off, or says that the evidence is not enough.

Nothing is left to chance, and ties go to the model used more. A model that no session used is never named, and where
sessions are like the goal, only the models of those are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from holdfast.core.wording import about_dollars
from holdfast.ledger.similar import (
    AMOUNTS,
    FEWEST_OF_MODEL,
    Alike,
    Believed,
    Goal,
    ModelEstimate,
    beliefs,
    failed,
    similar,
)
from holdfast.ledger.stats import with_undated_models
from holdfast.model.ledger import LedgerEntry

Objective = Literal["balanced", "cost", "risk", "time"]
OBJECTIVES: tuple[Objective, ...] = ("balanced", "cost", "risk", "time")
FEWEST_SESSIONS = (
    10  # judged ones in all, below which everything is noise; and of a model taken for its price
)
SURE = 0.9  # the chance of being the better one, from which on one model is preferred to another
WORTH_SAYING = 0.02  # two of a hundred sessions: a smaller difference goes unnoticed
WORTH_PAYING = 0.9  # what a success must cost of another's, to be called cheaper
MOST_NAMED = 3


class Recommendation(Struct, frozen=True, kw_only=True):
    """The advice. `model` is None if the evidence is not enough; `sentence` always says the result in words."""

    goal: Goal
    objective: Objective
    model: str | None
    leaning: str | None  # the better one by the estimate, however little that says
    sentence: str
    missing: str
    chance: float | None
    better_than: tuple[str, ...]
    not_told_apart: tuple[str, ...]
    candidates: tuple[ModelEstimate, ...]
    like: tuple[Alike, ...]
    sessions: int
    left_out: int  # sessions whose model or result is not known


class _Choice(Struct, frozen=True):
    """The leading model by the objective, those it clearly beats, and those it may not beat."""

    lead: Believed
    beaten: Sequence[Believed]
    open: Sequence[Believed]
    chosen: Believed | None


def recommend(
    goal: Goal,
    entries: Sequence[LedgerEntry],
    objective: Objective = "balanced",
    meaning: Sequence[float] = (),
) -> Recommendation:
    entries = with_undated_models(entries)
    like = similar(goal, entries, meaning)
    judged = [entry for entry in entries if entry.model and failed(entry) is not None]
    believed = beliefs(goal, judged, like)
    known = [one for one in believed if one.candidate.like]
    compared = known or believed
    missing = _missing(judged, believed, objective) or _missing(judged, compared, objective, bool(known))
    choice = _choose(compared, objective) if not missing else None
    best = choice.chosen if choice else None
    first = best or (choice.lead if choice else None)
    ordered = sorted(
        believed, key=lambda one: (one is not first, one not in compared, _order(one, objective))
    )
    if choice is None:
        sentence = f"Not enough evidence: {missing}"
    else:
        sentence = _sentence(best, compared) if best else _undecided(choice, objective)
    return Recommendation(
        goal=goal,
        objective=objective,
        model=best.candidate.model if best else None,
        leaning=ordered[0].candidate.model if ordered else None,
        sentence=sentence,
        missing=missing,
        chance=_least_chance(choice, objective),
        better_than=tuple(one.candidate.model for one in choice.beaten) if choice else (),
        not_told_apart=tuple(one.candidate.model for one in choice.open) if choice else (),
        candidates=tuple(one.candidate for one in ordered),
        like=tuple(like),
        sessions=len(judged),
        left_out=len(entries) - len(judged),
    )


def _missing(
    judged: Sequence[LedgerEntry], believed: Sequence[Believed], objective: Objective, like: bool = False
) -> str:
    if len(judged) < FEWEST_SESSIONS:
        return (
            f"{len(judged)} session{'s' if len(judged) != 1 else ''} with a known model and result, "
            f"at least {FEWEST_SESSIONS} are needed."
        )
    if not believed:
        return f"no model has {FEWEST_OF_MODEL} sessions or more."
    if len(believed) == 1 and like:
        only = believed[0].candidate
        return f"{_sessions(only.like)} like this, all with {only.model}, so there is nothing to compare."
    if len(believed) == 1:
        return f"only {believed[0].candidate.model} was used {FEWEST_OF_MODEL} times or more, so there is no choice."
    measured = sum(candidate.per_success(objective) is not None for candidate in believed)
    if objective in AMOUNTS and measured < 2:
        return f"the {objective} is known of {measured} model{'s' if measured != 1 else ''}, at least 2 are needed."
    return ""


def _order(one: Believed, objective: Objective) -> tuple[float, float, int, str]:
    """The best first; of equal ones the safer, then the one used more, then by name."""
    candidate = one.candidate
    value = one.per_success(objective) if objective in AMOUNTS else candidate.failure_rate
    return (
        value if value is not None else float("inf"),
        candidate.failure_rate,
        -candidate.sessions,
        candidate.model,
    )


def _choose(believed: Sequence[Believed], objective: Objective) -> _Choice:
    ordered = sorted(believed, key=lambda one: _order(one, objective))
    lead = _lead(ordered, objective)
    rivals = [one for one in ordered if one is not lead]
    if objective in AMOUNTS:
        rivals = [one for one in rivals if one.per_success(objective) is not None]
        beaten = [one for one in rivals if _clearly_cheaper(lead, one, objective)]
    else:
        beaten = [one for one in rivals if _clearly_safer(lead, one)]
    left = [one for one in rivals if one not in beaten]
    chosen = lead if not left else _cheapest_of_alike(lead, left) if objective == "balanced" else None
    return _Choice(lead, beaten, left, chosen)


def _lead(ordered: Sequence[Believed], objective: Objective) -> Believed:
    """The best; of several with about the same failure rate the one used most."""
    first = ordered[0]
    if objective in AMOUNTS:
        return first
    candidates = [
        one for one in ordered if one.candidate.failure_rate - first.candidate.failure_rate < WORTH_SAYING
    ]
    return min(candidates, key=lambda one: (-one.candidate.sessions, _order(one, objective)))


def _clearly_safer(one: Believed, other: Believed) -> bool:
    gain = other.candidate.failure_rate - one.candidate.failure_rate
    return gain >= WORTH_SAYING and one.safer_than(other) >= SURE


def _clearly_cheaper(one: Believed, other: Believed, what: str) -> bool:
    amount, other_amount = one.per_success(what), other.per_success(what)
    if amount is None or other_amount is None or not other_amount:
        return False
    return amount <= WORTH_PAYING * other_amount and one.takes_less_than(other, what) >= SURE


def _cheapest_of_alike(lead: Believed, rivals: Sequence[Believed]) -> Believed | None:
    """Of the models that fail about as little as the leader: the one with clearly the lowest cost per success.

    A model is not taken for its price on the word of a few sessions, nor for failing more, if only by the estimate.
    """
    candidates = [
        one
        for one in (lead, *rivals)
        if one.per_success("cost") is not None
        and one.candidate.sessions >= FEWEST_SESSIONS
        and one.candidate.failure_rate - lead.candidate.failure_rate <= WORTH_SAYING
    ]
    candidates.sort(key=lambda one: _order(one, "cost"))
    if len(candidates) < 2 or lead not in candidates:
        return None
    first = candidates[0]
    dearer = [one for one in candidates[1:] if one.per_success("cost") != first.per_success("cost")]
    return first if dearer and all(_clearly_cheaper(first, one, "cost") for one in dearer) else None


def _least_chance(choice: _Choice | None, objective: Objective) -> float | None:
    """The probability that the leader is really better than its closest rival."""
    if choice is None:
        return None
    lead, rivals = choice.lead, [*choice.beaten, *choice.open]
    if objective in AMOUNTS:
        return min((lead.takes_less_than(rival, objective) for rival in rivals), default=None)
    return min((lead.safer_than(rival) for rival in rivals), default=None)


def _sentence(best: Believed, believed: Sequence[Believed]) -> str:
    """The seed's form: the model, its trade-off against the one used most otherwise, and what that rests on."""
    rival = min((one for one in believed if one is not best), key=lambda one: -one.candidate.sessions)
    best_model, rival_model = best.candidate, rival.candidate
    trade = [_compared_risk(best, rival)]
    if best_model.cost is not None and rival_model.cost is not None:
        trade.insert(0, f"{_compared(best_model.cost, rival_model.cost)} cost")
    evidence = f"{_sessions(best_model.like)} like this" if best_model.like else "no session quite like this"
    return (
        f"{best_model.model} ({', '.join(trade)}, against {rival_model.model}): fails {best_model.failure_rate:.0%} to "
        f"{rival_model.failure_rate:.0%}{_price(best_model, rival_model)}; {evidence}, {best_model.sessions} in all."
    )


def _compared_risk(own: Believed, other: Believed) -> str:
    if _clearly_safer(own, other):
        return "lower risk"
    return "higher risk" if _clearly_safer(other, own) else "no clear difference in risk"


def _compared(own: float, other: float) -> str:
    return "lower" if own < other * 0.9 else "higher" if own > other * 1.1 else "the same"


def _price(own: ModelEstimate, rival: ModelEstimate) -> str:
    if own.cost_per_success is None or rival.cost_per_success is None or not own.like:
        return ""
    return f", {about_dollars(own.cost_per_success)} to {about_dollars(rival.cost_per_success)} per success"


def _undecided(choice: _Choice, objective: Objective) -> str:
    """What can be said if no model stands out."""
    lead = choice.lead.candidate
    near = min(choice.open, key=lambda one: _order(one, objective)).candidate
    none_like = "" if lead.like else "No session here is like this. "
    if not choice.beaten and none_like:
        return f"{none_like}In all sessions {lead.model} is not clearly ahead of other models: use the one you like."
    if not choice.beaten:
        return (
            f"No clear difference: {_figure(lead, objective)} and {_figure(near, objective)}, which "
            f"{lead.sessions} and {near.sessions} sessions cannot tell apart. Use the one you like."
        )
    better = {"cost": "cheaper", "time": "quicker"}.get(objective, "safer")
    return (
        f"{none_like}No single best: {_figure(lead, objective)} and leads, clearly {better} than "
        f"{_named(choice.beaten)}; not told apart from {_named(choice.open)}."
    )


def _figure(own: ModelEstimate, objective: Objective) -> str:
    if objective == "cost":
        return f"{own.model} costs {about_dollars(own.cost_per_success or 0.0)} per success"
    if objective == "time":
        return f"{own.model} takes {own.minutes_per_success or 0.0:,.0f}min per success"
    return f"{own.model} fails {own.failure_rate:.0%}"


def _named(some: Sequence[Believed]) -> str:
    """The most used ones by name, with what that rests on."""
    ordered = sorted((one.candidate for one in some), key=lambda one: (-one.sessions, one.model))
    names = [f"{one.model} ({_sessions(one.sessions)})" for one in ordered[:MOST_NAMED]]
    if len(ordered) > MOST_NAMED:
        return f"{', '.join(names)} and {len(ordered) - MOST_NAMED} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _sessions(number: int) -> str:
    return f"{number} session{'s' if number != 1 else ''}"
