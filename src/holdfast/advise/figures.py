"""Figures that carry how they were counted: a value, over how many, by which formula; and differences with an interval.

Only the standard library, and nothing left to chance: the same values always give the same figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, sqrt
from statistics import fmean, median

from msgspec import Struct

from holdfast.advise.intervals import Z95, wilson

FEWEST = 5  # sessions on each side, below which a difference is noise
_MOST_PAIRS = 200_000
_BEYOND_BELIEF = 1e15


class Figure(Struct, frozen=True, kw_only=True):
    """`value` is None where there is nothing to count, and `note` then says why."""

    value: float | int | None
    n: int
    formula: str
    note: str = ""


class Spread(Struct, frozen=True, kw_only=True):
    """Values that differ from session to session. `value` is their median; `n` how many sessions have one."""

    value: float | None
    mean: float | None
    total: float | None
    n: int
    formula: str


class Difference(Struct, frozen=True, kw_only=True):
    """With minus without: negative where sessions with memory took less. `low` to `high` holds it 95 times of 100."""

    value: float
    low: float
    high: float
    n: int
    n_with: int
    n_without: int
    formula: str


SHIFT = (
    "median of all pairwise differences (with − without) over the sessions that have the value; "
    "the interval is that of the Mann–Whitney test, 95%"
)
RATE_SHIFT = (
    "failure rate with − failure rate without; Newcombe's interval, 95%, in which a session counts once, "
    "because tasks of one session fail together"
)


def spread(values: Iterable[float | None], formula: str) -> Spread:
    """Unknown values are left out, and `n` shows how many are known."""
    known = _known(values)
    return Spread(
        value=median(known) if known else None,
        mean=fmean(known) if known else None,
        total=sum(known) if known else None,
        n=len(known),
        formula=formula,
    )


def share(part: int, whole: int, formula: str, nothing: str = "nothing to count yet") -> Figure:
    """A part of a whole, between 0 and 1; None of nothing."""
    if not whole:
        return Figure(value=None, n=0, formula=formula, note=nothing)
    return Figure(value=part / whole, n=whole, formula=formula)


def ratio(of: int, to: int, n: int, formula: str, nothing: str) -> Figure:
    """How many times one amount is the other: 5.8 is 5.8 : 1."""
    value = of / to if of and to else None
    return Figure(value=value, n=n, formula=formula, note="" if value is not None else nothing)


def shift(with_memory: Iterable[float | None], without: Iterable[float | None]) -> Difference | None:
    """How far one group lies from the other; None while either is too small to say."""
    one, other = _known(with_memory), _known(without)
    n, m = len(one), len(other)
    if min(n, m) < FEWEST:
        return None
    differences = sorted(a - b for a in _thinned(one, m) for b in _thinned(other, n))
    # The rank that the test allows, as a part of all pairs, so that it holds for thinned groups too.
    allowed = n * m / 2 - Z95 * sqrt(n * m * (n + m + 1) / 12)
    last = len(differences) - 1
    rank = min(max(floor(max(allowed, 1) * len(differences) / (n * m)) - 1, 0), last // 2)
    return Difference(
        value=median(differences),
        low=differences[rank],
        high=differences[last - rank],
        n=n + m,
        n_with=n,
        n_without=m,
        formula=SHIFT,
    )


def _thinned(values: Sequence[float], others: int) -> Sequence[float]:
    """Every k-th value in order, where all pairs would be too many: the shape of the group stays."""
    if len(values) * others <= _MOST_PAIRS:
        return values
    step = ceil(len(values) / max(int(sqrt(_MOST_PAIRS)), 1))
    return sorted(values)[step // 2 :: step]


class Failures(Struct, frozen=True):
    """Tasks of a group of sessions: all, failed, and how many sessions had any."""

    tasks: int
    failed: int
    sessions: int


def rate_shift(with_memory: Failures, without: Failures) -> Difference | None:
    if min(with_memory.sessions, without.sessions) < FEWEST or not (with_memory.tasks and without.tasks):
        return None
    one, other = with_memory.failed / with_memory.tasks, without.failed / without.tasks
    low, high = wilson(one, with_memory.sessions)
    other_low, other_high = wilson(other, without.sessions)
    value = one - other
    return Difference(
        value=value,
        low=max(value - sqrt((one - low) ** 2 + (other_high - other) ** 2), -1.0),
        high=min(value + sqrt((high - one) ** 2 + (other - other_low) ** 2), 1.0),
        n=with_memory.sessions + without.sessions,
        n_with=with_memory.sessions,
        n_without=without.sessions,
        formula=RATE_SHIFT,
    )


def _known(values: Iterable[float | None]) -> list[float]:
    """What can be counted with: a cost that is no number, or below zero, is a fault of its file and not a cost."""
    return [value for value in values if value is not None and 0 <= value < _BEYOND_BELIEF]
