"""Puts what is of the day or period that a query names before all other hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from holdfast.model.search import Grounds, Hit
from holdfast.search import terms
from holdfast.search.periods import Period

_FITS = 0.4  # of the best hit's value: what is only of that day, and about something else, is no answer
_LIKE_NAMED = terms.NAMED


def period_first(of_period: Sequence[Hit], others: Sequence[Hit], period: Period, k: int) -> list[Hit]:
    """The hits of the period that fit, then the others; each id once."""
    best = max((terms.value_of(hit.score) for hit in others), default=0.0)
    first = [hit for hit in of_period if period.is_all or terms.value_of(hit.score) >= _FITS * best]
    dated = {hit.id: as_dated(hit, period) for hit in first}
    return [*dated.values(), *(hit for hit in others if hit.id not in dated)][:k]


def as_dated(hit: Hit, period: Period, worth: Mapping[str, float] | None = None) -> Hit:
    """The hit with its date as a reason, which counts as much as its id would.

    `worth` are values for kinds of ids, in place of the hit's own, where a query has no other words than a period.
    """
    value = terms.value_of(hit.score)
    if worth is not None:
        value = worth.get(hit.id.partition(":")[0], worth.get(hit.id[:2], value))
    grounds = Grounds(dated=period.name) if period.is_all else replace(hit.grounds, dated=period.name)
    why = grounds.text() if period.is_all else f"{hit.why}; dated {period.name}"
    return replace(hit, score=round(terms.score(value + _LIKE_NAMED), 4), why=why, grounds=grounds)
