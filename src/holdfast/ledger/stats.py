"""Statistics: rates with intervals, beliefs about rates, and figures with their n."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, exp, floor, lgamma, log, sqrt
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.model_names import undated
from holdfast.ledger.tally import FIELD_OF, Z95, Clusters, groups_of, wilson
from holdfast.model.ledger import LedgerEntry, Tokens

if TYPE_CHECKING:
    from holdfast.ledger.tally import Figures

FEWEST_FOR_DIFFERENCE = 5  # sessions on each side, below which a difference is noise
_MOST_PAIRS = 200_000
_BEYOND_BELIEF = 1e15
_NUMBERS = ("tasks", "failed", "cost_usd", "duration_s")
_TEXTS = (
    "model",
    "framework",
    "failures",
    "skipped",
    "project_type",
    "agent",
    "kind",
    "outcome",
    "complexity",
    "usage",
)
SHIFT = (
    "median of all pairwise differences (with − without) over the sessions that have the value; "
    "the interval is that of the Mann–Whitney test, 95%"
)
RATE_SHIFT = (
    "failure rate with − failure rate without; Newcombe's interval, 95%, in which a session counts once, "
    "because tasks of one session fail together"
)


class Rate(Struct, frozen=True, kw_only=True):
    """`failed` of `n`. Without a base there is no value; `low` to `high` is the 95% interval."""

    failed: int
    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


def rate_of_tasks(clusters: Clusters) -> Rate:
    """A rate over tasks, which fail together with the others of their session."""
    value, low, high = clusters.interval() or (None, None, None)
    return Rate(failed=clusters.failed, n=clusters.tasks, value=value, low=low, high=high)


def quantile(values: Iterable[float], share: float) -> float | None:
    """The value below which this share lies, interpolated; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


class Belief(Struct, frozen=True):
    """A Beta distribution over a rate: `failures` against `successes`, prior included."""

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
    """The probability that `failed` or more of `n` fail at this rate: how unusual a group is."""
    if failed <= 0:
        return 1.0
    return cumulated(rate, failed, n - failed + 1) if failed <= n else 0.0


def columns_of(entries: Sequence[LedgerEntry], by: str | None = None) -> dict[str, list[Any]]:
    """The columns that figures need: all of them, or for groups the numbers and their key."""
    names = (*_NUMBERS, *_TEXTS) if by is None else (*_NUMBERS, "usage", FIELD_OF[by])
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), entries)) for name in names}
    if by is None:
        token_counts = [entry.tokens for entry in entries if entry.tokens is not None]
        for name in Tokens.__struct_fields__:
            columns[f"tokens.{name}"] = list(map(attrgetter(name), token_counts))
    return columns


def grouped(entries: Sequence[LedgerEntry], by: str) -> dict[str, Figures]:
    """The figures of each group. A session has several topics (its keywords) and counts for each of them."""
    return groups_of(columns_of(entries, by), by)


def with_undated_models(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """The rows with one name for each model: an id with the date of its release is the same model."""
    return [
        entry
        if entry.model is None or (name := undated(entry.model)) == entry.model
        else replace(entry, model=name)
        for entry in entries
    ]


def judged(entry: LedgerEntry) -> bool:
    """Whether a row says how many tasks it had and how many failed, without contradicting itself."""
    return entry.tasks is not None and entry.failed is not None and 0 <= entry.failed <= entry.tasks


def task_rate(entries: Sequence[LedgerEntry]) -> Rate:
    """Failed tasks of all tasks, over the rows that say both."""
    clusters = Clusters()
    for entry in filter(judged, entries):
        clusters.add(entry.tasks or 0, entry.failed or 0)
    return rate_of_tasks(clusters)


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


def spread(values: Iterable[float | None], formula: str) -> Spread:
    """Unknown values are left out, and `n` shows how many are known."""
    from statistics import fmean, median  # a session end loads this module and needs neither

    values_known = _known(values)
    return Spread(
        value=median(values_known) if values_known else None,
        mean=fmean(values_known) if values_known else None,
        total=sum(values_known) if values_known else None,
        n=len(values_known),
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
    """How far one group is from the other; None while either is too small."""
    from statistics import median  # as above

    with_values, without_values = _known(with_memory), _known(without)
    n, m = len(with_values), len(without_values)
    if min(n, m) < FEWEST_FOR_DIFFERENCE:
        return None
    differences = sorted(a - b for a in _thinned(with_values, m) for b in _thinned(without_values, n))
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


def rate_shift(with_memory: Clusters, without: Clusters) -> Difference | None:
    if min(with_memory.sessions, without.sessions) < FEWEST_FOR_DIFFERENCE or not (
        with_memory.tasks and without.tasks
    ):
        return None
    with_rate, without_rate = with_memory.failed / with_memory.tasks, without.failed / without.tasks
    low, high = wilson(with_rate, with_memory.sessions)
    other_low, other_high = wilson(without_rate, without.sessions)
    value = with_rate - without_rate
    return Difference(
        value=value,
        low=max(value - sqrt((with_rate - low) ** 2 + (other_high - without_rate) ** 2), -1.0),
        high=min(value + sqrt((high - with_rate) ** 2 + (without_rate - other_low) ** 2), 1.0),
        n=with_memory.sessions + without.sessions,
        n_with=with_memory.sessions,
        n_without=without.sessions,
        formula=RATE_SHIFT,
    )


def _known(values: Iterable[float | None]) -> list[float]:
    """The valid values: a cost that is not a number, or below zero, is an error in the file."""
    return [value for value in values if value is not None and 0 <= value < _BEYOND_BELIEF]
