"""Which lessons a session hears at its start, whatever it is asked: stumbles that recur, and commands for every job.

The budget is shared by type: stumbles pay most for their words, and would crowd out the commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.model.lesson import Lesson
from holdfast.text.tokens import count_tokens

STUMBLE_BUDGET = 100  # contracts: of what a session is told at its start
STUMBLES = ("stumble", "pitfall")
HALF_LIFE = 30  # sessions
# What fewer of the latest sessions met costs every start more than it saves; it is told where it happens.
LEAST_MET = 0.03


def strong_stumbles(lessons: Iterable[Lesson], budget: int = STUMBLE_BUDGET) -> list[str]:
    """Rules that two sessions or more met, the most frequent first, within a budget of tokens."""
    strong = [lesson for lesson in lessons if lesson.kind in STUMBLES and lesson.strong]
    strong.sort(key=by_worth)
    return within([rule for lesson in strong for rule in lesson.rules], budget)


def lately_met(lesson: Lesson, sessions: Sequence[str]) -> float:
    """The share of these sessions, oldest first, that met a stumble; the latest count most.

    1.0 for what somebody wrote, and for what sessions taught that are not known here.
    """
    places = {session: place for place, session in enumerate(sessions)}
    met = [places[session] for session in lesson.sessions if session in places]
    if len(met) < len(lesson.sessions) or not met:
        return 1.0
    weights = [float(0.5 ** (back / HALF_LIFE)) for back in range(len(sessions))][::-1]
    return sum(weights[place] for place in met) / sum(weights)


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
