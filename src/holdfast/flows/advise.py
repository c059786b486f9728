"""Advice from the ledger: sessions similar to a goal, and which model to use for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holdfast.core.errors import HoldfastError
from holdfast.language.keywords import keywords
from holdfast.ledger.recommend import Objective, Recommendation, recommend
from holdfast.ledger.similar import Alike, Goal, Logged, similar
from holdfast.model.ledger import LedgerEntry
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST_BY_MEANING = 20_000  # sessions; with more, only words are compared
NEAR = 0.55  # the cosine from which two short goals count as similar
_HITS_OF_A_SESSION = 5  # a session's decisions and findings are separate hits
_MOST_HITS = 2_000


def goal_of(machine: Machine, text: str, entries: Sequence[LedgerEntry]) -> Goal:
    """A goal in the ledger's terms. Type and framework are the usual ones of the project's last sessions."""
    from holdfast.language.kind import explain_kind

    clean = machine.clean(text)
    last = list(entries[-20:])
    return Goal(
        words=keywords(clean),
        kind=str(explain_kind(clean, (), ()).kind),
        framework=_usual(entry.framework for entry in last),
        project_type=_usual(entry.project_type for entry in last),
    )


def _usual(values: object) -> str | None:
    counts = Counter(value for value in values if value)  # type: ignore[attr-defined]
    return min(counts, key=lambda value: (-counts[value], value)) if counts else None


def advise(
    machine: Machine, text: str, entries: Sequence[LedgerEntry], objective: Objective
) -> Recommendation:
    goal = goal_of(machine, text, entries)
    return recommend(goal, entries, objective, _meaning(goal, entries))


def like(
    machine: Machine,
    text: str,
    entries: Sequence[LedgerEntry],
    most: int,
    logged_in: Project | None = None,
) -> tuple[Goal, list[Alike]]:
    """Sessions similar to a goal. With `logged_in` also by their log entries, because a row has only eight words."""
    goal = goal_of(machine, text, entries)
    logs = _logs(machine, logged_in, text, most) if logged_in is not None and entries else {}
    return goal, similar(goal, entries, _meaning(goal, entries), most, logs)


def _logs(machine: Machine, project: Project, text: str, most: int) -> dict[str, Logged]:
    """Sessions whose log contains more than half of the goal's words: one word of two may mean anything."""
    from holdfast.briefing.search import search
    from holdfast.search import FLOOR

    word_count = len(keywords(text))
    logs: dict[str, Logged] = {}
    try:
        hits = search(
            machine, project, text, min(_HITS_OF_A_SESSION * most, _MOST_HITS), ("history",), floor=FLOOR
        )
    except HoldfastError:
        return {}  # the memory cannot be indexed, for example because it is read-only: use the rows alone
    for hit in hits:
        words = hit.grounds.words
        if hit.session and word_count and len(words) * 2 > word_count:
            logs.setdefault(hit.session, Logged(hit.score, words))
    return logs


def _meaning(goal: Goal, entries: Sequence[LedgerEntry]) -> list[float]:
    """The similarity of each session's keywords to the goal, 0 below `NEAR`; empty if not compared."""
    if not goal.words or not entries or len(entries) > MOST_BY_MEANING:
        return []
    from holdfast.search.embed.static import UNIT, StaticTable

    texts = list(dict.fromkeys(" ".join(entry.goal) for entry in entries))
    vectors = StaticTable().embed([" ".join(goal.words), *texts])
    asked = memoryview(vectors[0]).cast("b")
    cosines = {
        text: sum(map(int.__mul__, asked, memoryview(vector).cast("b"))) / UNIT**2
        for text, vector in zip(texts, vectors[1:], strict=True)
    }
    return [cosine if (cosine := cosines[" ".join(entry.goal)]) >= NEAR else 0.0 for entry in entries]
