"""Rates that carry what they rest on: how many, of how many, and the interval that holds the true rate 95 times of 100.

Only the standard library, and nothing left to chance: the same rows always give the same figures.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, lgamma, log

from msgspec import Struct

from holdfast.advise.intervals import Clusters, wilson


class Rate(Struct, frozen=True, kw_only=True):
    """`failed` of `n`. Without a base there is no value; `low` to `high` is the 95% interval."""

    failed: int
    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


def rate_of(failed: int, n: int) -> Rate:
    """A rate over things that fail independently of each other: sessions."""
    if n <= 0:
        return Rate(failed=failed, n=n)
    low, high = wilson(failed / n, n)
    return Rate(failed=failed, n=n, value=failed / n, low=low, high=high)


def rate_of_tasks(clusters: Clusters) -> Rate:
    """A rate over tasks, which fail together with the others of their session."""
    known = clusters.interval()
    if known is None:
        return Rate(failed=clusters.failed, n=clusters.tasks)
    value, low, high = known
    return Rate(failed=clusters.failed, n=clusters.tasks, value=value, low=low, high=high)


def quantile(values: Iterable[float], share: float) -> float | None:
    """The value below which this share lies, between neighbours in proportion; None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


# --- a rate that is believed -----------------------------------------------------------------------------


class Belief(Struct, frozen=True):
    """What is believed of a rate: a Beta distribution, `failures` against `successes`, prior included."""

    failures: float
    successes: float

    @property
    def mean(self) -> float:
        return self.failures / (self.failures + self.successes)

    @property
    def variance(self) -> float:
        return self.mean * (1 - self.mean) / (self.failures + self.successes + 1)

    def interval(self) -> tuple[float, float]:
        return self.below(0.025), self.below(0.975)

    def below(self, share: float) -> float:
        """The rate below which this share of the belief lies."""
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (
                (middle, high) if cumulated(middle, self.failures, self.successes) < share else (low, middle)
            )
        return (low + high) / 2


def cumulated(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by Lentz's continued fraction."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))
    if x > (a + 1) / (a + b + 2):
        return 1 - front * _fraction(1 - x, b, a) / b
    return front * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 300):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            result *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return result


def at_least(failed: int, n: int, rate: float) -> float:
    """The chance that so many or more of n fail where each does at this rate: how odd a group is."""
    if failed <= 0:
        return 1.0
    return cumulated(rate, failed, n - failed + 1) if failed <= n else 0.0
