"""Which lessons a session hears at its start, whatever it is asked: stumbles that recur, and commands for every job.

The budget is shared by type: stumbles pay most for their words, and would crowd out the commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.model.lesson import Lesson
from holdfast.text.tokens import count_tokens

STUMBLE_BUDGET = 100  # contracts: of what a session is told at its start
STUMBLES = ("stumble", "pitfall")


def strong_stumbles(lessons: Iterable[Lesson], budget: int = STUMBLE_BUDGET) -> list[str]:
    """Rules that two sessions or more met, the most frequent first, within a budget of tokens."""
    strong = [lesson for lesson in lessons if lesson.kind in STUMBLES and lesson.strong]
    strong.sort(key=by_worth)
    return within([rule for lesson in strong for rule in lesson.rules], budget)


def by_worth(lesson: Lesson) -> tuple[object, ...]:
    """Frequent ones first; of equals those that name a remedy, then the newest."""
    remedied = any("→" in rule for rule in lesson.rules)
    return -len(lesson.sessions), not remedied, -(lesson.captured_at or 0.0), lesson.name


def opening(lessons: Sequence[Lesson], budget: int) -> list[str]:
    """Stumbles that recur in half of the budget; commands in the other half, the most used first; what is left is for
    what one session met, the newest first."""
    told = strong_stumbles(lessons, budget // 2)
    commands = sorted(
        (lesson for lesson in lessons if lesson.kind == "command"), key=lambda lesson: -len(lesson.sessions)
    )
    doing = within([rule for lesson in commands for rule in lesson.rules], budget // 2)
    once = [lesson for lesson in lessons if lesson.kind in STUMBLES and not lesson.strong]
    once.sort(key=lambda lesson: -(lesson.captured_at or 0.0))
    left = budget - sum(count_tokens(line) for line in (*told, *doing))
    return [*told, *within([rule for lesson in once for rule in lesson.rules], left), *doing]


def within(rules: Iterable[str], budget: int) -> list[str]:
    """Rules that fit, in their order; one that is too long does not keep out the next."""
    told: list[str] = []
    left = budget
    for rule in rules:
        tokens = count_tokens(f"- {rule}")
        if tokens <= left:
            told.append(f"- {rule}")
            left -= tokens
    return told
