"""Figures over ledger rows, as values with names: what `tally.py` counts over columns, for those who have entries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import ceil, exp, floor, lgamma, log, sqrt
from operator import attrgetter
from typing import Any, Literal, get_args

from msgspec import Struct

from holdfast.ledger.tally import FIELD_OF, UNKNOWN, Z95, Clusters, figures_of, groups_of, maturity, wilson
from holdfast.model.ledger import FailureReason, LedgerEntry, Tokens

# Rates that carry what they rest on: how many, of how many, and the interval that holds the true rate 95
# times of 100.


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


__all__ = [
    "GROUPINGS",
    "UNKNOWN",
    "LedgerStats",
    "ModelStats",
    "columns_of",
    "grouped",
    "maturity",
    "stats_of",
]

Grouping = Literal["model", "framework", "type", "kind", "complexity", "topic", "agent", "month"]
GROUPINGS: tuple[str, ...] = get_args(Grouping)


class ModelStats(Struct, frozen=True, kw_only=True):
    """One group's sessions. `failure_rate` is per task, `session_failure_rate` per session; None without a base."""

    sessions: int
    tasks: int
    failed_tasks: int
    failed_sessions: int
    judged_sessions: int
    avg_cost: float | None
    known_costs: int
    total_cost: float | None
    avg_duration: float | None
    failure_rate: float | None
    failure_interval: tuple[float, float] | None
    session_failure_rate: float | None
    session_failure_interval: tuple[float, float] | None


class LedgerStats(Struct, frozen=True, kw_only=True):
    total_sessions: int
    avg_task_count: float | None
    avg_cost: float | None
    known_costs: int
    total_cost: float | None
    avg_duration_minutes: float | None
    total_tasks: int
    total_failed_tasks: int
    avg_failed_tasks: float | None
    total_skipped_tasks: int
    failure_rate: float | None
    failure_interval: tuple[float, float] | None
    failed_sessions: int
    judged_sessions: int
    session_failure_rate: float | None
    session_failure_interval: tuple[float, float] | None
    top_failures: list[tuple[str, int]]
    top_frameworks: list[tuple[str, int]]
    by_project_type: dict[str, int]
    by_agent: dict[str, int]
    by_kind: dict[str, int]
    by_outcome: dict[str, int]
    model_performance: dict[str, ModelStats]
    tokens: Tokens
    impossible_rows: int = 0


def stats_of(entries: Sequence[LedgerEntry]) -> LedgerStats:
    figures = figures_of(columns_of(entries))
    models = {name: ModelStats(**own) for name, own in figures.pop("model_performance").items()}
    return LedgerStats(**{**figures, "tokens": Tokens(**figures["tokens"])}, model_performance=models)


def grouped(entries: Iterable[LedgerEntry], by: str) -> dict[str, ModelStats]:
    """The same figures for each group. A session has several topics (its keywords) and counts for each of them."""
    return {name: ModelStats(**own) for name, own in groups_of(columns_of(list(entries), by), by).items()}


_NUMBERS = ("tasks", "failed", "cost_usd", "duration_s")
_TEXTS = ("model", "framework", "failures", "skipped", "project_type", "agent", "kind", "outcome")


def columns_of(entries: Sequence[LedgerEntry], by: str | None = None) -> dict[str, list[Any]]:
    """The fields that figures are made of: all, or for groups their key alone."""
    names = (*_NUMBERS, *_TEXTS) if by is None else (*_NUMBERS, FIELD_OF[by])
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), entries)) for name in names}
    if by is None:
        known = [entry.tokens for entry in entries if entry.tokens is not None]
        for name in Tokens.__struct_fields__:
            columns[f"tokens.{name}"] = list(map(attrgetter(name), known))
    return columns


def judged(entry: LedgerEntry) -> bool:
    """Whether a row knows its tasks and how many failed, and both can be."""
    return entry.tasks is not None and entry.failed is not None and 0 <= entry.failed <= entry.tasks


def task_rate(entries: Sequence[LedgerEntry]) -> Rate:
    """Failed tasks of all, over the rows that know both and do not contradict themselves."""
    clusters = Clusters()
    for entry in entries:
        if judged(entry):
            clusters.add(entry.tasks or 0, entry.failed or 0)
    return rate_of_tasks(clusters)


def ranked(values: Iterable[str]) -> list[tuple[str, int]]:
    """Most frequent first, ties by name: the same ledger always reads the same."""
    return sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))


# What sessions are about that fail oftener than the rest, or oddly never did, and what to do about it.

FEWEST = 5  # sessions, below which a topic says nothing
MOST_TOPICS = 12
ODD = 0.1  # so rarely would a topic fail so often, were it like the rest
ODDLY_WELL = 0.05  # so rarely would it never have failed

# Words that stand in goals of every sort, so that they are about nothing.
_WORDS = """
add added all also app bug change changes check clean code continue create current debug delete done error errors
everything failing file files find finish fix fixed get help implement implementation improve issue issues keep list
look main make move need new next old open pass please project read remove rename repo run set setup should show start
still stuff support task tasks thing things try update use used using want way work working works write
"""
_GENERIC = frozenset(_WORDS.split())

_ADVICE = {
    FailureReason.TEST_FAILURE: "run the tests before calling it done",
    FailureReason.SYNTAX_ERROR: "compile or lint after each edit",
    FailureReason.TIMEOUT: "split it, or give it more time",
    FailureReason.DEPENDENCY_ERROR: "check dependencies and versions first",
    FailureReason.LLM_REFUSAL: "say what it is for, or take another model",
    FailureReason.USER_REJECTED: "agree on the approach before it is built",
    FailureReason.TOOL_ERROR: "look at the tool's message before trying again",
    FailureReason.API_ERROR: "nothing to do with the work: try again later",
    FailureReason.INTERRUPTED: "smaller steps: it was stopped half-way",
}


class Topic(Struct, frozen=True, kw_only=True):
    topic: str
    sessions: int
    failure: Rate
    advice: str


def topics_of(entries: Sequence[LedgerEntry]) -> tuple[tuple[Topic, ...], int]:
    """Topics that fail oftener than the rest, or oddly never did, the worst first; and how many were looked at."""
    known = [entry for entry in entries if entry.tasks and judged(entry)]
    if not known:
        return (), 0
    share = sum((entry.failed or 0) > 0 for entry in known) / len(known)
    subjects = _subjects(known)
    bad, good = [], []
    for topic, rows in subjects.items():
        rate, lost = task_rate(rows), sum((entry.failed or 0) > 0 for entry in rows)
        if lost > 1 and at_least(lost, len(rows), share) <= ODD:
            bad.append(Topic(topic=topic, sessions=len(rows), failure=rate, advice=_advice(rows)))
        elif not lost and (1 - share) ** len(rows) <= ODDLY_WELL:
            good.append(Topic(topic=topic, sessions=len(rows), failure=rate, advice=_goes_well(rows)))
    bad.sort(key=lambda one: (-(one.failure.value or 0.0), -one.failure.n, one.topic))
    good.sort(key=lambda one: (-one.failure.n, one.topic))
    return (*bad[:MOST_TOPICS], *good[: MOST_TOPICS // 3]), len(subjects)


def _subjects(entries: Sequence[LedgerEntry]) -> dict[str, list[LedgerEntry]]:
    """By keyword and by two that stand together; one that nearly always has the same neighbour is said with it."""
    groups: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        pairs = [f"{one} {other}" for one, other in zip(entry.goal, entry.goal[1:], strict=False)]
        for topic in dict.fromkeys((*entry.goal, *pairs)):
            groups[topic].append(entry)
    kept = {
        topic: rows
        for topic, rows in groups.items()
        if len(rows) >= FEWEST and not _GENERIC.issuperset(topic.split(" "))
    }
    covered = {
        word
        for pair, rows in kept.items()
        if " " in pair
        for word in pair.split(" ")
        if len(rows) >= 0.8 * len(kept.get(word, ()))
    }
    return {topic: rows for topic, rows in kept.items() if topic not in covered}


def _advice(rows: Sequence[LedgerEntry]) -> str:
    reasons = Counter(reason for entry in rows for reason in entry.failures)
    for reason, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        if reason in _ADVICE and 2 * n >= sum(reasons.values()):
            return f"always verify: mostly {reason.replace('_', ' ')}, {_ADVICE[FailureReason(reason)]}"
    return "always verify"


def _goes_well(rows: Sequence[LedgerEntry]) -> str:
    models = Counter(entry.model for entry in rows if entry.model)
    model, n = models.most_common(1)[0] if models else ("", 0)
    return f"goes well, mostly with {model}" if n and 2 * n >= len(rows) else "goes well"


# Figures that carry how they were counted: a value, over how many, by which formula; and differences with an
# interval.

FEWEST_FOR_DIFFERENCE = 5  # sessions on each side, below which a difference is noise
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
    from statistics import fmean, median  # a session end loads this module and needs neither

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
    from statistics import median  # as above

    one, other = _known(with_memory), _known(without)
    n, m = len(one), len(other)
    if min(n, m) < FEWEST_FOR_DIFFERENCE:
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
    if min(with_memory.sessions, without.sessions) < FEWEST_FOR_DIFFERENCE or not (
        with_memory.tasks and without.tasks
    ):
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
