"""The report over a ledger: which model earns its price where, how complex the work is, what fails, and the trend.

Every statement carries its n; what too few sessions say is left out or said to be unsettled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.advise.rates import Belief, Clusters, Rate
from holdfast.advise.stats import UNKNOWN, ModelStats, grouped, ranked, stats_of
from holdfast.model.ledger import Complexity, FailureReason, LedgerEntry

FEWEST = 5  # sessions, below which a group says nothing
MOST_TOPICS = 12
DOUBT = 4.0  # sessions' worth of the overall rate that each group begins with
REMARKABLE = 0.9  # of the belief lies above (or below) the overall rate
WELL = 20  # tasks without a failure that are worth a word

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


class BestModel(Struct, frozen=True, kw_only=True):
    """The most productive model for a type of project; none where too few sessions tell."""

    project_type: str
    model: str | None
    sessions: int
    failure: Rate
    avg_cost: float | None
    note: str = ""


class Level(Struct, frozen=True, kw_only=True):
    level: str
    sessions: int
    share: float
    avg_minutes: float | None
    avg_cost: float | None


class Topic(Struct, frozen=True, kw_only=True):
    topic: str
    sessions: int
    failure: Rate
    advice: str


class Reasons(Struct, frozen=True, kw_only=True):
    """Why tasks fail in projects of one type: reason, how often, which share."""

    project_type: str
    failed: int
    reasons: tuple[tuple[str, int, float], ...]


class Refusals(Struct, frozen=True, kw_only=True):
    model: str
    refusals: int
    sessions: int


class Pairing(Struct, frozen=True, kw_only=True):
    framework: str
    model: str
    sessions: int
    failure: Rate
    avg_cost: float | None


class Month(Struct, frozen=True, kw_only=True):
    month: str
    sessions: int
    total_cost: float | None
    avg_cost: float | None
    failure: Rate


class Report(Struct, frozen=True, kw_only=True):
    sessions: int
    maturity: str
    failure: Rate
    most_productive: tuple[BestModel, ...]
    complexity: tuple[Level, ...]
    topics: tuple[Topic, ...]
    reasons: tuple[Reasons, ...]
    refusals: tuple[Refusals, ...]
    pairings: tuple[Pairing, ...]
    trend: tuple[Month, ...]


def report_of(entries: Sequence[LedgerEntry]) -> Report:
    return Report(
        sessions=len(entries),
        maturity=maturity(len(entries)),
        failure=_rate(entries),
        most_productive=_most_productive(entries),
        complexity=_complexity(entries),
        topics=_topics(entries),
        reasons=_reasons(entries),
        refusals=_refusals(entries),
        pairings=_pairings(entries),
        trend=_trend(entries),
    )


def maturity(sessions: int) -> str:
    """How far the figures can be trusted, by how many there are."""
    if sessions < 10:
        number = f"{sessions} session{'s' if sessions != 1 else ''}"
        return f"{number}: mostly noise, wait for 10 before reading anything into it."
    if sessions < 50:
        return f"{sessions} sessions: a first impression; patterns show from about 50."
    if sessions < 100:
        return f"{sessions} sessions: patterns begin to hold; they are steady from about 100."
    return f"{sessions} sessions: enough for steady figures."


def _rate(entries: Sequence[LedgerEntry]) -> Rate:
    clusters = Clusters()
    for entry in entries:
        if entry.tasks is not None and entry.failed is not None:
            clusters.add(entry.tasks, entry.failed)
    return clusters.rate()


def _by(entries: Sequence[LedgerEntry], key: Callable[[LedgerEntry], str]) -> dict[str, list[LedgerEntry]]:
    groups: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def _most_productive(entries: Sequence[LedgerEntry]) -> tuple[BestModel, ...]:
    """The lowest failure rate that is believed, the cheaper one where they are alike."""
    found = []
    for name, rows in _by([e for e in entries if e.project_type], lambda e: e.project_type or "").items():
        models = {model: own for model, own in grouped(rows, "model").items() if model != UNKNOWN}
        known = {model: own for model, own in models.items() if own.judged_sessions >= FEWEST}
        if not known:
            note = f"no model has {FEWEST} judged sessions here yet"
            found.append(BestModel(project_type=name, model=None, sessions=len(rows), failure=_rate(rows),
                                   avg_cost=None, note=note))  # fmt: skip
            continue
        overall = stats_of(rows).session_failure_rate or 0.0
        model = min(
            known, key=lambda one: (round(_believed(known[one], overall), 3), known[one].avg_cost or 0.0, one)
        )
        own = known[model]
        rate = _rate([entry for entry in rows if entry.model == model])
        note = "the only one used often enough" if len(known) == 1 else ""
        found.append(
            BestModel(
                project_type=name,
                model=model,
                sessions=own.sessions,
                failure=rate,
                avg_cost=own.avg_cost,
                note=note,
            )
        )
    return tuple(found)


def _believed(own: ModelStats, overall: float) -> float:
    return (own.failed_sessions + DOUBT * overall) / (own.judged_sessions + DOUBT)


def _complexity(entries: Sequence[LedgerEntry]) -> tuple[Level, ...]:
    known = [entry for entry in entries if entry.complexity]
    groups = grouped(known, "complexity")
    return tuple(
        Level(
            level=level,
            sessions=own.sessions,
            share=own.sessions / len(known),
            avg_minutes=own.avg_duration,
            avg_cost=own.avg_cost,
        )
        for level in [
            *map(str, Complexity),
            *(name for name in groups if name not in set(map(str, Complexity))),
        ]
        if (own := groups.get(level))
    )


def _topics(entries: Sequence[LedgerEntry]) -> tuple[Topic, ...]:
    """Topics that fail more often than the rest, or never did; the worst first."""
    judged = [entry for entry in entries if entry.tasks and entry.failed is not None]
    overall = _rate(judged).value
    if overall is None:
        return ()
    found = []
    for topic, rows in _subjects(judged).items():
        rate = _rate(rows)
        lost = sum((entry.failed or 0) > 0 for entry in rows)
        share = sum((entry.failed or 0) > 0 for entry in judged) / len(judged)
        belief = Belief(lost + DOUBT * share + 0.01, len(rows) - lost + DOUBT * (1 - share) + 0.01)
        if rate.failed and belief.below(1 - REMARKABLE) > share:
            found.append(Topic(topic=topic, sessions=len(rows), failure=rate, advice=_advice(rows)))
        elif not rate.failed and rate.n >= WELL and overall > 0:
            found.append(Topic(topic=topic, sessions=len(rows), failure=rate, advice=_goes_well(rows)))
    found.sort(key=lambda one: (-(one.failure.value or 0.0), -one.failure.n, one.topic))
    bad = [one for one in found if one.failure.failed][:MOST_TOPICS]
    return tuple(bad + [one for one in found if not one.failure.failed][: MOST_TOPICS // 3])


def _subjects(entries: Sequence[LedgerEntry]) -> dict[str, list[LedgerEntry]]:
    """By keyword and by two that stand together; one that nearly always has the same neighbour is said with it."""
    groups: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        pairs = [f"{one} {other}" for one, other in zip(entry.goal, entry.goal[1:], strict=False)]
        for topic in dict.fromkeys((*entry.goal, *pairs)):
            groups[topic].append(entry)
    kept = {topic: rows for topic, rows in groups.items() if len(rows) >= FEWEST}
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


def _reasons(entries: Sequence[LedgerEntry]) -> tuple[Reasons, ...]:
    found = []
    for name, rows in _by(entries, lambda entry: entry.project_type or UNKNOWN).items():
        counts = ranked(reason for entry in rows for reason in entry.failures)
        total = sum(n for _, n in counts)
        if total:
            shares = tuple((reason, n, n / total) for reason, n in counts)
            found.append(Reasons(project_type=name, failed=total, reasons=shares))
    return tuple(found)


def _refusals(entries: Sequence[LedgerEntry]) -> tuple[Refusals, ...]:
    found = []
    for model, rows in _by(entries, lambda entry: entry.model or UNKNOWN).items():
        refusals = sum(entry.failures.count(FailureReason.LLM_REFUSAL) for entry in rows)
        if refusals:
            found.append(Refusals(model=model, refusals=refusals, sessions=len(rows)))
    return tuple(sorted(found, key=lambda one: (-one.refusals / one.sessions, one.model)))


def _pairings(entries: Sequence[LedgerEntry]) -> tuple[Pairing, ...]:
    known = [entry for entry in entries if entry.framework and entry.model]
    return tuple(
        Pairing(
            framework=framework,
            model=model,
            sessions=own.sessions,
            failure=_rate([entry for entry in rows if entry.model == model]),
            avg_cost=own.avg_cost,
        )
        for framework, rows in _by(known, lambda entry: entry.framework or "").items()
        for model, own in grouped(rows, "model").items()
    )


def _trend(entries: Sequence[LedgerEntry]) -> tuple[Month, ...]:
    dated = [entry for entry in entries if entry.timestamp]
    rows_of = _by(dated, lambda entry: f"{entry.timestamp:%Y-%m}")
    return tuple(
        Month(
            month=month,
            sessions=own.sessions,
            total_cost=own.total_cost,
            avg_cost=own.avg_cost,
            failure=_rate(rows_of[month]),
        )
        for month, own in grouped(dated, "month").items()
    )
