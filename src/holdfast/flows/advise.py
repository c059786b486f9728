"""Advice from the ledger: sessions like a goal, which model to take for it, and what costs more than usual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holdfast.core.errors import HoldfastError
from holdfast.ledger.recommend import Objective, Recommendation, recommend
from holdfast.ledger.similar import Alike, Goal, Logged, similar
from holdfast.model.ledger import LedgerEntry
from holdfast.sessions.keywords import keywords
from holdfast.store.machine import Machine
from holdfast.store.project import Project

MOST_BY_MEANING = 20_000  # sessions; beyond that words alone are compared
NEAR = 0.55  # cosine from which two goals of a few keywords mean much the same
_HITS_OF_A_SESSION = 5  # what it decided and found are hits of their own


def goal_of(machine: Machine, text: str, entries: Sequence[LedgerEntry]) -> Goal:
    """A goal in the ledger's terms. Type and framework are those that the project's last sessions had."""
    from holdfast.sessions.kind import explain_kind

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
    """Sessions like a goal; where their project is at hand, also by what their logs say: a row has eight words."""
    goal = goal_of(machine, text, entries)
    logs = _logs(machine, logged_in, text, most) if logged_in is not None and entries else {}
    return goal, similar(goal, entries, _meaning(goal, entries), most, logs)


def _logs(machine: Machine, project: Project, text: str, most: int) -> dict[str, Logged]:
    """Sessions whose log holds more than half of the goal's words: of two, the one that it has may mean anything."""
    from holdfast.briefing.search import search
    from holdfast.search import FLOOR

    wanted = len(keywords(text))
    found: dict[str, Logged] = {}
    try:
        hits = search(machine, project, text, _HITS_OF_A_SESSION * most, ("history",), floor=FLOOR)
    except HoldfastError:
        return {}  # a memory that cannot be indexed, say because it may not be written: the rows are there all the same
    for hit in hits:
        named = hit.grounds.words
        if hit.session and wanted and len(named) * 2 > wanted:
            found.setdefault(hit.session, Logged(hit.score, named))
    return found


def _meaning(goal: Goal, entries: Sequence[LedgerEntry]) -> list[float]:
    """How near each session's keywords are to the goal's in meaning, 0 where not near; empty where not compared."""
    if not goal.words or not entries or len(entries) > MOST_BY_MEANING:
        return []
    from holdfast.search.embed.static import UNIT, StaticTable

    texts = list(dict.fromkeys(" ".join(entry.goal) for entry in entries))
    vectors = StaticTable().embed([" ".join(goal.words), *texts])
    asked = memoryview(vectors[0]).cast("b")
    near = {
        text: sum(map(int.__mul__, asked, memoryview(vector).cast("b"))) / UNIT**2
        for text, vector in zip(texts, vectors[1:], strict=True)
    }
    return [cosine if (cosine := near[" ".join(entry.goal)]) >= NEAR else 0.0 for entry in entries]
