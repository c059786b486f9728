"""Finds past sessions that resemble a goal: by shared words, weighted by rarity, by meaning, and by their logs.

Singular and plural are one word. A goal of a word or two is answered by every session that has them: where all work was
on checkpoints, that word tells no session from another, and yet all of them are about checkpoints.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import erf, exp, log, sqrt

from msgspec import Struct

from holdfast.language.keywords import singular
from holdfast.ledger.stats import Belief, cumulated
from holdfast.model.ledger import FailureReason, Kind, LedgerEntry, Outcome

SAME = {"kind": 0.10, "framework": 0.08, "project_type": 0.04}
AMOUNTS = ("cost", "time")  # what a success takes, beside its risk
LEAST = 0.15  # of words or meaning in common, below which two goals have nothing to do with each other
MOST_OF_IT = (
    0.5  # of the goal's words, by weight: a session with that share is about the goal, among other things
)
ROUNDS = 25
PRIOR_FAILURES = 2.0  # expected failures' worth of doubt that a model, kind or level differs from the rest
PRIOR_SESSIONS = 3.0  # the same for logarithms of cost and time
LEAST_EFFECT_ROWS, MOST = 0.002, 0.95
LEAST_SPREAD = 0.05  # no two sessions cost quite the same
MODEL, KIND, LEVEL = range(3)

Factors = tuple[str, str, str]  # model, kind of task, complexity
FEWEST_OF_MODEL = 3
STRONGEST_PRIOR = 12.0
LIKE_WEIGHT = 2.0  # how much more a session counts that is quite like the goal
OTHER_TYPE_WEIGHT = 0.5  # of a session in a project of another type


class Goal(Struct, frozen=True, kw_only=True):
    """The task ahead, in the terms of the ledger."""

    words: tuple[str, ...]
    kind: str | None = None
    complexity: str | None = None
    framework: str | None = None
    project_type: str | None = None


class Alike(Struct, frozen=True, kw_only=True):
    entry: LedgerEntry
    score: float
    why: str


class Logged(Struct, frozen=True):
    """How well a session's log matches a goal, 0 to 1, and by which words."""

    score: float
    words: tuple[str, ...] = ()


def similar(
    goal: Goal,
    entries: Sequence[LedgerEntry],
    meaning: Sequence[float] = (),
    most: int | None = None,
    logs: Mapping[str, Logged] | None = None,
) -> list[Alike]:
    """The most similar first, newer ones first among equals.

    `meaning` is for each entry how near its goal is, 0 to 1; `logs` what is known of sessions by their logs.
    """
    forms_of_entries = [_forms(entry.goal) for entry in entries]
    rarity = _rarity(forms_of_entries)
    wanted = _forms(goal.words)
    matches = []
    for number, (entry, forms) in enumerate(zip(entries, forms_of_entries, strict=True)):
        shared = [word for word in wanted if word in forms]
        words, covered = _likeness(wanted, forms, rarity) if shared else (0.0, 0.0)
        logged = logs.get(entry.session) if logs else None
        score = max(words, meaning[number] if meaning else 0.0, logged.score if logged else 0.0)
        if score < LEAST and covered < MOST_OF_IT:
            continue
        for name, weight in SAME.items():
            wanted_value = getattr(goal, name)
            score += weight * (wanted_value is not None and wanted_value == getattr(entry, name))
        why = _why([forms[word] for word in shared], logged)
        if goal.kind is not None and goal.kind == entry.kind and goal.kind != Kind.OTHER:
            why += f"; also {entry.kind}"
        matches.append(Alike(entry=entry, score=min(score, 1.0), why=why))
    matches.sort(key=lambda one: (-round(one.score, 6), -_when(one.entry), one.entry.session))
    return matches[:most] if most else matches


def _why(shared: Sequence[str], logged: Logged | None) -> str:
    if shared:
        return f"shares {', '.join(shared)}"
    if logged and logged.words:
        return f"its log has {', '.join(logged.words)}"
    return "means much the same"


def _forms(words: Iterable[str]) -> dict[str, str]:
    """Each word under the form in which singular and plural meet, as it was written first."""
    forms: dict[str, str] = {}
    for word in words:
        forms.setdefault(singular(word), word)
    return forms


def _when(entry: LedgerEntry) -> float:
    return entry.timestamp.timestamp() if entry.timestamp else 0.0


def _rarity(goals: Sequence[Mapping[str, str]]) -> dict[str, float]:
    counts = Counter(word for goal in goals for word in goal)
    return {word: log(1 + len(goals) / count) for word, count in counts.items()}


def _likeness(
    one: Mapping[str, str], other: Mapping[str, str], rarity: dict[str, float]
) -> tuple[float, float]:
    """The cosine of two goals, and how much of the first the second has."""
    # A word that no session has used weighs as much as the rarest: it is missing from all of them.
    rarest = max(rarity.values(), default=1.0)

    def weight(words: Iterable[str]) -> float:
        return sum(rarity.get(word, rarest) ** 2 for word in words)

    shared = weight(word for word in one if word in other)
    return shared / sqrt(weight(one) * weight(other)), shared / weight(one)


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


class FailureModel(Struct, frozen=True):
    """A base rate and factors on it, for failures; `shapes` is how many failures each model's factor is worth."""

    base: float
    effects: tuple[Mapping[str, float], ...]
    shapes: Mapping[str, float]

    def predict(self, factors: Factors) -> float:
        rate = self.base
        for effect, value in zip(self.effects, factors, strict=True):
            rate *= effect.get(value, 1.0)
        return min(max(rate, LEAST_EFFECT_ROWS), MOST)

    def lower(self, one: str, other: str) -> float:
        """The chance that one model's factor is below another's. Both are believed as Gamma distributions."""
        shape, other_shape = (self.shapes.get(model, PRIOR_FAILURES) for model in (one, other))
        rate, others_rate = (
            gamma_shape / self.effects[MODEL].get(model, 1.0)
            for model, gamma_shape in ((one, shape), (other, other_shape))
        )
        return cumulated(rate / (rate + others_rate), shape, other_shape)


def _shape(failed: float, n: float) -> float:
    """The shape of a Gamma distribution for `failed` of `n`: the more sessions failed, the better the rate is known."""
    return PRIOR_FAILURES + failed / max(1 - ((failed + 0.5) / (n + 1)), 0.25)


def explain_failures(observed: Iterable[tuple[Factors, float, float]]) -> FailureModel:
    """Observed over expected failures, in turn for each factor, until they agree. Each session has its weight."""
    cells = _cells(observed)
    sessions = sum(cell.n for cell in cells.values())
    base = (sum(cell.total for cell in cells.values()) + 0.5) / (sessions + 1.0)
    effects: list[dict[str, float]] = [{}, {}, {}]
    failures: dict[str, float] = {}
    for _ in range(ROUNDS):
        for place in (LEVEL, KIND, MODEL):
            failures = defaultdict(float)
            expected: defaultdict[str, float] = defaultdict(float)
            for factors, cell in cells.items():
                rate = base
                for factor_index in range(3):
                    if factor_index != place:
                        rate *= effects[factor_index].get(factors[factor_index], 1.0)
                failures[factors[place]] += cell.total
                expected[factors[place]] += cell.n * min(rate, MOST)
            effects[place] = {
                key: (failures[key] + PRIOR_FAILURES) / (expected[key] + PRIOR_FAILURES) for key in expected
            }
    sessions_of: defaultdict[str, float] = defaultdict(float)
    for factors, cell in cells.items():
        sessions_of[factors[MODEL]] += cell.n
    shapes = {model: _shape(failures[model], n) for model, n in sessions_of.items()}
    return FailureModel(base, tuple(effects), shapes)


class AmountModel(Struct, frozen=True):
    """A typical value and factors on it, for cost and time, which spread by factors and not by sums.

    What is free has no logarithm: `paid` is for each model the share of sessions that took anything at all.
    """

    base: float
    effects: tuple[Mapping[str, float], ...]
    spread: float  # variance of what is left unexplained
    paid: Mapping[str, float]
    known: Mapping[str, float]

    def predict(self, factors: Factors) -> float | None:
        """The mean, which is above the typical value the more the values spread; None when unknown."""
        paid = self.paid.get(factors[MODEL])
        if not paid:
            return paid
        effects = [effect.get(value, 0.0) for effect, value in zip(self.effects, factors, strict=True)]
        return paid * exp(min(self.base + sum(effects) + self.spread / 2, 30.0))

    def doubt(self, model: str) -> float:
        """The variance of the logarithm of what is predicted for a model."""
        return max(self.spread, LEAST_SPREAD) / (self.known.get(model, 0.0) + 1.0)


def explain_amounts(observed: Iterable[tuple[Factors, float, float]]) -> AmountModel:
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
                other_effects = sum(
                    effects[factor_index].get(factors[factor_index], 0.0)
                    for factor_index in range(3)
                    if factor_index != place
                )
                left[factors[place]] += cell.total - cell.n * (base + other_effects)
                known[factors[place]] += cell.n
            effects[place] = {key: left[key] / (known[key] + PRIOR_SESSIONS) for key in left}
    unexplained = 0.0
    for factors, cell in cells.items():
        expected = base + sum(effects[place].get(factors[place], 0.0) for place in range(3))
        unexplained += cell.squares - 2 * expected * cell.total + cell.n * expected * expected
    spread = min(max(unexplained, 0.0) / max(sessions - 1, 1), 4.0)
    return AmountModel(base, tuple(effects), spread, paid, weights)


class ModelEstimate(Struct, frozen=True, kw_only=True):
    """One model: the estimates for this goal, and their basis."""

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

    candidate: ModelEstimate
    failures: FailureModel
    cost_doubt: float
    time_doubt: float

    def safer_than(self, other: Believed) -> float:
        """The probability that it fails less often; the effect of the task itself cancels out."""
        return self.failures.lower(self.candidate.model, other.candidate.model)

    def takes_less_than(self, other: Believed, what: str) -> float:
        """The probability that this model's successes take less (cost or time); nothing is less than anything."""
        amount, other_amount = self.per_success(what), other.per_success(what)
        if amount is None or other_amount is None:
            return 0.5
        if not amount or not other_amount:
            return 0.5 if amount == other_amount else float(amount < other_amount)
        doubt = self.cost_doubt + other.cost_doubt if what == "cost" else self.time_doubt + other.time_doubt
        return (1 + erf((log(other_amount) - log(amount)) / sqrt(doubt) / sqrt(2))) / 2

    def per_success(self, what: str) -> float | None:
        return self.candidate.cost_per_success if what == "cost" else self.candidate.minutes_per_success


def failed(entry: LedgerEntry) -> bool | None:
    """Whether a session counts as a failure of its model; None when its row does not say.

    A task that the user interrupted is none: why they did is not known.
    """
    if entry.outcome in (Outcome.FAILED, Outcome.ABANDONED) or not_interrupted(entry) > 0:
        return True
    return None if entry.failed is None else False


def not_interrupted(entry: LedgerEntry) -> int:
    """The failed tasks of a session without those that the user interrupted."""
    return max((entry.failed or 0) - entry.failures.count(FailureReason.INTERRUPTED), 0)


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
    failures: FailureModel,
    costs: AmountModel,
    minutes: AmountModel,
    like: Sequence[Alike],
) -> Believed:
    expected = failures.predict(factors)
    strength = min(1.0 + sessions / 3, STRONGEST_PRIOR)
    belief = Belief(strength * expected, strength * (1 - expected))
    of_model = [match for match in like if match.entry.model == model and failed(match.entry) is not None]
    success = 1 - belief.mean
    cost, took = costs.predict(factors), minutes.predict(factors)
    candidate = ModelEstimate(
        model=model,
        sessions=sessions,
        like=len(of_model),
        like_failed=sum(bool(failed(match.entry)) for match in of_model),
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
    more = {match.entry.session: 1 + LIKE_WEIGHT * match.score for match in like}
    same = ("", None, goal.project_type)
    weights = [
        more.get(entry.session, 1.0)
        * (1.0 if not goal.project_type or entry.project_type in same else OTHER_TYPE_WEIGHT)
        for entry in judged
    ]
    worth = sum(weights) / sum(weight * weight for weight in weights)
    return [
        (entry, (entry.model or "", entry.kind or "", entry.complexity or ""), weight * worth)
        for entry, weight in zip(judged, weights, strict=True)
    ]


def _usual_complexity(goal: Goal, judged: Sequence[LedgerEntry], like: Sequence[Alike]) -> str | None:
    """How complex similar sessions were, or else sessions of the same kind."""
    weights: Counter[str] = Counter()
    for match in like:
        if match.entry.complexity:
            weights[match.entry.complexity] += match.score  # type: ignore[assignment]
    if not weights:
        weights.update(e.complexity for e in judged if e.complexity and goal.kind and e.kind == goal.kind)
    return min(weights, key=lambda level: (-weights[level], level)) if weights else None
