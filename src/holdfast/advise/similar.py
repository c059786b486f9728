"""Past sessions that resemble a goal: by the words they share, weighed by how telling each is, and by meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log, sqrt

from msgspec import Struct

from holdfast.model.ledger import LedgerEntry

SAME_KIND, SAME_FRAMEWORK, SAME_TYPE = 0.10, 0.08, 0.04
LEAST = 0.15  # of words or meaning in common, below which two goals have nothing to do with each other


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


def similar(
    goal: Goal, entries: Sequence[LedgerEntry], meaning: Sequence[float] = (), most: int | None = None
) -> list[Alike]:
    """The most alike first, newer ones first among equals. `meaning` is for each entry how near its goal is, 0 to 1."""
    rarity = _rarity(entries)
    found = []
    for number, entry in enumerate(entries):
        shared = [word for word in dict.fromkeys(goal.words) if word in entry.goal]
        words = _cosine(goal.words, entry.goal, rarity)
        near = meaning[number] if meaning else 0.0
        score = max(words, near)
        if score < LEAST:
            continue
        score += SAME_KIND * (goal.kind is not None and goal.kind == entry.kind)
        score += SAME_FRAMEWORK * (goal.framework is not None and goal.framework == entry.framework)
        score += SAME_TYPE * (goal.project_type is not None and goal.project_type == entry.project_type)
        why = f"shares {', '.join(shared)}" if shared else "means much the same"
        if goal.kind is not None and goal.kind == entry.kind:
            why += f"; also {entry.kind}"
        found.append(Alike(entry=entry, score=min(score, 1.0), why=why))
    found.sort(key=lambda one: (-round(one.score, 6), -_when(one.entry), one.entry.session))
    return found[:most] if most else found


def _when(entry: LedgerEntry) -> float:
    return entry.timestamp.timestamp() if entry.timestamp else 0.0


def _rarity(entries: Sequence[LedgerEntry]) -> dict[str, float]:
    counts = Counter(word for entry in entries for word in set(entry.goal))
    return {word: log(1 + len(entries) / count) for word, count in counts.items()}


def _cosine(one: Sequence[str], other: Sequence[str], rarity: dict[str, float]) -> float:
    a, b = set(one), set(other)
    shared = a & b
    if not shared:
        return 0.0
    # A word that no session has used is as telling as the rarest: it is missing from all of them alike.
    rarest = max(rarity.values(), default=1.0)

    def length(words: set[str]) -> float:
        return sqrt(sum(rarity.get(word, rarest) ** 2 for word in words))

    return sum(rarity.get(word, rarest) ** 2 for word in shared) / (length(a) * length(b))
