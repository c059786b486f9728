"""Past sessions that resemble a goal: by the words they share, weighed by how telling each is, by meaning, and by what
their logs say.

Singular and plural are one word. A goal of a word or two is answered by every session that has them: where all work was
on checkpoints, that word tells no session from another, and yet all of them are about checkpoints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt

from msgspec import Struct

from holdfast.model.ledger import Kind, LedgerEntry
from holdfast.text.keywords import singular

SAME_KIND, SAME_FRAMEWORK, SAME_TYPE = 0.10, 0.08, 0.04
LEAST = 0.15  # of words or meaning in common, below which two goals have nothing to do with each other
MOST_OF_IT = (
    0.5  # of the goal's words, by their weight: a session that has so much is about it, whatever else it did
)


class Goal(Struct, frozen=True, kw_only=True):
    """What somebody is about to do, in the terms in which the ledger keeps what was done."""

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
    """How well what a session's log says answers a goal, 0 to 1, and by which words."""

    score: float
    words: tuple[str, ...] = ()


def similar(
    goal: Goal,
    entries: Sequence[LedgerEntry],
    meaning: Sequence[float] = (),
    most: int | None = None,
    logs: Mapping[str, Logged] | None = None,
) -> list[Alike]:
    """The most alike first, newer ones first among equals.

    `meaning` is for each entry how near its goal is, 0 to 1; `logs` what is known of sessions by their logs.
    """
    theirs = [_forms(entry.goal) for entry in entries]
    rarity = _rarity(theirs)
    wanted = _forms(goal.words)
    found = []
    for number, (entry, own) in enumerate(zip(entries, theirs, strict=True)):
        shared = [word for word in wanted if word in own]
        words, covered = _likeness(wanted, own, rarity) if shared else (0.0, 0.0)
        logged = logs.get(entry.session) if logs else None
        score = max(words, meaning[number] if meaning else 0.0, logged.score if logged else 0.0)
        if score < LEAST and covered < MOST_OF_IT:
            continue
        score += SAME_KIND * (goal.kind is not None and goal.kind == entry.kind)
        score += SAME_FRAMEWORK * (goal.framework is not None and goal.framework == entry.framework)
        score += SAME_TYPE * (goal.project_type is not None and goal.project_type == entry.project_type)
        why = _why([own[word] for word in shared], logged)
        if goal.kind is not None and goal.kind == entry.kind and goal.kind != Kind.OTHER:
            why += f"; also {entry.kind}"
        found.append(Alike(entry=entry, score=min(score, 1.0), why=why))
    found.sort(key=lambda one: (-round(one.score, 6), -_when(one.entry), one.entry.session))
    return found[:most] if most else found


def _why(shared: Sequence[str], logged: Logged | None) -> str:
    if shared:
        return f"shares {', '.join(shared)}"
    if logged and logged.words:
        return f"its log has {', '.join(logged.words)}"
    return "means much the same"


def _forms(words: Iterable[str]) -> dict[str, str]:
    """Each word under the form in which singular and plural meet, as it was written first."""
    found: dict[str, str] = {}
    for word in words:
        found.setdefault(singular(word), word)
    return found


def _when(entry: LedgerEntry) -> float:
    return entry.timestamp.timestamp() if entry.timestamp else 0.0


def _rarity(goals: Sequence[Mapping[str, str]]) -> dict[str, float]:
    counts = Counter(word for goal in goals for word in goal)
    return {word: log(1 + len(goals) / count) for word, count in counts.items()}


def _likeness(
    one: Mapping[str, str], other: Mapping[str, str], rarity: dict[str, float]
) -> tuple[float, float]:
    """The cosine of two goals, and how much of the first the second has."""
    # A word that no session has used is as telling as the rarest: it is missing from all of them alike.
    rarest = max(rarity.values(), default=1.0)

    def weight(words: Iterable[str]) -> float:
        return sum(rarity.get(word, rarest) ** 2 for word in words)

    shared = weight(word for word in one if word in other)
    return shared / sqrt(weight(one) * weight(other)), shared / weight(one)
