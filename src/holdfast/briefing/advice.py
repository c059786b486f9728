"""Prepares what the ledger suggests to the person: which model, and which kind of work needs more care.

Nothing is said unless the evidence is clear. A host shows it once per session; the model does not see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from holdfast.ledger.recommend import FEWEST_SESSIONS, recommend
from holdfast.ledger.similar import Goal, failed
from holdfast.ledger.stats import with_undated_models
from holdfast.ledger.tally import wilson
from holdfast.model.ledger import LedgerEntry

MOST_SESSIONS = 300  # the latest: models and code change
LATELY = 10  # sessions that say which model is in use
FEWEST_OF_KIND = 8
OFTEN = 0.25  # share of failures below which no kind of work needs a word
PLURALS = {
    "feature": "features",
    "bugfix": "bug fixes",
    "refactor": "refactorings",
    "test": "tests",
    "docs": "documentation",
    "config": "configuration",
    "migration": "migrations",
    "review": "reviews",
}


def advice_of(entries: Sequence[LedgerEntry]) -> list[tuple[str, str]]:
    """Lines for the person, each with its reason."""
    latest = with_undated_models(entries[-MOST_SESSIONS:])
    return [*_model(latest), *_care(latest)]


def _model(entries: Sequence[LedgerEntry]) -> Iterator[tuple[str, str]]:
    """The model that clearly does better than the one that is in use."""
    in_use = Counter(entry.model for entry in entries[-LATELY:] if entry.model).most_common(1)
    if not in_use or len({entry.model for entry in entries if entry.model}) < 2:
        return
    advised = recommend(Goal(words=()), entries)
    if advised.model and in_use[0][0] in advised.better_than:
        own = next(one for one in advised.candidates if one.model == advised.model)
        other = next(one for one in advised.candidates if one.model == in_use[0][0])
        yield (
            f"{own.model} does better here than {other.model}: sessions fail {own.failure_rate:.0%} to "
            f"{other.failure_rate:.0%}",
            f"{own.sessions} and {other.sessions} sessions; see holdfast ledger recommend",
        )


def _care(entries: Sequence[LedgerEntry]) -> Iterator[tuple[str, str]]:
    """The kind of work that clearly fails more often here than the rest."""
    judged = [
        (str(entry.kind), bool(failed(entry)))
        for entry in entries
        if entry.kind and failed(entry) is not None
    ]
    if len(judged) < FEWEST_SESSIONS:
        return
    worst: tuple[float, str, int, int] | None = None
    for kind, name in PLURALS.items():
        own = [is_failure for one, is_failure in judged if one == kind]
        rest = [is_failure for one, is_failure in judged if one != kind]
        if len(own) < FEWEST_OF_KIND or not rest:
            continue
        rate = sum(own) / len(own)
        if rate >= OFTEN and wilson(rate, len(own))[0] > wilson(sum(rest) / len(rest), len(rest))[1]:
            worst = max(worst or (0.0, "", 0, 0), (rate, name, sum(own), len(own)))
    if worst is not None:
        _, name, failures, number = worst
        yield (
            f"{name} need more care here: {failures} of {number} sessions failed",
            "more than other work, beyond chance; see holdfast ledger report",
        )
