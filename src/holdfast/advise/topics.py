"""What sessions are about that fail oftener than the rest, or oddly never did, and what to do about it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from msgspec import Struct

from holdfast.advise.rates import Rate, at_least
from holdfast.advise.stats import judged, task_rate
from holdfast.model.ledger import FailureReason, LedgerEntry

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
