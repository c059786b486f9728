"""Memory, rules: what sessions taught, whether it pays, and what a person has to say about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holdfast.core.wording import counted
from holdfast.flows.lessons import shown
from holdfast.ledger.rows import session_titles
from holdfast.lessons.states import LessonStatus, pays
from holdfast.model.origin import origin_text
from holdfast.web.contract import Page, Request, Route
from holdfast.web.memory_lists import rules_of, views

STATES = ("candidate", "active", "stale", "muted", "untrusted")
TONES = {"active": "good", "candidate": "warn", "stale": "bad", "untrusted": "bad"}
PLACES = {
    "personal": "yours, everywhere",
    "local": "this project",
    "candidates": "this project",
    "shared": "shared in git",
}
_ORDER = {state: place for place, state in enumerate(STATES)}


def show(request: Request) -> Page:
    asked = request.query
    every = [status for status in rules_of(request).lessons if status.state != "rejected"]
    counts = Counter[str](status.state for status in every)
    part = request.page(_chosen(every, asked.get("q", ""), asked.get("state", ""), asked.get("pays", "")))
    candidates = [status.lesson for status in part.items if status.state == "candidate"]
    if candidates:  # as the command's list does: a week after a person saw one it counts
        shown(request.here, request.project, candidates)
    sessions = [session for status in part.items for session in status.lesson.sessions[-6:]]
    return Page(
        "memory_rules.html",
        title="Rules",
        views=views(request),
        asked=asked,
        part=part,
        states=[(state, f"{state.capitalize()} ({counts[state]:,})") for state in STATES if counts[state]],
        titles=session_titles(request.project, sessions),
        problems=rules_of(request).problems,
        tones=TONES,
        places=PLACES,
        payback=payback,
        origin=origin_text,
        pays=pays,
    )


def _chosen(rules: Sequence[LessonStatus], text: str, state: str, worth: str) -> Sequence[LessonStatus]:
    wanted = text.casefold().split()

    def fits(status: LessonStatus) -> bool:
        lesson = status.lesson
        said = f"{lesson.name} {lesson.description} {' '.join(lesson.rules)}".casefold()
        return (
            (not state or status.state == state)
            and (not worth or pays(status.payback) is (worth == "yes"))
            and all(word in said for word in wanted)
        )

    found = [status for status in rules if fits(status)]
    return sorted(found, key=lambda one: (_ORDER.get(one.state, 9), -one.payback.injected, one.lesson.name))


def payback(status: LessonStatus) -> str:
    """What a rule cost and brought, in words; '' before it was ever told."""
    paid = status.payback
    if not paid.injected:
        return ""
    against = f", contradicted {counted(paid.contradicted, 'time')}" if paid.contradicted else ""
    return (
        f"shown to agents {counted(paid.injected, 'time')} for {counted(paid.tokens, 'token')}, "
        f"followed {counted(paid.used, 'time')}{against}"
    )


ROUTES = (Route("/memory/rules", show),)
