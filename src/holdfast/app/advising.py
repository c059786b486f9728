"""Advice from the ledger: sessions like a goal, which model to take for it, and what costs more than usual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from msgspec import Struct

from holdfast.advise.alerts import Alert, Likes, Period, Running, amount_of, beyond_usual, over_budget
from holdfast.advise.recommend import Objective, Recommendation, recommend
from holdfast.advise.similar import Alike, Goal, Logged, similar
from holdfast.app.wiring import Machine
from holdfast.errors import HoldfastError
from holdfast.model.ledger import LedgerEntry
from holdfast.model.search import WORDS
from holdfast.store.capture import CaptureStore
from holdfast.store.layout import Project
from holdfast.text.keywords import keywords

MOST_BY_MEANING = 20_000  # sessions; beyond that words alone are compared
NEAR = 0.55  # cosine from which two goals of a few keywords mean much the same
_HITS_OF_A_SESSION = 5  # what it decided and found are hits of their own
LATELY = timedelta(days=7)


def goal_of(machine: Machine, text: str, entries: Sequence[LedgerEntry]) -> Goal:
    """A goal in the ledger's terms. Type and framework are those that the project's last sessions had."""
    from holdfast.distill.kind import explain_kind

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
    from holdfast.app.searching import FLOOR, search

    wanted = len(keywords(text))
    found: dict[str, Logged] = {}
    try:
        hits = search(machine, project, text, _HITS_OF_A_SESSION * most, ("history",), floor=FLOOR)
    except HoldfastError:
        return {}  # a memory that cannot be indexed, say because it may not be written: the rows are there all the same
    for hit in hits:
        said = (
            part.removeprefix(WORDS).split(", ") for part in hit.why.split("; ") if part.startswith(WORDS)
        )
        named = next(said, [])
        if hit.session and wanted and len(named) * 2 > wanted:
            found.setdefault(hit.session, Logged(hit.score, tuple(named)))
    return found


def _meaning(goal: Goal, entries: Sequence[LedgerEntry]) -> list[float]:
    """How near each session's keywords are to the goal's in meaning, 0 where not near; empty where not compared."""
    if not goal.words or not entries or len(entries) > MOST_BY_MEANING:
        return []
    from holdfast.search.embed.contract import UNIT
    from holdfast.search.embed.static import StaticTable

    texts = list(dict.fromkeys(" ".join(entry.goal) for entry in entries))
    vectors = StaticTable().embed([" ".join(goal.words), *texts])
    asked = memoryview(vectors[0]).cast("b")
    near = {
        text: sum(map(int.__mul__, asked, memoryview(vector).cast("b"))) / UNIT**2
        for text, vector in zip(texts, vectors[1:], strict=True)
    }
    return [cosine if (cosine := near[" ".join(entry.goal)]) >= NEAR else 0.0 for entry in entries]


class Watch(Struct, frozen=True, kw_only=True):
    """What there is to be said now, and what it was compared with."""

    alerts: tuple[Alert, ...]
    sessions: int
    since_days: int


def alerts(
    machine: Machine, project: Project, entries: Sequence[LedgerEntry], live: Sequence[Running]
) -> Watch:
    """Live sessions and those of the last week against their like, and the budgets of day and month."""
    now = machine.now()
    likes = Likes(entries)
    running = {one.session for one in live}
    past = [_running(entry) for entry in entries if entry.session not in running]
    lately = [one for one in past if one.at and now - LATELY <= one.at <= now]
    found = [alert for one in live for alert in beyond_usual(one, likes, live=True)]
    found += [alert for one in lately for alert in beyond_usual(one, likes, live=False)]
    spent = [(one.at, one.cost_usd) for one in (*past, *live)]
    settings = machine.settings(project)
    budgets: tuple[tuple[Period, float], ...] = (
        ("day", settings.budget_day),
        ("month", settings.budget_month),
    )
    for period, limit in budgets:
        if limit > 0 and (alert := over_budget(spent, limit, period, now)):
            found.append(alert)
    return Watch(alerts=tuple(found), sessions=len(entries), since_days=LATELY.days)


def _running(entry: LedgerEntry) -> Running:
    return Running(
        session=entry.session,
        kind=entry.kind,
        cost_usd=amount_of(entry, "cost"),
        minutes=amount_of(entry, "time"),
        at=entry.timestamp,
    )


def live_sessions(machine: Machine, project: Project) -> list[Running]:
    """Sessions that go on, as far as hooks have had them read, and those that were captured and have no row yet."""
    from holdfast.app.capturing import going_on  # which prepares, and with it what is said here

    running = going_on(machine, project)
    return CaptureStore.glimpse(project.capture, partial(_unfinished, running), [])


def _unfinished(running: Sequence[str], store: CaptureStore) -> list[Running]:
    sessions = dict.fromkeys((*running, *store.pending()))
    records = [record for session in sessions if (record := store.record(session)) is not None]
    if not records:
        return []
    from holdfast.app.roi import cost_of_record

    return [
        Running(
            session=record.session,
            kind=record.kind,
            cost_usd=cost_of_record(record),
            minutes=None if record.active_s is None else record.active_s / 60,
            at=None if record.started is None else datetime.fromtimestamp(record.started, UTC),
        )
        for record in records
    ]
